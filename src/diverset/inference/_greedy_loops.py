# cython: infer_types=True
r"""Greedy selection by threshold-lazy evaluation.

Every item i has a potential :math:`u_i = u_i^0 - f_i \sum_t (z_t \cdot x_i)^2` that falls with every pick t (the
squared distance to the span of the picks, or a leverage), and a key that increases with the potential. Each greedy pick
has the largest key. A potential that does not include the last picks is an upper bound. So an item is updated only
until its bound falls below the best key found, and most items stop early. Bounds are computed in the precision of the
features, with a margin for rounding. The keys of the last candidates are computed in double precision, so the picks are
those of the plain greedy algorithm.

Rows are multiplied by directions in *panels*, as in matrix products. Panel b holds directions bw, ..., bw + w - 1, with
their j-th entries side by side; w of them fill a register. One instruction multiplies the j-th entry of a row by the
j-th line of a panel and adds to w products. A row fetched from memory is multiplied by a few dozen directions at once,
so that it is fetched rarely.

The module is compiled by Cython and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.diverset.numerics.kernels import choose_kernels, kernels, prefetch
    from cython.cimports.libc.math import HUGE_VAL, log, log1p, sqrt
    from cython.cimports.numpy import PyArray_DATA

    choose_kernels()
else:
    from math import inf as HUGE_VAL
    from math import log, log1p, sqrt

    from diverset import _uncompiled
    from diverset.numerics import kernels

    _uncompiled.warn_once()

__all__ = ["Batch", "DenseState", "RowState", "as_panels", "rank_scores"]

#: Number of panels that a row is multiplied by at a time.
_PANELS = cython.declare(cython.Py_ssize_t, 3)
#: Size in bytes of the register that holds one line of a panel.
_REGISTER = 32
#: Number of rows that are updated together, and number of rows prefetched ahead.
_GROUP = cython.declare(cython.Py_ssize_t, 64)
_AHEAD = cython.declare(cython.Py_ssize_t, 4)
#: Smallest key of an item that can be picked; -inf marks items that cannot be picked.
_LOWEST = cython.declare(cython.double, -1e300)


def as_panels(Z, dtype, n_directions):
    """Panels (n_panels, D, width) for `n_directions` directions: the rows of Z, then zeros."""
    width = _REGISTER // np.dtype(dtype).itemsize
    D = Z.shape[1]
    n_panels = -(-n_directions // width)
    size = n_panels * D * _REGISTER
    # Align the panels: loading a register across two cache lines takes twice as long.
    memory = np.zeros(size + _REGISTER, dtype=np.uint8)
    start = -memory.ctypes.data % _REGISTER
    panels = memory[start : start + size].view(dtype).reshape(n_panels, D, width)
    for s in range(len(Z)):
        panels[s // width, :, s % width] = Z[s]
    return panels


def _address(array):
    """Pointer to the data of a C-ordered array; uncompiled, the flattened array."""
    if not array.flags.c_contiguous:
        raise ValueError("rows must be in C order")
    return cython.cast(cython.Py_ssize_t, PyArray_DATA(array)) if cython.compiled else array.reshape(-1)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _key(u: cython.double, bonus: cython.double, weight: cython.double, leverage: cython.bint) -> cython.double:
    """Key: bonus + weight log u, or bonus + weight log(1 + u) for a leverage."""
    if leverage:
        return bonus + weight * log1p(u) if u > 0.0 else bonus  # also if u is nan
    return bonus + weight * log(u) if u > 0.0 else -HUGE_VAL


@cython.cclass
class _State:
    """Base class for rows and dense kernels: keys, bonuses and limits.

    `keys` are upper bounds of the keys, updated in place, and -inf for items that cannot be picked. An item whose
    residual is below `tolerance` times its squared norm counts as dependent on the picks. `caps` (changed in place) are
    the remaining picks of each of the `groups`; `budget` bounds the sum of `costs`; empty arrays mean no limit.
    """

    n: cython.Py_ssize_t
    _t: cython.Py_ssize_t
    weight: cython.double
    tolerance: cython.double
    _budget: cython.double
    keys: cython.double[::1]
    bonus: cython.const[cython.double][::1]
    groups: cython.const[cython.longlong][::1]
    caps: cython.longlong[::1]
    costs: cython.const[cython.double][::1]
    step: cython.longlong[::1]

    def __init__(self, keys, bonus, weight, tolerance, groups, caps, costs, budget):
        self.n = len(keys)
        self._t = 0
        self.keys, self.bonus, self.weight, self.tolerance = keys, bonus, weight, tolerance
        self.groups, self.caps, self.costs, self._budget = groups, caps, costs, budget

    @property
    def t(self):
        """Number of directions, including those of given items."""
        return self._t

    @property
    def budget(self):
        """Remaining budget."""
        return self._budget

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _drop_unaffordable(self) -> cython.void:
        for i in range(self.costs.shape[0]):
            if self.costs[i] > self._budget:
                self.keys[i] = -HUGE_VAL

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take(self, best: cython.Py_ssize_t) -> cython.void:
        """Mark a pick, and all items that the limits no longer allow, as not available."""
        self.keys[best] = -HUGE_VAL
        if self.costs.shape[0]:
            self._budget -= self.costs[best]
            self._drop_unaffordable()
        if self.groups.shape[0]:
            group = self.groups[best]
            self.caps[group] -= 1
            if self.caps[group] == 0:
                for i in range(self.n):
                    if self.groups[i] == group:
                        self.keys[i] = -HUGE_VAL


@cython.final
@cython.cclass
class RowState(_State):
    """Greedy selection over rows: the vector of item i is ``sqrt(factor[i]) * X[i]``; `scale` is its squared norm.

    Rows of X (n, D) are float32 or float64 in C order. `u0` are the potentials before any direction. `bound` are upper
    bounds of the potentials, and `step` the numbers of directions they include. The first `t` directions Z (m, D) are
    set; picks write the others. Entry s of `slack` (m + 1,) is the margin for rounding after s directions, relative to
    `scale`; a unit direction adds `unit` to it. `inverse` (D, D) is the inverse of the information matrix for picks by
    leverage, and otherwise empty. `limits` are the arguments of the base class. `bound`, `step`, `inverse`, `Z` and
    `slack` are changed in place.
    """

    D: cython.Py_ssize_t
    width: cython.Py_ssize_t
    entries: cython.Py_ssize_t
    single: cython.bint
    leverage: cython.bint
    unit: cython.double
    X: object
    panels: object
    x32: cython.p_float
    x64: cython.p_double
    p32: cython.p_float
    p64: cython.p_double
    scale: cython.const[cython.double][::1]
    factor: cython.const[cython.double][::1]
    u0: cython.const[cython.double][::1]
    Z: cython.double[:, ::1]
    slack: cython.double[::1]
    inverse: cython.double[:, ::1]
    bound: cython.double[::1]
    _potentials: cython.double[::1]

    def __init__(self, X, scale, factor, u0, Z, t, slack, unit, inverse, bound, step, limits):
        _State.__init__(self, *limits)
        self.D = X.shape[1]
        self.single = X.dtype == np.float32
        self.panels = as_panels(Z[:t], X.dtype, len(Z))
        self.width, self.entries = self.panels.shape[2], self.panels.size
        self.X = X
        rows: cython.Py_ssize_t = _address(X)
        panels: cython.Py_ssize_t = _address(self.panels)
        if cython.compiled:
            # The two pointers of a pair have the same address; `single` tells which one is used.
            self.x32, self.x64 = cython.cast(cython.p_float, rows), cython.cast(cython.p_double, rows)
            self.p32, self.p64 = cython.cast(cython.p_float, panels), cython.cast(cython.p_double, panels)
        else:
            self.x32 = self.x64 = rows
            self.p32 = self.p64 = panels
        self.scale, self.factor, self.u0 = scale, factor, u0
        self.Z, self._t, self.slack, self.unit = Z, t, slack, unit
        self.inverse, self.leverage = inverse, inverse.size > 0
        self.bound, self.step = bound, step
        self._potentials = np.ones(len(Z))

    @property
    def potentials(self):
        """For each direction, the potential of its item when it was picked; 1 for a direction without an item."""
        return np.asarray(self._potentials)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _squares(self, c: cython.Py_ssize_t, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.double:
        """Sum of squared products of row c with directions start..end-1, which lie in at most `_PANELS` panels."""
        if cython.compiled:
            if self.single:
                return kernels.panel_squares_float(self.p32, self.D, start, end, self.x32 + c * self.D)
            return kernels.panel_squares_double(self.p64, self.D, start, end, self.x64 + c * self.D)
        else:
            return kernels.panel_squares(self.panels, start, end, self.x64[c * self.D : (c + 1) * self.D])

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _product(self, M: cython.double[:, ::1], s: cython.Py_ssize_t, c: cython.Py_ssize_t) -> cython.double:
        """Product of row s of M with row c of X, in double precision."""
        if cython.compiled:
            if self.single:
                return kernels.dot_float(cython.address(M[s, 0]), self.x32 + c * self.D, self.D)
            return kernels.dot(cython.address(M[s, 0]), self.x64 + c * self.D, self.D)
        else:
            return kernels.dot(M[s], self.x64[c * self.D :], self.D)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _entry(self, c: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.double:
        return self.x32[c * self.D + j] if self.single else self.x64[c * self.D + j]

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _prefetch(self, c: cython.Py_ssize_t) -> cython.void:
        if cython.compiled:
            if self.single:
                prefetch(self.x32 + c * self.D, 4 * self.D)
            else:
                prefetch(self.x64 + c * self.D, 8 * self.D)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _squared_norm(self, c: cython.Py_ssize_t) -> cython.double:
        """Squared norm of row c, in double precision."""
        if cython.compiled:
            if self.single:
                return kernels.dot_floats(self.x32 + c * self.D, self.x32 + c * self.D, self.D)
            return kernels.dot(self.x64 + c * self.D, self.x64 + c * self.D, self.D)
        else:
            return kernels.dot(self.x64[c * self.D :], self.x64[c * self.D :], self.D)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _exact_potential(self, c: cython.Py_ssize_t) -> cython.double:
        """The current potential of item c, in double precision."""
        total: cython.double = 0.0
        if self.leverage:
            for s in range(self.D):
                total += self._product(self.inverse, s, c) * self._entry(c, s)
            return self.factor[c] * total
        for s in range(self._t):
            a = self._product(self.Z, s, c)
            total += a * a
        return self.u0[c] - self.factor[c] * total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _forward(self, c: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Update item c up to direction `end`, which is at most `_PANELS` panels after its own step."""
        u: cython.double = self.bound[c] - self.factor[c] * self._squares(c, self.step[c], end)
        key: cython.double = _key(u + self.slack[end] * self.scale[c], self.bonus[c], self.weight, self.leverage)
        self.bound[c] = u
        self.step[c] = end
        # A bound is never -inf or nan: only the exact value decides that an item cannot be picked.
        self.keys[c] = key if key > _LOWEST else _LOWEST

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _settle(self, c: cython.Py_ssize_t, u: cython.double) -> cython.double:
        """Store an exact potential, which needs no margin for earlier rounding; returns the key."""
        self.bound[c] = u - self.slack[self._t] * self.scale[c]
        self.step[c] = self._t
        self.keys[c] = _key(u, self.bonus[c], self.weight, self.leverage)
        return self.keys[c]

    def gather(self, level: cython.double, lo: cython.Py_ssize_t, hi: cython.Py_ssize_t, pool: cython.longlong[::1]):
        """Update items lo..hi-1, each until it includes all directions or its key falls below `level`.

        Items with a key of `level` or more are written to ``pool[lo:]``; returns their number. Keys of other items stay
        below `level` until keys are reset. Several threads may work on ranges that do not overlap.
        """
        stay: cython.Py_ssize_t = lo
        i: cython.Py_ssize_t = lo
        block: cython.Py_ssize_t = _PANELS * self.width
        t: cython.Py_ssize_t = self._t
        with cython.nogil:
            while i < hi:
                # Rows are collected at the end of the pool and updated in groups, so that the next rows are fetched
                # from memory during the computation.
                m: cython.Py_ssize_t = 0
                while i < hi and m < _GROUP:
                    # Branch-free, since the processor could not predict the branch.
                    key = self.keys[i]
                    pool[stay + m] = i
                    m += (key >= level) & (key > -HUGE_VAL)
                    i += 1
                for w in range(min(m, _AHEAD)):
                    self._prefetch(pool[stay + w])
                # All rows of a group use the same few panels before the next panels: both stay in the cache.
                end = block
                while end < t + block:
                    for w in range(m):
                        if end == block and w + _AHEAD < m:
                            self._prefetch(pool[stay + w + _AHEAD])
                        c = pool[stay + w]
                        if self.step[c] < min(end, t) and self.keys[c] >= level:
                            self._forward(c, min(end, t))
                    end += block
                lead = stay
                for w in range(m):
                    c = pool[lead + w]
                    if self.keys[c] >= level:
                        pool[stay] = c
                        stay += 1
        return stay - lo

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _scan(
        self,
        seed: cython.Py_ssize_t,
        items: cython.const[cython.longlong][::1],
        n_items: cython.Py_ssize_t,
        by_bonus: cython.bint,
    ) -> tuple[cython.Py_ssize_t, cython.double, cython.Py_ssize_t]:
        """The item of largest current key among the first `n_items`, its key, and a runner-up (-1 if none).

        Ties go to the lowest index. `seed`, one of the items or -1, is updated first: a large key lets the others stop
        early. With `by_bonus`, no key exceeds the bonus of its item, and items are in descending order of bonus.
        """
        best: cython.Py_ssize_t = -1
        second: cython.Py_ssize_t = -1
        theta: cython.double = -HUGE_VAL
        if seed >= 0 and self.keys[seed] > -HUGE_VAL:
            u = self._exact_potential(seed)
            if self.leverage or u > self.tolerance * self.scale[seed]:
                best = seed
                theta = self._settle(seed, u)
        for at in range(n_items):
            c = items[at]
            if by_bonus and self.bonus[c] < theta:
                break
            if self.keys[c] < theta or c == seed or self.keys[c] == -HUGE_VAL:
                continue
            while self.step[c] < self._t and self.keys[c] >= theta:
                # Round up to the end of the last panel; the width of a panel is a power of two.
                end = (self.step[c] | (self.width - 1)) + 1 + (_PANELS - 1) * self.width
                self._forward(c, min(self._t, end))
            if self.keys[c] < theta:
                continue
            u = self._exact_potential(c)
            if not self.leverage and u <= self.tolerance * self.scale[c]:
                self.keys[c] = -HUGE_VAL
                continue
            key = self._settle(c, u)
            if key > theta or (key == theta and c < best):
                second = best
                best = c
                theta = key
            else:
                second = c
        return best, theta, second

    def scan(self, seed: cython.Py_ssize_t, items: cython.const[cython.longlong][::1]):
        """The item of largest current key among `items`, its key, and a runner-up (-1 if none was found)."""
        with cython.nogil:
            best, key, second = self._scan(seed, items, items.shape[0], False)
        return best, key, second

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _set_direction(self, c: cython.Py_ssize_t) -> cython.double:
        """Write to Z[t] the vector z by which picking item c lowers every potential, u -= factor (z . x)^2.

        Returns the potential of c. For a near-duplicate this value has twice as many correct digits as the difference
        of squares.
        """
        t: cython.Py_ssize_t = self._t
        root: cython.double = sqrt(self.factor[c])
        if self.leverage:
            # Sherman-Morrison: M + xx' has the inverse M^-1 - zz'.
            u: cython.double = 0.0
            for j in range(self.D):
                self.Z[t, j] = root * self._product(self.inverse, j, c)
                u += root * self._entry(c, j) * self.Z[t, j]
            # Rounding can make a leverage negative; rows of very different lengths can make it infinite.
            length = sqrt(1.0 + u) if u > 0.0 else 1.0
        else:
            for j in range(self.D):
                self.Z[t, j] = root * self._entry(c, j)
            for _turn in range(2):  # two passes give orthogonality to rounding error
                for s in range(t):
                    self._subtract(self._z_product(s, t), s, self.Z, t)
            u = self._z_product(t, t)
            length = sqrt(u)
            if root == 0.0:  # an item without a direction lowers no potential
                u = self.u0[c]
                length = 1.0
        for j in range(self.D):
            self.Z[t, j] = self.Z[t, j] / length if length < HUGE_VAL else 0.0
        return u

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _z_product(self, s: cython.Py_ssize_t, t: cython.Py_ssize_t) -> cython.double:
        if cython.compiled:
            return kernels.dot(cython.address(self.Z[s, 0]), cython.address(self.Z[t, 0]), self.D)
        else:
            return kernels.dot(self.Z[s], self.Z[t], self.D)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _subtract(
        self, a: cython.double, s: cython.Py_ssize_t, M: cython.double[:, ::1], t: cython.Py_ssize_t
    ) -> cython.void:
        """M[t] -= a Z[s]."""
        if cython.compiled:
            kernels.axpy(-a, cython.address(self.Z[s, 0]), cython.address(M[t, 0]), self.D)
        else:
            kernels.axpy(-a, self.Z[s], M[t], self.D)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _commit(self, best: cython.Py_ssize_t) -> cython.void:
        t: cython.Py_ssize_t = self._t
        panel: cython.Py_ssize_t = t // self.width
        lane: cython.Py_ssize_t = t % self.width
        self._take(best)
        self._potentials[t] = self._set_direction(best)
        for j in range(self.D):
            at = (panel * self.D + j) * self.width + lane
            if self.single:
                self.p32[at] = self.Z[t, j]
            else:
                self.p64[at] = self.Z[t, j]
        if self.leverage:
            for j in range(self.D):
                self._subtract(self.Z[t, j], t, self.inverse, j)
        self.slack[t + 1] = self.slack[t] + self.unit * self._z_product(t, t)
        self._t = t + 1

    def commit(self, best: cython.Py_ssize_t):
        """Pick an item: add its direction, and remove items that the limits no longer allow."""
        with cython.nogil:
            self._commit(best)

    def pick(
        self,
        n_picks: cython.Py_ssize_t,
        items: cython.const[cython.longlong][::1],
        level: cython.double,
        picks: cython.longlong[::1],
        gains: cython.double[::1],
    ):
        """Make up to `n_picks` greedy picks among `items`; returns their number and the last key computed.

        Picking ends early when no item has a key of `level` or more.
        """
        made: cython.Py_ssize_t = 0
        seed: cython.Py_ssize_t = -1
        key: cython.double = HUGE_VAL
        with cython.nogil:
            self._drop_unaffordable()
            while made < n_picks:
                best, key, seed = self._scan(seed, items, items.shape[0], False)
                if best < 0 or key < level:
                    break
                picks[made] = best
                gains[made] = key
                made += 1
                self._commit(best)
        return made, key


def rank_scores(
    scores: cython.double[:, ::1],
    order: cython.const[cython.longlong][:, ::1],
    table: cython.const[cython.double][::1],
):
    """Replace the scores of many lists by the scores of their ranks; ties share their mean rank, and -inf stays.

    `order` sorts each row in ascending order. Entry 2r of the table is the score of rank r.
    """
    n = order.shape[1]
    with cython.nogil:
        for i in range(order.shape[0]):
            start = 0
            while start < n and scores[i, order[i, n - 1 - start]] > -HUGE_VAL:
                value = scores[i, order[i, n - 1 - start]]
                end = start
                while end < n and scores[i, order[i, n - 1 - end]] == value:
                    end += 1
                for j in range(start, end):
                    scores[i, order[i, n - 1 - j]] = table[start + end + 1]
                start = end


@cython.final
@cython.cclass
class Batch:
    """Picks from many short lists of rows of the same width, one list after the other, in the same memory.

    A list has at most n rows of D numbers of type `dtype`, and at most k picks. `unit` and `tolerance` are those of
    :class:`RowState`.
    """

    state: RowState
    factor: cython.double[::1]
    bonus: cython.double[::1]
    items: cython.longlong[::1]

    def __init__(self, n, D, k, dtype, unit, tolerance):
        none = np.zeros(0, dtype=np.int64)
        # `_prepare` fills the arrays of keys, bonuses, factors, bounds and steps for every list.
        bonus, factor, ones = np.empty(n), np.empty(n), np.ones(n)
        limits = (np.empty(n), bonus, 1.0, tolerance, none, none.copy(), np.zeros(0), HUGE_VAL)
        self.state = RowState(
            np.zeros((1, D), dtype=dtype), ones, factor, ones, np.zeros((k, D)), 0, np.zeros(k + 1), unit,
            np.zeros((0, 0)), np.empty(n), np.empty(n, dtype=np.int64), limits,
        )  # fmt: skip
        self.factor, self.bonus, self.items = factor, bonus, np.arange(n)

    def pick(
        self,
        lists,
        scores: cython.const[cython.double][:, ::1],
        order: cython.const[cython.longlong][:, ::1],
        weight: cython.double,
        wanted: cython.const[cython.longlong][::1],
        picks: cython.longlong[:, ::1],
        gains: cython.double[:, ::1],
        facts: cython.longlong[:, ::1],
        sums: cython.double[:, ::1],
    ):
        """Pick from the rows of m lists, normalised to unit length; the lists are in C order and of this `dtype`.

        `scores` (m, n) are -inf beyond the end of a list and for items that cannot be picked, and have weight
        ``1 - weight``; `order` sorts each row of scores in ascending order. ``wanted[i]`` picks are made from list i.
        The outputs are `picks` and `gains` (m, k), `facts` (m, 4) and `sums` (m, 2). The facts are the number of picks
        (-1 if a row is zero, too long or not finite), of available items, of unpicked items better than some pick, and
        of items better than all picks. The sums are the log-determinant of the picks and the sum of the gains.
        """
        state: RowState = self.state
        m: cython.Py_ssize_t = len(lists)
        addresses: cython.longlong[::1] = np.zeros(m, dtype=np.int64)
        lengths: cython.longlong[::1] = np.zeros(m, dtype=np.int64)
        for i in range(m):
            lengths[i] = len(lists[i])
            if cython.compiled:  # the list holds a reference to the array, so the address stays valid
                addresses[i] = _address(lists[i])
        with cython.nogil:
            state.weight = weight
            for i in range(m):
                if cython.compiled:
                    state.x32 = cython.cast(cython.p_float, addresses[i])
                    state.x64 = cython.cast(cython.p_double, addresses[i])
                else:
                    state.x32 = state.x64 = _address(lists[i])
                n = 0
                while n < order.shape[1] and scores[i, order[i, order.shape[1] - 1 - n]] > -HUGE_VAL:
                    self.items[n] = order[i, order.shape[1] - 1 - n]
                    n += 1
                facts[i, 0] = -1
                facts[i, 1] = n
                if self._prepare(state, i, lengths[i], scores):
                    facts[i, 0] = self._pick(state, i, n, wanted[i], picks, gains, sums)
                if facts[i, 0] > 0:
                    self._place(i, facts[i, 0], scores, picks, facts)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _prepare(
        self, state: RowState, i: cython.Py_ssize_t, n: cython.Py_ssize_t, scores: cython.const[cython.double][:, ::1]
    ) -> cython.bint:
        """Compute norms, bonuses and keys of the n items of list i; false if a row has no usable norm."""
        state._t = 0
        for c in range(state.entries):  # clear the directions of the previous list
            if state.single:
                state.p32[c] = 0.0
            else:
                state.p64[c] = 0.0
        for c in range(n):
            norm = state._squared_norm(c)
            if not (norm > 1e-280 and norm < 1e280):
                return False
            self.factor[c] = 1.0 / norm
            self.bonus[c] = (1.0 - state.weight) * scores[i, c]
            state.keys[c] = self.bonus[c]
            state.bound[c] = 1.0
            state.step[c] = 0
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _pick(
        self,
        state: RowState,
        i: cython.Py_ssize_t,
        n: cython.Py_ssize_t,
        wanted: cython.Py_ssize_t,
        picks: cython.longlong[:, ::1],
        gains: cython.double[:, ::1],
        sums: cython.double[:, ::1],
    ) -> cython.Py_ssize_t:
        """Pick from the first n of `items`; returns the number of picks."""
        made: cython.Py_ssize_t = 0
        seed: cython.Py_ssize_t = -1
        sums[i, 0] = 0.0
        sums[i, 1] = 0.0
        while made < wanted:
            best, key, seed = state._scan(seed, self.items, n, True)
            if best < 0:
                break
            picks[i, made] = best
            gains[i, made] = key
            state._commit(best)
            sums[i, 0] += log(state._potentials[made])
            sums[i, 1] += key
            made += 1
        return made

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _place(
        self,
        i: cython.Py_ssize_t,
        made: cython.Py_ssize_t,
        scores: cython.const[cython.double][:, ::1],
        picks: cython.const[cython.longlong][:, ::1],
        facts: cython.longlong[:, ::1],
    ) -> cython.void:
        """Count the items of list i whose scores exceed those of picks."""
        low: cython.double = HUGE_VAL
        high: cython.double = -HUGE_VAL
        above_low: cython.Py_ssize_t = 0
        above_high: cython.Py_ssize_t = 0
        for c in range(made):
            low = min(low, scores[i, picks[i, c]])
            high = max(high, scores[i, picks[i, c]])
        for c in range(scores.shape[1]):
            above_low += scores[i, c] > low
            above_high += scores[i, c] > high
        for c in range(made):
            above_low -= scores[i, picks[i, c]] > low
        facts[i, 2] = above_low
        facts[i, 3] = above_high


@cython.final
@cython.cclass
class DenseState(_State):
    """Greedy selection under a dense kernel; row i of C holds the Cholesky coordinates of item i computed so far.

    L is Hermitian positive semidefinite, float64 or complex128; `width` is the largest number of picks and given items.
    `limits` are the arguments of the base class.
    """

    hermitian: cython.bint
    L: cython.const[cython.double][:, :]
    H: cython.const[cython.doublecomplex][:, :]
    C: cython.double[:, ::1]
    diagonal: cython.const[cython.double][::1]
    residual: cython.double[::1]
    pivots: cython.double[::1]
    history: cython.longlong[::1]

    def __init__(self, L, diagonal, width, limits):
        _State.__init__(self, *limits)
        self.hermitian = L.dtype.kind == "c"
        if self.hermitian:
            self.H = L
        else:
            self.L = L
        # Complex coordinates are interleaved: real part, imaginary part.
        self.C = np.zeros((self.n, 2 * width if self.hermitian else width))
        self.diagonal, self.residual = diagonal, np.array(diagonal)
        self.pivots, self.history = np.zeros(width), np.zeros(width, dtype=np.int64)
        self.step = np.zeros(self.n, dtype=np.int64)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _advance(self, i: cython.Py_ssize_t, theta: cython.double) -> cython.void:
        """Compute the coordinates of item i up to the last pick, or until its key falls below theta."""
        s: cython.Py_ssize_t = self.step[i]
        u: cython.double = self.residual[i]
        while s < self._t:
            j = self.history[s]
            if self.hermitian:
                u -= self._complex_coordinate(i, j, s)
            else:
                value: cython.double = self.L[j, i]
                if cython.compiled:
                    value -= kernels.dot(cython.address(self.C[i, 0]), cython.address(self.C[j, 0]), s)
                else:
                    value -= kernels.dot(self.C[i], self.C[j], s)
                value /= self.pivots[s]
                self.C[i, s] = value
                u -= value * value
            s += 1
            if u <= 0.0 or self.bonus[i] + self.weight * log(u) < theta:
                break
        self.residual[i] = u
        self.step[i] = s

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _complex_coordinate(self, i: cython.Py_ssize_t, j: cython.Py_ssize_t, s: cython.Py_ssize_t) -> cython.double:
        """Write coordinate s of item i, for pick j; returns the squared modulus of the coordinate."""
        re: cython.double = self.H[j, i].real
        im: cython.double = -self.H[j, i].imag
        for r in range(0, 2 * s, 2):
            re -= self.C[i, r] * self.C[j, r] + self.C[i, r + 1] * self.C[j, r + 1]
            im -= self.C[i, r + 1] * self.C[j, r] - self.C[i, r] * self.C[j, r + 1]
        re /= self.pivots[s]
        im /= self.pivots[s]
        self.C[i, 2 * s] = re
        self.C[i, 2 * s + 1] = im
        return re * re + im * im

    def give(self, items: cython.const[cython.longlong][::1]):
        """Add items already shown, which repel; an item that depends on earlier ones has no effect."""
        with cython.nogil:
            for a in range(items.shape[0]):
                i = items[a]
                self._advance(i, -HUGE_VAL)
                if self.residual[i] > self.tolerance * self.diagonal[i]:
                    self.history[self._t] = i
                    self.pivots[self._t] = sqrt(self.residual[i])
                    self._t += 1

    def pick(
        self, n_picks: cython.Py_ssize_t, stop: cython.double, picks: cython.longlong[::1], gains: cython.double[::1]
    ):
        """Make up to `n_picks` greedy picks with keys above `stop`; returns their number."""
        made: cython.Py_ssize_t = 0
        with cython.nogil:
            self._drop_unaffordable()
            while made < n_picks:
                best = -1
                theta = -HUGE_VAL
                first = 0
                for i in range(1, self.n):
                    if self.keys[i] > self.keys[first]:
                        first = i
                for turn in range(self.n + 1):
                    # Update the item with the largest bound first: its key lets the others stop early.
                    i = first if turn == 0 else turn - 1
                    if self.keys[i] == -HUGE_VAL or (turn > 0 and (i == first or self.keys[i] < theta)):
                        continue
                    self._advance(i, theta)
                    if self.residual[i] <= self.tolerance * self.diagonal[i]:
                        self.keys[i] = -HUGE_VAL
                        continue
                    self.keys[i] = self.bonus[i] + self.weight * log(self.residual[i])
                    if self.step[i] == self._t and (self.keys[i] > theta or (self.keys[i] == theta and i < best)):
                        best = i
                        theta = self.keys[i]
                if best < 0 or theta <= stop:
                    break
                picks[made] = best
                gains[made] = theta
                made += 1
                self._take(best)
                self.history[self._t] = best
                self.pivots[self._t] = sqrt(self.residual[best])
                self._t += 1
        return made
