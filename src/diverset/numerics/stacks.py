"""Log-determinants of many small matrices at once."""

from __future__ import annotations

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray

__all__ = ["BLOCK", "grams", "log_dets"]

#: Matrices worked on together: they fit into the processor's cache.
BLOCK = 512
#: Pivots of a matrix with unit diagonal below this are left to a more careful method.
_SAFE = 1e-4


def grams(B: Array) -> Array:
    """Gram matrices of the rows of each matrix of a stack, of shape (m, k, k)."""
    # Conjugating real numbers would copy them.
    adjoint = np.swapaxes(B.conj() if np.iscomplexobj(B) else B, 1, 2)
    products: Array = B @ adjoint
    return products


def log_dets(G: Array) -> tuple[FloatArray, BoolArray]:
    r"""Log-determinants of positive semidefinite matrices, and which of them are beyond doubt.

    Parameters
    ----------
    G : ndarray of shape (m, k, k)
        Hermitian matrices.

    Returns
    -------
    log_det : ndarray of shape (m,)
        Accurate to about 1e-11 where `safe`; anything elsewhere.
    safe : ndarray of bool, of shape (m,)
        Whether no pivot, relative to its diagonal entry, is below 1e-4.

    Examples
    --------
    >>> log_det, safe = log_dets(np.array([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]]))
    >>> round(float(log_det[0]), 6), safe.tolist()
    (1.098612, [True, False])
    """
    diagonal = np.einsum("mjj->mj", G).real
    pivots = _pivots(G)
    with np.errstate(divide="ignore", invalid="ignore"):
        safe: BoolArray = np.all(pivots > _SAFE * diagonal, axis=1)
        log_det: FloatArray = np.log(pivots).sum(axis=1)
    return log_det, safe & np.isfinite(log_det)


def _pivots(G: Array) -> FloatArray:
    """Pivots of each matrix, of shape (m, k); nan or not positive from the first that fails."""
    try:
        R = np.linalg.cholesky(G)
    except np.linalg.LinAlgError:
        return _eliminated(G)
    return np.asarray(np.einsum("mjj->mj", R).real ** 2, dtype=np.float64)


def _eliminated(G: Array) -> FloatArray:
    """The same where a matrix is singular, which LAPACK refuses for the whole stack: k steps for all of them."""
    # The matrix is the last axis, so that every operation runs over contiguous memory.
    A = np.array(np.moveaxis(G, 0, -1), order="C")  # a copy: eliminated in place
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for j in range(len(A) - 1):
            row = A[j, j + 1 :]
            A[j + 1 :, j + 1 :] -= (row.conj() / A[j, j].real)[:, None] * row
    return np.asarray(np.einsum("jjm->mj", A).real, dtype=np.float64)
