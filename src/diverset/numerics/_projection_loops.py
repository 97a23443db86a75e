"""Compiled projection of lists of features by random signs; releases the interpreter's lock."""

from __future__ import annotations

import numpy as np
from numba import njit

from diverset._typing import Array

__all__ = ["add_rows"]


@njit(nogil=True, cache=True)
def add_rows(indptr: Array, indices: Array, table: Array, total: Array, start: int, stop: int) -> None:
    """Rows `start` to `stop` of `total`: sums of the rows of `table` that a sparse row names.

    Entries are words of 64 bits, each of which may hold several counters side by side. Four rows at a time, so that
    their loads, which miss the nearest cache, overlap.
    """
    width = table.shape[1]
    counters = np.empty(width, dtype=table.dtype)
    for row in range(start, stop):
        counters[:] = 0
        p, end = indptr[row], indptr[row + 1]
        while p + 4 <= end:
            i, j, k, h = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
            for m in range(width):
                counters[m] += (table[i, m] + table[j, m]) + (table[k, m] + table[h, m])
            p += 4
        while p < end:
            i = indices[p]
            for m in range(width):
                counters[m] += table[i, m]
            p += 1
        for m in range(width):
            total[row, m] = counters[m]
