r"""L-ensembles of features that do not fit on one machine, and exact draws from them.

:class:`BlockFactor` has the methods of :class:`diverset.core.factor.RowFactor`, so the algebra of low-rank DPPs
(:mod:`diverset.core.lowrank`) works without change: conditioning, thinning and scaling act on a small matrix. The Gram
matrix :math:`C = B^*B` is added up in a tree, :math:`D^2` numbers per block. The diagonal of K is a lazy dask array.
Entries over a set A transfer :math:`|A|D` numbers.

The sampler of :mod:`diverset.sampling.rejection` proposes items by the distribution :math:`|V_{\cdot j}|^2` of a column
of the eigenvectors :math:`V = BA`, and reads their rows of V. Here, a column j and a level within its mass of 1 are
drawn in this process, and the masses of the *blocks* give the block. On its worker, stored cumulative sums over
*segments* of 128 rows give the segment, and the rows of the segment times A give the row, whose r numbers are sent
back. V is never stored. All proposals of a batch of draws are sent together, :math:`m(H_m + 1)` for a draw of m items,
which needs :math:`m H_m` on average; draws that need more send a second batch. Draws depend on the seed alone, not on
the number of workers, nor (except for ties in rounding) on the blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.factor import RowFactor
from diverset.core.lowrank import LowRankLikelihood
from diverset.distributed.blocks import (
    Blocks,
    Task,
    as_block,
    by_block,
    compute,
    lazy_array,
    on_rows,
    persist,
    same,
    task,
    tree_sum,
)  # fmt: skip
from diverset.errors import KernelError
from diverset.inference.inputs import NO_ITEMS
from diverset.numerics.linalg import EPS, cholesky_lower, row_norms_squared, solve_lower, squared_modulus
from diverset.numerics.validation import check_fits_in_memory
from diverset.sampling.base import Offer, Sampler
from diverset.sampling.eigenvector_law import EigenvectorLaw

__all__ = ["BlockFactor", "BlockLikelihood", "BlockProposals", "BlockSampler", "ElementaryDraw", "likelihood_of"]

#: Rows whose squares are added up in one cumulative sum.
SEGMENT = 128
#: Segments processed at a time: when they are added up, and when rows are proposed from them.
_SEGMENTS, _GATHERED = 32, 64
#: Distance of V*V from the identity above which V is orthonormalised again, as in numerics.linalg.
_ORTHONORMAL = 1e-12
#: Largest size in bytes of the proposed rows in one batch of draws, and the largest number of draws in it.
_BATCH_BYTES, _BATCH_DRAWS = 1 << 25, 4096


def check_entries(block: Any, start: int) -> None:
    """Raise an error for entries that are not finite; `start` is the first item of the block."""
    for part, rows in RowFactor(as_block(block)).blocks():
        bad = np.argwhere(~np.isfinite(rows))
        if len(bad):
            i, j = bad[0]
            raise KernelError(f"features[{start + part.start + i}, {j}] is {rows[i, j]}; every entry must be finite")


class BlockFactor(RowFactor):
    """Rows diag(q) F T, of shape (n, width), with F and q in blocks and without the few `removed` rows, ascending.

    The transform T has shape (D, width), or (D,) to scale the columns.
    """

    def __init__(self, blocks: Blocks, removed: IntArray = NO_ITEMS, transform: Array | None = None) -> None:
        self.base = blocks
        self.rows = None
        self.quality = None
        self.transform = transform
        self.removed = removed
        self.n = blocks.shape[0] - len(removed)
        self.width = blocks.shape[1] if transform is None or transform.ndim == 1 else transform.shape[1]
        # The rows fetched last: a probability reads the same rows twice, for their values and their rounding error.
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
        """Places of the removed rows in each block."""
        return list(self.base.split(self.removed))

    def tasks(self, function: Any, *shared: Any) -> list[Task]:
        """``function(rows, *shared)`` for the rows of every block."""
        # Arrays are in the graph once, however many blocks there are.
        constants = [task(same, s) if isinstance(s, np.ndarray) else s for s in shared]
        triples = zip(self.base.parts, self.base.quality, self.dropped(), strict=True)
        return [task(on_rows, function, *triple, *constants) for triple in triples]

    def lengths(self) -> IntArray:
        """Number of rows in each block, without the removed ones."""
        return np.array([m - len(d) for m, d in zip(self.base.lengths, self.dropped(), strict=True)], dtype=np.int64)

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
    r"""L-ensemble with :math:`L = BB^*`, with B in blocks; see the module docstring."""

    factor: BlockFactor

    def spectral_diagonal(self, weights: FloatArray) -> FloatArray:
        r"""Diagonal of :math:`V\,\mathrm{diag}(w)\,V^*`, lazy: squared norms of the rows of :math:`V\sqrt w`."""
        return self.factor.norms_squared(self.eigenvector_map * np.sqrt(weights))

    def samplers(self, k: int | None, size: int) -> list[Offer]:
        """Rejection sampling, with the cumulative sums on the workers; ``features.compute()`` allows other samplers."""
        return [Offer("rejection", 0.0, lambda: BlockSampler(self, k))]


def likelihood_of(features: Any, quality: Any = None) -> tuple[Any, range]:
    """Representation of the DPP of features in blocks, and its labels; takes one pass over the features."""
    blocks = Blocks.of(features, quality)
    n, width = blocks.shape
    if width < n:
        return BlockLikelihood.from_rows(BlockFactor(blocks)), range(n)
    # With at least as many features as items, the dense kernel is smaller, and the rows are fetched.
    from diverset.core.eigenpairs import likelihood_of_matrix

    check_fits_in_memory(
        16 * n * n, what=f"the kernel of {n} items", remedy="project the features to fewer than n dimensions"
    )
    L = BlockFactor(blocks).outer()
    return likelihood_of_matrix(L, EPS * np.diagonal(L).real), range(n)


def _sums_of(factor: RowFactor, A: Array, signs: FloatArray) -> tuple[FloatArray, FloatArray, Array]:
    """Cumulative sums of squared columns over segments of a block, their total, and the block's part of V*V signs."""
    sums = np.zeros((-(-factor.n // SEGMENT), A.shape[1]))
    probe = np.zeros(A.shape[1], dtype=A.dtype)
    for first in range(0, len(sums), _SEGMENTS):
        start = first * SEGMENT
        V = factor._fetch(slice(start, min(start + _SEGMENTS * SEGMENT, factor.n))) @ A
        probe = probe + V.conj().T @ (V @ signs)
        sums[first : first + _SEGMENTS] = np.add.reduceat(squared_modulus(V), np.arange(0, len(V), SEGMENT), axis=0)
    # By column, as they are searched.
    return np.asfortranarray(np.cumsum(sums, axis=0)), sums.sum(axis=0), probe


def _eigenvector_gram(factor: RowFactor, A: Array) -> Array:
    # From the computed rows of V: A* C A would have the errors of the eigenvectors.
    total = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for _, rows in factor.blocks():
        V = rows @ A
        total = total + V.conj().T @ V
    return total


def _place(cumulative: FloatArray, columns: IntArray, levels: FloatArray) -> IntArray:
    """For each level, the first place of its column where the cumulative sum is above it."""
    places = np.zeros(len(columns), dtype=np.int64)
    for j in np.unique(columns):
        own, sums = columns == j, cumulative[:, j]
        # Rounding may put a level above all sums: it belongs to the last place with any mass.
        places[own] = np.minimum(np.searchsorted(sums, levels[own], side="right"), np.searchsorted(sums, sums[-1]))
    return places


def _proposed(
    factor: RowFactor, A: Array, kept: tuple[FloatArray, FloatArray, Array], columns: IntArray, levels: FloatArray
) -> tuple[IntArray, Array]:
    """Rows of one block proposed by levels within the masses of columns: their places, and the rows of V."""
    sums = kept[0]
    places = np.empty(len(columns), dtype=np.int64)
    rows = np.empty((len(columns), A.shape[1]), dtype=np.result_type(A, np.float64))
    segment = _place(sums, columns, levels)
    before = np.where(segment > 0, sums[segment - 1, columns], 0.0)
    share = (levels - before) / (sums[segment, columns] - before)
    for start in range(0, len(columns), _GATHERED):
        part = slice(start, start + _GATHERED)
        at = segment[part, None] * SEGMENT + np.arange(SEGMENT)
        X = factor._fetch(np.minimum(at, factor.n - 1).ravel()).reshape(*at.shape, -1)
        weights = squared_modulus(np.matmul(X, A[:, columns[part]].T[:, :, None])[:, :, 0])
        mass = np.cumsum(np.where(at < factor.n, weights, 0.0), axis=1)
        beyond = mass > share[part, None] * mass[:, -1:]
        # Here too, the last row with any mass takes the levels above all sums.
        place = np.where(beyond[:, -1], beyond.argmax(axis=1), (mass < mass[:, -1:]).sum(axis=1))
        places[part] = at[:, 0] + place
        rows[part] = X[np.arange(len(place)), place] @ A
    return places, rows


class BlockProposals:
    """Data of all draws: the map A (D, r) of scaled eigenvectors, with orthonormal V = BA, and its masses by block."""

    def __init__(self, factor: BlockFactor, A: Array) -> None:
        self.factor = BlockFactor(factor.base, factor.removed)
        self.A = factor.combined(A)
        self.starts = np.concatenate([[0], np.cumsum(factor.lengths())])
        r = self.A.shape[1]
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=r)
        for attempt in range(3):
            self.kept = persist(self.factor.tasks(_sums_of, self.A, signs))
            heads = compute([task(itemgetter(slice(1, 3)), kept) for kept in self.kept])
            # Twice is enough; the error that is left then is the rounding of V itself.
            if attempt == 2 or np.abs(sum(probe for _, probe in heads) - signs).max(initial=0.0) <= _ORTHONORMAL:
                break
            self._straighten()
        self.cumulative = np.concatenate([np.zeros((1, r)), np.cumsum([total for total, _ in heads], axis=0)])

    def _straighten(self) -> None:
        """Orthogonalise each eigenvector against those of larger eigenvalues, as orthonormal_columns does."""
        G: Array = compute([tree_sum(self.factor.tasks(_eigenvector_gram, self.A))])[0]
        R = cholesky_lower(np.ascontiguousarray((G + G.conj().T)[::-1, ::-1] / 2.0))
        if R is None:
            raise KernelError("the eigenvectors of the features are not independent to rounding; scale the features")
        # Columns from the last: the reversed V is Q R*, so Q is the reversed V times R^-*.
        self.A = self.A[:, ::-1] @ solve_lower(R, np.eye(len(R)), adjoint=True)[:, ::-1]

    def propose(self, columns: IntArray, uniforms: FloatArray) -> tuple[IntArray, Array]:
        """Items proposed from columns, and their rows of V; one round trip."""
        at = uniforms * self.cumulative[-1, columns]
        block = _place(self.cumulative[1:], columns, at)
        levels = at - self.cumulative[block, columns]
        shared = task(same, self.A)
        dropped, base = self.factor.dropped(), self.factor.base
        wanted = by_block(block)
        found = compute([
            task(
                on_rows, _proposed, base.parts[b], base.quality[b], dropped[b], shared, self.kept[b], columns[own],
                levels[own],
            )
            for b, own in wanted
        ])  # fmt: skip
        items = np.empty(len(columns), dtype=np.int64)
        rows = np.empty((len(columns), self.A.shape[1]), dtype=np.result_type(self.A, np.float64))
        for (b, own), (places, part) in zip(wanted, found, strict=True):
            items[own], rows[own] = self.starts[b] + places, part
        return items, rows


class ElementaryDraw:
    """Phase two of one draw, as in :mod:`diverset.sampling.rejection`; W is a basis of the remaining directions."""

    def __init__(self, J: IntArray) -> None:
        self.J = J
        self.items: list[int] = []
        self.W: Array = np.eye(len(J))

    @property
    def done(self) -> bool:
        """Whether all items have been drawn."""
        return len(self.W) == 0

    def ask(self, rng: np.random.Generator) -> tuple[IntArray, FloatArray, FloatArray]:
        """Columns, levels within them and levels of acceptance, for as many proposals as are likely to suffice."""
        m, s = len(self.J), len(self.W)
        count = math.ceil(m * (1.0 + sum(1.0 / i for i in range(1, s + 1))))
        which, where, level = rng.random((3, count))
        return self.J[(which * m).astype(np.int64)], where, level

    def consider(self, items: IntArray, rows: Array, level: FloatArray) -> None:
        """Accept or reject proposals, one after the other: each with probability residual over squared norm."""
        norms = row_norms_squared(rows)
        Y = rows @ self.W.T
        open_ = ~np.isin(items, self.items)
        first = 0
        while not self.done:
            fits = open_[first:] & (row_norms_squared(Y[first:]) > level[first:] * norms[first:])
            if not fits.any():
                return
            i = first + int(fits.argmax())
            h = Y[i].copy()
            length, last = float(np.linalg.norm(h)), abs(h[-1])
            h[-1] += h[-1] * (length / last) if last > 0.0 else length
            # Reflect the item's coordinates onto the last basis vector, and drop that.
            tau = 1.0 / (length * (length + last))
            self.W = (self.W - tau * np.outer(h, h.conj() @ self.W))[:-1]
            Y = (Y - tau * np.outer(Y @ h.conj(), h))[:, :-1]
            self.items.append(int(items[i]))
            open_ &= items != items[i]
            first = i + 1


class BlockSampler(Sampler):
    """Draws of a DPP (k None) or k-DPP of features in blocks; `law` draws the eigenvectors (phase one)."""

    name = "rejection"

    def __init__(self, representation: BlockLikelihood, k: int | None) -> None:
        factor, A = representation.factor, representation.eigenvector_map
        # One more pass over the features, the same for every k.
        self.proposals = representation.keep("block proposals", lambda: BlockProposals(factor, A))
        self.law = EigenvectorLaw.of(representation.spectrum.support, k)

    @property
    def chunk(self) -> int:
        """Number of draws in one batch, from the number of rows that they transfer."""
        m = self.law.mean_size + 1.0
        rows = m * (2.0 + math.log(m))
        return max(1, min(_BATCH_DRAWS, int(_BATCH_BYTES / (8.0 * rows * max(self.proposals.A.shape[1], 1)))))

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        return self.draw_many(1, rng)[0]

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several draws, whose proposals are sent together."""
        draws = [ElementaryDraw(self.law.draw(rng)) for _ in range(size)]
        left = [draw for draw in draws if not draw.done]
        while left:
            asked = [draw.ask(rng) for draw in left]
            columns, uniforms, levels = (np.concatenate(parts) for parts in zip(*asked, strict=True))
            items, rows = self.proposals.propose(columns, uniforms)
            start = 0
            for draw, (own, _, _) in zip(left, asked, strict=True):
                part = slice(start, start + len(own))
                draw.consider(items[part], rows[part][:, draw.J], levels[part])
                start = part.stop
            left = [draw for draw in left if not draw.done]
        return [np.sort(np.array(draw.items, dtype=np.int64)) for draw in draws]
