"""The nearest kernel to a matrix that is none ([Higham2002]_)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array
from diverset.errors import DiversetError, KernelError
from diverset.kernels._arrays import as_double, as_matrix, drop_zero_imaginary_part, mirror
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import LARGEST, check_finite

__all__ = ["nearest_psd"]

_CORRELATION_TOL = 1e-10
_CORRELATION_STEPS = 10_000


def nearest_psd(M: ArrayLike, *, unit_diagonal: bool = False) -> Array:
    r"""Nearest positive semidefinite matrix, or nearest correlation matrix.

    .. math::  \operatorname*{arg\,min}_{A \succeq 0} \lVert A - M \rVert_F,
               \qquad \text{with } A_{ii} = 1 \text{ if } \texttt{unit\_diagonal}.

    For a matrix of similarities that comes from elsewhere (human judgements, an edit distance, missing
    values filled in) and is not quite a kernel. Nothing else in the package repairs a kernel.

    Parameters
    ----------
    M : array_like of shape (n, n)
        Any finite matrix; only its Hermitian part counts, the symmetric one if it is real.
    unit_diagonal : bool
        Ask for ones on the diagonal as well, as in the matrix S of :func:`quality_diversity`.

    Returns
    -------
    A : ndarray of shape (n, n)
        Exactly Hermitian; positive semidefinite up to rounding. The Hermitian part of ``M``, bit for bit, if that is
        positive semidefinite.

    Notes
    -----
    Without ``unit_diagonal``, negative eigenvalues are set to zero: O(n^3). With it, alternating projections with
    Dykstra's correction ([Higham2002]_), O(n^3) per round, until one round moves the matrix, and leaves its two halves
    apart, by no more than 1e-10 of its norm; an error is raised after 10,000 rounds. Convergence is linear, in tens to
    some hundreds of rounds, and the final error is about 1e-9 of the norm.

    Examples
    --------
    >>> nearest_psd([[1.0, 2.0], [2.0, 1.0]]).round(6)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    >>> nearest_psd([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]], unit_diagonal=True).round(4)
    array([[1.    , 0.7607, 0.1573],
           [0.7607, 1.    , 0.7607],
           [0.1573, 0.7607, 1.    ]])
    """
    given = as_double(as_matrix(M, name="M", allow_complex=True))
    if given.shape[0] != given.shape[1]:
        raise KernelError(f"M has shape {given.shape}; a kernel is square, one row and column per item")
    check_finite(given, name="M")
    A: Array = drop_zero_imaginary_part(_hermitian_part(given))
    if len(A) == 0:
        return A
    return _nearest_correlation(A) if unit_diagonal else _clip_spectrum(A)


def _hermitian_part(M: Array) -> Array:
    """(M + M*) / 2 in a fresh array; M itself, to the bit, if it is Hermitian."""
    adjoint = M.conj().T
    return M.copy() if np.array_equal(M, adjoint) else 0.5 * M + 0.5 * adjoint


def _clip_spectrum(A: Array) -> Array:
    """Projection of a Hermitian matrix onto the positive semidefinite ones."""
    from scipy.linalg import eigh

    lam, V = eigh(A, check_finite=False)
    if lam[0] >= -len(A) * EPS * np.abs(lam).max():
        return A
    # As a Gram matrix the result is positive semidefinite whatever the rounding in V.
    B = V * np.sqrt(np.maximum(lam, 0.0))
    return mirror(B @ B.conj().T)


def _nearest_correlation(A: Array) -> Array:
    """Dykstra's alternating projections between unit diagonal and positive semidefinite."""
    largest = float(np.abs(A).max(initial=0.0))
    if largest > LARGEST:
        raise KernelError(f"M goes up to {largest:.6g}, too large to be squared; divide it by a number")
    unit = A
    correction = np.zeros_like(A)
    for _ in range(_CORRELATION_STEPS):
        shifted = unit - correction
        psd = _clip_spectrum(shifted)
        # Without this the limit lies in both sets but need not be the nearest such matrix; the unit
        # diagonal is an affine condition and needs no correction of its own.
        correction = psd - shifted
        last, unit = unit, psd.copy()
        np.fill_diagonal(unit, 1.0)
        change = max(np.linalg.norm(unit - last), np.linalg.norm(unit - psd)) / np.linalg.norm(unit)
        if change <= _CORRELATION_TOL:
            break
    else:
        raise DiversetError(
            f"the nearest correlation matrix was not found: round {_CORRELATION_STEPS} still changed it by "
            f"{change:.3g} of its norm; use unit_diagonal=False, then split_quality_diversity"
        )
    root = np.sqrt(psd.diagonal().real)
    result = psd / root[:, np.newaxis] / root
    result /= np.maximum(np.abs(result), 1.0)
    np.fill_diagonal(result, 1.0)
    return mirror(result)
