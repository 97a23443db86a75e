"""Loops over counts of independent trials; arrays in, arrays out.

Trial n succeeds with probability ``p[n]`` and fails with probability ``r[n]``. Both are passed, since one
minus the other would lose all digits of a probability near zero. A distribution of counts is log-concave,
so the entries below a floor sit at its two ends, and every loop keeps only the window between them.

The module is compiled by Cython and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.diverset.numerics.kernels import choose_kernels, kernels, kernels_name

    choose_kernels()
else:
    from diverset import _uncompiled
    from diverset.numerics import kernels

    _uncompiled.warn_once()

__all__ = [
    "COMPILED",
    "all_finite",
    "average_ranks",
    "count_distribution",
    "instruction_set",
    "places",
    "prefix_table",
    "selection_masses",
    "standardize",
]

#: Whether this module, and with it all loops, is compiled.
COMPILED = cython.compiled


def instruction_set():
    """Name of the instruction set that the C kernels use; "none" for uncompiled loops."""
    return cython.cast(bytes, kernels_name).decode() if cython.compiled else "none"


def all_finite(values: cython.const[cython.double][::1]) -> bool:
    """Whether no value is nan or infinite; for short arrays several times as fast as NumPy's functions."""
    i: cython.Py_ssize_t
    finite: cython.bint = True
    if not cython.compiled:
        return bool(np.isfinite(values).all())
    with cython.nogil:
        for i in range(values.shape[0]):
            finite = finite & (values[i] - values[i] == 0.0)  # the difference is nan for nan and for infinities
    return finite


def standardize(scores: cython.const[cython.double][::1], result: cython.double[::1]):
    """Write (score - mean) / deviation to `result`; all zero if the scores are equal.

    Scores of -inf stay, and count neither in the mean nor in the deviation.
    """
    n: cython.Py_ssize_t = scores.shape[0]
    i: cython.Py_ssize_t
    known: cython.Py_ssize_t = 0
    unit: cython.double = 0.0
    mean: cython.double = 0.0
    square: cython.double = 0.0
    z: cython.double
    with cython.nogil:
        for i in range(n):
            if scores[i] - scores[i] == 0.0:
                known += 1
                unit = max(unit, abs(scores[i]))
        if unit > 0.0:
            # Divided by the largest score, so that neither the sum nor a square overflows.
            for i in range(n):
                if scores[i] - scores[i] == 0.0:
                    mean += scores[i] / unit
            mean /= known
            for i in range(n):
                if scores[i] - scores[i] == 0.0:
                    z = scores[i] / unit - mean
                    square += z * z
            square /= known
        # A deviation of a few rounding errors is none.
        if square > 1e-28 * (mean * mean):
            square = square**0.5
            for i in range(n):
                result[i] = (scores[i] / unit - mean) / square
        else:
            for i in range(n):
                result[i] = 0.0 if scores[i] - scores[i] == 0.0 else scores[i]


def average_ranks(
    scores: cython.const[cython.double][::1], order: cython.const[cython.longlong][::1], ranks: cython.double[::1]
):
    """Write to `ranks` the rank of each score, 1 for the highest; equal scores share their mean rank.

    `order` sorts the scores to be ranked, ascending; entries of `ranks` for others are left alone.
    """
    n: cython.Py_ssize_t = order.shape[0]
    start: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        while start < n:
            end = start + 1
            while end < n and scores[order[end]] == scores[order[start]]:
                end += 1
            for j in range(start, end):
                ranks[order[j]] = n - 0.5 * (start + end - 1)
            start = end


def places(scores: cython.const[cython.double][::1], chosen: cython.const[cython.longlong][::1]):
    """Where some items stand among all: how many others exceed the least of them, and how many exceed the best."""
    i: cython.Py_ssize_t
    low: cython.double = scores[chosen[0]]
    high: cython.double = low
    above_low: cython.Py_ssize_t = 0
    above_high: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(chosen.shape[0]):
            low = min(low, scores[chosen[i]])
            high = max(high, scores[chosen[i]])
        for i in range(scores.shape[0]):
            above_low += scores[i] > low
            above_high += scores[i] > high
        for i in range(chosen.shape[0]):
            above_low -= scores[chosen[i]] > low
    return above_low, above_high


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_trial(
    src: cython.double[:, ::1],
    i: cython.Py_ssize_t,
    dst: cython.double[:, ::1],
    j: cython.Py_ssize_t,
    lo: cython.Py_ssize_t,
    hi: cython.Py_ssize_t,
    p: cython.double,
    r: cython.double,
    k: cython.Py_ssize_t,
    floor: cython.double,
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """One more trial, counts capped at k: ``src[i, lo..hi]`` into row j of ``dst``; returns the new window."""
    dst[j, lo] = src[i, lo] * r
    if cython.compiled:
        kernels.add_trial(cython.address(src[i, lo]), cython.address(dst[j, lo]), hi - lo, p, r)
    else:
        kernels.add_trial(src[i, lo:], dst[j, lo:], hi - lo, p, r)
    if hi < k:
        dst[j, hi + 1] = src[i, hi] * p
        hi += 1
    while lo < hi and dst[j, lo] < floor:
        lo += 1
    while lo < hi and dst[j, hi] < floor:
        hi -= 1
    return lo, hi


def count_distribution(p: cython.const[cython.double][::1], r: cython.const[cython.double][::1], floor: cython.double):
    """Probabilities (m + 1,) of every number of successes; those below ``floor`` are dropped on the way."""
    m: cython.Py_ssize_t = p.shape[0]
    table: cython.double[:, ::1] = np.zeros((2, m + 1))  # counts before and after a trial, in turns
    now: cython.Py_ssize_t = 0
    lo: cython.Py_ssize_t = 0
    hi: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t
    table[0, 0] = 1.0
    with cython.nogil:
        for n in range(m):
            lo, hi = _add_trial(table, now, table, 1 - now, lo, hi, p[n], r[n], m, floor)
            now = 1 - now
    law = np.zeros(m + 1)
    law[lo : hi + 1] = table[now, lo : hi + 1]
    return law


def prefix_table(success: cython.const[cython.double][::1], failure: cython.const[cython.double][::1], k):
    """Probabilities (r + 1, k + 1): entry (n, l) is the chance of l successes among the first n of r trials.

    f(n, l) = failure[n-1] f(n-1, l) + success[n-1] f(n-1, l-1), with f(0, 0) = 1.
    """
    result = np.zeros((success.shape[0] + 1, k + 1))
    f: cython.double[:, ::1] = result
    n: cython.Py_ssize_t
    j: cython.Py_ssize_t
    f[0, 0] = 1.0
    with cython.nogil:
        for n in range(success.shape[0]):
            f[n + 1, 0] = failure[n] * f[n, 0]
            for j in range(1, f.shape[1]):
                f[n + 1, j] = failure[n] * f[n, j] + success[n] * f[n, j - 1]
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mass_at(
    f: cython.double[:, ::1],
    i: cython.Py_ssize_t,
    lo: cython.Py_ssize_t,
    hi: cython.Py_ssize_t,
    g: cython.double[:, ::1],
    j: cython.Py_ssize_t,
    glo: cython.Py_ssize_t,
    ghi: cython.Py_ssize_t,
    total: cython.Py_ssize_t,
) -> cython.double:
    """Probability that counts with windows ``f[i, lo..hi]`` and ``g[j, glo..ghi]`` add up to ``total``."""
    first: cython.Py_ssize_t = max(lo, total - ghi)
    last: cython.Py_ssize_t = min(hi, total - glo)
    if last < first:
        return 0.0
    if cython.compiled:
        return kernels.convolve(cython.address(f[i, first]), cython.address(g[j, total - first]), last - first + 1)
    else:
        return kernels.convolve(f[i, first:], g[j, : total - first + 1], last - first + 1)


def selection_masses(
    p: cython.const[cython.double][::1],
    r: cython.const[cython.double][::1],
    k: cython.Py_ssize_t,
    floor: cython.double,
):
    """Arrays (m,) of P(k successes, n among them) and P(k successes, n not among them), for 1 <= k < m.

    The counts before trial n come from a forward table, those after it from a backward sweep. The forward
    table is kept at about sqrt(m) places only and rebuilt block by block: O(mk) time, O(sqrt(m) k) memory.
    """
    m: cython.Py_ssize_t = p.shape[0]
    block: cython.Py_ssize_t = int(np.ceil(np.sqrt(m)))
    n_blocks: cython.Py_ssize_t = (m + block - 1) // block
    heads: cython.double[:, ::1] = np.empty((n_blocks, k + 1))
    head_lo: cython.Py_ssize_t[::1] = np.zeros(n_blocks, dtype=np.intp)
    head_hi: cython.Py_ssize_t[::1] = np.zeros(n_blocks, dtype=np.intp)
    rows: cython.double[:, ::1] = np.empty((block + 1, k + 1))
    row_lo: cython.Py_ssize_t[::1] = np.zeros(block + 1, dtype=np.intp)
    row_hi: cython.Py_ssize_t[::1] = np.zeros(block + 1, dtype=np.intp)
    with_n: cython.double[::1] = np.empty(m)
    without_n: cython.double[::1] = np.empty(m)
    after: cython.double[:, ::1] = np.empty((2, k + 1))  # counts after trial n, and working memory, in turns
    g: cython.Py_ssize_t = 0
    glo: cython.Py_ssize_t = 0
    ghi: cython.Py_ssize_t = 0
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    lo: cython.Py_ssize_t
    hi: cython.Py_ssize_t
    heads[0, 0] = 1.0
    after[0, 0] = 1.0
    with cython.nogil:
        for b in range(n_blocks - 1):
            rows[0] = heads[b]
            lo = head_lo[b]
            hi = head_hi[b]
            for i in range(block):
                n = b * block + i
                lo, hi = _add_trial(rows, i, rows, i + 1, lo, hi, p[n], r[n], k, floor)
            heads[b + 1] = rows[block]
            head_lo[b + 1] = lo
            head_hi[b + 1] = hi

        for b in range(n_blocks - 1, -1, -1):
            start = b * block
            stop = min(start + block, m)
            rows[0] = heads[b]
            row_lo[0] = head_lo[b]
            row_hi[0] = head_hi[b]
            for i in range(stop - start - 1):
                n = start + i
                lo, hi = _add_trial(rows, i, rows, i + 1, row_lo[i], row_hi[i], p[n], r[n], k, floor)
                row_lo[i + 1] = lo
                row_hi[i + 1] = hi
            for n in range(stop - 1, start - 1, -1):
                i = n - start
                lo = row_lo[i]
                hi = row_hi[i]
                with_n[n] = p[n] * _mass_at(rows, i, lo, hi, after, g, glo, ghi, k - 1)
                without_n[n] = r[n] * _mass_at(rows, i, lo, hi, after, g, glo, ghi, k)
                glo, ghi = _add_trial(after, g, after, 1 - g, glo, ghi, p[n], r[n], k, floor)
                g = 1 - g
    return np.asarray(with_n), np.asarray(without_n)
