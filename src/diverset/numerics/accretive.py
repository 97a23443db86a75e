r"""Resolvents, determinants and size laws of square matrices that need not be symmetric.

A matrix is *accretive* if its symmetric part is positive semidefinite. Then a vector that it maps to zero is mapped to
zero by its transpose as well, and :math:`\lVert (I + L)^{-1} \rVert \le 1`. For such L, :func:`resolvent` computes

.. math::  K = L(I + L)^{-1}, \qquad \bar K = (I + L)^{-1}

at any scale. Up to a norm of about 1e3, one LU factorisation of :math:`I + L` gives both. Beyond, the identity is lost
next to L, and rounding turns the null space of L into small eigenvalues. There L is scaled to
:math:`N = D^{-1}LD^{-1}` with rows and columns of unit size (:func:`balanced`), the rank r of N is decided from its
singular values, and :math:`L = Z \Lambda Z^T` with r rows of Z the identity. Then

.. math::  K = Z (\Lambda^{-1} + Z^T Z)^{-1} Z^T,

where nothing is lost: :math:`\Lambda^{-1}` is small and :math:`Z^TZ` is well conditioned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from diverset._typing import Array, FloatArray
from diverset.numerics.linalg import EPS, add_to_diagonal

__all__ = [
    "Resolvent",
    "balanced",
    "congruence",
    "equilibrated",
    "log_det_and_pivot",
    "log_det_general",
    "range_factor",
    "resolvent",
    "rounding_of",
    "size_law",
]

#: Error of K that adding the identity to a large kernel may cause before another route is taken.
_PLAIN_ERROR = 1e-12

#: Weight of no scaling in the least squares for scales.
_RIDGE = 1e-3

#: Values of one block of the size law's elimination.
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Resolvent:
    r""":math:`K = L(I+L)^{-1}`, :math:`\bar K = (I+L)^{-1}`, :math:`\log\det(I+L)` and the rank of L, if computed."""

    K: FloatArray
    Kc: FloatArray
    log_det: float
    rank: int | None


def equilibrated(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scaling d and :math:`N_{ij} = a_{ij} / (d_i d_j)` whose rows and columns have largest entries near 1.

    One scale for rows and columns keeps symmetric parts positive semidefinite ([Ruiz2001]_). Scales are powers of two,
    so that scaling causes no rounding errors and a skew-symmetric matrix stays so. Rows of zeros get scale 1.
    """
    d = np.ones(len(a))
    # Two steps, since products of scales may leave the range of floats.
    size = np.abs(a)
    size = np.maximum(size, size.T)
    for _ in range(64):
        largest = (size / d[:, None] / d).max(axis=1, initial=0.0)
        largest[largest == 0.0] = 1.0
        if (np.abs(np.log2(largest)) <= 2.0).all():
            break
        d *= np.sqrt(largest)
    d = _power_of_two(d)
    return a / d[:, None] / d, d


def _power_of_two(d: FloatArray) -> FloatArray:
    """The nearest powers of two, on a logarithmic scale."""
    nearest: FloatArray = np.exp2(np.rint(np.log2(d)))
    return nearest


def rounding_of(n: int) -> float:
    """Relative error allowed to the entries of a matrix of order n in double precision."""
    return 8.0 * max(n, 8) * EPS


def balanced(a: FloatArray, rounding: float) -> tuple[FloatArray, FloatArray]:
    r"""Scaling d and N as in :func:`equilibrated`, where d follows the scales of the items.

    If the diagonal of `a` is small, as for a skew-symmetric matrix, many scalings have rows and columns of largest
    entry 1. Among them, least squares of :math:`\log|a_{ij}| - \log d_i - \log d_j` over the entries above `rounding`
    choose one ([CurtisReid1972]_). If :math:`a_{ij} = q_i s_{ij} q_j` with moderate s, then d is near q.
    """
    N, d = equilibrated(a)
    size = np.maximum(np.abs(N), np.abs(N.T))
    if (np.diagonal(size) >= 1.0 / 16.0).all():
        return N, d
    counted = size > rounding
    logs = np.log(np.where(counted, size, 1.0))
    # Normal equations, with a small term that keeps d where the entries leave it open.
    normal = counted + np.diag(counted.sum(axis=1) + _RIDGE)
    e = _power_of_two(np.exp(np.linalg.solve(normal, logs.sum(axis=1))))
    N, f = equilibrated(np.where(counted, N, 0.0) / e[:, None] / e)
    return N, d * e * f


def congruence(F: FloatArray, M: FloatArray) -> FloatArray:
    """:math:`FMF^T` with exactly symmetric and skew-symmetric parts; entries that are only rounding are set to zero."""
    product = F @ ((M + M.T) / 2.0) @ F.T
    skew = F @ ((M - M.T) / 2.0) @ F.T
    terms = np.abs(F) @ np.abs(M) @ np.abs(F.T)
    found = (product + product.T) / 2.0 + (skew - skew.T) / 2.0
    return np.where(np.abs(found) > 2.0 * max(len(M), 4) * EPS * terms, found, 0.0)


def range_factor(M: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    r"""Z of full column rank and nonsingular :math:`\Lambda` with :math:`M = Z\Lambda Z^T`; None for nonsingular M.

    M is accretive, so that its rows and its columns span the same space.
    """
    N, d = balanced(M, rounding_of(len(M)))
    U, sigma, _ = np.linalg.svd(N)
    rank = int(np.count_nonzero(sigma > rounding_of(len(M)) * sigma.max(initial=0.0)))
    return None if rank == len(M) else (d[:, None] * U[:, :rank], congruence(U[:, :rank].T, N))


def log_det_general(a: FloatArray, width: int = 0) -> float:
    """Log-determinant; ``-inf`` if it is zero or negative, up to rounding.

    `width` is the number of terms in the sums that the entries of `a` were computed from.
    """
    return log_det_and_pivot(a, width)[0]


def log_det_and_pivot(a: FloatArray, width: int = 0) -> tuple[float, float]:
    """Log-determinant as in :func:`log_det_general`, and the smallest pivot after scaling."""
    m = len(a)
    if m == 0:
        return 0.0, 1.0
    # Rows, then columns, of largest entry 1: scale never decides whether they are dependent.
    rows = np.abs(a).max(axis=1)
    if not rows.all():
        return -math.inf, 0.0
    scaled = a / rows[:, None]
    columns = np.abs(scaled).max(axis=0)
    if not columns.all():
        return -math.inf, 0.0
    factor, swaps, _ = scipy.linalg.lapack.dgetrf(scaled / columns)
    pivots = np.diagonal(factor)
    smallest = float(np.abs(pivots).min())
    odd = np.count_nonzero(swaps != np.arange(m)) + np.count_nonzero(pivots < 0.0)
    if odd % 2 or not smallest > 8.0 * max(m, width) * EPS:
        return -math.inf, smallest
    return float(np.log(np.abs(pivots)).sum() + np.log(rows).sum() + np.log(columns).sum()), smallest


def _log_abs_det(a: FloatArray) -> float:
    """Log of the modulus of a determinant."""
    return float(np.linalg.slogdet(a)[1])


def resolvent(L: FloatArray, *, accretive: bool = True, rounding: float | None = None) -> Resolvent:
    """The two kernels of :math:`I + L`; see the module's description.

    Without `accretive`, only one LU factorisation is used, whose errors grow with the condition number of :math:`I +
    L`. `rounding` is the relative error of the entries of L, which decides the rank. :math:`O(n^3)`; errors are of the
    order of rounding units times the condition number of the scaled kernel on its range.
    """
    n = len(L)
    rounding = rounding_of(n) if rounding is None else rounding
    largest = float(np.abs(L).max(initial=0.0))
    if not accretive or largest * max(EPS * rounding / rounding_of(n), EPS) <= _PLAIN_ERROR:
        return _plain(L)
    N, d = balanced(L, rounding)
    U, sigma, _ = np.linalg.svd(N)
    rank = int(np.count_nonzero(sigma > rounding * sigma[0]))
    return _full(N, d) if rank == n else _deficient(N, d, U[:, :rank])


def _plain(L: FloatArray) -> Resolvent:
    """From one LU factorisation of I + L."""
    n = len(L)
    if n == 0:
        return Resolvent(np.zeros((0, 0)), np.zeros((0, 0)), 0.0, None)
    lifted = add_to_diagonal(np.array(L, order="C"), 1.0)
    # (I + L)^-1 L, not I - (I + L)^-1: entries of a small L keep their digits.
    both = np.linalg.solve(lifted, np.hstack([L, np.eye(n)]))
    return Resolvent(np.ascontiguousarray(both[:, :n]), np.ascontiguousarray(both[:, n:]), _log_abs_det(lifted), None)


def _accretive_inverse(C: FloatArray) -> tuple[FloatArray, float]:
    """Inverse of a nonsingular accretive matrix, and the log of the modulus of its determinant.

    With the symmetric part :math:`H = GG^T`, that of the inverse is :math:`(C^{-1}G)(C^{-1}G)^T`. The entries of small
    items, which scaling back multiplies by large numbers, are then sums of squares, and zero if C is skew-symmetric.
    """
    n = len(C)
    values, vectors = np.linalg.eigh((C + C.T) / 2.0)
    kept = values > rounding_of(n) * values[-1]
    both = np.linalg.solve(C, np.hstack([np.eye(n), vectors[:, kept] * np.sqrt(values[kept])]))
    P, X = both[:, :n], both[:, n:]
    return (P - P.T) / 2.0 + X @ X.T, _log_abs_det(C)


def _full(N: FloatArray, d: FloatArray) -> Resolvent:
    r"""Nonsingular :math:`L = DND`: :math:`K = (I+P)^{-1}` and :math:`\bar K = P(I+P)^{-1}` with :math:`P = L^{-1}`."""
    n = len(N)
    P, log_det_N = _accretive_inverse(N)
    P = P / d[:, None] / d
    W, e = equilibrated(add_to_diagonal(np.array(P, order="C"), 1.0))
    K = np.linalg.solve(W, np.diag(1.0 / e)) / e[:, None]
    Kc = P @ K
    log_det = log_det_N + 2.0 * float(np.log(d).sum() + np.log(e).sum()) + _log_abs_det(W)
    return Resolvent(np.ascontiguousarray(K), np.ascontiguousarray(Kc), log_det, n)


def _deficient(N: FloatArray, d: FloatArray, U: FloatArray) -> Resolvent:
    r"""Singular :math:`L = DND` whose scaled matrix has range U."""
    n, rank = U.shape
    if rank == 0:
        return Resolvent(np.zeros((n, n)), np.eye(n), 0.0, 0)
    # Rows in which the others can be written with small coefficients, so that Z is well conditioned.
    rows = scipy.linalg.qr((U * d[:, None]).T, mode="r", pivoting=True, check_finite=False)[1][:rank]
    Y = np.linalg.solve(U[rows].T, U.T).T
    Z = Y * d[:, None] / d[rows]
    Z[rows] = np.eye(rank)
    P, log_det_N = _accretive_inverse(N[np.ix_(rows, rows)])
    P = P / d[rows, None] / d[rows]
    W, e = equilibrated(np.ascontiguousarray(P + Z.T @ Z))
    K = (Z / e) @ np.linalg.solve(W, (Z / e).T)
    Kc = add_to_diagonal(np.ascontiguousarray(-K), 1.0)
    log_det = log_det_N + 2.0 * float(np.log(d[rows]).sum() + np.log(e).sum()) + _log_abs_det(W)
    return Resolvent(np.ascontiguousarray(K), Kc, log_det, rank)


def size_law(K: FloatArray) -> FloatArray:
    r"""Coefficients of :math:`\det(I + (z-1)K)` in powers of z, 0 to n: the law of the size of a DPP.

    Determinants at the :math:`n+1` roots of unity, then a Fourier transform. An orthogonal similarity makes K upper
    Hessenberg once, so that each determinant is an elimination of :math:`O(n^2)` with row swaps: :math:`O(n^3)` in all.
    No eigenvalue is computed: those of a K far from normal may be wrong by :math:`\epsilon^{1/n}`, while the
    determinants err by a few rounding units.
    """
    n = len(K)
    if n == 0:
        return np.ones(1)
    H = np.asarray(scipy.linalg.hessenberg(K, check_finite=False), dtype=np.float64)
    # Real coefficients: the other half of the circle is the conjugate of this one.
    angles = -2.0 * np.pi * np.arange(n // 2 + 1 + n % 2) / (n + 1)
    step = 2j * np.sin(angles / 2.0) * np.exp(0.5j * angles)  # z - 1, without cancellation
    values = np.empty(len(step), dtype=np.complex128)
    width = max(_BLOCK // (16 * n), 1)
    for first in range(0, len(step), width):
        values[first : first + width] = _hessenberg_dets(H, step[first : first + width])
    pmf = np.maximum(np.fft.irfft(values, n + 1), 0.0)
    law: FloatArray = pmf / pmf.sum()
    return law


def _hessenberg_dets(H: FloatArray, step: Array) -> Array:
    """Determinants of I + s H for an upper Hessenberg H and several numbers s."""
    n, s = len(H), step[:, None]
    log_size = np.zeros(len(step))
    phase = np.ones(len(step), dtype=np.complex128)

    def divide_out(pivot: Array) -> None:
        nonlocal phase
        size = np.abs(pivot)
        with np.errstate(divide="ignore"):
            log_size[:] += np.log(size)
        phase = phase * np.where(size > 0.0, pivot, 1.0) / np.where(size > 0.0, size, 1.0)

    current = s * H[0]
    current[:, 0] += 1.0
    for j in range(n - 1):
        below = s * H[j + 1, j:]
        below[:, 1] += 1.0
        # Only two rows have an entry in this column; the larger is the pivot.
        swap = np.abs(below[:, 0]) > np.abs(current[:, 0])
        if swap.any():
            held = current[swap]
            current[swap] = below[swap]
            below[swap] = held
            phase[swap] *= -1.0
        divide_out(current[:, 0])
        pivot = np.where(current[:, 0] == 0.0, 1.0, current[:, 0])
        current = below[:, 1:] - (below[:, 0] / pivot)[:, None] * current[:, 1:]
    divide_out(current[:, 0])
    dets: Array = np.exp(log_size) * phase
    return dets
