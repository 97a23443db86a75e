"""``select``, ``map_greedy`` and ``greedi`` over features in blocks, which stay on the workers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.dpp import DPP
from diverset.core.factor import RowFactor
from diverset.distributed.blocks import Blocks, as_block, compute, persist, task
from diverset.distributed.greedy import Columns, greedy_blocks, readable
from diverset.distributed.model import BlockFactor, BlockLikelihood
from diverset.errors import DiversetError, KernelError
from diverset.inference.engine import Limits, Picks
from diverset.inference.inputs import as_column, calibrated, check_scale
from diverset.inference.result import Selection
from diverset.inference.rows import squared_norms
from diverset.inference.select import select
from diverset.inference.similarity import Rows, Similarity
from diverset.numerics.validation import check_size, is_blocked, is_sparse

__all__ = ["BlockRows", "greedi", "greedy_factor"]

# map_greedy --------------------------------------------------------------------------------------------------------


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
    return Columns(quality, np.zeros(n), np.ones(n, dtype=bool), np.zeros(0, dtype=np.int64), np.zeros(0))


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

    def columns(self, items: IntArray) -> FloatArray:
        """Not available: it would need all rows."""
        raise DiversetError("features are a dask array; pass features.compute() to compare all items with some")

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
