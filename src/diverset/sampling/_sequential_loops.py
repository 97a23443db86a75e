# mypy: disable-error-code="untyped-decorator"
"""Compiled inner loops of the sequential sampler: a few dozen items at a time; arrays in, arrays out.

Every loop decides item by item, in place, and marks in ``chosen`` those it keeps. The item decided at a step is
kept if that step's uniform is below its probability. Real and complex kernels share the source.

Numba is imported here: import this module inside the function that needs it.
"""

import math

import numba
import numpy as np

from diverset._typing import Array, BoolArray, FloatArray

__all__ = ["decide_general", "decide_hermitian", "decide_lifted"]

# Summation order may be left to the compiler: inner products of a few hundred terms, for vector instructions.
_FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, nogil=True)
def _pivot(p: float, uniform: float, zero: float) -> float:
    """The pivot after the decision: p for an item kept, p - 1 for one left out."""
    p = min(max(p, 0.0), 1.0)
    if p < zero:
        return -1.0
    return p if uniform < p else p - 1.0


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def decide_hermitian(
    A: Array, start: int, stop: int, uniforms: FloatArray, chosen: BoolArray, pivots: FloatArray, zero: float
) -> None:
    """LDL* with decisions of the diagonal block start..stop; reads and writes the lower triangle only."""
    column = np.empty(stop - start, dtype=A.dtype)
    for j in range(start, stop):
        d = _pivot(A[j, j].real, uniforms[j], zero)
        chosen[j] = d > 0.0
        pivots[j] = d
        for i in range(j + 1, stop):
            column[i - start] = np.conj(A[i, j])
            A[i, j] = A[i, j] / d
        for i in range(j + 1, stop):
            factor = A[i, j]
            if factor != 0.0:
                for k in range(j + 1, i + 1):
                    A[i, k] -= factor * column[k - start]


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def decide_general(A: Array, start: int, stop: int, uniforms: FloatArray, chosen: BoolArray, zero: float) -> None:
    """LU with decisions of the diagonal block start..stop: unit L below the diagonal, U on and above it."""
    for j in range(start, stop):
        d = _pivot(A[j, j].real, uniforms[j], zero)
        chosen[j] = d > 0.0
        A[j, j] = d
        for i in range(j + 1, stop):
            factor = A[i, j] / d
            A[i, j] = factor
            if factor != 0.0:
                for k in range(j + 1, stop):
                    A[i, k] -= factor * A[j, k]


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def decide_lifted(
    H: Array,
    R: Array,
    excess: FloatArray,
    uniforms: FloatArray,
    width: int,
    chosen: BoolArray,
    beta: FloatArray,
    root_odds: FloatArray,
    mixing: FloatArray,
) -> int:
    """Decide the b items of a block, last first, from the columns of G that belong to them.

    ``H`` (b, width + b) holds these columns as rows, zero beyond `width`; ``R`` (b, b) is the block of the
    Cholesky factor. On return row j of ``H`` is the column g as it was when item j was decided, and ``beta``,
    ``root_odds`` and ``mixing`` (r / ((1+s) root_odds), zero for items left out) say what was done with it.
    Returns the new width.
    """
    for j in range(R.shape[0] - 1, -1, -1):
        g = H[j]
        s = 0.0
        for i in range(width):
            s += g[i].real * g[i].real + g[i].imag * g[i].imag
        gap = excess[j] - s
        inside = uniforms[R.shape[0] - 1 - j] < gap / (1.0 + excess[j])
        root = math.sqrt(1.0 + s)
        beta[j] = 1.0 / (root * (1.0 + root))
        chosen[j] = inside
        if inside:
            root_odds[j] = math.sqrt(gap / (1.0 + s))
            mixing[j] = R[j, j].real / ((1.0 + s) * root_odds[j])
        for k in range(j):
            t = H[k, 0] * 0.0
            for i in range(width):
                t += np.conj(g[i]) * H[k, i]
            bt = beta[j] * t
            for i in range(width):
                H[k, i] -= bt * g[i]
            if inside:
                H[k, width] = R[j, k] / root_odds[j] - mixing[j] * t
        if inside:
            width += 1
    return width
