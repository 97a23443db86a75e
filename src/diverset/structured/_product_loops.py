"""Product of a sparse matrix with a block of vectors; releases the interpreter's lock.

A row of the product is the sum of some rows of the block, each times an entry of the matrix. The C kernel keeps it in
registers, 52 numbers at a time, until a batch of entries has been added.

The module is compiled by Cython and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.diverset.numerics.kernels import choose_kernels, kernels

    choose_kernels()
else:
    from diverset import _uncompiled
    from diverset.numerics import kernels

    _uncompiled.warn_once()

__all__ = ["multiply_rows"]

#: Entries of a row that are passed to the kernel at a time.
_BATCH = cython.declare(cython.Py_ssize_t, 256)

index = cython.fused_type(cython.int, cython.longlong)


def multiply_rows(
    indptr: cython.const[index][::1],
    indices: cython.const[index][::1],
    data: cython.const[cython.double][::1],
    X: cython.const[cython.double][:, ::1],
    left: cython.const[cython.double][::1],
    right: cython.const[cython.double][::1],
    Y: cython.double[:, ::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
):
    """Rows `start` to `stop` of Y = diag(left) A diag(right) X, for A in compressed sparse rows."""
    width: cython.Py_ssize_t = X.shape[1]
    rows: cython.Py_ssize_t[::1] = np.empty(_BATCH, dtype=np.intp)
    entries: cython.double[::1] = np.empty(_BATCH)
    row: cython.Py_ssize_t
    e: cython.Py_ssize_t
    last: cython.Py_ssize_t
    count: cython.Py_ssize_t
    m: cython.Py_ssize_t
    if width == 0:
        return
    with cython.nogil:
        for row in range(start, stop):
            for m in range(width):
                Y[row, m] = 0.0
            e = indptr[row]
            last = indptr[row + 1]
            while e < last:
                count = min(_BATCH, last - e)
                for m in range(count):
                    rows[m] = indices[e + m]
                    entries[m] = left[row] * data[e + m] * right[rows[m]]
                e += count
                if cython.compiled:
                    kernels.add_rows(
                        cython.address(Y[row, 0]),
                        cython.address(X[0, 0]),
                        width,
                        cython.address(rows[0]),
                        cython.address(entries[0]),
                        count,
                    )
                else:
                    kernels.add_rows(Y[row], X, rows, entries, count)
