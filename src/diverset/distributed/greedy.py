r"""Exact greedy selection over blocks of rows: the same picks as on one machine, several of them per round trip.

The gain of an item only falls as picks are made, so an earlier value is an upper bound. Each block is scanned on its
worker by the lazy loop of :mod:`diverset.inference.rows`. It returns the items of largest keys, its *candidates*, and
the largest key of its other items, its *rest*. The candidates of all blocks form a pool in this process. Items are
picked from the pool by the same rule as long as the best key is above the rest of every block, since no other item can
then be better. Otherwise the blocks that may hold a better item are scanned again, in one round trip.

The keys that decide are computed in this process, by the same compiled code and from the same rows as on one machine;
the workers only compute bounds. So the picks are the same, and ties go to the first item.

A worker stores 28 bytes per row: the norm, the bound, its step and its key. A round trip sends the directions of the
picks to a block, and its candidates back.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.distributed.blocks import Blocks, as_block, compute, persist, same, task
from diverset.distributed.model import check_entries
from diverset.errors import KernelError
from diverset.inference import _greedy_loops
from diverset.inference.engine import Limits, Picks
from diverset.inference.inputs import NO_ITEMS, read_items
from diverset.inference.rows import information_inverse, leverages, orthonormal_rows, rounding, squared_norms
from diverset.numerics.linalg import EPS, row_norms_squared
from diverset.numerics.validation import check_fits_in_memory, is_sparse

__all__ = ["Columns", "greedy_blocks", "readable"]

_NO_COSTS = np.zeros(0)
_NO_INVERSE = np.zeros((0, 0))
#: Smallest number of candidates of a block; largest number, and largest size in bytes, of all candidates together.
_CANDIDATES, _POOL, _POOL_BYTES = 256, 1 << 15, 1 << 28


# on the workers ----------------------------------------------------------------------------------------------------


class Columns(NamedTuple):
    """Columns of one block besides its features; None or an empty array if there is no such column."""

    quality: FloatArray | None
    bonus: FloatArray
    open: BoolArray
    groups: IntArray
    costs: FloatArray


class State(NamedTuple):
    """What is known of the items of one block; never changed, so that a lost block can be recomputed."""

    norms: FloatArray
    u0: FloatArray | None
    bound: FloatArray
    step: Array
    keys: FloatArray


def readable(block: Any) -> Array:
    """A block as a dense array of float32 or float64, which the compiled loops accept."""
    X = as_block(block)
    if is_sparse(X):
        what = f"a block of {X.shape[0]} x {X.shape[1]} features, which greedy takes dense,"
        remedy = "make blocks of fewer rows (rechunk), or project the features (dv.numerics.project)"
        check_fits_in_memory(X.dtype.itemsize * X.shape[0] * X.shape[1], what=what, remedy=remedy)
        X = X.toarray()
    return np.asarray(read_items(X).features)


def _norms(X: Array, start: int) -> FloatArray:
    """Squared norms of the rows; raises an error if one is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms = squared_norms(X)
    if not np.isfinite(norms).all():
        check_entries(X, start)
        i = start + int(np.isfinite(norms).argmin())
        raise KernelError(f"features[{i}] has a norm beyond the range of floats; divide the features by a constant")
    return norms


def _scanned(
    block: Any, columns: Columns, before: tuple[State, Any] | None, taken: IntArray, start: int, number: int, *,
    cosine: bool, weight: float, tolerance: float, Z: FloatArray, slack: FloatArray, inverse: FloatArray,
    full: BoolArray, left: float, count: int, doubt: float, half: FloatArray | None,
) -> tuple[State, tuple[Array, FloatArray, IntArray, float]]:  # fmt: skip
    """Bring one block up to date: its new state, and up to `count` candidates.

    Candidates are their rows; a table of scale, factor, u0, bonus, cost, bound and key; a table of item, block, group
    and step; and the largest key of the other items. With `half`, the block starts again, by leverage. Groups that are
    `full` and items that cost more than the budget `left` are closed.
    """
    X = readable(block)
    n, state = len(X), None if before is None else before[0]
    norms = _norms(X, start) if state is None else state.norms
    if cosine:
        # A row of zeros has no direction: its item is unlike every other.
        scale, factor = np.ones(n), np.divide(1.0, norms, out=np.zeros(n), where=norms > 0.0)
    else:
        factor = np.ones(n) if columns.quality is None else columns.quality**2
        scale = factor * norms
    if state is None or half is not None:
        leverage = None if half is None else factor * leverages(X, half.astype(X.dtype))
        with np.errstate(divide="ignore"):
            logs = np.log(scale) if leverage is None else np.log1p(leverage + doubt * scale)
        keys = np.where(columns.open, columns.bonus + weight * logs, -math.inf)
        state = State(norms, leverage, scale if leverage is None else leverage, np.zeros(n, dtype=np.int32), keys)
    u0 = scale if state.u0 is None else state.u0
    bound, step, keys = state.bound.copy(), state.step.astype(np.int64), state.keys.copy()
    keys[taken] = -math.inf
    if len(columns.groups):
        keys[full[columns.groups]] = -math.inf
    if len(columns.costs):
        keys[columns.costs > left] = -math.inf
    # Copies, since arrays from another process are read-only. The limits are applied above, so the loop needs none.
    _greedy_loops.RowState(
        X, scale, factor, u0, np.array(Z), len(Z), np.array(slack), 0.0, np.array(inverse), bound, step,
        (keys, columns.bonus, weight, tolerance, NO_ITEMS, np.array(NO_ITEMS), _NO_COSTS, math.inf),
    ).scan(int(keys.argmax()) if n else -1, np.arange(n))  # fmt: skip
    # The largest keys; of equal ones, the first.
    level = np.partition(keys, n - count)[n - count] if count < n else -math.inf
    top = np.flatnonzero((keys >= level) & (keys > -math.inf))
    top = np.sort(top[np.argsort(-keys[top], kind="stable")[:count]])
    others = keys.copy()
    others[top] = -math.inf
    costs = columns.costs if len(columns.costs) else np.zeros(n)
    groups = columns.groups[top] if len(columns.groups) else np.zeros(len(top))
    reals = np.stack([a[top] for a in (scale, factor, u0, columns.bonus, costs, bound, keys)])
    integers = np.stack([start + top, np.full(len(top), number), groups, step[top]]).astype(np.int64)
    found = np.array(X[top]), reals, integers, float(others.max(initial=-math.inf))
    return State(norms, state.u0, bound, step.astype(np.int32), keys), found


# in this process ---------------------------------------------------------------------------------------------------


def greedy_blocks(
    blocks: Blocks,
    columns: list[Any],
    k: int,
    *,
    cosine: bool,
    limits: Limits,
    weight: float = 1.0,
    closed: IntArray = NO_ITEMS,
    given: FloatArray | None = None,
    beyond_rank: bool = True,
) -> Picks:
    """Up to k picks, those of :func:`diverset.inference.rows.greedy_rows`.

    `columns` are tasks that return :class:`Columns`; of `limits`, only the caps, the budget and the smallest gain are
    used. Items in `closed` are not picked. The rows `given`, scaled like the items, repel the picks.
    """
    D = blocks.shape[1]
    given = np.zeros((0, D)) if given is None else given
    search = _Search(blocks, columns, cosine, weight, limits, closed)
    own = search.run(k, orthonormal_rows(given, search.tolerance))
    made, spent = len(own), None
    if made < k and beyond_rank and limits.stop == -math.inf:
        # The caps or the budget, rather than the rank, may have ended the picks.
        more = search.run(k - made, np.zeros((0, D)), *information_inverse(np.vstack([given, *search.rows])))
        spent = made if more else None
    log_det = float(np.log(own).sum()) if spent is None and len(given) == 0 else None
    return Picks(np.array(search.picked, dtype=np.int64), np.array(search.gains), spent, log_det)


class _Search:
    """The picks so far, the states of the blocks, and the pool of their candidates in the order of the items."""

    def __init__(
        self, blocks: Blocks, columns: list[Any], cosine: bool, weight: float, limits: Limits, closed: IntArray
    ) -> None:
        self._blocks, self._columns, self._cosine = blocks, columns, cosine
        self._weight, self._closed = weight, closed
        self._caps, self._left, self._stop = limits.caps.copy(), limits.budget, limits.stop
        self._states: list[Any] = [None] * len(blocks.parts)
        self._dtype = blocks.dtype if blocks.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        self._unit = rounding(blocks.shape[1], self._dtype)
        self.tolerance = 64.0 * blocks.shape[1] * EPS
        self.picked: list[int] = []
        self.gains: list[float] = []
        self.rows: list[FloatArray] = []

    def run(
        self, wanted: int, start: FloatArray, inverse: FloatArray = _NO_INVERSE, half: FloatArray | None = None
    ) -> list[float]:
        """Make further picks, by volume or (with an inverse) by leverage; returns the potentials of the picks."""
        t, D = len(start), self._blocks.shape[1]
        self._inverse, self._doubt = inverse, 0.0
        if half is not None:
            self._doubt = (self._unit + 8.0 * D * EPS) * float((half**2).sum(axis=0).max(initial=0.0))
        self._Z = np.zeros((t + wanted, D))
        self._Z[:t] = start
        self._slack = np.full(t + wanted + 1, self._doubt)
        self._slack[1 : t + 1] += self._unit * np.cumsum(row_norms_squared(start))
        self._pool = (np.zeros((0, D), dtype=self._dtype), np.zeros((7, 0)), np.zeros((4, 0), dtype=np.int64))
        #: For each block, the largest key outside the pool, and the number of directions when it was scanned.
        self._rests: dict[int, tuple[float, int]] = {}
        own: list[float] = []
        state = self._refresh(range(len(self._states)), t, wanted, half) if wanted else None
        while len(own) < wanted:
            assert state is not None
            X, reals, integers = self._pool
            best, key, _ = state.scan(self._seed, np.arange(len(X)))
            late = [b for b, (rest, at) in self._rests.items() if at != state.t and rest >= key and rest > -math.inf]
            if late:
                state = self._refresh(late, state.t, wanted - len(own))
                continue
            if best < 0 or key <= self._stop:
                break
            self.picked.append(int(integers[0, best]))
            self.gains.append(float(key))
            self.rows.append(math.sqrt(reals[1, best]) * X[best].astype(np.float64)[None])
            state.commit(best)
            self._left = state.budget
            own.append(float(state.potentials[state.t - 1]))
        return own

    def _refresh(self, which: Sequence[int], t: int, wanted: int, half: FloatArray | None = None) -> Any:
        """Scan these blocks again, in one round trip, and return the compiled state of the pool."""
        blocks = self._blocks
        # Enough candidates that a block is rarely scanned twice, within the limits on the pool.
        room = min(_POOL, _POOL_BYTES // (self._dtype.itemsize * max(blocks.shape[1], 1)))
        count = max(1, min(max(_CANDIDATES, 4 * wanted), room // len(self._states)))
        scan = partial(
            _scanned, cosine=self._cosine, weight=self._weight, tolerance=self.tolerance, Z=self._Z[:t].copy(),
            slack=self._slack[: t + 1].copy(), inverse=self._inverse.copy(), full=self._caps == 0, left=self._left,
            count=count, doubt=self._doubt, half=half,
        )  # fmt: skip
        shared, starts = task(same, scan), blocks.starts.tolist()
        taken = blocks.split(np.array([*self._closed, *self.picked], dtype=np.int64))
        pairs = persist(
            [
                task(operator.call, shared, blocks.parts[b], self._columns[b], self._states[b], taken[b], starts[b], b)
                for b in which
            ]
        )
        for b, pair in zip(which, pairs, strict=True):
            self._states[b] = pair
        found = compute([task(operator.itemgetter(1), pair) for pair in pairs])
        rows, numbers, places, rests = zip(*found, strict=True)
        self._rests |= {b: (rest, t) for b, rest in zip(which, rests, strict=True)}
        X, reals, integers = self._pool
        stay = ~np.isin(integers[1], which)
        integers = np.concatenate([integers[:, stay], *places], axis=1)
        order = np.argsort(integers[0])
        X = np.concatenate([X[stay], *rows])[order]
        reals = np.concatenate([reals[:, stay], *numbers], axis=1).take(order, axis=1)
        self._pool = X, reals, integers.take(order, axis=1)
        scale, factor, u0, bonus, costs, bound, keys = reals
        _, _, groups, step = self._pool[2]
        self._seed = int(keys.argmax()) if len(keys) else -1
        return _greedy_loops.RowState(
            X, scale, factor, u0, self._Z, t, self._slack, self._unit, self._inverse, bound, step,
            (
                keys, bonus, self._weight, self.tolerance, groups if len(self._caps) else NO_ITEMS, self._caps,
                costs if self._left < math.inf else _NO_COSTS, self._left,
            ),
        )  # fmt: skip
