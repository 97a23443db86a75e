r"""Exact repeated draws from features in blocks, without moving them.

The sampler of :mod:`diverset.sampling.rejection` needs two operations on the items: propose one by the law
:math:`|V_{\cdot j}|^2` of a column of the eigenvectors :math:`V = BA`, and read the rows of V that were proposed. Here
a proposal takes three steps, of which only the first runs on this machine:

1. a column j of the draw and a level within its mass of 1 are drawn; the masses of the *blocks*, r numbers each, decide
   the block;
2. on its worker, cumulative sums over *segments* of rows, stored there, decide the segment;
3. the rows of the segment, multiplied by A, decide the row, whose r numbers are sent back.

V is never stored: the workers hold 8r bytes for every 128 rows. All proposals of a batch of draws go out together,
:math:`m(H_m + 1)` for a draw of m items, which needs :math:`m H_m` on average; draws that need more send a second
batch. So a batch takes two or three round trips, and a draw moves :math:`O(m \log m)` rows.

Draws depend on the seed alone, not on the number of workers, nor (except for ties in rounding) on the blocks.
"""

from __future__ import annotations

import math
from operator import itemgetter

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.factor import RowFactor
from diverset.distributed.blocks import by_block, compute, on_rows, persist, same, task, tree_sum
from diverset.distributed.model import BlockFactor, BlockLikelihood
from diverset.errors import KernelError
from diverset.numerics.linalg import cholesky_lower, row_norms_squared, solve_lower, squared_modulus
from diverset.sampling.base import Sampler
from diverset.sampling.eigenvector_law import EigenvectorLaw

__all__ = ["BlockProposals", "BlockSampler", "ElementaryDraw"]

#: Rows whose squares are added up in one cumulative sum.
SEGMENT = 128
#: Segments worked on at a time: when they are added up, and when rows are proposed from them.
_SEGMENTS, _GATHERED = 32, 64
#: Departure of V*V from the identity from which V is made orthonormal once more, as in numerics.linalg.
_ORTHONORMAL = 1e-12
#: Bytes of proposed rows that one batch of draws may bring here, and the most draws in it.
_BATCH_BYTES, _BATCH_DRAWS = 1 << 25, 4096


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
    """What all draws share: the map A, of shape (D, r), with orthonormal :math:`V = BA`, and its masses by block.

    A is made of scaled eigenvectors of C, which are orthonormalised once more if needed.
    """

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
        found = compute(
            [
                task(
                    on_rows, _proposed, base.parts[b], base.quality[b], dropped[b], shared, self.kept[b], columns[own],
                    levels[own],
                )
                for b, own in wanted
            ]
        )  # fmt: skip
        items = np.empty(len(columns), dtype=np.int64)
        rows = np.empty((len(columns), self.A.shape[1]), dtype=np.result_type(self.A, np.float64))
        for (b, own), (places, part) in zip(wanted, found, strict=True):
            items[own], rows[own] = self.starts[b] + places, part
        return items, rows


class ElementaryDraw:
    """Phase two of one draw, from the eigenvectors J: the items accepted so far, and a basis W of the directions left.

    The steps are those of :mod:`diverset.sampling.rejection`, many proposals at a time.
    """

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
    """Draws of a DPP (k None) or k-DPP of features in blocks; `law` is phase one."""

    name = "rejection"

    def __init__(self, representation: BlockLikelihood, k: int | None) -> None:
        factor, A = representation.factor, representation.eigenvector_map
        # One more pass over the features, the same for every k.
        self.proposals = representation.keep("block proposals", lambda: BlockProposals(factor, A))
        self.law = EigenvectorLaw.of(representation.spectrum.support, k)

    @property
    def chunk(self) -> int:
        """Draws of one batch, by the rows that they bring here."""
        m = self.law.mean_size + 1.0
        rows = m * (2.0 + math.log(m))
        return max(1, min(_BATCH_DRAWS, int(_BATCH_BYTES / (8.0 * rows * max(self.proposals.A.shape[1], 1)))))

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        return self.draw_many(1, rng)[0]

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several draws, their proposals together."""
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
