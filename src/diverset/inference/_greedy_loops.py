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

__all__ = ["advance_dense", "commit_linear", "pick_dense", "pick_linear", "scan_linear"]

#: Picks by which an item is brought forward at least, once it is looked at.
_STRIDE = 12

#: The order of additions is free in bounds and does not matter in finalists beyond rounding.
_FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, fastmath=_FAST)
def _square(Z: Array, s: int, X: Array, i: int) -> float:
    """Squared product of row s of Z with row i of X, in the precision of X."""
    a = Z[s, 0] * X[i, 0]
    for j in range(1, X.shape[1]):
        a += Z[s, j] * X[i, j]
    # Squared in double precision: products of large float32 rows would overflow.
    return np.float64(a) ** 2


@numba.njit(cache=True, fastmath=_FAST)
def _exact_potential(Z: FloatArray, t: int, x: Array, u0: float, factor: float) -> float:
    """The potential after t picks, in double precision."""
    total = 0.0
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


@numba.njit(cache=True, nogil=True)
def scan_linear(
    X: Array,
    scale: FloatArray,
    factor: FloatArray,
    u0: FloatArray,
    bonus: FloatArray,
    weight: float,
    leverage: bool,
    tolerance: float,
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
) -> tuple[int, float, int]:
    """Of items lo..hi-1, the one with the largest key after t picks, its key, and a runner-up (-1 if none was seen).

    Ties go to the lowest index. ``seed``, any item, is looked at first: a good key lets the others stop early.
    """
    best, theta, second = -1, -math.inf, -1
    if lo <= seed < hi and keys[seed] > -math.inf:
        u = _exact_potential(Z, t, X[seed], u0[seed], factor[seed])
        if leverage or u > tolerance * scale[seed]:
            best, theta = seed, _key(u, bonus[seed], weight, leverage)
            bound[seed], step[seed], keys[seed] = u, t, theta
    for i in range(lo, hi):
        if keys[i] < theta or keys[i] == -math.inf or i == seed:
            continue
        s = step[i]
        u = bound[i]
        key = keys[i]
        # A row that has been fetched is brought forward a good deal, so that it need not be fetched again soon.
        target = min(t, s + _STRIDE)
        while s < t:
            u -= factor[i] * _square(Z_low, s, X, i)
            s += 1
            if s == target:
                key = _key(u + slack[s] * scale[i], bonus[i], weight, leverage)
                if key < theta:
                    break
                target = min(t, s + _STRIDE)
        bound[i], step[i] = u, s
        # A bound is never -inf: that marks items out of the running, which only the exact value may say.
        keys[i] = max(key, -1e300)
        if keys[i] < theta:
            continue
        u = _exact_potential(Z, t, X[i], u0[i], factor[i])
        if not leverage and u <= tolerance * scale[i]:
            keys[i] = -math.inf
            continue
        key = _key(u, bonus[i], weight, leverage)
        bound[i], step[i], keys[i] = u, t, key
        if key > theta or (key == theta and i < best):
            second = best
            best, theta = i, key
        else:
            second = i
    return best, theta, second


@numba.njit(cache=True)
def _direction(
    X: Array, i: int, factor: float, Z: FloatArray, t: int, inverse: FloatArray, leverage: bool
) -> FloatArray:
    """The vector z by which picking item i lowers every potential: u -= factor (z . x)^2."""
    D = X.shape[1]
    x = np.empty(D)
    root = math.sqrt(factor)
    for j in range(D):
        x[j] = root * X[i, j]
    if leverage:
        # M^-1 x for the current M, by the rank-one steps so far; then z = M^-1 x / sqrt(1 + x M^-1 x).
        z = inverse @ x
        for s in range(t):
            z -= Z[s] * np.dot(Z[s], x)
        return z / math.sqrt(1.0 + np.dot(z, x))
    z = x
    for _ in range(2):  # twice is enough to be orthogonal to rounding
        for s in range(t):
            z = z - Z[s] * np.dot(Z[s], z)
    return z / math.sqrt(np.dot(z, z))


@numba.njit(cache=True, nogil=True)
def pick_linear(
    n_picks: int,
    X: Array,
    scale: FloatArray,
    factor: FloatArray,
    u0: FloatArray,
    bonus: FloatArray,
    weight: float,
    leverage: bool,
    tolerance: float,
    inverse: FloatArray,
    Z: FloatArray,
    Z_low: Array,
    slack: FloatArray,
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
    ``Z[:t]`` holds the directions of earlier picks. ``groups`` (empty for none) with ``caps`` limits the picks of a
    group; ``costs`` (empty for none) with ``left`` those that still fit. Picking ends early when no item with a
    key above ``stop`` is available.
    """
    made = 0
    seed = -1
    while made < n_picks:
        best, key, seed = scan_linear(
            X, scale, factor, u0, bonus, weight, leverage, tolerance, Z, Z_low, slack, t, bound, step, keys, seed,
            0, keys.size,
        )  # fmt: skip
        if best < 0 or key <= stop:
            break
        picks[made], gains[made] = best, key
        made += 1
        left = commit_linear(
            best, X, factor, leverage, inverse, Z, Z_low, slack, unit_slack, t, keys, groups, caps, costs, left
        )
        t += 1
    return made, t, left


@numba.njit(cache=True, nogil=True)
def commit_linear(
    best: int,
    X: Array,
    factor: FloatArray,
    leverage: bool,
    inverse: FloatArray,
    Z: FloatArray,
    Z_low: Array,
    slack: FloatArray,
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
    z = _direction(X, best, factor[best], Z, t, inverse, leverage)
    length2 = 0.0
    for j in range(z.size):
        Z[t, j] = z[j]
        Z_low[t, j] = z[j]
        length2 += z[j] * z[j]
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
