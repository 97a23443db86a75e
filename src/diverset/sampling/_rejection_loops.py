# mypy: disable-error-code="untyped-decorator"
"""Compiled loops of the rejection sampler: alias tables, and whole batches of draws.

Arrays and a NumPy generator in, arrays out; ``rng.random()`` gives here the numbers it gives in NumPy, so the plain
twins in :mod:`diverset.sampling.rejection` and :mod:`diverset.sampling.eigenvectors` make the same draws.

Numba is imported here: import this module inside the function that needs it.
"""

import math

import numba
import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.sampling.eigenvectors import TABLE, TILTED

__all__ = ["fill_alias_tables", "run"]

#: Columns of the basis that one sweep of reflections works on: few enough to stay in a fast cache.
_STRIPE = 32
# Sums below may be reordered by the compiler: they are sums of squares, or inner products used to rounding.
_FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, nogil=True)
def fill_alias_tables(weights: FloatArray, threshold: FloatArray, alias: Array) -> None:
    """Alias table of every row of ``weights``, each adding up to its length, into ``threshold`` and ``alias``.

    One sweep with two fingers: the next light cell (below 1) is topped up by the current heavy one, which passes on to
    the next heavy one as soon as it has given away all it had to spare.
    """
    rows, n = weights.shape
    for j in range(rows):
        w = weights[j]
        for i in range(n):
            threshold[j, i] = 1.0
            alias[j, i] = i
        light = 0
        while light < n and w[light] >= 1.0:
            light += 1
        heavy = 0
        while heavy < n and w[heavy] < 1.0:
            heavy += 1
        # Where rounding leaves one kind over, what is over weighs 1 to rounding: the value put above.
        if heavy == n:
            continue
        left = w[heavy]
        while light < n:
            threshold[j, light] = w[light]
            alias[j, light] = heavy
            left -= 1.0 - w[light]
            light += 1
            while light < n and w[light] >= 1.0:
                light += 1
            while left < 1.0:
                following = heavy + 1
                while following < n and w[following] < 1.0:
                    following += 1
                if following == n:
                    light = n
                    break
                threshold[j, heavy] = left
                alias[j, heavy] = following
                left = w[following] - (1.0 - left)
                heavy = following


@numba.njit(cache=True, nogil=True)
def _choose_eigenvectors(
    rng: np.random.Generator,
    law: tuple[int, FloatArray, FloatArray, int, int, FloatArray],
    J: IntArray,
) -> int:
    """Phase one: J from an ``EigenvectorLaw``, its fields in their order; returns how many."""
    method, success, failure, n_certain, wanted, table = law
    f = success.size
    m = 0
    if method == TABLE:
        left = wanted
        n = f
        while 0 < left < n:
            with_n = success[n - 1] * table[n - 1, left - 1]
            without_n = failure[n - 1] * table[n - 1, left]
            n -= 1
            if rng.random() * (with_n + without_n) < with_n or without_n == 0.0:
                J[m] = n
                m += 1
                left -= 1
        if left > 0:
            for i in range(n - 1, -1, -1):
                J[m] = i
                m += 1
        for i in range(m // 2):
            J[i], J[m - 1 - i] = J[m - 1 - i], J[i]
    else:
        while True:
            m = 0
            for i in range(f):
                J[m] = i
                if rng.random() < success[i]:
                    m += 1
            if method != TILTED or m == wanted:
                break
    for i in range(n_certain):
        J[m] = f + i
        m += 1
    return m


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _gather(V: Array, i: int, J: IntArray, m: int, x: Array) -> float:
    """Row i of the chosen columns into x; returns its squared norm."""
    row = V[i]
    norm = 0.0
    for k in range(m):
        value = row[J[k]]
        x[k] = value
        norm += value.real * value.real + value.imag * value.imag
    return norm


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _compress(W: Array, s: int, X: Array, count: int, Y: Array) -> None:
    """Coordinates of the rows of X against the first s rows of W, four rows of X (padded) at a time."""
    m = W.shape[1]
    for c in range(0, count, 4):
        x0, x1, x2, x3 = X[c], X[c + 1], X[c + 2], X[c + 3]
        for a in range(s):
            w = W[a]
            y0 = w[0] * x0[0]
            y1 = w[0] * x1[0]
            y2 = w[0] * x2[0]
            y3 = w[0] * x3[0]
            for k in range(1, m):
                y0 += w[k] * x0[k]
                y1 += w[k] * x1[k]
                y2 += w[k] * x2[k]
                y3 += w[k] * x3[k]
            Y[c, a] = y0
            Y[c + 1, a] = y1
            Y[c + 2, a] = y2
            Y[c + 3, a] = y3


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _norm_squared(y: Array, s: int) -> float:
    """Squared norm of the first s entries."""
    total = 0.0
    for a in range(s):
        total += y[a].real * y[a].real + y[a].imag * y[a].imag
    return total


@numba.njit(cache=True, nogil=True)
def _reflector(y: Array, s: int, length: float, h: Array) -> float:
    """Reflection I - tau h h* that takes y[:s], of this length, to its last axis: fills h (padded), returns tau."""
    last = float(abs(y[s - 1]))
    for a in range(s):
        h[a] = y[a]
    for a in range(s, s + 3):
        h[a] = 0.0
    if last > 0.0:
        h[s - 1] += y[s - 1] * (length / last)
    else:
        h[s - 1] += length
    return 1.0 / (length * (length + last))


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _reflect_coordinates(h: Array, tau: float, s: int, y: Array) -> None:
    """Coordinates after the reflection, in place."""
    g = np.conj(h[0]) * y[0]
    for a in range(1, s):
        g += np.conj(h[a]) * y[a]
    g *= tau
    for a in range(s - 1):
        y[a] -= h[a] * g


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _reflect_basis(H: Array, tau: FloatArray, first: int, count: int, W: Array, g: Array) -> None:
    """Apply `count` reflections to W, each of which drops the last of the rows still there, `first` at the start.

    Stripe by stripe, so that W is read from memory once however many reflections there are; four rows (padded, their
    entries of H zero) at a time.
    """
    m = W.shape[1]
    for start in range(0, m, _STRIPE):
        stop = min(start + _STRIPE, m)
        for e in range(count):
            s = first - e
            h = H[e]
            for k in range(start, stop):
                g[k] = 0.0
            for a in range(0, s, 4):
                w0, w1, w2, w3 = W[a], W[a + 1], W[a + 2], W[a + 3]
                h0, h1, h2, h3 = np.conj(h[a]), np.conj(h[a + 1]), np.conj(h[a + 2]), np.conj(h[a + 3])
                for k in range(start, stop):
                    g[k] += h0 * w0[k] + h1 * w1[k] + h2 * w2[k] + h3 * w3[k]
            for a in range(0, s - 1, 4):
                w0, w1, w2, w3 = W[a], W[a + 1], W[a + 2], W[a + 3]
                h0, h1, h2, h3 = tau[e] * h[a], tau[e] * h[a + 1], tau[e] * h[a + 2], tau[e] * h[a + 3]
                for k in range(start, stop):
                    w0[k] -= h0 * g[k]
                    w1[k] -= h1 * g[k]
                    w2[k] -= h2 * g[k]
                    w3[k] -= h3 * g[k]


@numba.njit(cache=True, nogil=True)
def _pick_exactly(rng: np.random.Generator, V: Array, J: IntArray, m: int, W: Array, s: int, items: IntArray) -> int:
    """One item by its residual, from a pass over all of them."""
    n = V.shape[0]
    residual = np.zeros(n)
    total = 0.0
    for i in range(n):
        if _is_among(i, items, m - s):
            continue
        for a in range(s):
            y = W[a, 0] * V[i, J[0]]
            for k in range(1, m):
                y += W[a, k] * V[i, J[k]]
            residual[i] += y.real * y.real + y.imag * y.imag
        total += residual[i]
    level = rng.random() * total
    # The last item with any weight takes what rounding leaves over.
    chosen = 0
    reached = 0.0
    for i in range(n):
        if residual[i] > 0.0:
            chosen = i
            reached += residual[i]
            if reached > level:
                break
    return chosen


@numba.njit(cache=True, nogil=True)
def _is_among(i: int, items: IntArray, t: int) -> bool:
    """Whether i is one of the first t items."""
    found = False
    for a in range(t):
        found |= items[a] == i
    return found


@numba.njit(cache=True, nogil=True)
def _propose(
    rng: np.random.Generator,
    threshold: FloatArray,
    alias: Array,
    J: IntArray,
    m: int,
    candidate: IntArray,
    column: IntArray,
    coin: FloatArray,
    level: FloatArray,
) -> None:
    """A block of proposals: an item each, and the level that its residual must exceed, relative to its norm."""
    n = threshold.shape[1]
    for c in range(candidate.size):
        column[c] = J[int(rng.random() * m)]
        candidate[c] = int(rng.random() * n)
        coin[c] = rng.random()
        level[c] = rng.random()
    # In a loop of its own, so that the accesses to memory overlap.
    for c in range(candidate.size):
        other = alias[column[c], candidate[c]]
        candidate[c] = candidate[c] if coin[c] < threshold[column[c], candidate[c]] else other


@numba.njit(cache=True, nogil=True)
def _draw_items(
    rng: np.random.Generator,
    V: Array,
    threshold: FloatArray,
    alias: Array,
    J: IntArray,
    m: int,
    block: int,
    patience: float,
    items: IntArray,
) -> None:
    """Phase two: m items of the elementary DPP of the columns J, in the order of acceptance."""
    column = np.empty(block, dtype=np.int64)
    candidate = np.empty(block, dtype=np.int64)
    coin = np.empty(block)
    level = np.empty(block)
    tau = np.empty(block)
    norm = np.empty(block)
    X = np.empty((block, m), dtype=V.dtype)
    Y = np.empty((block, m), dtype=V.dtype)
    H = np.empty((block, m + 3), dtype=V.dtype)
    g = np.empty(m, dtype=V.dtype)
    W = np.zeros((m + 3, m), dtype=V.dtype)
    for a in range(m):
        W[a, a] = 1.0
    t = 0
    failures = 0
    while t < m:
        count = block
        if failures * (m - t) > patience * m:
            candidate[0] = _pick_exactly(rng, V, J, m, W, m - t, items)
            level[0] = 0.0
            count = 1
        else:
            _propose(rng, threshold, alias, J, m, candidate, column, coin, level)
        for c in range(count):
            norm[c] = _gather(V, candidate[c], J, m, X[c])
        _compress(W, m - t, X, count, Y)
        accepted = 0
        for c in range(count):
            s = m - t - accepted
            residual = _norm_squared(Y[c], s)
            if residual <= level[c] * norm[c] or _is_among(candidate[c], items, t + accepted):
                failures += 1
                continue
            items[t + accepted] = candidate[c]
            failures = 0
            tau[accepted] = _reflector(Y[c], s, math.sqrt(residual), H[accepted])
            for later in range(c + 1, count):
                _reflect_coordinates(H[accepted], tau[accepted], s, Y[later])
            accepted += 1
            if t + accepted == m:
                break
        if t + accepted < m:
            _reflect_basis(H, tau, m - t, accepted, W, g)
        t += accepted


@numba.njit(cache=True, nogil=True)
def _sort(items: IntArray) -> None:
    """Ascending, in place: by insertion, since draws are short (and a library sort is long to compile)."""
    for i in range(1, items.size):
        item = items[i]
        j = i
        while j > 0 and items[j - 1] > item:
            items[j] = items[j - 1]
            j -= 1
        items[j] = item


@numba.njit(cache=True, nogil=True)
def run(
    rng: np.random.Generator,
    size: int,
    V: Array,
    threshold: FloatArray,
    alias: Array,
    law: tuple[int, FloatArray, FloatArray, int, int, FloatArray],
    blocks: tuple[int, int, int],
    patience: float,
    capacity: int,
) -> tuple[IntArray, IntArray]:
    """A batch of draws: all their items, each draw ascending, and where each draw starts and ends.

    ``blocks`` holds the proposals made at a time for small m, for large m, and the m from which it is large;
    ``capacity`` the number of items to expect.
    """
    short_block, long_block, long_from = blocks
    offsets = np.zeros(size + 1, dtype=np.int64)
    flat = np.empty(max(capacity, 1), dtype=np.int64)
    J = np.empty(V.shape[1] + 1, dtype=np.int64)
    for d in range(size):
        m = _choose_eigenvectors(rng, law, J)
        start = offsets[d]
        offsets[d + 1] = start + m
        if start + m > flat.size:
            longer = np.empty(2 * (start + m), dtype=np.int64)
            longer[:start] = flat[:start]
            flat = longer
        if m > 0:
            items = flat[start : start + m]
            block = long_block if m >= long_from else short_block
            _draw_items(rng, V, threshold, alias, J, m, block, patience, items)
            _sort(items)
    return flat[: offsets[size]], offsets
