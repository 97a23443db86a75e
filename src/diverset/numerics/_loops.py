# mypy: disable-error-code="untyped-decorator"
"""Compiled loops over counts of independent trials; arrays in, arrays out.

Trial n succeeds with probability ``p[n]`` and fails with probability ``r[n]``. Both are passed, since one
minus the other would lose all digits of a probability near zero. A distribution of counts is log-concave,
so the entries below a floor sit at its two ends, and every loop keeps only the window between them.

Numba is imported here and nowhere else: import this module inside the function that needs it.
"""

import numba
import numpy as np

from diverset._typing import FloatArray

__all__ = ["count_distribution", "selection_masses"]


@numba.njit(cache=True)
def count_distribution(p: FloatArray, r: FloatArray, floor: float) -> FloatArray:
    """Probabilities (m + 1,) of every number of successes; those below ``floor`` are dropped on the way."""
    m = p.size
    f = np.zeros(m + 1)
    f[0] = 1.0
    lo = 0
    hi = 0
    for n in range(m):
        hi += 1
        window = f[lo : hi + 1]
        # Downwards, so that the entry read on the right still belongs to the previous trial.
        for j in range(hi - lo, 0, -1):
            window[j] = window[j] * r[n] + window[j - 1] * p[n]
        window[0] *= r[n]
        while lo < hi and f[lo] < floor:
            f[lo] = 0.0
            lo += 1
        while lo < hi and f[hi] < floor:
            f[hi] = 0.0
            hi -= 1
    return f


@numba.njit(cache=True)
def _add_trial(
    src: FloatArray, dst: FloatArray, lo: int, hi: int, p: float, r: float, k: int, floor: float
) -> tuple[int, int]:
    """One more trial, counts capped at k: ``src[lo..hi]`` into ``dst``; returns the new window."""
    dst[lo] = src[lo] * r
    for j in range(lo + 1, hi + 1):
        dst[j] = src[j] * r + src[j - 1] * p
    if hi < k:
        dst[hi + 1] = src[hi] * p
        hi += 1
    while lo < hi and dst[lo] < floor:
        lo += 1
    while lo < hi and dst[hi] < floor:
        hi -= 1
    return lo, hi


# Every term is nonnegative, so the order of summation may be left to the compiler.
@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _mass_at(f: FloatArray, lo: int, hi: int, g: FloatArray, glo: int, ghi: int, total: int) -> float:
    """Probability that counts with windows ``f[lo..hi]`` and ``g[glo..ghi]`` add up to ``total``."""
    first = max(lo, total - ghi)
    last = min(hi, total - glo)
    mass = 0.0
    for j in range(first, last + 1):
        mass += f[j] * g[total - j]
    return mass


@numba.njit(cache=True)
def selection_masses(p: FloatArray, r: FloatArray, k: int, floor: float) -> tuple[FloatArray, FloatArray]:
    """Arrays (m,) of P(k successes, n among them) and P(k successes, n not among them), for 1 <= k < m.

    The counts before trial n come from a forward table, those after it from a backward sweep. The forward
    table is kept at about sqrt(m) places only and rebuilt block by block: O(mk) time, O(sqrt(m) k) memory.
    """
    m = p.size
    block = int(np.ceil(np.sqrt(m)))
    n_blocks = (m + block - 1) // block
    heads = np.empty((n_blocks, k + 1))
    head_lo = np.zeros(n_blocks, dtype=np.int64)
    head_hi = np.zeros(n_blocks, dtype=np.int64)
    rows = np.empty((block + 1, k + 1))
    row_lo = np.zeros(block + 1, dtype=np.int64)
    row_hi = np.zeros(block + 1, dtype=np.int64)

    heads[0, 0] = 1.0
    for b in range(n_blocks - 1):
        rows[0] = heads[b]
        lo = head_lo[b]
        hi = head_hi[b]
        for i in range(block):
            n = b * block + i
            lo, hi = _add_trial(rows[i], rows[i + 1], lo, hi, p[n], r[n], k, floor)
        heads[b + 1] = rows[block]
        head_lo[b + 1] = lo
        head_hi[b + 1] = hi

    with_n = np.empty(m)
    without_n = np.empty(m)
    g = np.empty(k + 1)
    spare = np.empty(k + 1)
    g[0] = 1.0
    glo = 0
    ghi = 0
    for b in range(n_blocks - 1, -1, -1):
        start = b * block
        stop = min(start + block, m)
        rows[0] = heads[b]
        row_lo[0] = head_lo[b]
        row_hi[0] = head_hi[b]
        for i in range(stop - start - 1):
            n = start + i
            row_lo[i + 1], row_hi[i + 1] = _add_trial(rows[i], rows[i + 1], row_lo[i], row_hi[i], p[n], r[n], k, floor)
        for n in range(stop - 1, start - 1, -1):
            f = rows[n - start]
            lo = row_lo[n - start]
            hi = row_hi[n - start]
            with_n[n] = p[n] * _mass_at(f, lo, hi, g, glo, ghi, k - 1)
            without_n[n] = r[n] * _mass_at(f, lo, hi, g, glo, ghi, k)
            glo, ghi = _add_trial(g, spare, glo, ghi, p[n], r[n], k, floor)
            g, spare = spare, g
    return with_n, without_n
