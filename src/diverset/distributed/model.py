r"""The dual representation over blocks of rows: L-ensembles of features that do not fit on one machine.

:class:`BlockFactor` has the methods of :class:`diverset.core.factor.RowFactor`, so the algebra of low-rank DPPs
(:mod:`diverset.core.lowrank`) works without change: conditioning, thinning and scaling act on a small matrix. The Gram
matrix :math:`C = B^*B` is added up in a tree, :math:`D^2` numbers a block. The diagonal of K is a lazy dask array.
Entries over a set A transfer :math:`|A|D` numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.factor import RowFactor
from diverset.core.lowrank import LowRankLikelihood
from diverset.distributed.blocks import Blocks, Task, as_block, compute, lazy_array, on_rows, same, task, tree_sum
from diverset.errors import KernelError
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import check_fits_in_memory
from diverset.sampling.base import Offer

__all__ = ["BlockFactor", "BlockLikelihood", "likelihood_of"]

_NONE = np.zeros(0, dtype=np.int64)


def check_entries(block: Any, start: int) -> None:
    """Refuse entries that are not finite, on the worker that has the block, whose first item is `start`."""
    for part, rows in RowFactor(as_block(block)).blocks():
        bad = np.argwhere(~np.isfinite(rows))
        if len(bad):
            i, j = bad[0]
            raise KernelError(f"features[{start + part.start + i}, {j}] is {rows[i, j]}; every entry must be finite")


class BlockFactor(RowFactor):
    """Rows diag(q) F T, of shape (n, width), F and q in blocks; the few `removed` rows of F, ascending, do not belong.

    The transform T has shape (D, width), or (D,) to scale the columns.
    """

    def __init__(self, blocks: Blocks, removed: IntArray = _NONE, transform: Array | None = None) -> None:
        self.base = blocks
        self.rows = None
        self.quality = None
        self.transform = transform
        self.removed = removed
        self.n = blocks.shape[0] - len(removed)
        self.width = blocks.shape[1] if transform is None or transform.ndim == 1 else transform.shape[1]
        # The last rows fetched: a probability reads the same few rows twice, for their values and their rounding error.
        self._last: tuple[IntArray, Array] | None = None

    def _base_rows(self, positions: IntArray) -> IntArray:
        """Rows of F at these positions: each is moved by the number removed before it."""
        return positions + np.searchsorted(self.removed - np.arange(len(self.removed)), positions, side="right")

    def _fetch(self, rows: IntArray | slice) -> Array:
        wanted = np.arange(self.n)[rows] if isinstance(rows, slice) else rows
        last = self._last
        if last is None or not np.array_equal(last[0], wanted):
            last = (wanted, self.base.fetch(self._base_rows(wanted)))
            self._last = last
        return last[1]

    def dropped(self) -> list[IntArray]:
        """Places in each block of the rows that are left out."""
        places: list[IntArray] = self.base.split(self.removed)
        return places

    def tasks(self, function: Any, *shared: Any) -> list[Task]:
        """``function(rows, *shared)`` for the rows of every block."""
        # Arrays are in the graph once, however many blocks there are.
        constants = [task(same, s) if isinstance(s, np.ndarray) else s for s in shared]
        triples = zip(self.base.parts, self.base.quality, self.dropped(), strict=True)
        return [task(on_rows, function, *triple, *constants) for triple in triples]

    def lengths(self) -> IntArray:
        """Rows of each block that belong."""
        lengths: IntArray = self.base.lengths - np.array([len(d) for d in self.dropped()], dtype=np.int64)
        return lengths

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Consecutive blocks of diag(q) F, before T, one at a time."""
        for a, b in pairwise(np.cumsum([0, *self.lengths()]).tolist()):
            yield slice(a, b), self.base.fetch(self._base_rows(np.arange(a, b)))

    def subset(self, keep: IntArray) -> RowFactor:
        """Only these rows, in this order, in the memory of this process."""
        check_fits_in_memory(8 * len(keep) * self.base.shape[1], what=f"the features of {len(keep)} items")
        return RowFactor(self._fetch(keep), transform=self.transform)

    def without(self, dropped: IntArray) -> RowFactor:
        """All rows but these."""
        removed = np.sort(np.concatenate([self.removed, self._base_rows(dropped)]))
        return BlockFactor(self.base, removed, self.transform)

    def times(self, matrix: Array) -> RowFactor:
        """Rows multiplied by `matrix` on the right."""
        return BlockFactor(self.base, self.removed, self.combined(matrix))

    def scaled(self, factor: float) -> RowFactor:
        """Rows times a number."""
        T = np.ones(self.base.shape[1]) if self.transform is None else self.transform
        return BlockFactor(self.base, self.removed, factor * T)

    def _base_gram(self) -> Array:
        return np.asarray(compute([tree_sum(self.tasks(RowFactor._base_gram))])[0])

    def _refuse_nonfinite(self) -> None:
        parts, starts = self.base.parts, self.base.starts.tolist()
        compute([task(check_entries, part, start) for part, start in zip(parts, starts, strict=False)])
        raise KernelError(
            "products of the features overflow; divide the features (or the quality) by their largest entry"
        )

    def norms_squared(self, matrix: Array | None = None, *, upper: bool = False) -> FloatArray:
        """Squared norms of the rows, times `matrix` first if given: a dask array, computed on use."""
        transform = self.transform if matrix is None else self.combined(matrix)
        norms = partial(RowFactor.norms_squared, upper=upper and self.transform is None)
        lazy: FloatArray = lazy_array(self.tasks(norms, transform), self.lengths())
        return lazy


class BlockLikelihood(LowRankLikelihood):
    r"""L-ensemble with :math:`L = BB^*`, B in blocks elsewhere; see the module docstring."""

    factor: BlockFactor

    def spectral_diagonal(self, weights: FloatArray) -> FloatArray:
        r"""Diagonal of :math:`V\,\mathrm{diag}(w)\,V^*`, lazy: squared norms of the rows of :math:`V\sqrt w`."""
        return self.factor.norms_squared(self.eigenvector_map * np.sqrt(weights))

    def samplers(self, k: int | None, size: int) -> list[Offer]:
        """Rejection sampling with the cumulative sums on the workers; ``features.compute()`` brings the others."""
        from diverset.distributed.sampling import BlockSampler

        return [Offer("rejection", 0.0, lambda: BlockSampler(self, k))]


def likelihood_of(features: Any, quality: Any = None) -> tuple[Any, range]:
    """Representation of the DPP of features in blocks, and its labels.

    One pass over the features. With at least as many features as items the rows are fetched: the dense kernel is
    smaller.
    """
    blocks = Blocks.of(features, quality)
    n, width = blocks.shape
    if width < n:
        return BlockLikelihood.from_rows(BlockFactor(blocks)), range(n)
    from diverset.core.eigenpairs import likelihood_of_matrix

    check_fits_in_memory(
        16 * n * n, what=f"the kernel of {n} items", remedy="project the features to fewer than n dimensions"
    )
    L = BlockFactor(blocks).outer()
    return likelihood_of_matrix(L, EPS * np.diagonal(L).real), range(n)
