r"""Exact greedy over blocks of rows: the picks of one machine, in a round trip for every batch of them.

What an item can add only falls as picks are made, so whatever was known of it earlier is an upper bound. Each block is
scanned where it is, by the lazy loop of :mod:`diverset.inference.rows`, and sends back the items of largest keys, its
*candidates*, and the largest key among all others, its *rest*. Here the candidates of all blocks are picked from by the
same rule, for as long as the best of them is above every block's rest: no item elsewhere can then be better. Where it
is not, only the blocks that may hold a better item are scanned again, in one round trip.

The keys that decide are computed here, by the same compiled code and from the same rows as on one machine; workers only
bound them. So the picks are the same ones, ties included: of equals, the first.

Work: that of the lazy loop, on as many machines as there are. Kept with a block: 28 bytes a row (the norm, the bound,
its step and its key). Moved in a round trip: the picks' directions to a block, and its candidates back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core.factor import RowFactor
from diverset.distributed.blocks import Blocks, as_block, compute, persist, same, task
from diverset.errors import KernelError
from diverset.inference import _greedy_loops
from diverset.inference.engine import Picks
from diverset.inference.limits import Limits
from diverset.inference.rows import information_inverse, leverages, orthonormal_rows, rounding, squared_norms
from diverset.numerics.linalg import EPS, row_norms_squared
from diverset.numerics.validation import check_fits_in_memory, is_sparse

__all__ = ["BlockProblem", "Columns", "greedy_blocks", "readable"]

_NONE = np.zeros(0, dtype=np.int64)
_NO_COSTS = np.zeros(0)
_NO_INVERSE = np.zeros((0, 0))
_NO_LIMITS = Limits(np.zeros(0, dtype=bool))
#: Candidates that a block sends at least; and how many, and how many bytes, all blocks together send at most.
_CANDIDATES, _POOL, _POOL_BYTES = 256, 1 << 15, 1 << 28


# what a worker does ------------------------------------------------------------------------------------------------


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
    """The items of a block with the largest keys, all that is known of them, and the largest key of the others."""

    items: IntArray
    X: Array
    known: FloatArray
    step: IntArray
    groups: IntArray
    costs: FloatArray
    rest: float

    #: Columns of `known`.
    SCALE, FACTOR, U0, BONUS, BOUND, KEY = range(6)


@dataclass(frozen=True, eq=False)
class Round:
    """Where the picks stand, as a worker needs to know: small."""

    kind: str
    weight: float
    tolerance: float
    Z: FloatArray
    slack: FloatArray
    inverse: FloatArray
    closed_groups: BoolArray
    left: float
    half: FloatArray | None = None
    doubt: float = 0.0


def readable(block: Any) -> Array:
    """A block as the compiled loops take it."""
    X = as_block(block)
    if is_sparse(X):
        check_fits_in_memory(
            X.dtype.itemsize * X.shape[0] * X.shape[1],
            what=f"a block of {X.shape[0]} x {X.shape[1]} features, which greedy takes dense,",
            remedy="make blocks of fewer rows (rechunk), or project the features (dv.project)",
        )
        X = X.toarray()
    if X.dtype.kind == "c":
        raise KernelError("features are complex; selection takes real features (DPP takes complex kernels)")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    X = np.asarray(X).view()
    X.flags.writeable = False
    return X


def _norms(X: Array, columns: Columns, kind: str, start: int) -> FloatArray:
    """Squared norms of the items before they are made unit vectors; refuses what has none."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms = RowFactor(X, quality=columns.quality).norms_squared() if kind == "rows" else squared_norms(X)
    if not np.isfinite(norms).all():
        i = int(np.flatnonzero(~np.isfinite(norms))[0])
        if np.isfinite(X[i]).all():
            raise KernelError(
                f"features[{start + i}] has a norm beyond the range of floats; divide the features by a constant"
            )
        j = int(np.flatnonzero(~np.isfinite(X[i]))[0])
        raise KernelError(f"features[{start + i}, {j}] is {X[i, j]}; every entry must be finite")
    return norms


def _scale_and_factor(norms: FloatArray, columns: Columns, kind: str) -> tuple[FloatArray, FloatArray]:
    """Squared norms of the items, and the squared factor of each row, as ``greedy_rows`` takes them."""
    ones = np.ones(len(norms))
    if kind == "cosine":
        # A row of zeros has no direction: its item is unlike every other.
        return ones, np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0.0)
    return norms, ones if columns.quality is None else columns.quality**2


def _writable(a: FloatArray) -> FloatArray:
    """The array, or a copy if it is read-only, as arrays from another process are."""
    return a if a.flags.writeable else a.copy()


def _scanned(
    block: Any, columns: Columns, before: tuple[State, Any] | None, now: Round, taken: IntArray, seed: int, count: int,
    start: int,
) -> tuple[State, Candidates]:  # fmt: skip
    """One block brought up to date: its new state, and its candidates."""
    X = readable(block)
    n = len(X)
    fresh = before is None or now.half is not None
    norms = before[0].norms if before is not None else _norms(X, columns, now.kind, start)
    scale, factor = _scale_and_factor(norms, columns, now.kind)
    if fresh:
        u0 = None
        if now.half is not None:
            u0 = factor * leverages(X, now.half.astype(X.dtype))
        with np.errstate(divide="ignore"):
            logs = np.log(scale) if u0 is None else np.log1p(u0 + now.doubt * scale)
        keys = columns.bonus + now.weight * logs
        keys[~columns.open] = -math.inf
        state = State(norms, u0, (scale if u0 is None else u0).copy(), np.zeros(n, dtype=np.int32), keys)
    else:
        assert before is not None
        state = before[0]
    u0 = scale if state.u0 is None else state.u0
    bound, step, keys = state.bound.copy(), state.step.astype(np.int64), state.keys.copy()
    keys[taken] = -math.inf
    if len(columns.groups):
        keys[now.closed_groups[columns.groups]] = -math.inf
    if len(columns.costs):
        keys[columns.costs > now.left] = -math.inf
    # The limits are applied above, so the state needs none.
    scanned = _greedy_loops.RowState(
        X, scale, factor, u0, _writable(now.Z), len(now.Z), _writable(now.slack), 0.0, _writable(now.inverse), bound,
        step, (keys, columns.bonus, now.weight, now.tolerance, _NONE, _NONE, _NO_COSTS, math.inf),
    )  # fmt: skip
    scanned.scan(seed, np.arange(n))
    top = _largest(keys, count)
    others = keys.copy()
    others[top] = -math.inf
    known = np.column_stack([a[top] for a in (scale, factor, u0, columns.bonus, bound, keys)])
    candidates = Candidates(
        start + top,
        np.array(X[top]),
        known,
        step[top],
        columns.groups[top] if len(columns.groups) else _NONE,
        columns.costs[top] if len(columns.costs) else _NO_COSTS,
        float(others.max(initial=-math.inf)),
    )
    return State(norms, state.u0, bound, step.astype(np.int32), keys), candidates


def _largest(keys: FloatArray, count: int) -> IntArray:
    """Ascending places of the largest keys above -inf; of equals, the first."""
    if count < len(keys):
        level = np.partition(keys, len(keys) - count)[len(keys) - count]
        above = np.flatnonzero(keys > level)
        equal = np.flatnonzero(keys == level)[: count - len(above)]
        places = np.sort(np.concatenate([above, equal]))
    else:
        places = np.arange(len(keys))
    largest: IntArray = places[keys[places] > -math.inf]
    return largest


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


# what is picked from ----------------------------------------------------------------------------------------------


class BlockProblem:
    """Items in blocks, with what each of them earns: ready to be picked from.

    Parameters
    ----------
    blocks : Blocks
        The features.
    kind : {"cosine", "dot", "rows"}
        Whether rows count as unit vectors, as they are, or with the quality of the blocks as a factor.
    columns : list of Task
        A :class:`Columns` for every block.
    """

    def __init__(self, blocks: Blocks, kind: str, columns: list[Any]) -> None:
        self.blocks = blocks
        self.kind = kind
        self.columns = columns
        #: Round trips made, and blocks scanned in them.
        self.round_trips = self.scans = 0

    def items(self, rows: IntArray) -> FloatArray:
        """Some items, scaled as they count, in double precision."""
        B = self.blocks.fetch(rows)
        if self.kind == "cosine" and len(rows):
            norms = squared_norms(B.astype(self.blocks.dtype))
            B = np.sqrt(np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0.0))[:, None] * B
        return B


def greedy_blocks(
    problem: BlockProblem,
    k: int,
    *,
    weight: float = 1.0,
    limits: Limits = _NO_LIMITS,
    closed: IntArray = _NONE,
    given: FloatArray | None = None,
    beyond_rank: bool = True,
) -> Picks:
    """Up to k picks, those of :func:`diverset.inference.rows.greedy_rows`.

    Parameters
    ----------
    problem : BlockProblem
        The items.
    k : int
        Number of picks wanted.
    weight : float
        Weight of the log-volume; positive.
    limits : Limits
        Caps of the groups, budget and least key; what is available, groups and costs are columns of the blocks.
    closed : ndarray of int64
        Items not to pick, beside those.
    given : ndarray of shape (g, D), optional
        Items already shown: they repel.
    beyond_rank : bool
        Whether to go on past the rank.
    """
    D = problem.blocks.shape[1]
    given = np.zeros((0, D)) if given is None else given
    tolerance = 64.0 * D * EPS
    search = _Search(problem, weight, limits, closed, tolerance)
    basis = orthonormal_rows(given, tolerance)
    own = search.run(k, basis)
    made, spent = len(own), None
    if made < k and beyond_rank and limits.stop == -math.inf:
        rows = np.vstack([given, *search.rows]) if search.rows else given
        # Picking may have ended because the caps or the budget are spent, and not the rank.
        more = search.run(k - made, np.zeros((0, D)), *information_inverse(rows))
        spent = made if more else None
    log_det = float(np.log(own).sum()) if spent is None and len(given) == 0 else None
    return Picks(np.array(search.picked, dtype=np.int64), np.array(search.gains), spent, log_det)


class _Search:
    """The picks so far, and what is known of the blocks."""

    def __init__(
        self, problem: BlockProblem, weight: float, limits: Limits, closed: IntArray, tolerance: float
    ) -> None:
        self._problem, self._weight, self._closed, self._tolerance = problem, weight, closed, tolerance
        self._caps, self._left, self._stop = limits.caps.copy(), limits.budget, limits.stop
        self._states: list[Any] = [None] * len(problem.blocks.parts)
        dtype = problem.blocks.dtype
        self._dtype = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
        D = problem.blocks.shape[1]
        self._unit = rounding(D, self._dtype)
        self.picked: list[int] = []
        self.gains: list[float] = []
        self.rows: list[FloatArray] = []

    def run(
        self, wanted: int, start: FloatArray, inverse: FloatArray = _NO_INVERSE, half: FloatArray | None = None
    ) -> list[float]:
        """Make picks from here on, by volume or (with an inverse) by leverage; returns their own potentials."""
        D = self._problem.blocks.shape[1]
        t, doubt = len(start), 0.0
        if half is not None:
            doubt = (self._unit + 8.0 * D * EPS) * float((half**2).sum(axis=0).max(initial=0.0))
        Z = np.zeros((t + wanted, D))
        Z[:t] = start
        slack = np.full(t + wanted + 1, doubt)
        if t:
            slack[1 : t + 1] += self._unit * np.cumsum(row_norms_squared(start))
        pool = _Pool(self._problem, self._dtype)
        own: list[float] = []

        def refresh(which: Sequence[int], t: int, first: bool = False) -> Any:
            now = Round(
                self._problem.kind, self._weight, self._tolerance, Z[:t].copy(), slack[: t + 1].copy(),
                inverse.copy(), self._caps == 0, self._left, half if first else None, doubt,
            )  # fmt: skip
            self._refresh(which, now, pool, wanted - len(own))
            (scale, factor, u0, bonus), (bound, step, keys) = pool.columns, pool.known
            return _greedy_loops.RowState(
                pool.X, scale, factor, u0, Z, t, slack, self._unit, inverse, bound, step,
                (
                    keys, bonus, self._weight, self._tolerance, pool.groups, self._caps, pool.costs,
                    self._left,
                ),
            )  # fmt: skip

        if wanted == 0:
            return own
        state = refresh(range(len(self._states)), t, first=True)
        while len(own) < wanted:
            best, key, _ = state.scan(pool.seed, np.arange(len(pool.items)))
            late = pool.in_the_way(key, state.t)
            if late:
                state = refresh(late, state.t)
                continue
            if best < 0 or key <= self._stop:
                break
            self.picked.append(int(pool.items[best]))
            self.gains.append(float(key))
            factor = pool.columns[1][best]
            self.rows.append(math.sqrt(factor) * pool.X[best].astype(np.float64)[None])
            state.commit(best)
            self._left = state.budget
            own.append(float(state.potentials[state.t - 1]))
        return own

    def _refresh(self, which: Sequence[int], now: Round, pool: _Pool, wanted: int) -> None:
        """Scan these blocks again: one round trip."""
        blocks = self._problem.blocks
        # Enough that a block is rarely scanned twice, within the memory limit of this process.
        room = min(_POOL, _POOL_BYTES // (self._dtype.itemsize * max(blocks.shape[1], 1)))
        count = max(1, min(max(_CANDIDATES, 4 * wanted), room // len(self._states)))
        taken = blocks.split(np.concatenate([self._closed, np.array(self.picked, dtype=np.int64)]))
        shared = task(same, now)
        asked = [
            task(
                _scanned, blocks.parts[b], self._problem.columns[b], self._states[b], shared, taken[b],
                pool.seed_of(b), count, int(blocks.starts[b]),
            )
            for b in which
        ]  # fmt: skip
        kept = persist(asked)
        for b, pair in zip(which, kept, strict=True):
            self._states[b] = pair
        pool.update(which, compute([task(_second, pair) for pair in kept]), len(now.Z))
        self._problem.round_trips += 1
        self._problem.scans += len(which)


class _Pool:
    """The candidates of all blocks in the order of the items, as the compiled loops take them."""

    def __init__(self, problem: BlockProblem, dtype: Any) -> None:
        self._problem = problem
        self._dtype = dtype
        self._of: dict[int, Candidates] = {}
        self._at: dict[int, int] = {}
        self._slices: dict[int, slice] = {}
        self.items: IntArray = _NONE
        self.seed = -1

    def update(self, which: Sequence[int], found: list[Candidates], t: int) -> None:
        """Take in what blocks have sent, and keep what is known better of the candidates of others."""
        self._keep()
        for b, candidates in zip(which, found, strict=True):
            # A copy: what the worker keeps must stay as it is.
            own = replace(candidates, known=np.array(candidates.known), step=np.array(candidates.step))
            self._of[b], self._at[b] = own, t
        order = sorted(self._of)
        parts = [self._of[b] for b in order]
        ends = np.cumsum([len(part.items) for part in parts]).tolist()
        self._slices = {b: slice(end - len(part.items), end) for b, part, end in zip(order, parts, ends, strict=True)}
        self.items = np.concatenate([part.items for part in parts])
        X = np.concatenate([part.X for part in parts])
        X.flags.writeable = False
        self.X = X
        known = np.concatenate([part.known for part in parts])
        scale, factor, u0, bonus, bound, keys = (np.ascontiguousarray(column) for column in known.T)
        self.columns = (scale, factor, u0, bonus)
        self.known = (bound, np.concatenate([part.step for part in parts]).astype(np.int64), keys)
        self.groups = np.concatenate([part.groups for part in parts])
        self.costs = np.concatenate([part.costs for part in parts])
        self.seed = int(keys.argmax()) if len(keys) else -1

    def _keep(self) -> None:
        """Write back to the candidates what picking has found out about them."""
        for b, part in self._slices.items():
            known = self._of[b].known
            known[:, Candidates.BOUND], known[:, Candidates.KEY] = self.known[0][part], self.known[2][part]
            self._of[b].step[:] = self.known[1][part]

    def seed_of(self, b: int) -> int:
        """Place in a block of its most promising candidate."""
        part = self._slices.get(b)
        if part is None or part.start == part.stop:
            return -1
        best = int(self.known[2][part].argmax())
        return int(self.items[part][best] - self._problem.blocks.starts[b])

    def in_the_way(self, key: float, t: int) -> list[int]:
        """Blocks that may hold a better item than the best candidate, whose key this is."""
        return [b for b, part in self._of.items() if self._at[b] != t and part.rest >= key and part.rest > -math.inf]
