r"""``select``, ``map_greedy`` and ``greedi`` over features in blocks, which stay on the workers.

Greedy selection is exact: it makes the same picks as on one machine, several of them per round trip.

The gain of an item only falls as picks are made, so an earlier value is an upper bound. Each block is scanned on its
worker by the lazy loop of :mod:`diverset.inference.rows`. It returns the items of largest keys, its *candidates*, and
the largest key of its other items, its *rest*. The candidates of all blocks form a pool in this process. Items are
picked from the pool by the same rule as long as the best key is above the rest of every block, since no other item can
then be better. Otherwise the blocks that may hold a better item are scanned again, in one round trip. The keys that
decide are computed in this process, by the same compiled code and from the same rows as on one machine; the workers
only compute bounds. So the picks are the same, and ties go to the first item. A worker stores 28 bytes per row.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core.dpp import DPP
from diverset.core.factor import RowFactor
from diverset.distributed.blocks import Blocks, as_block, compute, persist, same, task
from diverset.distributed.model import BlockFactor, BlockLikelihood, check_entries
from diverset.errors import DiversetError, KernelError
from diverset.inference import _greedy_loops
from diverset.inference.engine import Limits, Picks
from diverset.inference.inputs import NO_ITEMS, as_column, calibrated, check_scale, read_items
from diverset.inference.result import Selection
from diverset.inference.rows import information_inverse, leverages, orthonormal_rows, rounding, squared_norms
from diverset.inference.select import select
from diverset.inference.similarity import Rows, Similarity
from diverset.numerics.linalg import EPS, row_norms_squared
from diverset.numerics.validation import check_fits_in_memory, check_size, is_blocked, is_sparse

__all__ = ["BlockRows", "greedi", "greedy_factor"]

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
    norms = squared_norms(X) if state is None else state.norms
    if not np.isfinite(norms).all():
        check_entries(X, start)
        i = start + int(np.isfinite(norms).argmin())
        raise KernelError(f"features[{i}] has a norm beyond the range of floats; divide the features by a constant")
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


# map_greedy, select and greedi ------------------------------------------------------------------------------------


def greedy_factor(factor: RowFactor, k: int, stop: float) -> Picks:
    """Greedy picks among the rows of a DPP in blocks, in its positions; ends at the rank."""
    assert isinstance(factor, BlockFactor)
    blocks = factor.base
    pairs = list(zip(blocks.parts, blocks.quality, strict=True))
    if factor.transform is not None:
        # A conditioned or thinned DPP: the workers transform the rows.
        parts = [task(_transformed, part, q, factor.transform) for part, q in pairs]
        blocks = Blocks(parts, blocks.lengths.tolist(), factor.width, np.float64)
    columns = [task(_unscored, n, q, inline=True) for n, q in zip(blocks.lengths.tolist(), blocks.quality, strict=True)]
    limits = Limits(np.zeros(0, dtype=bool), stop=stop)
    picks = greedy_blocks(blocks, columns, k, cosine=False, limits=limits, closed=factor.removed, beyond_rank=False)
    removed_before = np.searchsorted(factor.removed, picks.positions)
    return replace(picks, positions=picks.positions - removed_before)


def _transformed(block: Any, quality: FloatArray | None, transform: FloatArray) -> FloatArray:
    factor = RowFactor(block, quality=quality, transform=transform)
    return factor.take(np.arange(factor.n))


def _unscored(n: int, quality: FloatArray | None) -> Columns:
    """Columns of a block without scores, in which every item may be picked."""
    return Columns(quality, np.zeros(n), np.ones(n, dtype=bool), NO_ITEMS, _NO_COSTS)


class BlockRows(Similarity):
    """Cosines or inner products of rows in blocks; scores and limits are in the memory of this process."""

    methods = ("greedy", "sample")
    has_columns = False

    def __init__(self, features: Any, similarity: Any) -> None:
        if similarity not in ("cosine", "dot"):
            raise DiversetError(
                f"similarity is {similarity!r}; a dask array is compared by cosine or dot (other kernels through "
                "dv.distributed.nystroem, whose features are a dask array again)"
            )
        self._blocks = Blocks.of(features)
        self._cosine = similarity == "cosine"
        super().__init__(self._blocks.shape[0], rank=self._blocks.shape[0])

    def _fetched(self, items: IntArray) -> Rows:
        """Some items, in the memory of this process."""
        return Rows(readable(self._blocks.fetch(items).astype(self._blocks.dtype)), cosine=self._cosine)

    def among(self, items: IntArray) -> FloatArray:
        """Similarities among `items`."""
        return self._fetched(items).among(np.arange(len(items)))

    def log_det(self, items: IntArray) -> float:
        """Log-determinant over `items`; -inf where they are dependent."""
        return self._fetched(items).log_det(np.arange(len(items)))

    def greedy(self, k: int, bonus: FloatArray, weight: float, limits: Limits, given: IntArray) -> Picks:
        """Exact greedy picks; see :mod:`diverset.distributed.greedy`."""
        tables = (bonus, limits.available, limits.groups, limits.costs)
        columns = persist([task(Columns, None, *(a[i:j] for a in tables)) for i, j in pairwise(self._blocks.starts)])
        shown = self._fetched(given).vectors(np.arange(len(given))) if len(given) else None
        return greedy_blocks(
            self._blocks, columns, min(k, self.n), cosine=self._cosine, weight=weight, limits=limits, given=shown
        )

    def dpp(self, quality: FloatArray) -> DPP:
        """The DPP of the similarity with these weights."""
        blocks = self._blocks
        weights = [
            task(_weights, part, quality[a:b], self._cosine, int(a))
            for part, (a, b) in zip(blocks.parts, pairwise(blocks.starts), strict=True)
        ]
        weighted = Blocks(blocks.parts, blocks.lengths.tolist(), blocks.shape[1], blocks.dtype, persist(weights))
        return DPP._wrap(BlockLikelihood.from_rows(BlockFactor(weighted)), range(self.n))


def _weights(block: Any, quality: FloatArray, cosine: bool, start: int) -> FloatArray:
    """Factor of each row of a block: its weight, for the cosine divided by its length."""
    if not cosine:
        return quality
    norms = squared_norms(readable(block))
    if len(norms) and norms.min() == 0.0:
        raise KernelError(
            f"features[{start + int(norms.argmin())}] is all zeros, which a draw from a dask array cannot compare by "
            'the cosine; leave the item out, or use similarity="dot"'
        )
    return quality / np.sqrt(norms)


def greedi(
    features: Any,
    k: int = 10,
    *,
    quality: Any = None,
    diversity: float = 0.5,
    scale: str | None = "rank",
    similarity: str = "cosine",
    method: str = "greedy",
) -> Selection:
    r"""Pick k items in two rounds: k from every block on its worker, then k from these, or those of the best block.

    The objective is that of :func:`diverset.select`, and so are the parameters, with these differences.

    Parameters
    ----------
    features : dask array of shape (n_items, n_features)
        Its blocks are the parts; many short blocks are joined first. Scores are calibrated over all items.
    similarity : {"cosine", "dot"}
        How items are compared.
    method : {"greedy", "local-search"}
        How the picks of each part, and the final picks from these, are made.

    Notes
    -----
    With m parts and a nonnegative, monotone, submodular objective, the value found is at least
    :math:`(1-1/e)^2 / \min(m, k)` times the best value of k items ([MirzasoleimanKarbasiSarkarKrause2013]_). The
    objective of :func:`diverset.select` is submodular; it is nonnegative and monotone if every item adds something, for
    instance with qualities that outweigh the loss of volume. For the determinant of the kernel,
    :math:`L_{ij} = e^{wq_i/2}S_{ij}e^{wq_j/2}` with k at most the rank, the picks of the parts are a *composable
    core-set*: among them there are k items whose determinant is at least :math:`O(k)^{-3k}` times the largest for
    ``"greedy"`` ([GollapudiMahabadiSivashankar2023]_), :math:`O(k)^{-2k}` for ``"local-search"``
    ([MahabadiIndykOveisGharanRezaei2019]_). Greedy then finds a set within :math:`(k!)^2` of the best of the union
    ([CivrilMagdonIsmail2009]_).

    In practice the value is nearly that of :func:`diverset.select`, which takes more than two round trips. Each part
    sends k rows.

    Examples
    --------
    >>> import numpy as np, dask.array as da, diverset as dv
    >>> X = np.random.default_rng(0).standard_normal((4000, 8))
    >>> found = dv.distributed.greedi(da.from_array(X, chunks=1000), 5, diversity=1.0)
    >>> len(found), bool(found.log_det > dv.select(X, 5, diversity=1.0).log_det - 0.1)
    (5, True)
    """
    if method not in ("greedy", "local-search"):
        raise DiversetError(f"method is {method!r}; choose one of greedy, local-search")
    if similarity not in ("cosine", "dot"):
        raise DiversetError(f"similarity is {similarity!r}; parts are compared by cosine or dot")
    wanted = check_size(k)
    blocks = Blocks.of(features)
    scores = None
    if quality is not None:
        quality = quality.compute() if is_blocked(quality) else quality
        raw = as_column(quality, blocks.shape[0], name="quality")
        scores = calibrated(raw, check_scale(scale))
    options: dict[str, Any] = {"diversity": diversity, "scale": None, "similarity": similarity, "method": method}
    found: list[tuple[Selection, Array]] = compute(
        [
            task(_picks_of, part, None if scores is None else scores[a:b], wanted, options)
            for part, (a, b) in zip(blocks.parts, pairwise(blocks.starts), strict=True)
        ]
    )
    parts = [replace(own, indices=start + own.indices) for start, (own, _) in zip(blocks.starts, found, strict=False)]
    items = np.concatenate([part.indices for part in parts])
    order = np.argsort(items)
    items, rows = items[order], np.concatenate([rows for _, rows in found])[order]
    second = select(rows, wanted, quality=None if scores is None else scores[items], **options)
    best = replace(second, indices=items[second.indices])
    # The guarantee is about the better of this set and the best part by itself.
    for part in parts:
        if len(part) == len(best) and part.objective > best.objective:
            best = part
    return replace(best, scale=None if scores is None else scale, upper_bound=None, notes=(), _facts=None)


def _picks_of(block: Any, scores: FloatArray | None, k: int, options: dict[str, Any]) -> tuple[Selection, Array]:
    """Picks of one block, and their rows."""
    X = as_block(block)
    # Facts about the selection refer to the block, and would keep it in memory.
    selection = replace(select(X, k, quality=scores, **options), _facts=None)
    rows = X[selection.indices]
    return selection, rows.toarray() if is_sparse(rows) else np.array(rows)
