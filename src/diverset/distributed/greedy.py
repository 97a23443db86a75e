r"""Exact greedy over blocks of rows: the picks of one machine, in a round trip for every batch of them.

What an item can add only falls as picks are made, so whatever was known of it earlier is an upper bound. Each block is
scanned where it is, by the lazy loop of :mod:`diverset.inference.rows`, and sends back the items of largest keys, its
*candidates*, and the largest key among all others, its *rest*. The candidates of all blocks form a pool, from which
items are picked here by the same rule, as long as the best of them is above every block's rest: no other item can then
be better. Otherwise only the blocks that may hold a better item are scanned again, in one round trip.

The keys that decide are computed here, by the same compiled code and from the same rows as on one machine; workers only
bound them. So the picks are the same, and ties go to the first item.

Work: that of the lazy loop, on as many machines as there are. Stored with a block: 28 bytes a row (the norm, the bound,
its step and its key). Moved in a round trip: the picks' directions to a block, and its candidates back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.distributed.blocks import Blocks, as_block, compute, persist, same, task
from diverset.distributed.model import check_entries
from diverset.errors import KernelError
from diverset.inference import _greedy_loops
from diverset.inference.engine import Limits, Picks
from diverset.inference.rows import information_inverse, leverages, orthonormal_rows, rounding, squared_norms
from diverset.numerics.linalg import EPS, row_norms_squared
from diverset.numerics.validation import check_fits_in_memory, is_sparse

__all__ = ["Columns", "greedy_blocks", "readable"]

_NONE = np.zeros(0, dtype=np.int64)
_NO_COSTS = np.zeros(0)
_NO_INVERSE = np.zeros((0, 0))
#: Candidates that a block sends at least; and how many, and how many bytes, all blocks together send at most.
_CANDIDATES, _POOL, _POOL_BYTES = 256, 1 << 15, 1 << 28


# on the workers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Columns:
    """What belongs to the items of one block besides their features; None and empty arrays where there is none."""

    quality: FloatArray | None
    bonus: FloatArray
    open: BoolArray
    groups: IntArray
    costs: FloatArray


@dataclass(frozen=True, eq=False)
class State:
    """What is known of the items of one block; never changed, so that a lost block can be brought up to date again."""

    norms: FloatArray
    u0: FloatArray | None
    bound: FloatArray
    step: Array
    keys: FloatArray


@dataclass(frozen=True, eq=False)
class Candidates:
    """The items of a block with the largest keys, all that is known of them, and the largest key of the others.

    The rows of `reals` are scale, factor, u0, bonus, cost, bound and key; those of `integers` item, block, group and
    step.
    """

    X: Array
    reals: FloatArray
    integers: IntArray
    rest: float


@dataclass(frozen=True, eq=False)
class Round:
    """The picks so far, as a worker needs to know them: small. With `half`, the block begins anew, by leverage."""

    cosine: bool
    weight: float
    tolerance: float
    Z: FloatArray
    slack: FloatArray
    inverse: FloatArray
    closed_groups: BoolArray
    left: float
    count: int
    doubt: float
    half: FloatArray | None


def readable(block: Any) -> Array:
    """A block as the compiled loops take it."""
    X = as_block(block)
    if is_sparse(X):
        check_fits_in_memory(
            X.dtype.itemsize * X.shape[0] * X.shape[1],
            what=f"a block of {X.shape[0]} x {X.shape[1]} features, which greedy takes dense,",
            remedy="make blocks of fewer rows (rechunk), or project the features (dv.numerics.project)",
        )
        X = X.toarray()
    if X.dtype.kind == "c":
        raise KernelError("features are complex; selection takes real features (DPP takes complex kernels)")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    X = np.asarray(X).view()
    X.flags.writeable = False
    return X


def _norms(X: Array, start: int) -> FloatArray:
    """Squared norms of the rows; refuses rows that have none."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms = squared_norms(X)
    if not np.isfinite(norms).all():
        check_entries(X, start)
        i = start + int(np.isfinite(norms).argmin())
        raise KernelError(f"features[{i}] has a norm beyond the range of floats; divide the features by a constant")
    return norms


def _scanned(
    block: Any, columns: Columns, before: tuple[State, Any] | None, now: Round, taken: IntArray, start: int, number: int
) -> tuple[State, Candidates]:
    """Bring one block up to date: its new state, and its candidates."""
    X = readable(block)
    n, state = len(X), None if before is None else before[0]
    norms = _norms(X, start) if state is None else state.norms
    if now.cosine:
        # A row of zeros has no direction: its item is unlike every other.
        scale, factor = np.ones(n), np.divide(1.0, norms, out=np.zeros(n), where=norms > 0.0)
    else:
        factor = np.ones(n) if columns.quality is None else columns.quality**2
        scale = factor * norms
    if state is None or now.half is not None:
        leverage = None if now.half is None else factor * leverages(X, now.half.astype(X.dtype))
        with np.errstate(divide="ignore"):
            logs = np.log(scale) if leverage is None else np.log1p(leverage + now.doubt * scale)
        keys = np.where(columns.open, columns.bonus + now.weight * logs, -math.inf)
        state = State(norms, leverage, scale if leverage is None else leverage, np.zeros(n, dtype=np.int32), keys)
    u0 = scale if state.u0 is None else state.u0
    bound, step, keys = state.bound.copy(), state.step.astype(np.int64), state.keys.copy()
    keys[taken] = -math.inf
    if len(columns.groups):
        keys[now.closed_groups[columns.groups]] = -math.inf
    if len(columns.costs):
        keys[columns.costs > now.left] = -math.inf
    # Copies, since arrays from another process are read-only. The limits are applied above, so the loop needs none.
    Z, slack, inverse = np.array(now.Z), np.array(now.slack), np.array(now.inverse)
    _greedy_loops.RowState(
        X, scale, factor, u0, Z, len(Z), slack, 0.0, inverse, bound, step,
        (keys, columns.bonus, now.weight, now.tolerance, _NONE, _NONE, _NO_COSTS, math.inf),
    ).scan(int(keys.argmax()) if n else -1, np.arange(n))  # fmt: skip
    top = _largest(keys, now.count)
    others = keys.copy()
    others[top] = -math.inf
    costs = columns.costs if len(columns.costs) else np.zeros(n)
    groups = columns.groups[top] if len(columns.groups) else np.zeros(len(top))
    found = Candidates(
        np.array(X[top]),
        np.stack([a[top] for a in (scale, factor, u0, columns.bonus, costs, bound, keys)]),
        np.stack([start + top, np.full(len(top), number), groups, step[top]]).astype(np.int64),
        float(others.max(initial=-math.inf)),
    )
    return State(norms, state.u0, bound, step.astype(np.int32), keys), found


def _largest(keys: FloatArray, count: int) -> IntArray:
    """Ascending places of the largest keys above -inf; of equals, the first."""
    places = np.arange(len(keys))
    if count < len(keys):
        level = np.partition(keys, len(keys) - count)[len(keys) - count]
        above, equal = np.flatnonzero(keys > level), np.flatnonzero(keys == level)
        places = np.sort(np.concatenate([above, equal[: count - len(above)]]))
    largest: IntArray = places[keys[places] > -math.inf]
    return largest


# on this machine ---------------------------------------------------------------------------------------------------


def greedy_blocks(
    blocks: Blocks,
    columns: list[Any],
    k: int,
    *,
    cosine: bool,
    limits: Limits,
    weight: float = 1.0,
    closed: IntArray = _NONE,
    given: FloatArray | None = None,
    beyond_rank: bool = True,
) -> Picks:
    """Up to k picks, those of :func:`diverset.inference.rows.greedy_rows`.

    `columns` are tasks of :class:`Columns`, which hold what may be picked, groups and costs; caps, budget and least key
    come from `limits`. Items in `closed` are not picked. The rows `given`, scaled as the items, repel.
    """
    D = blocks.shape[1]
    given = np.zeros((0, D)) if given is None else given
    search = _Search(blocks, columns, cosine, weight, limits, closed)
    own = search.run(k, orthonormal_rows(given, search.tolerance))
    made, spent = len(own), None
    if made < k and beyond_rank and limits.stop == -math.inf:
        # The caps or the budget, and not the rank, may be what ended the picks.
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
        """Make picks from here on, by volume or (with an inverse) by leverage; returns their own potentials."""
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
        # Enough that a block is rarely scanned twice, within the memory limit of this process.
        room = min(_POOL, _POOL_BYTES // (self._dtype.itemsize * max(blocks.shape[1], 1)))
        count = max(1, min(max(_CANDIDATES, 4 * wanted), room // len(self._states)))
        now = Round(
            self._cosine, self._weight, self.tolerance, self._Z[:t].copy(), self._slack[: t + 1].copy(),
            self._inverse.copy(), self._caps == 0, self._left, count, self._doubt, half,
        )  # fmt: skip
        shared, starts = task(same, now), blocks.starts.tolist()
        taken = blocks.split(np.array([*self._closed, *self.picked], dtype=np.int64))
        kept = persist(
            [
                task(_scanned, blocks.parts[b], self._columns[b], self._states[b], shared, taken[b], starts[b], b)
                for b in which
            ]
        )
        for b, pair in zip(which, kept, strict=True):
            self._states[b] = pair
        found: list[Candidates] = compute([task(itemgetter(1), pair) for pair in kept])
        self._rests |= {b: (each.rest, t) for b, each in zip(which, found, strict=True)}
        X, reals, integers = self._pool
        stay = ~np.isin(integers[1], which)
        integers = np.concatenate([integers[:, stay], *(each.integers for each in found)], axis=1)
        order = np.argsort(integers[0])
        X = np.concatenate([X[stay], *(each.X for each in found)])[order]
        X.flags.writeable = False
        reals = np.concatenate([reals[:, stay], *(each.reals for each in found)], axis=1).take(order, axis=1)
        self._pool = X, reals, integers.take(order, axis=1)
        scale, factor, u0, bonus, costs, bound, keys = reals
        _, _, groups, step = self._pool[2]
        self._seed = int(keys.argmax()) if len(keys) else -1
        return _greedy_loops.RowState(
            X, scale, factor, u0, self._Z, t, self._slack, self._unit, self._inverse, bound, step,
            (
                keys, bonus, self._weight, self.tolerance, groups if len(self._caps) else _NONE, self._caps,
                costs if self._left < math.inf else _NO_COSTS, self._left,
            ),
        )  # fmt: skip
