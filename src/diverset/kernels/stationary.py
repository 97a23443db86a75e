"""Similarities that fall with the distance of two items: the rbf and Matérn kernels, and the length scale that fits."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError
from diverset.kernels._arrays import (
    as_double,
    as_features,
    as_matrix,
    as_pair_of_features,
    check_kernel_fits,
    mirror,
    refuse_overflow,
)
from diverset.numerics.linalg import row_norms_squared
from diverset.numerics.validation import as_generator, as_number, check_count, check_finite, check_positive

__all__ = ["matern", "median_heuristic", "pairwise_distances", "rbf"]

_MAX_PAIRS = 100_000
_LARGEST_NU = 100.0


def rbf(X: ArrayLike, Y: ArrayLike | None = None, *, length_scale: float | Literal["median"] = "median") -> FloatArray:
    r"""Gaussian (radial basis function) kernel.

    .. math::  k(x, y) = \exp\!\left(-\frac{\lVert x - y \rVert^2}{2 \ell^2}\right).

    The usual choice when a distance between items makes sense. Distinct rows give full rank.

    Parameters
    ----------
    X : array_like of shape (n, d)
        One item per row.
    Y : array_like of shape (m, d), optional
        Items to compare with; ``X`` itself if left out.
    length_scale : float or "median"
        The length :math:`\ell > 0`. ``"median"`` takes :func:`median_heuristic` of ``X``, also when
        ``Y`` is given, so that ``rbf(X)`` and ``rbf(X, Y)`` belong together.

    Returns
    -------
    S : ndarray of shape (n, n) or (n, m)
        Entries in [0, 1], exactly 1 where two rows are identical. Exactly symmetric without ``Y``.

    Notes
    -----
    O(nmd) time, O(nm) memory. Distances are accurate to about 1e-13 of their size, however far the data lie from the
    origin. If all rows of ``X`` are identical, every length scale gives the matrix of ones, and so does ``"median"``.

    Examples
    --------
    >>> rbf([[0.0], [1.0], [3.0]], length_scale=1.0).round(4)
    array([[1.    , 0.6065, 0.0111],
           [0.6065, 1.    , 0.1353],
           [0.0111, 0.1353, 1.    ]])
    """
    R = _scaled_distances(X, Y, length_scale)
    with np.errstate(over="ignore", under="ignore"):
        np.multiply(R, R, out=R)
        R *= -0.5
        np.exp(R, out=R)
    return mirror(R) if Y is None else R


def matern(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    nu: float = 1.5,
    length_scale: float | Literal["median"] = "median",
) -> FloatArray:
    r"""Matérn kernel, from rough (small ``nu``) to smooth (``nu = inf``, the rbf kernel).

    .. math::  k(x, y) = \frac{2^{1 - \nu}}{\Gamma(\nu)}\, z^\nu K_\nu(z),
               \qquad z = \sqrt{2 \nu}\, \lVert x - y \rVert / \ell,

    with :math:`K_\nu` the modified Bessel function of the second kind. Closed forms:
    :math:`e^{-z}` for :math:`\nu = 1/2`, :math:`(1 + z) e^{-z}` for 3/2,
    :math:`(1 + z + z^2/3) e^{-z}` for 5/2.

    Use it when the rbf kernel makes near items too alike: with a small ``nu`` their rows are less nearly
    dependent, and the kernel better conditioned.

    Parameters
    ----------
    X, Y, length_scale
        As in :func:`rbf`.
    nu : float
        Smoothness, in (0, 100] or ``inf``. At 100 the kernel is within 0.0025 of the rbf kernel.

    Returns
    -------
    S : ndarray of shape (n, n) or (n, m)
        As from :func:`rbf`. A ``nu`` without a closed form costs a Bessel function per entry, some hundred times an
        exponential, and is accurate to about 1e-13.

    Examples
    --------
    >>> matern([[0.0], [1.0], [3.0]], nu=0.5, length_scale=1.0).round(4)
    array([[1.    , 0.3679, 0.0498],
           [0.3679, 1.    , 0.1353],
           [0.0498, 0.1353, 1.    ]])
    """
    nu = as_number(nu, name="nu")
    if not nu >= 1e-6:
        raise DiversetError(f"nu is {nu!r}; the smoothness must be positive (1e-6 or more), for example 1.5")
    if _LARGEST_NU < nu < math.inf:
        raise DiversetError(
            f"nu is {nu!r}; above {_LARGEST_NU:g} the Bessel function overflows and the kernel is all but "
            "the rbf kernel: use nu=inf"
        )
    if nu == math.inf:
        return rbf(X, Y, length_scale=length_scale)
    R = _scaled_distances(X, Y, length_scale)
    rows = max(1, 2**17 // max(R.shape[1], 1))
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, len(R), rows):  # by blocks, so that temporary arrays stay in the cache
            block = R[start : start + rows]
            block[...] = _matern_similarity(math.sqrt(2.0 * nu) * block, nu)
    return mirror(R) if Y is None else R


def median_heuristic(X: ArrayLike, *, max_pairs: int = _MAX_PAIRS, rng: RNGLike = None) -> float:
    r"""Median distance between two items, a length scale that fits the data.

    .. math::  \ell = \operatorname{median} \{\, \lVert x_i - x_j \rVert : i < j \,\}.

    At this length the median off-diagonal entry of :func:`rbf` is :math:`e^{-1/2} \approx 0.61`: the
    kernel is neither close to the identity (nothing repels) nor to all ones (everything does).

    Parameters
    ----------
    X : array_like of shape (n, d)
        One item per row, at least two of them different.
    max_pairs : int
        With up to this many pairs the median is exact; otherwise it is the median of this many random pairs. The
        default is exact up to 447 items.
    rng : numpy.random.Generator, int or None
        Chooses the random pairs. ``None`` means the same pairs on every call: a kernel is a function of
        the data, and calling :func:`rbf` twice must not give two kernels.

    Returns
    -------
    length_scale : float
        Positive. If half of the distances or more are 0, because of many duplicates, the median of the
        others.

    Notes
    -----
    O(min(n^2, max_pairs) d) time. Only the rows of the chosen pairs are read, so X may be a large memory map. With
    100,000 random pairs the result is a quantile of all distances between 0.495 and 0.505 with probability 0.998.

    Examples
    --------
    >>> median_heuristic([[0.0], [1.0], [3.0]])
    2.0
    """
    max_pairs = check_count(max_pairs, name="max_pairs")
    A = as_matrix(X, name="X")
    n = len(A)
    if n < 2:
        raise KernelError(f"X has {n} rows; a median distance needs at least 2, so pass length_scale as a number")
    pairs = _median_pairs(n, max_pairs, rng)
    if n * (n - 1) // 2 <= max_pairs:
        check_kernel_fits(n, n)
        distances = pairwise_distances(as_features(A, name="X"))[pairs]
    else:
        distances = _pair_distances(A, A, *pairs)
    if not distances.any():
        # Nearly all rows are copies of one another. If any row differs, some row differs from the first.
        rows = np.arange(n)
        distances = _pair_distances(A, A, np.zeros_like(rows), rows)
    return _median(distances)


def _matern_similarity(z: FloatArray, nu: float) -> FloatArray:
    # Every form below has underflowed well before this, and an infinite z would give inf * 0.
    z = np.minimum(z, 2000.0)
    if nu == 0.5:
        return np.exp(-z)
    if nu == 1.5:
        return (1.0 + z) * np.exp(-z)
    if nu == 2.5:
        return (1.0 + z + z * z / 3.0) * np.exp(-z)
    return _matern_bessel(z, nu)


def _matern_bessel(z: FloatArray, nu: float) -> FloatArray:
    """Matérn similarity for any nu, in logarithms: z^nu and K_nu(z) overflow long before their product."""
    from scipy import special

    S = np.ones_like(z)
    positive = z > 0.0
    x = np.maximum(z[positive], 1e-300)
    log_bessel = np.log(special.kve(nu, x)) - x
    log_s = (1.0 - nu) * math.log(2.0) - special.gammaln(nu) + nu * np.log(x) + log_bessel
    values = np.minimum(np.exp(log_s), 1.0)
    # Near z = 0 the Bessel function overflows and the logarithms are large. There a series in z^2 / 4 is
    # exact to rounding in three terms; for nu <= 5, where its later terms mix with powers z^(2 nu), in one.
    if nu > 5.0:
        near = np.isinf(log_bessel) | (x * x < 4e-4 * (nu - 4.0))
        t = x[near] ** 2 / 4.0
        values[near] = 1.0 - t / (nu - 1.0) * (1.0 - t / (2.0 * (nu - 2.0)) * (1.0 - t / (3.0 * (nu - 3.0))))
    else:
        values[np.isinf(log_bessel) | (x < 10.0 ** (-10.0 / min(nu, 1.0)))] = 1.0
    S[positive] = values
    return S


def _scaled_distances(X: ArrayLike, Y: ArrayLike | None, length_scale: float | str) -> FloatArray:
    """Distances in units of the length scale (a number or "median"), in a fresh array."""
    if isinstance(length_scale, str) and length_scale != "median":
        raise DiversetError(f'length_scale is {length_scale!r}; it must be a positive number or "median"')
    length = None if isinstance(length_scale, str) else check_positive(length_scale, name="length_scale")
    A, B = as_pair_of_features(X, Y)
    check_kernel_fits(len(A), len(A if B is None else B))
    if length is None and B is not None:
        length = median_heuristic(A)
    D = pairwise_distances(A, B)
    if length is None:
        if not D.any():
            return D
        distances = D[_median_pairs(len(D), _MAX_PAIRS, None)]
        length = _median(distances if distances.any() else D[0])
    with np.errstate(over="ignore", under="ignore"):
        D /= length
    return D


def pairwise_distances(A: FloatArray, B: FloatArray | None = None) -> FloatArray:
    """Euclidean distances between rows; exactly 0 for identical rows, and symmetric without B.

    Far pairs come from one matrix product, with the data scaled so that nothing overflows and centred so
    that little cancels. For near pairs the product would cancel; they are redone from differences.
    """
    Z = A if B is None else B
    D = np.zeros((len(A), len(Z)))
    if D.size == 0 or A.shape[1] == 0:
        return D
    largest = max(A.max(), -A.min(), Z.max(), -Z.min())
    scale = math.ldexp(1.0, min(math.frexp(largest)[1], 1023)) if largest > 0.0 else 1.0
    P = A / scale
    centre = P.mean(axis=0)
    P -= centre
    Q = P if B is None else B / scale - centre
    p, q = row_norms_squared(P), row_norms_squared(Q)
    rows = max(1, 2**21 // len(Z))
    for start in range(0, len(A), rows):
        block = slice(start, start + rows)
        first = start if B is None else 0
        size = p[block, np.newaxis] + q[first:]
        squared = size - 2.0 * (P[block] @ Q[first:].T)
        near = squared <= 0.01 * size + 1e-200
        squared[near] = 0.0
        with np.errstate(over="ignore"):
            D[block, first:] = np.sqrt(squared) * scale
        i, j = np.nonzero(near)
        i, j = i + start, j + first
        if B is None:
            i, j = i[i < j], j[i < j]
        D[i, j] = _pair_distances(A, Z, i, j)
    if scale > 1e300:
        refuse_overflow(D, "the distance", "divide the features by a constant")
    return mirror(D) if B is None else D


def _pair_distances(A: Array, B: Array, i: IntArray, j: IntArray) -> FloatArray:
    """Distances between rows i of A and rows j of B, from differences, a cacheful at a time."""
    result = np.empty(len(i))
    step = max(1, 2**15 // max(A.shape[1], 1))
    for start in range(0, len(i), step):
        block = slice(start, start + step)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            left = as_double(A[i[block]])
            left -= B[j[block]]
            squared = row_norms_squared(left)
            out = np.sqrt(squared)
            # Squares that overflow or underflow: take out the largest difference first.
            redo = ~((squared > 1e-200) & (squared < 1e300))
            if redo.any():
                left = left[redo]
                largest = np.abs(left).max(axis=1, initial=0.0)
                left /= np.where(largest > 0.0, largest, 1.0)[:, np.newaxis]
                out[redo] = largest * np.sqrt(row_norms_squared(left))
        bad = ~np.isfinite(out)
        if bad.any():
            at = start + int(np.argmax(bad))
            check_finite(as_double(A[i[at]]), name=f"X[{i[at]}]")
            check_finite(as_double(B[j[at]]), name=f"X[{j[at]}]")
            raise KernelError(
                f"the distance of items {i[at]} and {j[at]} is beyond the float64 range; "
                "divide the features by a constant"
            )
        result[block] = out
    return result


def _median_pairs(n: int, max_pairs: int, rng: RNGLike) -> tuple[IntArray, IntArray]:
    """All pairs i < j if there are few, else random ones (with replacement)."""
    if n * (n - 1) // 2 <= max_pairs:
        return np.triu_indices(n, 1)
    generator = as_generator(0 if rng is None else rng)
    i = generator.integers(n, size=max_pairs)
    return i, (i + generator.integers(1, n, size=max_pairs)) % n


def _median(distances: FloatArray) -> float:
    """Median, or that of the nonzero distances if it is 0."""
    # The median of an even number is a mean of two, whose sum must not overflow.
    unit = 4.0 if distances.max() > 1e307 else 1.0
    for some in (distances, distances[distances > 0.0]):
        median = unit * float(np.median(some / unit)) if some.size else 0.0
        if median > 0.0:
            return median
    raise KernelError("all rows of X are identical, so their median distance is 0; pass length_scale as a number")
