"""Distances between items, accurate wherever the data lie, and the length scale that fits them."""

from __future__ import annotations

import math

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

__all__ = ["median_heuristic", "pairwise_distances", "scaled_distances"]

_MAX_PAIRS = 100_000


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
        With up to this many pairs the median is exact; otherwise it is that of so many random pairs.
        The default is exact up to 447 items.
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
    O(min(n^2, max_pairs) d) time. Only the rows of the chosen pairs are read and checked, so a large
    memory-mapped array is fine. From 100,000 random pairs the result is a quantile of all distances
    between 0.495 and 0.505 with probability 0.998.

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


def scaled_distances(X: ArrayLike, Y: ArrayLike | None, length_scale: float | str) -> FloatArray:
    """Distances in units of the length scale (a number or "median"), in a fresh array."""
    length = None
    if not isinstance(length_scale, str):
        length = check_positive(as_number(length_scale, name="length_scale"), name="length_scale")
    elif length_scale != "median":
        raise DiversetError(f'length_scale is {length_scale!r}; it must be a positive number or "median"')
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
    median = unit * float(np.median(distances / unit))
    if median > 0.0:
        return median
    nonzero = distances[distances > 0.0]
    if nonzero.size == 0:
        raise KernelError("all rows of X are identical, so their median distance is 0; pass length_scale as a number")
    return unit * float(np.median(nonzero / unit))
