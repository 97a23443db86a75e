r"""Quality against diversity, :math:`L = \mathrm{diag}(q)\, S\, \mathrm{diag}(q)`; and the repair of a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray
from diverset.errors import DiversetError, KernelError
from diverset.kernels._arrays import (
    as_double,
    as_features,
    as_matrix,
    drop_zero_imaginary_part,
    gram,
    mirror,
    refuse_overflow,
)
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import (
    LARGEST,
    as_hermitian,
    as_quality,
    check_finite,
    check_nonnegative,
    is_sparse,
    plain_array,
)

if TYPE_CHECKING:
    from diverset.kernels._arrays import Features

__all__ = ["add_constant", "nearest_psd", "quality_diversity", "split_quality_diversity", "with_constant_feature"]

_CORRELATION_TOL, _CORRELATION_STEPS = 1e-10, 10_000


def quality_diversity(
    quality: ArrayLike, similarity: Features | None = None, *, features: Features | None = None
) -> Array:
    r"""Kernel from the quality of each item and the similarity of each pair.

    .. math::  L = \mathrm{diag}(q)\, S\, \mathrm{diag}(q), \qquad
               \Pr(Y) \propto \Big(\prod_{i \in Y} q_i^2\Big) \det S_Y

    ([KuleszaTaskar2012]_, Sec. 3.1). Items of high quality are probable, and similar items are rarely together. The
    inverse is :func:`split_quality_diversity`.

    Parameters
    ----------
    quality : array_like of shape (n,)
        Quality :math:`q_i \ge 0`. Zero excludes the item. Scores that may be negative are turned into
        qualities with ``np.exp``.
    similarity : array_like of shape (n, n), optional
        The matrix S, real symmetric or complex Hermitian up to rounding. It must be positive semidefinite, which is
        not checked here.
    features : array_like or scipy.sparse of shape (n, d), optional
        Rows :math:`\phi_i`, real or complex, with :math:`S_{ij} = \phi_i \phi_j^*`, in place of
        ``similarity``. For rows that do not have unit length, the quality of item i is :math:`q_i \lVert\phi_i\rVert`.

    Returns
    -------
    L : ndarray of shape (n, n)
        Exactly Hermitian; float64 unless some imaginary part is not zero.

    Notes
    -----
    The square of a quality below about 1e-162 underflows, so that the item is excluded. If this happens, divide all
    qualities by a constant that brings the largest near 1.

    Examples
    --------
    >>> quality_diversity([2.0, 1.0], [[1.0, 0.5], [0.5, 1.0]])
    array([[4., 1.],
           [1., 1.]])
    """
    if (similarity is None) == (features is None):
        found = "neither" if similarity is None else "both"
        raise DiversetError(f"{found} of similarity and features given; pass exactly one of them")
    quality = plain_array(quality, name="quality")
    if features is not None:
        F = as_features(features, name="features", allow_sparse=True, allow_complex=True)
        q = as_quality(quality, F.shape[0])
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if is_sparse(F):
                F.data *= np.repeat(q, np.diff(F.indptr))
            else:
                F = q[:, np.newaxis] * F
        return gram(F)
    L = _hermitian(similarity, name="similarity")
    q = as_quality(quality, len(L))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        L *= q[:, np.newaxis]
        L *= q
    refuse_overflow(L, "L = diag(q) S diag(q)", f"divide quality, now up to {q.max(initial=0.0):.3g}, by a constant")
    # (q_i S_ij) q_j and (q_j S_ji) q_i may round apart.
    return mirror(L)


def split_quality_diversity(L: Features) -> tuple[FloatArray, Array]:
    r"""Quality of each item and similarity of each pair in a kernel.

    .. math::  q_i = \sqrt{L_{ii}}, \qquad S_{ij} = \frac{L_{ij}}{\sqrt{L_{ii} L_{jj}}}

    ([KuleszaTaskar2012]_, Sec. 3.1), so that ``quality_diversity(q, S)`` is ``L`` again.

    Parameters
    ----------
    L : array_like of shape (n, n)
        Kernel, real symmetric or complex Hermitian up to rounding.

    Returns
    -------
    quality : ndarray of shape (n,)
        Real and nonnegative.
    similarity : ndarray of shape (n, n)
        Exactly Hermitian, entries of modulus at most 1, unit diagonal. An item with :math:`L_{ii} = 0` can never be
        chosen: its quality is 0, and its row of S is that of the identity. An entry with
        :math:`|L_{ij}| > \sqrt{L_{ii} L_{jj}}`, beyond rounding, raises an error: L is not positive semidefinite.

    Examples
    --------
    >>> quality, similarity = split_quality_diversity([[4.0, 1.0], [1.0, 1.0]])
    >>> quality
    array([2., 1.])
    >>> similarity
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    S = _hermitian(L, name="L")
    diagonal = S.diagonal().real.copy()
    if (diagonal < 0.0).any():
        i = int(np.argmax(diagonal < 0.0))
        raise KernelError(
            f"L[{i}, {i}] is {diagonal[i]:.6g}; the diagonal of a positive semidefinite kernel is never "
            "negative: see nearest_psd"
        )
    q = np.sqrt(diagonal)
    with np.errstate(over="ignore", under="ignore"):
        absolute = np.abs(S)
        bound = q[:, np.newaxis] * q
        # What rounding can leave in an entry of a matrix of this size.
        slack = len(S) * EPS * diagonal.max(initial=0.0)
        beyond = (absolute > bound * (1.0 + 1e-8)) & (absolute > bound + slack)
    if beyond.any():
        i, j = (int(index) for index in np.argwhere(beyond)[0])
        raise KernelError(
            f"|L[{i}, {j}]| is {absolute[i, j]:.6g}, more than sqrt(L[{i}, {i}] L[{j}, {j}]) = "
            f"{bound[i, j]:.6g}; L is not positive semidefinite: see nearest_psd"
        )
    # An entry that only rounding makes too large keeps its sign or phase; dividing by q could overflow.
    outside = absolute > bound
    S[outside] /= absolute[outside]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        divisor = np.where(q > 0.0, q, 1.0)
        S = np.where(outside, S, S / divisor[:, np.newaxis] / divisor)
    S /= np.maximum(np.abs(S), 1.0)
    S[q == 0.0, :] = 0.0
    S[:, q == 0.0] = 0.0
    np.fill_diagonal(S, 1.0)
    return q, mirror(S)


def with_constant_feature(features: Features, rho: float) -> Any:
    r"""Append a feature that is :math:`\rho` for every item.

    .. math::  \phi_i' = (\phi_i, \rho), \qquad S'_{ij} = S_{ij} + \rho^2.

    All items become more alike, so they repel more and sets are smaller ([KuleszaTaskar2012]_, Sec. 4.2,
    which uses :math:`\rho = 0.7` for sentences of news). The feature also makes rows of zeros usable. For a similarity
    matrix, :func:`add_constant` with :math:`\rho^2` has the same effect.

    Parameters
    ----------
    features : array_like or scipy.sparse of shape (n, d)
        One item per row.
    rho : float
        The constant :math:`\rho \ge 0`.

    Returns
    -------
    features : ndarray or scipy.sparse (CSR) of shape (n, d + 1)
        Sparse if the input was.

    Examples
    --------
    >>> with_constant_feature([[1.0, 0.0], [0.0, 1.0]], 0.5)
    array([[1. , 0. , 0.5],
           [0. , 1. , 0.5]])
    """
    rho = check_nonnegative(rho, name="rho")
    F = as_features(features, name="features", allow_sparse=True, allow_complex=True)
    column = np.full((F.shape[0], 1), rho)
    if is_sparse(F):
        from scipy import sparse

        return sparse.hstack([F, sparse.csr_array(column)], format="csr")
    return np.hstack([F, column])


def add_constant(similarity: Features, rho: float) -> Array:
    r"""Add :math:`\rho` to every entry of a similarity matrix.

    .. math::  S'_{ij} = S_{ij} + \rho.

    A larger constant makes items repel each other more ([KuleszaTaskar2012]_, Sec. 5.3). The result stays positive
    semidefinite, since the matrix of ones is.

    Parameters
    ----------
    similarity : array_like of shape (n, n)
        Real symmetric or complex Hermitian, up to rounding.
    rho : float
        The constant :math:`\rho \ge 0`.

    Returns
    -------
    similarity : ndarray of shape (n, n)
        Exactly Hermitian.

    Examples
    --------
    >>> add_constant([[1.0, 0.0], [0.0, 1.0]], 0.5)
    array([[1.5, 0.5],
           [0.5, 1.5]])
    """
    rho = check_nonnegative(rho, name="rho")
    S = _hermitian(similarity, name="similarity")
    S += rho
    return S


def nearest_psd(M: ArrayLike, *, unit_diagonal: bool = False) -> Array:
    r"""Nearest positive semidefinite matrix, or nearest correlation matrix.

    .. math::  \operatorname*{arg\,min}_{A \succeq 0} \lVert A - M \rVert_F,
               \qquad \text{with } A_{ii} = 1 \text{ if } \texttt{unit\_diagonal}.

    Use it for a matrix of similarities that is not quite positive semidefinite, for example from human judgements, from
    an edit distance, or after missing values were filled in. All other functions refuse such a matrix.

    Parameters
    ----------
    M : array_like of shape (n, n)
        Any finite matrix. Only its Hermitian part is used, which is the symmetric part of a real matrix.
    unit_diagonal : bool
        Whether the diagonal must be one, as for the matrix S of :func:`quality_diversity`.

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
    adjoint = given.conj().T
    # The Hermitian part in a new array; the matrix itself, bit for bit, if it is Hermitian.
    A: Array = given.copy() if np.array_equal(given, adjoint) else 0.5 * given + 0.5 * adjoint
    A = drop_zero_imaginary_part(A)
    if len(A) == 0:
        return A
    return _nearest_correlation(A) if unit_diagonal else _clip_spectrum(A)


def _hermitian(a: Any, *, name: str) -> Array:
    return as_hermitian(plain_array(a, name=name), name=name)


def _clip_spectrum(A: Array) -> Array:
    """Projection of a Hermitian matrix onto the positive semidefinite ones."""
    from scipy.linalg import eigh

    lam, V = eigh(A, check_finite=False)
    if lam[0] >= -len(A) * EPS * np.abs(lam).max():
        return A
    # As a Gram matrix the result is positive semidefinite even with rounding errors in V.
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
