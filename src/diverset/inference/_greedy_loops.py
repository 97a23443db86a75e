# mypy: disable-error-code="untyped-decorator, no-any-return"
r"""Compiled greedy selection by threshold-lazy evaluation.

Every item i has a potential :math:`u_i = u_i^0 - f_i \sum_t (z_t \cdot x_i)^2` that falls with every pick t (the
squared distance to the span of the picks, or a leverage), and a key that grows with it. Greedy wants the largest key. A
potential that has not yet seen the last picks is an upper bound, so an item need only be brought up to date until
its bound falls below the best key found; most items stop early. Bounds are computed in the precision of the
features with a margin for rounding, the keys of finalists in double precision, so the picks are those of the
textbook.

Numba is imported here and nowhere else: import this module inside the function that needs it.
"""

import math

import numba
import numpy as np

from diverset._typing import Array, FloatArray, IntArray

__all__ = ["advance_dense", "commit_linear", "pick_dense", "pick_linear", "scan_linear", "squared_norms"]

#: Picks by which an item is brought forward at least, once it is looked at.
_STRIDE = 24
#: Rows that are found before the first of them is worked on.
_AHEAD = 64

#: The order of additions is free in bounds and does not matter in finalists beyond rounding.
_FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, fastmath=_FAST)
def _sum_of_squares(Z: Array, first: int, last: int, x: Array) -> float:
    """Squared products of the rows first..last-1 of Z with x, added up; products in the precision of x.

    Eight at a time, in as many registers: x is then loaded once for eight products, none of which waits for another.
    Sums start from a constant zero, or the compiler would leave the last numbers of every row to a scalar loop.
    """
    zero = x.dtype.type(0)
    total = 0.0
    s = first
    while s + 8 <= last:
        z0, z1, z2, z3, z4, z5, z6, z7 = Z[s], Z[s + 1], Z[s + 2], Z[s + 3], Z[s + 4], Z[s + 5], Z[s + 6], Z[s + 7]
        a0, a1, a2, a3, a4, a5, a6, a7 = zero, zero, zero, zero, zero, zero, zero, zero
        for j in range(x.size):
            a0 += z0[j] * x[j]
            a1 += z1[j] * x[j]
            a2 += z2[j] * x[j]
            a3 += z3[j] * x[j]
            a4 += z4[j] * x[j]
            a5 += z5[j] * x[j]
            a6 += z6[j] * x[j]
            a7 += z7[j] * x[j]
        # Squared in double precision: products of large float32 rows would overflow.
        total += np.float64(a0) ** 2 + np.float64(a1) ** 2 + np.float64(a2) ** 2 + np.float64(a3) ** 2
        total += np.float64(a4) ** 2 + np.float64(a5) ** 2 + np.float64(a6) ** 2 + np.float64(a7) ** 2
        s += 8
    while s < last:
        z0 = Z[s]
        a0 = zero
        for j in range(x.size):
            a0 += z0[j] * x[j]
        total += np.float64(a0) ** 2
        s += 1
    return total


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


@numba.njit(cache=True)
def _touch(x: Array) -> float:
    """Read one number of every cache line of a row, so that it is on its way when it is needed."""
    total = 0.0
    for j in range(0, x.size, 16):
        total += x[j]
    return total


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
    Z_low: Array,
    slack: FloatArray,
    t: int,
    bound: FloatArray,
    step: IntArray,
    keys: FloatArray,
    seed: int,
    lo: int,
    hi: int,
) -> tuple[int, float, int, float]:
    """Of items lo..hi-1, the one with the largest key after t picks, its key, and a runner-up (-1 if none was seen).

    Ties go to the lowest index. ``seed``, any item, is looked at first: a good key lets the others stop early. The last
    number returned means nothing; without it the compiler would leave out the reading ahead.
    """
    leverage = inverse.size > 0
    best, theta, second = -1, -math.inf, -1
    if lo <= seed < hi and keys[seed] > -math.inf:
        u = _exact_potential(Z, t, X[seed], u0[seed], factor[seed], inverse)
        if leverage or u > tolerance * scale[seed]:
            best, theta = seed, _key(u, bonus[seed], weight, leverage)
            bound[seed], step[seed], keys[seed] = u, t, theta
    waiting = np.empty(_AHEAD, dtype=np.int64)
    touched = 0.0
    i = lo
    while i < hi:
        # Rows are looked at in groups, found first: while one is worked on, memory fetches the next.
        m = 0
        while i < hi and m < _AHEAD:
            if keys[i] >= theta and i != seed and keys[i] > -math.inf:
                waiting[m] = i
                m += 1
            i += 1
        for w in range(m):
            if w + 1 < m:
                touched += _touch(X[waiting[w + 1]])
            c = waiting[w]
            s = step[c]
            u = bound[c]
            key = keys[c]
            if key < theta:
                continue
            # A row that has been fetched is brought forward a good deal, so that it need not be fetched again soon.
            while s < t:
                target = min(t, s + _STRIDE)
                u -= factor[c] * _sum_of_squares(Z_low, s, target, X[c])
                s = target
                key = _key(u + slack[s] * scale[c], bonus[c], weight, leverage)
                if key < theta:
                    break
            bound[c], step[c] = u, s
            # A bound is never -inf: that marks items out of the running, which only the exact value may say.
            keys[c] = max(key, -1e300)
            if keys[c] < theta:
                continue
            u = _exact_potential(Z, t, X[c], u0[c], factor[c], inverse)
            if not leverage and u <= tolerance * scale[c]:
                keys[c] = -math.inf
                continue
            key = _key(u, bonus[c], weight, leverage)
            bound[c], step[c], keys[c] = u, t, key
            if key > theta or (key == theta and c < best):
                second = best
                best, theta = c, key
            else:
                second = c
    return best, theta, second, touched


@numba.njit(cache=True)
def _direction(X: Array, i: int, factor: float, Z: FloatArray, t: int, inverse: FloatArray) -> tuple[FloatArray, float]:
    """The vector z by which picking item i lowers every potential, u -= factor (z . x)^2, and i's own potential.

    Of a near-duplicate the potential has twice the digits here that it has as a difference of squares.
    """
    D = X.shape[1]
    x = np.empty(D)
    root = math.sqrt(factor)
    for j in range(D):
        x[j] = root * X[i, j]
    if inverse.size:
        # Sherman and Morrison: M + xx' has the inverse M^-1 - zz'.
        z = inverse @ x
        u = np.dot(z, x)
        return z / math.sqrt(1.0 + u), u
    z = x
    for _ in range(2):  # twice is enough to be orthogonal to rounding
        for s in range(t):
            z = z - Z[s] * np.dot(Z[s], z)
    u = np.dot(z, z)
    return z / math.sqrt(u), u


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
    Z_low: Array,
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
    stop: float,
    picks: IntArray,
    gains: FloatArray,
) -> tuple[int, int, float]:
    """Make up to `n_picks` greedy picks; returns their number, the new t, and the budget left.

    Item i stands for ``sqrt(factor[i]) * X[i]``, whose squared norm is ``scale[i]``; ``u0`` are potentials before Z.
    ``Z[:t]`` holds the directions of earlier picks, ``potentials`` takes the picks' own. ``groups`` (empty for none)
    with ``caps`` limits the picks of a group; ``costs`` (empty for none) with ``left`` those that still fit. Picking
    ends early when no item with a key above ``stop`` is available.
    """
    made = 0
    seed = -1
    while made < n_picks:
        best, key, seed, _ = scan_linear(
            X, scale, factor, u0, bonus, weight, tolerance, inverse, Z, Z_low, slack, t, bound, step, keys, seed,
            0, keys.size,
        )  # fmt: skip
        if best < 0 or key <= stop:
            break
        picks[made], gains[made] = best, key
        made += 1
        left = commit_linear(
            best, X, factor, inverse, Z, Z_low, slack, potentials, unit_slack, t, keys, groups, caps, costs, left
        )
        t += 1
    return made, t, left


@numba.njit(cache=True, nogil=True)
def commit_linear(
    best: int,
    X: Array,
    factor: FloatArray,
    inverse: FloatArray,
    Z: FloatArray,
    Z_low: Array,
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
    z, potentials[t] = _direction(X, best, factor[best], Z, t, inverse)
    length2 = 0.0
    for j in range(z.size):
        Z[t, j] = z[j]
        Z_low[t, j] = z[j]
        length2 += z[j] * z[j]
    if inverse.size:
        for i in range(z.size):
            for j in range(z.size):
                inverse[i, j] -= z[i] * z[j]
    slack[t + 1] = slack[t] + unit_slack * length2
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
