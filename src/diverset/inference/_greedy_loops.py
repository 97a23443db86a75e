# mypy: disable-error-code="untyped-decorator, no-any-return, call-arg"
r"""Compiled greedy selection by threshold-lazy evaluation.

Every item i has a potential :math:`u_i = u_i^0 - f_i \sum_t (z_t \cdot x_i)^2` that falls with every pick t (the
squared distance to the span of the picks, or a leverage), and a key that grows with it. Greedy wants the largest key. A
potential that has not yet seen the last picks is an upper bound, so an item need only be brought up to date until
its bound falls below the best key found; most items stop early. Bounds are computed in the precision of the
features with a margin for rounding, the keys of finalists in double precision, so the picks are those of the
textbook.

Rows meet directions in panels (:mod:`diverset.inference._panels`), a few dozen at a time: a row that has been fetched
from memory is brought forward a good deal, so that it need not be fetched again soon.

Numba is imported here: import this module inside the function that needs it.
"""

import math

import numba
import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.inference._panels import PANELS, panel_squares, panel_width, prefetch_row

__all__ = [
    "advance_dense",
    "commit_linear",
    "first_keys",
    "gather_linear",
    "pick_dense",
    "pick_few",
    "pick_linear",
    "scan_linear",
    "squared_norms",
]

#: Rows that are found before the first of them is worked on, and how many of them memory is asked for ahead.
_GROUP = 64
_AHEAD = 4

#: The order of additions is free in bounds and does not matter in finalists beyond rounding.
_FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def squared_norms(X: Array, norms: FloatArray, lo: int, hi: int) -> None:
    """Squared norms of rows lo..hi-1, in double precision."""
    for i in range(lo, hi):
        x = X[i]
        total = 0.0
        for j in range(x.size):
            total += np.float64(x[j]) * np.float64(x[j])
        norms[i] = total


@numba.njit(cache=True, fastmath=_FAST)
def _exact_potential(Z: FloatArray, t: int, x: Array, u0: float, factor: float, inverse: FloatArray) -> float:
    """The potential after t picks, in double precision; a leverage if there is an inverse."""
    total = 0.0
    if inverse.size:
        for i in range(x.size):
            a = 0.0
            for j in range(x.size):
                a += inverse[i, j] * x[j]
            total += a * x[i]
        return factor * total
    for s in range(t):
        a = 0.0
        for j in range(x.size):
            a += Z[s, j] * x[j]
        total += a * a
    return u0 - factor * total


@numba.njit(cache=True)
def _key(u: float, bonus: float, weight: float, leverage: bool) -> float:
    """Key: bonus + weight log u, or with log(1 + u) for a leverage."""
    if leverage:
        return bonus + weight * math.log1p(max(u, 0.0))
    return bonus + weight * math.log(u) if u > 0.0 else -math.inf


@numba.njit(inline="always")
def _forward(
    X: Array,
    c: int,
    end: int,
    scale: FloatArray,
    factor: FloatArray,
    bonus: FloatArray,
    weight: float,
    leverage: bool,
    panels: Array,
    slack: FloatArray,
    bound: FloatArray,
    step: IntArray,
    keys: FloatArray,
) -> float:
    """Bring item c forward to pick `end`, which lies in the `PANELS` panels from its own step on; returns its key."""
    u = bound[c] - factor[c] * panel_squares(panels, step[c], end, X[c])
    key = _key(u + slack[end] * scale[c], bonus[c], weight, leverage)
    # A bound is never -inf: that marks items out of the running, which only the exact value may say.
    bound[c], step[c], keys[c] = u, end, max(key, -1e300)
    return keys[c]


@numba.njit(cache=True)
def first_keys(scale: FloatArray, bonus: FloatArray, weight: float, available: Array) -> FloatArray:
    """Keys before the first pick, from the squared norms; -inf for what is not available."""
    keys = np.empty(scale.size)
    for i in range(scale.size):
        key = bonus[i] if scale[i] == 1.0 else _key(scale[i], bonus[i], weight, False)
        keys[i] = key if available[i] else -math.inf
    return keys


@numba.njit(cache=True, nogil=True)
def gather_linear(
    X: Array,
    scale: FloatArray,
    factor: FloatArray,
    bonus: FloatArray,
    weight: float,
    leverage: bool,
    panels: Array,
    slack: FloatArray,
    t: int,
    bound: FloatArray,
    step: IntArray,
    keys: FloatArray,
    level: float,
    lo: int,
    hi: int,
    pool: IntArray,
) -> int:
    """Bring items lo..hi-1 forward, each to pick t or until its key falls below `level`.

    Those that stay are written to ``pool[lo:]``; returns their number. No other item can have a key of `level` or more
    until keys are made anew.
    """
    waiting = np.empty(_GROUP, dtype=np.int64)
    block = PANELS * panels.shape[2]
    stay = i = lo
    while i < hi:
        # Rows are looked at in groups, found first: while one is worked on, memory fetches the next.
        m = 0
        while i < hi and m < _GROUP:
            if keys[i] >= level and keys[i] > -math.inf:
                waiting[m] = i
                m += 1
            i += 1
        for w in range(min(m, _AHEAD)):
            prefetch_row(X, waiting[w])
        # All rows of a group meet the same few panels before any meets the next: both stay close to the processor.
        for end in range(block, t + block, block):
            for w in range(m):
                if end == block and w + _AHEAD < m:
                    prefetch_row(X, waiting[w + _AHEAD])
                c = waiting[w]
                if step[c] < min(end, t) and keys[c] >= level:
                    _forward(
                        X, c, min(end, t), scale, factor, bonus, weight, leverage, panels, slack, bound, step, keys
                    )
        for w in range(m):
            if keys[waiting[w]] >= level:
                pool[stay] = waiting[w]
                stay += 1
    return stay - lo


@numba.njit(cache=True, nogil=True)
def scan_linear(
    X: Array,
    scale: FloatArray,
    factor: FloatArray,
    u0: FloatArray,
    bonus: FloatArray,
    weight: float,
    tolerance: float,
    inverse: FloatArray,
    Z: FloatArray,
    panels: Array,
    slack: FloatArray,
    t: int,
    bound: FloatArray,
    step: IntArray,
    keys: FloatArray,
    seed: int,
    items: IntArray,
) -> tuple[int, float, int]:
    """Of some items, the one with the largest key after t picks, its key, and a runner-up (-1 if none was seen).

    Ties go to the lowest index. ``seed``, one of the items or -1, is looked at first: a good key lets the others stop
    early.
    """
    leverage = inverse.size > 0
    best, theta, second = -1, -math.inf, -1
    if seed >= 0 and keys[seed] > -math.inf:
        u = _exact_potential(Z, t, X[seed], u0[seed], factor[seed], inverse)
        if leverage or u > tolerance * scale[seed]:
            best, theta = seed, _key(u, bonus[seed], weight, leverage)
            bound[seed], step[seed], keys[seed] = u - slack[t] * scale[seed], t, theta
    width = panels.shape[2]
    for c in items:
        if keys[c] < theta or c == seed or keys[c] == -math.inf:
            continue
        while step[c] < t and keys[c] >= theta:
            # To the end of the last of the panels; the width of a panel is a power of two.
            end = min(t, (step[c] | (width - 1)) + 1 + (PANELS - 1) * width)
            _forward(X, c, end, scale, factor, bonus, weight, leverage, panels, slack, bound, step, keys)
        if keys[c] < theta:
            continue
        u = _exact_potential(Z, t, X[c], u0[c], factor[c], inverse)
        if not leverage and u <= tolerance * scale[c]:
            keys[c] = -math.inf
            continue
        key = _key(u, bonus[c], weight, leverage)
        # Rounding that came before need not be allowed for any more.
        bound[c], step[c], keys[c] = u - slack[t] * scale[c], t, key
        if key > theta or (key == theta and c < best):
            second = best
            best, theta = c, key
        else:
            second = c
    return best, theta, second


@numba.njit(cache=True, fastmath=_FAST)
def _set_direction(X: Array, i: int, factor: float, Z: FloatArray, t: int, inverse: FloatArray) -> float:
    """Write to Z[t] the vector z by which picking item i lowers every potential, u -= factor (z . x)^2.

    Returns i's own potential. Of a near-duplicate it has twice the digits here that it has as a difference of squares.
    """
    z = Z[t]
    x = math.sqrt(factor) * X[i].astype(np.float64)
    if inverse.size:
        # Sherman and Morrison: M + xx' has the inverse M^-1 - zz'.
        for j in range(z.size):
            z[j] = _dot(inverse[j], x)
        u = _dot(z, x)
        length = math.sqrt(1.0 + u)
    else:
        z[:] = x
        for _ in range(2):  # twice is enough to be orthogonal to rounding
            for s in range(t):
                a = _dot(Z[s], z)
                for j in range(z.size):
                    z[j] -= a * Z[s, j]
        u = _dot(z, z)
        length = math.sqrt(u)
    for j in range(z.size):
        z[j] /= length
    return u


@numba.njit(cache=True, fastmath=_FAST)
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@numba.njit(cache=True, nogil=True)
def pick_linear(
    n_picks: int,
    X: Array,
    scale: FloatArray,
    factor: FloatArray,
    u0: FloatArray,
    bonus: FloatArray,
    weight: float,
    tolerance: float,
    inverse: FloatArray,
    Z: FloatArray,
    panels: Array,
    slack: FloatArray,
    potentials: FloatArray,
    unit_slack: float,
    t: int,
    bound: FloatArray,
    step: IntArray,
    keys: FloatArray,
    groups: IntArray,
    caps: IntArray,
    costs: FloatArray,
    left: float,
    items: IntArray,
    level: float,
    picks: IntArray,
    gains: FloatArray,
) -> tuple[int, int, float, float]:
    """Make up to `n_picks` greedy picks; returns their number, the new t, the budget left, and the last key seen.

    Item i stands for ``sqrt(factor[i]) * X[i]``, whose squared norm is ``scale[i]``; ``u0`` are potentials before Z.
    ``Z[:t]`` holds the directions of earlier picks, ``potentials`` takes the picks' own. ``groups`` (empty for none)
    with ``caps`` limits the picks of a group; ``costs`` (empty for none) with ``left`` those that still fit. Picking
    ends early when none of `items` has a key of `level` or more.
    """
    made = 0
    seed = -1
    key = math.inf
    while made < n_picks:
        best, key, seed = scan_linear(
            X, scale, factor, u0, bonus, weight, tolerance, inverse, Z, panels, slack, t, bound, step, keys, seed, items
        )
        if best < 0 or key < level:
            break
        picks[made], gains[made] = best, key
        made += 1
        left = commit_linear(
            best, X, factor, inverse, Z, panels, slack, potentials, unit_slack, t, keys, groups, caps, costs, left
        )
        t += 1
    return made, t, left, key


@numba.njit(cache=True, nogil=True)
def pick_few(
    X: Array,
    scale: FloatArray,
    factor: FloatArray,
    bonus: FloatArray,
    weight: float,
    tolerance: float,
    unit_slack: float,
    available: Array,
    groups: IntArray,
    caps: IntArray,
    costs: FloatArray,
    left: float,
    level: float,
    picks: IntArray,
    gains: FloatArray,
) -> tuple[int, float, float]:
    """The picks of ``pick_linear`` among so few items that making its arrays from Python would take as long.

    Returns their number, the budget left, and the log-determinant over them.
    """
    n, D = X.shape
    width = panel_width(X.itemsize)
    keys = first_keys(scale, bonus, weight, available)
    for i in range(costs.size):
        if costs[i] > left:
            keys[i] = -math.inf
    Z, slack, potentials = np.zeros((picks.size, D)), np.zeros(picks.size + 1), np.ones(picks.size)
    panels = np.zeros(((picks.size + width - 1) // width, D, width), dtype=X.dtype)
    made, _, left, _ = pick_linear(
        picks.size, X, scale, factor, scale, bonus, weight, tolerance, np.zeros((0, 0)), Z, panels, slack, potentials,
        unit_slack, 0, scale.copy(), np.zeros(n, dtype=np.int64), keys, groups, caps, costs, left, np.arange(n), level,
        picks, gains,
    )  # fmt: skip
    return made, left, np.log(potentials[:made]).sum()


@numba.njit(cache=True, nogil=True)
def commit_linear(
    best: int,
    X: Array,
    factor: FloatArray,
    inverse: FloatArray,
    Z: FloatArray,
    panels: Array,
    slack: FloatArray,
    potentials: FloatArray,
    unit_slack: float,
    t: int,
    keys: FloatArray,
    groups: IntArray,
    caps: IntArray,
    costs: FloatArray,
    left: float,
) -> float:
    """Take an item: its direction becomes Z[t], and what the limits no longer allow leaves; returns the budget left."""
    keys[best] = -math.inf
    if costs.size:
        left -= costs[best]
        for i in range(keys.size):
            if costs[i] > left:
                keys[i] = -math.inf
    if groups.size:
        g = groups[best]
        caps[g] -= 1
        if caps[g] == 0:
            for i in range(keys.size):
                if groups[i] == g:
                    keys[i] = -math.inf
    potentials[t] = _set_direction(X, best, factor[best], Z, t, inverse)
    z, width = Z[t], panels.shape[2]
    for j in range(z.size):
        panels[t // width, j, t % width] = z[j]
    if inverse.size:
        for i in range(z.size):
            for j in range(z.size):
                inverse[i, j] -= z[i] * z[j]
    slack[t + 1] = slack[t] + unit_slack * _dot(z, z)
    return left


@numba.njit(cache=True, nogil=True)
def pick_dense(
    n_picks: int,
    L: Array,
    diagonal: FloatArray,
    bonus: FloatArray,
    weight: float,
    tolerance: float,
    C: Array,
    pivots: FloatArray,
    history: IntArray,
    t: int,
    residual: FloatArray,
    step: IntArray,
    keys: FloatArray,
    groups: IntArray,
    caps: IntArray,
    costs: FloatArray,
    left: float,
    stop: float,
    picks: IntArray,
    gains: FloatArray,
) -> tuple[int, int, float]:
    """The same for a dense kernel; row i of C holds item i's Cholesky coordinates, filled in as far as needed.

    ``history[:t]`` and ``pivots[:t]`` are the picks so far, given ones first, and the roots of their pivots.
    """
    n = diagonal.size
    made = 0
    while made < n_picks:
        if costs.size:
            for i in range(n):
                if costs[i] > left:
                    keys[i] = -math.inf
        best, theta = -1, -math.inf
        first = int(np.argmax(keys))
        for turn in range(n + 1):
            # The item with the largest bound goes first: its key lets the others stop early.
            i = first if turn == 0 else turn - 1
            if keys[i] == -math.inf or (turn > 0 and (i == first or keys[i] < theta)):
                continue
            s = advance_dense(L, i, C, pivots, history, t, residual, step, bonus, weight, theta)
            if residual[i] <= tolerance * diagonal[i]:
                keys[i] = -math.inf
                continue
            keys[i] = bonus[i] + weight * math.log(residual[i])
            if s == t and (keys[i] > theta or (keys[i] == theta and i < best)):
                best, theta = i, keys[i]
        if best < 0 or theta <= stop:
            break
        picks[made], gains[made] = best, theta
        made += 1
        keys[best] = -math.inf
        if costs.size:
            left -= costs[best]
        if groups.size:
            g = groups[best]
            caps[g] -= 1
            if caps[g] == 0:
                for i in range(n):
                    if groups[i] == g:
                        keys[i] = -math.inf
        history[t], pivots[t] = best, math.sqrt(residual[best])
        t += 1
    return made, t, left


@numba.njit(cache=True, nogil=True)
def advance_dense(
    L: Array,
    i: int,
    C: Array,
    pivots: FloatArray,
    history: IntArray,
    t: int,
    residual: FloatArray,
    step: IntArray,
    bonus: FloatArray,
    weight: float,
    theta: float,
) -> int:
    """Fill in item i's coordinates up to pick t, or until its key falls below theta; returns how far."""
    s = step[i]
    u = residual[i]
    while s < t:
        j = history[s]
        value = np.conj(L[j, i])
        for r in range(s):
            value -= C[i, r] * np.conj(C[j, r])
        value = value / pivots[s]
        C[i, s] = value
        u -= value.real * value.real + value.imag * value.imag
        s += 1
        if u <= 0.0 or bonus[i] + weight * math.log(u) < theta:
            break
    residual[i], step[i] = u, s
    return s
