"""Inner loops of the sequential sampler: a few dozen items at a time; arrays in, arrays out.

Every loop decides item by item, in place, and marks in ``chosen`` those it keeps. The item decided at a step is
kept if that step's uniform is below its probability. Real and complex kernels share the source.

The module is compiled by Cython and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.diverset.numerics.kernels import choose_kernels
    from cython.cimports.diverset.numerics.numbers import add_row, conj, dot_rows, number, real
    from cython.cimports.libc.math import sqrt

    choose_kernels()
else:
    from math import sqrt

    from diverset import _uncompiled
    from diverset.numerics.numbers import add_row, conj, dot_rows, number, real

    _uncompiled.warn_once()

__all__ = ["decide_general", "decide_hermitian", "decide_lifted"]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _pivot(p: cython.double, uniform: cython.double, zero: cython.double) -> cython.double:
    """The pivot after the decision: p for an item kept, p - 1 for one left out."""
    p = min(max(p, 0.0), 1.0)
    if p < zero:
        return -1.0
    return p if uniform < p else p - 1.0


def decide_hermitian(
    A: number[:, ::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    uniforms: cython.const[cython.double][::1],
    chosen: cython.uchar[::1],
    pivots: cython.double[::1],
    zero: cython.double,
):
    """LDL* with decisions of the diagonal block start..stop; reads and writes the lower triangle only."""
    row: number[:, ::1] = np.empty((1, stop), dtype=np.asarray(A).dtype)
    d: cython.double
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        for j in range(start, stop):
            d = _pivot(real(A[j, j]), uniforms[j], zero)
            chosen[j] = d > 0.0
            pivots[j] = d
            for i in range(j + 1, stop):
                row[0, i] = conj(A[i, j])
                A[i, j] = A[i, j] / d
            for i in range(j + 1, stop):
                if A[i, j] != 0.0:
                    add_row(-A[i, j], row, 0, A, i, j + 1, i + 1)


def decide_general(
    A: number[:, ::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    uniforms: cython.const[cython.double][::1],
    chosen: cython.uchar[::1],
    zero: cython.double,
):
    """LU with decisions of the diagonal block start..stop: unit L below the diagonal, U on and above it."""
    d: cython.double
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        for j in range(start, stop):
            d = _pivot(real(A[j, j]), uniforms[j], zero)
            chosen[j] = d > 0.0
            A[j, j] = d
            for i in range(j + 1, stop):
                A[i, j] = A[i, j] / d
                if A[i, j] != 0.0:
                    add_row(-A[i, j], A, j, A, i, j + 1, stop)


def decide_lifted(
    H: number[:, ::1],
    R: cython.const[number][:, :],
    excess: cython.const[cython.double][::1],
    uniforms: cython.const[cython.double][::1],
    width: cython.Py_ssize_t,
    chosen: cython.uchar[::1],
    beta: cython.double[::1],
    root_odds: cython.double[::1],
    mixing: cython.double[::1],
):
    """Decide the b items of a block, last first, from the columns of G that belong to them.

    ``H`` (b, width + b) holds these columns as rows, zero beyond `width`; ``R`` (b, b) is the block of the
    Cholesky factor. On return row j of ``H`` is the column g as it was when item j was decided, and ``beta``,
    ``root_odds`` and ``mixing`` (r / ((1+s) root_odds), zero for items left out) say what was done with it.
    Returns the new width.
    """
    b: cython.Py_ssize_t = R.shape[0]
    s: cython.double
    gap: cython.double
    root: cython.double
    inside: cython.bint
    t: number
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for j in range(b - 1, -1, -1):
            s = real(dot_rows(H, j, H, j, width, True)) if width > 0 else 0.0
            gap = excess[j] - s
            inside = uniforms[b - 1 - j] < gap / (1.0 + excess[j])
            root = sqrt(1.0 + s)
            beta[j] = 1.0 / (root * (1.0 + root))
            chosen[j] = inside
            if inside:
                root_odds[j] = sqrt(gap / (1.0 + s))
                mixing[j] = real(R[j, j]) / ((1.0 + s) * root_odds[j])
            for k in range(j):
                t = 0.0
                if width > 0:
                    t = dot_rows(H, j, H, k, width, True)
                    add_row(-beta[j] * t, H, j, H, k, 0, width)
                if inside:
                    H[k, width] = R[j, k] / root_odds[j] - mixing[j] * t
            if inside:
                width += 1
    return width
