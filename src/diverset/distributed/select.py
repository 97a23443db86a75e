"""``select`` and ``map_greedy`` over features in blocks: what is asked, put the way the block engine takes it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core.dpp import DPP
from diverset.core.factor import RowFactor
from diverset.distributed.blocks import Blocks, compute, persist, task
from diverset.distributed.greedy import BlockProblem, Columns, Rules, greedy_blocks, readable
from diverset.distributed.model import BlockFactor, BlockLikelihood
from diverset.errors import DiversetError
from diverset.inference.engine import Picks
from diverset.inference.inputs import as_column, as_groups
from diverset.inference.result import Selection
from diverset.inference.rows import squared_norms
from diverset.numerics.linalg import EPS, log_det_gram, row_norms_squared
from diverset.numerics.validation import check_positive, check_size, find_positions, is_blocked

__all__ = ["greedy_factor", "select_blocks"]

_NONE = np.zeros(0, dtype=np.int64)
_NO_COSTS = np.zeros(0)


# map_greedy --------------------------------------------------------------------------------------------------------


def greedy_factor(factor: RowFactor, k: int, stop: float) -> Picks:
    """Greedy picks among the rows of a DPP in blocks, in its positions; ends at the rank."""
    assert isinstance(factor, BlockFactor)
    blocks, kind = factor.base, "rows"
    if factor.transform is not None:
        # A conditioned or thinned DPP: its rows are what the workers make of theirs.
        parts = [task(_transformed, part, q, factor.transform) for part, q in _pairs(blocks)]
        blocks = Blocks(parts, blocks.lengths.tolist(), factor.width, np.float64)
    columns = [
        task(_columns, int(n), None, q, None, 0.0, inline=True)
        for n, (_, q) in zip(blocks.lengths, _pairs(blocks), strict=True)
    ]
    problem = BlockProblem(blocks, kind, columns)
    picks = greedy_blocks(problem, k, Rules(closed=factor.removed, stop=stop), beyond_rank=False)
    removed_before = np.searchsorted(factor.removed, picks.positions)
    return replace(picks, positions=picks.positions - removed_before)


def _pairs(blocks: Blocks) -> list[tuple[Any, Any]]:
    return list(zip(blocks.parts, blocks.quality, strict=True))


def _transformed(block: Any, quality: FloatArray | None, transform: FloatArray) -> FloatArray:
    factor = RowFactor(block, quality=quality, transform=transform)
    return factor.take(np.arange(factor.n))


def _columns(
    n: int,
    scores: FloatArray | None,
    quality: FloatArray | None,
    min_quality: float | None,
    dial: float,
    groups: IntArray = _NONE,
    costs: FloatArray = _NO_COSTS,
) -> Columns:
    """What belongs to the items of a block, on the worker that has it."""
    bonus = np.zeros(n) if scores is None else (1.0 - dial) * scores
    if len(costs):
        bonus = bonus - dial * np.log(costs)
    open_ = np.ones(n, dtype=bool) if min_quality is None or scores is None else scores >= min_quality
    return Columns(quality, bonus, open_, groups, costs)


# select ------------------------------------------------------------------------------------------------------------


def select_blocks(
    features: Any,
    k: int,
    *,
    quality: Any,
    dial: float,
    similarity: Any,
    method: str,
    given: Iterable[int] | None,
    exclude: Iterable[int] | None,
    costs: Any,
    budget: float | None,
    window: int | None,
    min_quality: float | None,
    groups: Any,
    per_group: int | None,
    rng: RNGLike,
) -> Selection:
    """:func:`diverset.select` for a dask array; arguments as there, `diversity` checked."""
    if similarity not in ("cosine", "dot"):
        raise DiversetError(
            f"similarity is {similarity!r}; a dask array is compared by cosine or dot (other kernels through "
            "dv.distributed.nystroem, whose features are a dask array again)"
        )
    if method not in ("greedy", "sample"):
        raise DiversetError(
            f'method is {method!r}; a dask array takes "greedy" or "sample" (dv.distributed.greedi has local search, '
            "features.compute() the rest)"
        )
    blocks = Blocks.of(features)
    n = blocks.shape[0]
    if min_quality is not None and quality is None:
        raise DiversetError("min_quality is given without quality; pass the scores it refers to")
    scores = None if quality is None else blocks.column(quality, name="quality", nonnegative=False)
    shown = find_positions(() if given is None else given, range(n), name="given")
    closed = find_positions(() if exclude is None else exclude, range(n), name="exclude")
    prices, numbers, caps, limit = _limits(n, costs, budget, groups, per_group)
    question = _Question(blocks, similarity, scores, dial, min_quality, numbers, prices)
    rules = Rules(dial, np.union1d(shown, closed), caps, limit)
    steps = None if window is None else check_size(window, name="window")
    if dial == 0.0:
        return question.top(k, rules, quality)
    if method == "greedy":
        picks = question.greedy(k, rules, shown) if steps is None else question.windowed(k, rules, shown, steps)
        return question.selection(picks)
    if steps is not None or len(prices) or len(caps):
        raise DiversetError(f'window, costs and groups need method="greedy"; {method!r} looks at the set as a whole')
    return question.sample(k, rules, shown, closed, rng)


def _limits(
    n: int, costs: Any, budget: float | None, groups: Any, per_group: int | None
) -> tuple[FloatArray, IntArray, IntArray, float]:
    """Costs, groups, their caps and the budget, checked; these columns are read here."""
    if (costs is None) != (budget is None):
        raise DiversetError("costs and budget go together; give both or neither")
    if (groups is None) != (per_group is None):
        raise DiversetError("groups and per_group go together; give both or neither")
    prices, numbers, caps, limit = np.zeros(0), _NONE, _NONE, math.inf
    if costs is not None and budget is not None:
        prices = as_column(_here(costs), n, name="costs")
        if n and prices.min() <= 0.0:
            i = int(prices.argmin())
            raise DiversetError(f"costs[{i}] is {prices[i]:.6g}; costs must be positive")
        limit = check_positive(budget, name="budget")
    if groups is not None and per_group is not None:
        numbers = as_groups(_here(groups), n)
        cap = check_size(per_group, name="per_group")
        if cap == 0:
            raise DiversetError("per_group is 0, so nothing could be picked; give at least 1")
        caps = np.full(numbers.max(initial=-1) + 1, cap, dtype=np.int64)
    return prices, numbers, caps, limit


def _here(values: Any) -> Any:
    return np.asarray(values.compute()) if is_blocked(values) else values


class _Question:
    """Similarity and quality of items in blocks."""

    def __init__(
        self,
        blocks: Blocks,
        similarity: str,
        scores: list[Any] | None,
        dial: float,
        min_quality: float | None,
        groups: IntArray,
        costs: FloatArray,
    ) -> None:
        self.blocks, self.scores, self.dial, self.costs, self.groups = blocks, scores, dial, costs, groups
        self.min_quality = min_quality
        edges = list(zip(blocks.starts[:-1], blocks.starts[1:], strict=True))
        columns = [
            task(
                _columns, int(b - a), None if scores is None else scores[i], None, min_quality, dial, groups[a:b],
                costs[a:b], inline=True,
            )
            for i, (a, b) in enumerate(edges)
        ]  # fmt: skip
        # Groups and costs are sent to the workers once; what is left is made there as quickly as it is looked up.
        sent = len(groups) > 0 or len(costs) > 0
        self.problem = BlockProblem(blocks, similarity, persist(columns) if sent else columns)

    def greedy(self, k: int, rules: Rules, shown: IntArray) -> Picks:
        """Exact greedy picks; see :mod:`diverset.distributed.greedy`."""
        given = self.problem.items(shown) if len(shown) else None
        picks = greedy_blocks(self.problem, min(k, self.blocks.shape[0]), rules, given)
        if len(self.costs):
            return replace(picks, gains=picks.gains + self.dial * np.log(self.costs[picks.positions]))
        return picks

    def windowed(self, k: int, rules: Rules, shown: IntArray, window: int) -> Picks:
        """Greedy in which only the last `window` picks (and shown items, first in line) repel: a pass for each pick."""
        recent = shown.tolist()
        positions: list[int] = []
        gains: list[float] = []
        while len(positions) < min(k, self.blocks.shape[0]):
            last = np.array(recent[len(recent) - window :] if window else [], dtype=np.int64)
            step = self.greedy(1, rules, last)
            if len(step.positions) == 0:
                break
            positions.append(int(step.positions[0]))
            gains.append(float(step.gains[0]))
            recent.append(positions[-1])
            rules = self._after(rules, positions[-1])
        return Picks(np.array(positions, dtype=np.int64), np.array(gains), None)

    def _after(self, rules: Rules, pick: int) -> Rules:
        caps, budget = rules.caps.copy(), rules.budget
        if len(caps):
            caps[self.groups[pick]] -= 1
        if len(self.costs):
            budget -= float(self.costs[pick])
        return replace(rules, closed=np.append(rules.closed, pick), caps=caps, budget=budget)

    def top(self, k: int, rules: Rules, quality: Any) -> Selection:
        """Plain top-k: only the scores matter, and they come here."""
        from diverset.inference.select import select

        n = self.blocks.shape[0]
        scores = np.zeros(n) if quality is None else _here(quality)
        limits: dict[str, Any] = {}
        if len(self.costs):
            limits |= {"costs": self.costs, "budget": rules.budget}
        if len(self.groups):
            limits |= {"groups": self.groups, "per_group": int(rules.caps[0])}
        if self.min_quality is not None:
            limits["min_quality"] = self.min_quality
        found = select(
            np.ones((n, 1)), k, quality=scores, diversity=0.0, similarity="dot", exclude=rules.closed, **limits
        )
        return replace(found, log_det=self.log_det(found.indices))

    def log_det(self, positions: IntArray) -> float:
        """Log-determinant of the similarity over the positions."""
        return _log_det(self.problem.items(positions))

    def selection(self, picks: Picks) -> Selection:
        """The result, its rows and scores fetched where they are needed."""
        positions = picks.positions
        log_det = self.log_det(positions) if picks.log_det is None else picks.log_det
        objective = self.dial * log_det
        if self.scores is not None:
            objective += (1.0 - self.dial) * float(self.blocks.entries(self.scores, positions).sum())
        return Selection(positions, picks.gains, log_det, objective, rank_spent=picks.rank_spent)

    def sample(self, k: int, rules: Rules, shown: IntArray, closed: IntArray, rng: RNGLike) -> Selection:
        """A draw of the k-DPP of the same objective; past the rank, greedy goes on."""
        below = self._below_min_quality()
        dpp = DPP._wrap(self._likelihood(), range(self.blocks.shape[0]))
        dpp = dpp.condition(include=shown, exclude=np.setdiff1d(np.union1d(closed, below), shown))
        size = min(k, dpp.rank)
        positions = np.asarray(dpp.of_size(size).sample(rng=rng), dtype=np.int64)
        B = self.problem.items(np.concatenate([shown, positions]))
        volumes = [_log_det(B[: len(shown) + t]) for t in range(len(positions) + 1)]
        gains = self.dial * np.diff(volumes)
        if self.scores is not None:
            gains = gains + (1.0 - self.dial) * self.blocks.entries(self.scores, positions)
        picks = Picks(positions, gains, None)
        if len(positions) < k:
            taken = np.union1d(shown, positions)
            more = self.greedy(k - len(positions), replace(rules, closed=np.union1d(rules.closed, positions)), taken)
            if len(more.positions):
                picks = Picks(
                    np.concatenate([positions, more.positions]), np.concatenate([gains, more.gains]), len(positions)
                )
        return self.selection(picks)

    def _below_min_quality(self) -> IntArray:
        found = compute([task(_closed_in, columns) for columns in self.problem.columns])
        return np.concatenate([start + part for start, part in zip(self.blocks.starts, found, strict=False)])

    def _likelihood(self) -> BlockLikelihood:
        w = (1.0 - self.dial) / self.dial
        scores = self.scores
        # A common factor changes no k-DPP; without it the exponential could overflow.
        top = max(compute([task(_largest, s) for s in scores])) if scores is not None else 0.0
        cosine = self.problem.kind == "cosine"
        quality = [
            task(_weights, part, None if scores is None else scores[b], w, top, cosine)
            for b, part in enumerate(self.blocks.parts)
        ]
        weighted = Blocks(
            self.blocks.parts, self.blocks.lengths.tolist(), self.blocks.shape[1], self.blocks.dtype, persist(quality)
        )
        return BlockLikelihood.from_rows(BlockFactor(weighted))


def _closed_in(columns: Columns) -> IntArray:
    return np.flatnonzero(~columns.open)


def _largest(column: FloatArray) -> float:
    return float(column.max(initial=-math.inf))


def _weights(block: Any, scores: FloatArray | None, w: float, top: float, cosine: bool) -> FloatArray:
    """Factor of each row of a block, so that the DPP of the rows has the objective's probabilities."""
    q = np.ones(block.shape[0]) if scores is None else np.exp(0.5 * w * (scores - top))
    if cosine:
        q = q / np.sqrt(squared_norms(readable(block)))
    return q


def _log_det(B: FloatArray) -> float:
    return log_det_gram(B, EPS * np.sqrt(row_norms_squared(B)))
