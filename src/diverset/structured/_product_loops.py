"""Compiled product of a sparse matrix with a block of vectors; releases the interpreter's lock."""

from __future__ import annotations

import numpy as np
from numba import njit

from diverset._typing import Array, FloatArray

__all__ = ["multiply_rows"]


@njit(nogil=True, fastmath={"contract", "nsz"}, cache=True)
def multiply_rows(
    indptr: Array,
    indices: Array,
    data: FloatArray,
    X: FloatArray,
    left: FloatArray,
    right: FloatArray,
    Y: FloatArray,
    start: int,
    stop: int,
) -> None:
    """Rows `start` to `stop` of Y = diag(left) A diag(right) X, for A in compressed sparse rows.

    Four entries of A at a time: each pass over the accumulator, which stays in the nearest cache, then pays for four
    rows of X, and their loads, which miss it, overlap.
    """
    width = X.shape[1]
    total = np.empty(width)
    for row in range(start, stop):
        total[:] = 0.0
        p, end = indptr[row], indptr[row + 1]
        while p + 4 <= end:
            i, j, k, h = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
            a, b, c, d = data[p] * right[i], data[p + 1] * right[j], data[p + 2] * right[k], data[p + 3] * right[h]
            for m in range(width):
                total[m] += a * X[i, m] + b * X[j, m] + c * X[k, m] + d * X[h, m]
            p += 4
        while p < end:
            i = indices[p]
            a = data[p] * right[i]
            for m in range(width):
                total[m] += a * X[i, m]
            p += 1
        for m in range(width):
            Y[row, m] = left[row] * total[m]
