r"""Dense linear algebra that forgives rounding and nothing else; knows no DPP.

Kernels here are Hermitian (real symmetric or complex), so every transpose is a conjugate one. The
Cholesky factor is always the lower one, :math:`A = R R^*`, held in C order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.numerics.rounding import EPS, zero_pivot

__all__ = [
    "EPS",
    "add_to_diagonal",
    "block_length",
    "cholesky_lower",
    "gram",
    "hermitian_inverse",
    "inverse_diagonal",
    "is_positive_definite",
    "lifted_inverse_diagonal",
    "log_det_from_cholesky",
    "log_det_gram",
    "log_det_psd",
    "null_basis",
    "orthonormal_columns",
    "positions_outside",
    "product",
    "routine",
    "row_norms_squared",
    "solve_lower",
    "squared_modulus",
    "tall_qr",
]

#: Pivot below which LAPACK stops a Cholesky factorisation with complete pivoting; smaller ones are looked at here.
_TINY = 1e-290

#: Pivots up to so many times the limit of rounding are in doubt.
_DOUBTFUL = 256.0

#: Departure from orthonormal columns that is let pass.
_ORTHONORMAL = 1e-12

#: Rows of one block of a tall QR factorisation.
_QR_ROWS = 512

#: Up to this order definiteness is checked by NumPy's Cholesky factorisation: SciPy brings a BLAS of its own, whose
#: threads go on spinning for a while and would slow down an `eigh` that follows.
_NUMPY_CHOLESKY = 2048


def routine(name: str, a: Array) -> Any:
    """LAPACK's routine of this name for the dtype of `a`: ``"potrf"`` is dpotrf or zpotrf."""
    from scipy.linalg import lapack

    return getattr(lapack, ("z" if np.iscomplexobj(a) else "d") + name)


def add_to_diagonal(a: Array, value: float | FloatArray) -> Array:
    """Add `value` to the diagonal of the square C-ordered array `a`, in place."""
    a.reshape(-1)[:: a.shape[0] + 1] += value
    return a


def cholesky_lower(a: Array, *, overwrite: bool = False) -> Array | None:
    r"""Lower Cholesky factor of a Hermitian matrix, or None where it is not positive definite.

    Entries above the diagonal of the result are whatever LAPACK left there: the solvers below never
    read them, and zeroing them costs a pass over memory.

    Notes
    -----
    :math:`n^3/3` operations. LAPACK reads a C-ordered Hermitian array as its own conjugate, and the
    upper factor of the conjugate is, read back in C order, the lower factor wanted.
    """
    if a.shape[0] == 0:
        return a.copy()
    work = a if overwrite and a.flags.c_contiguous else np.array(a, order="C")
    factor, info = routine("potrf", work)(work.T, lower=0, clean=0, overwrite_a=1)
    return None if info != 0 else factor.T


def is_positive_definite(a: Array) -> bool:
    """Whether a Hermitian matrix has a Cholesky factorisation.

    A check is all that many calls need of a factorisation, so a small one does not wait for SciPy to be imported. Nor
    does it use SciPy where that is imported already: its BLAS threads would go on spinning for a while, and slow down
    the eigendecomposition by NumPy that often comes next.
    """
    if a.shape[0] > _NUMPY_CHOLESKY:
        return cholesky_lower(a) is not None
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


def product(A: Array, B: Array, *, transpose: bool = False) -> Array:
    """A @ B, or A @ B.T, by the BLAS that SciPy brings; for C-ordered arrays.

    NumPy brings another, and the threads of one go on spinning for a while after each call: where products alternate
    with triangular solves in SciPy, ``@`` can be ten times slower than this.
    """
    if A.size == 0 or B.size == 0:
        return A @ (B.T if transpose else B)
    from scipy.linalg import blas

    gemm = blas.zgemm if np.iscomplexobj(A) or np.iscomplexobj(B) else blas.dgemm
    result: Array = gemm(1.0, B.T, A.T, trans_a=transpose).T
    return result


def gram(rows: FloatArray) -> FloatArray:
    """Products of the columns of C-ordered real rows, by the BLAS that SciPy brings; half the work of ``product``."""
    if rows.size == 0:
        return rows.T @ rows
    from scipy.linalg import blas

    lower = np.tril(blas.dsyrk(1.0, rows.T, lower=1))
    result: FloatArray = lower + np.tril(lower, -1).T
    return result


def solve_lower(R: Array, B: Array, *, adjoint: bool = False) -> Array:
    r"""Solve :math:`R X = B`, or :math:`R^* X = B` with ``adjoint=True``, for lower triangular R."""
    if R.shape[0] == 0 or B.size == 0:
        return B.astype(np.result_type(R, B))
    from scipy.linalg import solve_triangular

    solution: Array = solve_triangular(R, B, lower=True, trans="C" if adjoint else "N", check_finite=False)
    return solution


def log_det_from_cholesky(R: Array) -> float:
    r""":math:`\log\det(R R^*)` of a Cholesky factor."""
    return 2.0 * float(np.log(np.diagonal(R).real).sum())


def hermitian_inverse(R: Array) -> Array:
    r"""Inverse of :math:`R R^*` from its Cholesky factor, exactly Hermitian; :math:`2n^3/3` operations."""
    n = R.shape[0]
    if n == 0:
        return R.copy()
    inverse, _ = routine("potri", R)(R.T, lower=0)
    lower = np.tril(inverse.T)
    full: Array = lower + np.tril(lower, -1).conj().T
    return full


def inverse_diagonal(R: Array) -> FloatArray:
    r"""Diagonal of :math:`(R R^*)^{-1}` from the Cholesky factor, in :math:`n^3/3` operations.

    The inverse is :math:`R^{-*} R^{-1}`, so its diagonal holds the squared column norms of
    :math:`R^{-1}`: a sum of squares, which never cancels.
    """
    if R.shape[0] == 0:
        return np.zeros(0)
    inverse, _ = routine("trtri", R)(R.T, lower=0)
    return row_norms_squared(np.triu(inverse))


def lifted_inverse_diagonal(W: Array) -> FloatArray:
    r"""Diagonal of :math:`(I + W^*W)^{-1}`, each entry to relative accuracy, for W of shape (d, h).

    By a QR factorisation of W above an identity, rows sorted and columns pivoted, so that no large entry hides the
    identity.
    """
    A = np.vstack([W, np.eye(W.shape[1], dtype=W.dtype)])
    A = A[np.argsort(-np.abs(A).max(axis=1), kind="stable")]
    R, order, *_ = routine("geqp3", A)(A)
    inverse, _ = routine("trtri", R)(R[: W.shape[1]], lower=0)
    diagonal = np.empty(W.shape[1])
    diagonal[order - 1] = row_norms_squared(np.triu(inverse))
    return diagonal


def row_norms_squared(a: Array) -> FloatArray:
    """Squared Euclidean norm of each row."""
    if np.iscomplexobj(a):
        return row_norms_squared(a.real) + row_norms_squared(a.imag)
    return np.asarray(np.einsum("ij,ij->i", a, a), dtype=np.float64)


def squared_modulus(a: Array) -> FloatArray:
    """Entrywise :math:`|a|^2`."""
    if np.iscomplexobj(a):
        return np.asarray(a.real**2 + a.imag**2, dtype=np.float64)
    return np.asarray(a * a, dtype=np.float64)


def block_length(width: int, n_bytes: int = 1 << 21) -> int:
    """Rows of `width` doubles that fit in `n_bytes`: passes over tall arrays stay in cache."""
    return max(64, n_bytes // (8 * max(width, 1)))


def log_det_psd(a: Array, noise: FloatArray, rank: Callable[[], int] | None = None) -> float:
    r"""Log-determinant of a positive semidefinite matrix; ``-inf`` where it is singular.

    Parameters
    ----------
    a : ndarray of shape (m, m)
        Hermitian positive semidefinite, up to rounding.
    noise : ndarray of shape (m,)
        Absolute rounding error carried by each diagonal entry (for a matrix given exactly, ``EPS``
        times its diagonal). Where a pivot of the Cholesky factorisation with complete pivoting is rounding
        (:func:`~diverset.numerics.rounding.zero_pivot`), the item depends linearly on those before it.
    rank : callable, optional
        Rank of the matrix that `a` is a part of. It is asked only where a pivot is close to rounding.
    """
    m = a.shape[0]
    if m == 0:
        return 0.0
    diagonal = np.diagonal(a).real
    if not (diagonal > zero_pivot(1) * noise).all():
        return -math.inf
    # In units of rounding: scale never decides whether rows are dependent, and the best-known item is pivoted first,
    # since an item passes its own relative error on to those after it.
    unit = np.maximum(noise, EPS * diagonal)
    root = np.sqrt(unit)
    R, order, found, _ = routine("pstrf", a)(a / root[:, None] / root, lower=1, tol=_TINY)
    if found < m:
        return -math.inf
    pivots = np.diagonal(R).real ** 2
    limit = (zero_pivot(m) * noise + m * EPS * diagonal)[order - 1] / unit[order - 1]
    if not (pivots > limit).all():
        return -math.inf
    if rank is not None and (pivots < _DOUBTFUL * limit).any() and m > rank():
        return -math.inf
    return float(np.log(pivots).sum() + np.log(unit).sum())


def log_det_gram(rows: Array, noise: FloatArray, scales: FloatArray | None = None) -> float:
    r"""Log-determinant of the Gram matrix :math:`B B^*` of a few rows; ``-inf`` where they are dependent.

    By a QR factorisation of the rows with pivoting, so that near-duplicates keep twice the digits that the Gram
    matrix itself would leave, and coordinates of different scales do not disturb each other ([CoxHigham1998]_).

    Parameters
    ----------
    rows : ndarray of shape (m, d)
        The rows B.
    noise : ndarray of shape (m,)
        Absolute rounding error of each row, as a norm.
    scales : ndarray of shape (d,), optional
        Scales of the columns, if each column is accurate relative to its own.
    """
    m, d = rows.shape
    if m == 0:
        return 0.0
    norms = np.sqrt(row_norms_squared(rows))
    if m > d or not (norms > zero_pivot(1) * noise).all():
        return -math.inf
    A = (rows / norms[:, None]).conj().T
    A = A[np.argsort(-np.abs(A).max(axis=1), kind="stable")]
    R, order, *_ = routine("geqp3", A)(A, lwork=(m + 1) * 34)
    pivots = np.abs(np.diagonal(R))
    limit = zero_pivot(m) * noise + m * EPS * norms
    limit = limit[order - 1]
    if scales is not None:
        limit = np.minimum(limit, 2.0 * m * EPS * np.sort(scales)[::-1][:m])
    if not (pivots * norms[order - 1] > limit).all():
        return -math.inf
    return 2.0 * float(np.log(pivots).sum() + np.log(norms).sum())


def null_basis(rows: Array) -> Array:
    r"""Orthonormal basis, as columns, of the vectors :math:`x` with ``rows @ x == 0``.

    The rows are taken to be independent; shape (d, d - m) for m rows of length d.
    """
    m, d = rows.shape
    if m == 0:
        return np.eye(d, dtype=rows.dtype)
    norms = np.sqrt(row_norms_squared(rows))
    Q = np.linalg.qr((rows / norms[:, None]).conj().T, mode="complete")[0]
    return np.ascontiguousarray(Q[:, m:])


def positions_outside(inside: IntArray, n: int) -> IntArray:
    """Positions of 0..n-1 that are not in `inside`, ascending."""
    keep = np.ones(n, dtype=bool)
    keep[inside] = False
    return np.flatnonzero(keep).astype(np.int64, copy=False)


def orthonormal_columns(V: Array) -> Array:
    r"""V in C order, its columns orthonormal to rounding, the span of every last few of them unchanged.

    Eigenvectors :math:`B\hat v_i/\sigma_i` from features are good to rounding times :math:`\sigma_{\max}/\sigma_i`
    only. What is wrong with them points along those with larger eigenvalues, to their right, and is projected off.
    """
    # One product with random signs sees a departure anywhere, with no r x r matrix.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=V.shape[1])
    if np.abs(V.conj().T @ (V @ signs) - signs).max(initial=0.0) > _ORTHONORMAL:
        V = np.linalg.qr(V[:, ::-1])[0][:, ::-1]
    return np.ascontiguousarray(V)


def tall_qr(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Reduced QR factorisation of a tall matrix: one of each block of rows, then one of the stacked factors R.

    Sums over all rows of one column may err by a rounding unit per row, where the BLAS adds one after another and the
    rows are alike. Here a sum runs over one block.
    """
    m, width = a.shape
    if m <= 2 * _QR_ROWS or _QR_ROWS < 2 * width:
        Q, R = np.linalg.qr(a)
        return Q, R
    blocks = -(-m // _QR_ROWS)
    padded = np.zeros((blocks * _QR_ROWS, width))
    padded[:m] = a
    outer, small = np.linalg.qr(padded.reshape(blocks, _QR_ROWS, width))
    inner, R = tall_qr(small.reshape(blocks * width, width))
    return (outer @ inner.reshape(blocks, width, width)).reshape(-1, width)[:m], R
