"""Compiled projection of lists of features by random signs; releases the interpreter's lock."""

from __future__ import annotations

import numpy as np
from numba import njit

from diverset._typing import Array

__all__ = ["BYTES", "count_rows"]

#: Directions that are counted at a time, a byte each: one line of the cache.
BYTES = 64
_WORDS = BYTES // 8
#: Entries after which a counter of a byte may be full; a multiple of four.
_FULL = 252


@njit(nogil=True, cache=True)
def count_rows(indptr: Array, indices: Array, table: Array, counts: Array, start: int, stop: int) -> None:
    """Rows `start` to `stop` of `counts`: sums of the rows of `table`, of `BYTES` zeros and ones, that a row names.

    Eight bytes are added at once, as words of 64 bits (`table` has `BYTES` / 8 of them in a row), and written down
    before any can overflow. Four rows at a time, so that their loads, which miss the nearest cache, overlap.
    """
    words = np.zeros(_WORDS, dtype=np.uint64)
    counters = words.view(np.uint8)
    for row in range(start, stop):
        counts[row] = 0
        p, last = indptr[row], indptr[row + 1]
        while p < last:
            end = min(p + _FULL, last)
            words[:] = 0
            while p + 4 <= end:
                # Without a sign: else each is asked whether it counts from the end.
                i, j = np.uint32(indices[p]), np.uint32(indices[p + 1])
                k, h = np.uint32(indices[p + 2]), np.uint32(indices[p + 3])
                for m in range(_WORDS):
                    words[m] += (table[i, m] + table[j, m]) + (table[k, m] + table[h, m])
                p += 4
            while p < end:
                i = np.uint32(indices[p])
                for m in range(_WORDS):
                    words[m] += table[i, m]
                p += 1
            for m in range(counts.shape[1]):
                counts[row, m] += counters[m]
