"""Dense linear algebra that tolerates rounding errors only; without reference to DPPs.

Kernels here are Hermitian (real symmetric or complex), so every transpose is a conjugate one. The
Cholesky factor is always the lower one, :math:`A = R R^*`, held in C order.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.numerics.rounding import EPS, zero_pivot

__all__ = [
    "BLOCK",
    "EPS",
    "add_to_diagonal",
    "block_length",
    "cholesky_lower",
    "gram",
    "grams",
    "hermitian_inverse",
    "inverse_diagonal",
    "is_positive_definite",
    "lifted_inverse_diagonal",
    "log_det_from_cholesky",
    "log_det_gram",
    "log_det_psd",
    "log_dets",
    "null_basis",
    "orthonormal_columns",
    "positions_outside",
    "product",
    "routine",
    "row_norms_squared",
    "share_rows",
    "solve_lower",
    "squared_modulus",
    "tall_qr",
]

#: Pivot at which LAPACK stops a Cholesky factorisation with complete pivoting; larger ones are checked here.
_TINY = 1e-290

#: Pivots below this multiple of the rounding limit are doubtful.
_DOUBTFUL = 256.0

#: Tolerated departure from orthonormal columns.
_ORTHONORMAL = 1e-12

#: Rows of one block of a tall QR factorisation.
_QR_ROWS = 512

#: Up to this order definiteness is checked by NumPy's Cholesky factorisation.
NUMPY_CHOLESKY = 2048


#: Matrices worked on together: they fit into the processor's cache.
BLOCK = 512
#: Pivots of a matrix with unit diagonal below this are left to a more careful method.
_SAFE = 1e-4

#: Multiplications or additions below which a second thread costs more than it saves.
_PARALLEL_WORK = 1 << 24


def routine(name: str, a: Array) -> Any:
    """LAPACK's routine of this name for the dtype of `a`: ``"potrf"`` is dpotrf or zpotrf."""
    from scipy.linalg import lapack

    return getattr(lapack, ("z" if np.iscomplexobj(a) else "d") + name)


def add_to_diagonal(a: Array, value: float | FloatArray) -> Array:
    """Add `value` to the diagonal of the square C-ordered array `a`, in place."""
    a.reshape(-1)[:: a.shape[0] + 1] += value
    return a


def cholesky_lower(a: Array, *, overwrite: bool = False) -> Array | None:
    """Lower Cholesky factor of a Hermitian matrix, or None if it is not positive definite.

    Entries above the diagonal are whatever LAPACK left there; the solvers below do not read them. LAPACK reads a
    C-ordered Hermitian array as its conjugate, whose upper factor is, read back in C order, the lower factor.
    """
    if a.shape[0] == 0:
        return a.copy()
    work = a if overwrite and a.flags.c_contiguous else np.array(a, order="C")
    factor, info = routine("potrf", work)(work.T, lower=0, clean=0, overwrite_a=1)
    return None if info != 0 else factor.T


def is_positive_definite(a: Array) -> bool:
    """Whether a Hermitian matrix has a Cholesky factorisation.

    Small matrices are checked by NumPy: many calls need no other factorisation, and need not import SciPy. Also, the
    threads of SciPy's BLAS keep spinning after a call and would slow down an eigendecomposition by NumPy that follows.
    """
    if a.shape[0] > NUMPY_CHOLESKY:
        return cholesky_lower(a) is not None
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


def product(A: Array, B: Array, *, transpose: bool = False) -> Array:
    """A @ B, or A @ B.T, by the BLAS that comes with SciPy; for C-ordered arrays.

    NumPy comes with another BLAS, and the threads of one keep spinning after each call: where products alternate with
    triangular solves in SciPy, ``@`` can be ten times slower than this.
    """
    if A.size == 0 or B.size == 0:
        return A @ (B.T if transpose else B)
    from scipy.linalg import blas

    gemm = blas.zgemm if np.iscomplexobj(A) or np.iscomplexobj(B) else blas.dgemm
    result: Array = gemm(1.0, B.T, A.T, trans_a=transpose).T
    return result


def gram(rows: FloatArray) -> FloatArray:
    """Products of the columns of C-ordered real rows, by the BLAS that comes with SciPy; half the work of `product`."""
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
    """Diagonal of :math:`(R R^*)^{-1}` from the Cholesky factor, in :math:`n^3/3` operations.

    It holds the squared column norms of :math:`R^{-1}`: sums of squares, without cancellation.
    """
    if R.shape[0] == 0:
        return np.zeros(0)
    inverse, _ = routine("trtri", R)(R.T, lower=0)
    return row_norms_squared(np.triu(inverse))


def lifted_inverse_diagonal(W: Array) -> FloatArray:
    """Diagonal of :math:`(I + W^*W)^{-1}`, each entry to relative accuracy, for W of shape (d, h).

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
    """Rows of `width` doubles that fit in `n_bytes`, so that several passes over a tall array stay in the cache."""
    return max(64, n_bytes // (8 * max(width, 1)))


def log_det_psd(a: Array, noise: FloatArray, rank: Callable[[], int] | None = None) -> float:
    """Log-determinant of a positive semidefinite matrix of shape (m, m); ``-inf`` if it is singular.

    `noise` is the absolute rounding error of each diagonal entry (``EPS`` times the diagonal for a matrix given
    exactly). An item whose pivot is rounding (:func:`~diverset.numerics.rounding.zero_pivot`) depends linearly on those
    before it. `rank` gives the rank of the matrix that `a` is a part of; it is called only if a pivot is doubtful.
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
    """Log-determinant of the Gram matrix :math:`B B^*` of rows (m, d); ``-inf`` if they are dependent.

    By a QR factorisation of the rows with pivoting, so that near-duplicates keep twice the digits that the Gram
    matrix itself would leave, and coordinates of different scales do not disturb each other ([CoxHigham1998]_).
    `noise` is the absolute rounding error of each row, as a norm; `scales` are those of the columns, if each column is
    accurate relative to its own.
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
    r"""V in C order with columns orthonormal to rounding; the span of the last j columns stays, for every j.

    Eigenvectors :math:`B\hat v_i/\sigma_i` from features err by rounding times :math:`\sigma_{\max}/\sigma_i`. Errors
    point along eigenvectors with larger eigenvalues, to their right, and are projected off.
    """
    # One product with random signs detects a departure anywhere, without an r x r matrix.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=V.shape[1])
    if np.abs(V.conj().T @ (V @ signs) - signs).max(initial=0.0) > _ORTHONORMAL:
        V = np.linalg.qr(V[:, ::-1])[0][:, ::-1]
    return np.ascontiguousarray(V)


def tall_qr(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Reduced QR factorisation of a tall matrix: one of each block of rows, then one of the stacked factors R.

    A sum over one block of rows has a smaller rounding error than one over all rows.
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


def grams(B: Array) -> Array:
    """Gram matrices of the rows of each matrix of a stack, of shape (m, k, k)."""
    # Conjugating real numbers would copy them.
    adjoint = np.swapaxes(B.conj() if np.iscomplexobj(B) else B, 1, 2)
    products: Array = B @ adjoint
    return products


def log_dets(G: Array) -> tuple[FloatArray, BoolArray]:
    """Log-determinants of a stack (m, k, k) of positive semidefinite matrices, and a mask of the reliable ones.

    They are accurate to about 1e-11 where the mask is true: no pivot, relative to its diagonal entry, is below 1e-4.

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
    """Pivots of each matrix, of shape (m, k); nan or nonpositive from the first that fails."""
    try:
        R = np.linalg.cholesky(G)
    except np.linalg.LinAlgError:
        return _eliminated(G)
    return np.asarray(np.einsum("mjj->mj", R).real ** 2, dtype=np.float64)


def _eliminated(G: Array) -> FloatArray:
    """Pivots by elimination of all matrices at once; LAPACK rejects a stack that holds a singular matrix."""
    # The matrix is the last axis, so that every operation runs over contiguous memory.
    A = np.array(np.moveaxis(G, 0, -1), order="C")  # a copy: eliminated in place
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for j in range(len(A) - 1):
            row = A[j, j + 1 :]
            A[j + 1 :, j + 1 :] -= (row.conj() / A[j, j].real)[:, None] * row
    return np.asarray(np.einsum("jjm->mj", A).real, dtype=np.float64)


def share_rows(indptr: Array, width: int, job: Callable[[int, int], None]) -> None:
    """Call ``job(start, stop)`` for blocks of sparse rows with equally many entries, in threads if that pays.

    `width` is the number of operations for each entry. The job must release Python's lock.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n_jobs = min(cores, 1 + int(indptr[-1]) * width // _PARALLEL_WORK)
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_jobs + 1))
    cuts[0], cuts[-1] = 0, len(indptr) - 1
    if n_jobs == 1:
        job(int(cuts[0]), int(cuts[1]))
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(job, cuts[:-1].tolist(), cuts[1:].tolist()))
