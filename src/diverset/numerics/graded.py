r"""Factorisations that keep small eigenvalues when the scales of a kernel differ by many orders of magnitude.

``eigh`` and a Gram matrix err by a rounding unit of the *largest* eigenvalue. Where items have qualities of different
orders of magnitude, :math:`L = DSD`, this swamps the small eigenvalues, although each is determined by the input to
relative accuracy. The routes here err by a rounding unit of each item instead ([DemmelVeselic1992]_):

* from a matrix, a Cholesky factorisation with complete pivoting in units of each item's rounding error gives item rows
  and the rank;
* from item rows, a QR factorisation with sorted rows and pivoted columns ([CoxHigham1998]_) and a one-sided Jacobi
  singular value decomposition ([DrmacVeselic2008]_; LAPACK's ``gejsv`` for real rows).
"""

from __future__ import annotations

import numpy as np

from diverset._typing import Array, FloatArray
from diverset.numerics.linalg import routine, row_norms_squared
from diverset.numerics.rounding import EPS, zero_pivot, zero_singular_value

__all__ = [
    "eigh_graded",
    "graded_qr",
    "graded_right_vectors",
    "graded_rotation",
    "graded_svd",
    "is_graded",
    "pivoted_rows",
    "row_space",
    "without_rounding",
]

#: Ratio of diagonal entries from which eigenvalues are computed to relative accuracy.
_GRADED = 1e4

#: Sweeps of the Jacobi method after which it has failed; with a preconditioned matrix, it needs fewer than ten.
_MAX_SWEEPS = 60


def is_graded(diagonal: FloatArray) -> bool:
    """Whether the positive diagonal entries differ so much that `eigh` would lose the small eigenvalues."""
    positive = diagonal[diagonal > 0.0]
    return len(positive) > 1 and float(positive.max()) > _GRADED * float(positive.min())


def pivoted_rows(a: Array, noise: FloatArray) -> Array:
    """Rows B of shape (n, rank) with :math:`A = BB^*` up to rounding, each as accurate as its own item.

    By a Cholesky factorisation with complete pivoting in units of the `noise` of the diagonal entries, :math:`O(n^2
    r)`. It stops when every remaining pivot is rounding (:func:`~diverset.numerics.rounding.zero_pivot`).
    """
    n = len(a)
    unit = np.sqrt(np.where(noise > 0.0, noise, 1.0))
    scaled = a / unit[:, None] / unit
    # An item without noise is exactly zero.
    scaled[noise <= 0.0] = 0.0
    scaled[:, noise <= 0.0] = 0.0
    if n == 0 or not np.diagonal(scaled).real.max() > zero_pivot(n):
        return np.zeros((n, 0), dtype=a.dtype)
    factor, pivots, rank, _ = routine("pstrf", a)(scaled, lower=1, tol=zero_pivot(n))
    rows = np.empty((n, rank), dtype=a.dtype)
    rows[pivots - 1] = np.tril(factor)[:, :rank]
    rows *= unit[:, None]
    return rows


def without_rounding(rows: Array, noise: FloatArray) -> tuple[Array, FloatArray]:
    """Rows and noise, with rows of rounding errors only set to zero."""
    gone = np.sqrt(row_norms_squared(rows)) <= 2.0 * zero_pivot(2) * noise
    return np.where(gone[:, None], 0.0, rows), noise


def row_space(rows: Array, noise: FloatArray) -> Array:
    """Orthonormal columns (d, rank) that span the row space of `rows`, each row weighted by its own noise."""
    scaled = rows[noise > 0.0] / noise[noise > 0.0, None]
    if scaled.size == 0:
        return np.zeros((rows.shape[1], 0), dtype=rows.dtype)
    _, sigma, Wh = np.linalg.svd(scaled, full_matrices=False)
    kept = sigma > max(zero_singular_value(np.ones(len(scaled))), EPS * max(scaled.shape) * float(sigma[0]))
    return np.ascontiguousarray(Wh[kept].conj().T)


def _jacobi(X: Array) -> tuple[FloatArray, Array, Array]:
    r"""SVD of a square matrix by one-sided Jacobi rotations of disjoint pairs at a time.

    Returns `sigma`, U and J with :math:`X J = U \Sigma`.
    """
    n = X.shape[1]
    X = np.array(X)
    J = np.eye(n, dtype=X.dtype)
    players = np.arange(n + n % 2)
    half = len(players) // 2
    for _ in range(_MAX_SWEEPS):
        rotated = False
        for _ in range(len(players) - 1):
            p, q = players[:half], players[: half - 1 : -1]
            real = (p < n) & (q < n)
            p, q = p[real], q[real]
            players = np.concatenate([players[:1], players[-1:], players[1:-1]])
            x, y = X[:, p], X[:, q]
            a, b = row_norms_squared(x.T), row_norms_squared(y.T)
            c = np.einsum("ij,ij->j", x.conj(), y)
            size = np.abs(c)
            act = size > EPS * n * np.sqrt(a) * np.sqrt(b)  # the product of squares may underflow
            if not act.any():
                continue
            rotated = True
            p, q, a, b, c, size = p[act], q[act], a[act], b[act], c[act], size[act]
            zeta = (b - a) / (2.0 * size)
            t = np.where(zeta < 0.0, -1.0, 1.0) / (np.abs(zeta) + np.hypot(1.0, zeta))
            cosine = 1.0 / np.hypot(1.0, t)
            sine, phase = cosine * t, c / size
            for M in (X, J):
                x, y = M[:, p], M[:, q] * phase.conj()
                M[:, p], M[:, q] = cosine * x - sine * y, sine * x + cosine * y
        if not rotated:
            break
    else:
        raise np.linalg.LinAlgError("the Jacobi singular value decomposition did not converge")
    sigma = np.sqrt(row_norms_squared(X.T))
    return sigma, X / np.where(sigma > 0.0, sigma, 1.0), J


def _complex_jacobi_svd(rows: Array) -> tuple[FloatArray, Array, Array]:
    """Jacobi singular value decomposition of complex rows of full column rank: sigma, U, W, in no order."""
    order = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
    packed, pivots, tau, _, _ = routine("geqp3", rows)(rows[order])
    d = rows.shape[1]
    R = np.triu(packed[:d])
    # The columns of R* are graded, and nearly orthogonal after pivoting: few sweeps.
    sigma, right, left = _jacobi(R.conj().T)
    Q, _, _ = routine("ungqr", rows)(packed, tau)
    U = np.empty_like(Q)
    U[order] = Q @ left
    W = np.empty_like(right)
    W[pivots - 1] = right
    return sigma, U, W


def _jacobi_svd(rows: Array, *, right: bool = True) -> tuple[FloatArray, Array, Array]:
    """Ascending sigma, U and W of tall rows of full column rank, accurate under row and column scaling."""
    if np.iscomplexobj(rows):
        sigma, U, W = _complex_jacobi_svd(rows)
    else:
        # joba=2: relative accuracy under row and column scaling; jobv=3: left vectors only.
        jobv = 0 if right else 3
        sigma, U, W, work, _, info = routine("gejsv", rows)(rows, joba=2, jobu=0, jobv=jobv, jobr=1, jobt=0, jobp=0)
        if info != 0:
            raise np.linalg.LinAlgError("the Jacobi singular value decomposition did not converge")
        sigma, U = sigma * (work[0] / work[1]), U[:, : rows.shape[1]]
    order = np.argsort(sigma, kind="stable")
    return sigma[order], U[:, order], W[:, order] if right else W


def graded_rotation(columns: Array) -> tuple[FloatArray, Array]:
    """Singular values, ascending, and right vectors of a tall matrix of full column rank, to relative accuracy.

    The matrix is :math:`XD` with any diagonal D and X of moderate condition.
    """
    scale = float(np.abs(columns).max())
    sigma, _, W = _jacobi_svd(columns / scale)
    return sigma * scale, W


def graded_svd(rows: Array) -> tuple[FloatArray, Array]:
    r"""Singular values, ascending, and left vectors of rows (n, r) of full column rank, to relative accuracy.

    The rows are :math:`B = DX` with any diagonal D and X of moderate condition. Entry (i, j) of V errs by a few
    rounding units times :math:`\min(1, \lVert b_i\rVert/\sigma_j)`, so that :math:`V\Sigma` has rows as accurate as
    those of B: left vectors are accurate where an item is large beside the singular value, :math:`b_i w_j/\sigma_j`
    where it is small.
    """
    if rows.shape[1] == 0:
        return np.zeros(0), rows
    scale = float(np.abs(rows).max())
    scaled = rows / scale
    sigma, U, W = _jacobi_svd(scaled)
    small = np.sqrt(row_norms_squared(scaled))[:, None] < sigma
    V = np.where(small, (scaled @ W) / np.where(sigma > 0.0, sigma, 1.0), U)
    return sigma * scale, np.ascontiguousarray(V)


def eigh_graded(a: Array, noise: FloatArray) -> tuple[FloatArray, Array]:
    """Eigenvalues, ascending, of a positive semidefinite matrix to high *relative* accuracy; zeros beyond the rank.

    The eigenvectors are those of the nonzero eigenvalues, of shape (n, rank).
    """
    rows = pivoted_rows(a, noise)
    sigma, V = graded_svd(rows)
    values = np.zeros(len(a))
    values[len(a) - len(sigma) :] = sigma**2
    return values, V


def graded_qr(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal Q of shape (n, r) and R of shape (r, m) with F = QR, r the rank of F after scaling its rows.

    :math:`O(nm^2)`, twice: once for the rank.
    """
    from scipy.linalg import qr

    n, m = rows.shape
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    sigma = np.linalg.svd(np.linalg.qr(unit, mode="r") if n > m else unit, compute_uv=False)
    rank = int(np.count_nonzero(sigma > 8.0 * max(m, 8) * EPS * sigma.max(initial=0.0)))
    if rank == 0:
        return np.zeros((n, 0)), np.zeros((0, m))
    # Columns of unit size among rows of unit size. Among the rows as they are, a column in which the largest row is
    # zero would be scaled up, and pivoting would not begin with that row.
    columns = np.abs(unit).max(axis=0, initial=0.0)
    columns[columns == 0.0] = 1.0
    order = np.argsort(-sizes, kind="stable")
    Q, R, pivots = qr((rows / columns)[order], mode="economic", pivoting=True, check_finite=False)
    back = np.empty((n, rank))
    back[order] = Q[:, :rank]
    unpivoted = np.empty((rank, m))
    unpivoted[:, pivots] = R[:rank]
    return back, unpivoted * columns


def graded_right_vectors(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Nonzero singular values, ascending, and right singular vectors as columns, to high relative accuracy.

    A one-sided Jacobi iteration on the transposed factor R, whose columns carry the scales ([DemmelVeselic1992]_).
    """
    R = graded_qr(rows)[1]
    if len(R) == 0:
        return np.zeros(0), np.zeros((rows.shape[1], 0))
    sigma, U, _ = _jacobi_svd(R.T, right=False)
    return sigma, np.ascontiguousarray(U)
