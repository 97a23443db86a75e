"""Projection of flat sparse features by random signs; releases the interpreter's lock.

The module is compiled by Cython and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if not cython.compiled:
    from diverset import _uncompiled

    _uncompiled.warn_once()

__all__ = ["BYTES", "count_rows"]

#: Directions that are counted at a time, a byte each: one cache line.
BYTES = 64
_WORDS = cython.declare(cython.Py_ssize_t, 8)
#: Entries after which a counter of one byte may be full; a multiple of four.
_FULL = cython.declare(cython.Py_ssize_t, 252)

index = cython.fused_type(cython.int, cython.longlong)


def count_rows(
    indptr: cython.const[index][::1],
    indices: cython.const[index][::1],
    table: cython.const[cython.ulonglong][:, ::1],
    counts: cython.int[:, ::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
):
    """Rows `start` to `stop` of `counts`: sums of the rows of `table`, of `BYTES` zeros and ones, that a row names.

    Eight bytes are added at once, as one 64-bit word (`table` has `BYTES` / 8 of them in a row), and added to `counts`
    before any can overflow. Four rows of the table are read at a time, so that their cache misses overlap.
    """
    memory = np.zeros(BYTES, dtype=np.uint8)
    counters: cython.const[cython.uchar][::1] = memory
    words: cython.ulonglong[::1] = memory.view(np.uint64)
    width: cython.Py_ssize_t = counts.shape[1]
    row: cython.Py_ssize_t
    p: cython.Py_ssize_t
    last: cython.Py_ssize_t
    end: cython.Py_ssize_t
    m: cython.Py_ssize_t
    with cython.nogil:
        for row in range(start, stop):
            for m in range(width):
                counts[row, m] = 0
            p = indptr[row]
            last = indptr[row + 1]
            while p < last:
                end = min(p + _FULL, last)
                for m in range(_WORDS):
                    words[m] = 0
                while p + 4 <= end:
                    for m in range(_WORDS):
                        words[m] += (table[indices[p], m] + table[indices[p + 1], m]) + (
                            table[indices[p + 2], m] + table[indices[p + 3], m]
                        )
                    p += 4
                while p < end:
                    for m in range(_WORDS):
                        words[m] += table[indices[p], m]
                    p += 1
                for m in range(width):
                    counts[row, m] += counters[m]
