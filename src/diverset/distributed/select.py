"""``select`` and ``map_greedy`` over features in blocks, which stay where they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core.dpp import DPP
from diverset.core.factor import RowFactor
from diverset.distributed.blocks import Blocks, persist, task
from diverset.distributed.greedy import Columns, greedy_blocks, readable
from diverset.distributed.model import BlockFactor, BlockLikelihood
from diverset.errors import DiversetError, KernelError
from diverset.inference.engine import Picks
from diverset.inference.limits import Limits
from diverset.inference.rows import squared_norms
from diverset.inference.similarity import Rows, Similarity

__all__ = ["BlockRows", "greedy_factor"]

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
    """Columns of a block in which every item may be picked and none earns anything for itself."""
    return Columns(quality, np.zeros(n), np.ones(n, dtype=bool), np.zeros(0, dtype=np.int64), np.zeros(0))


# select ------------------------------------------------------------------------------------------------------------


class BlockRows(Similarity):
    """Cosines or inner products of rows in blocks; scores and limits are in this process, the rows are not."""

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

    def diagonal(self) -> FloatArray:
        """Not available."""
        return self.columns(np.zeros(0, dtype=np.int64))

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
        shown = self._fetched(given)._unit_rows(np.arange(len(given))) if len(given) else None
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
    """Factor of each row of a block: its weight, over its length for the cosine."""
    if not cosine:
        return quality
    norms = squared_norms(readable(block))
    if len(norms) and norms.min() == 0.0:
        raise KernelError(
            f"features[{start + int(norms.argmin())}] is all zeros, which a draw from a dask array cannot compare by "
            'the cosine; leave the item out, or use similarity="dot"'
        )
    return quality / np.sqrt(norms)
