r"""The distribution over summaries within a budget: a DPP over sentences, given that their lengths fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from scipy import sparse

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import is_sparse
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.sampling.rejection import Proposals, RejectionSampler, alias_tables

__all__ = ["Draws", "SummaryLaw", "cosines", "draw_between", "given_read"]

#: Draws made at a time.
_BATCH = 2000
#: Expected cost of a draw before it is accepted or rejected, as a share of the room.
_EXPECTED = 0.85
#: Draws are kept if they use at least this share of the room.
_FULL = 0.5
#: Draws that settle the window, and the share of them that must fit.
_PILOT, _FEWEST = 2000, 0.02
#: Part of a sentence that reading another one never covers, in :func:`given_read`.
_UNREAD = 0.1
#: Read sentences that are compared, the nearest ones.
_MOST_READ = 2000


@dataclass(frozen=True)
class Draws:
    """Sets drawn from a DPP given that their cost is in a window, and how many draws that took."""

    sets: list[IntArray]
    n_drawn: int

    def indicator(self, n: int) -> Any:
        """The sets as rows of zeros and ones: CSR of shape (n_sets, n)."""
        ends = np.cumsum([0, *map(len, self.sets)])
        members = np.concatenate([np.zeros(0, dtype=np.int64), *self.sets])
        return sparse.csr_matrix((np.ones(len(members), dtype=np.float32), members, ends), (len(self.sets), n))


def draw_between(
    sampler: RejectionSampler,
    costs: IntArray,
    low: int,
    high: int,
    n_sets: int,
    *,
    rng: RNGLike = None,
    most: int | None = None,
) -> Draws:
    """Draw sets whose cost is from `low` to `high`, exactly, by drawing and rejecting.

    Fewer than `n_sets`, or none, are found if sets that fit are rare: after `most` draws (10,000 and 200 for each set)
    the search ends.
    """
    if low > high:
        raise DiversetError(f"the window from {low} to {high} is empty")
    generator = np.random.default_rng(rng)
    limit = 10_000 + 200 * n_sets if most is None else most
    kept: list[IntArray] = []
    drawn = 0
    while len(kept) < n_sets and drawn < limit:
        for flat, offsets in sampler.draw_flat(min(_BATCH, limit - drawn), generator):
            spent = np.diff(np.concatenate([[0], np.cumsum(costs[flat])])[offsets])
            inside = np.flatnonzero((low <= spent) & (spent <= high))[: n_sets - len(kept)]
            kept += [flat[offsets[d] : offsets[d + 1]] for d in inside]
            if len(kept) == n_sets:
                return Draws(kept, drawn + int(inside[-1]) + 1)
            drawn += len(spent)
    return Draws(kept, drawn)


class SummaryLaw:
    r"""Law of a summary: :math:`L_{ij} = a\, q_i s_{ij} q_j`, given that the sentences cost from ``low`` to ``room``.

    The factor a makes a draw cost 85% of the room on average before it is accepted or rejected. ``low`` is half the
    room, or half of what all sentences cost; it is halved as long as fewer than 2% of the draws would be accepted.

    Qualities and costs are positive, the similarity is positive semidefinite, and `room` is the largest cost.
    """

    def __init__(self, quality: FloatArray, similarity: FloatArray, costs: IntArray, room: int) -> None:
        self.quality, self.similarity, self.costs, self.room = quality, similarity, costs, room

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = scipy.linalg.eigh(
            self.quality[:, None] * self.similarity * self.quality, driver="evd", check_finite=False
        )
        return np.maximum(values, 0.0), vectors

    @cached_property
    def scale(self) -> float:
        r"""The factor a: the expected cost :math:`\sum_n w_n \frac{a \lambda_n}{1 + a \lambda_n}` grows with it.

        Here :math:`w_n = \sum_i c_i v_{ni}^2`.
        """
        values, vectors = self._spectrum
        weights = self.costs @ vectors**2
        reachable = 0.95 * float(weights[values > 1e-12 * values.max(initial=0.0)].sum())
        wanted = min(_EXPECTED * self.room, reachable)
        low, high = -60.0, 60.0
        for _ in range(80):
            middle = 0.5 * (low + high)
            scaled = np.exp(middle) * values
            if weights @ (scaled / (1.0 + scaled)) < wanted:
                low = middle
            else:
                high = middle
        return float(np.exp(0.5 * (low + high)))

    @cached_property
    def L(self) -> FloatArray:
        """Likelihood kernel, scaled to the room."""
        return self.scale * self.quality[:, None] * self.similarity * self.quality

    @cached_property
    def sampler(self) -> RejectionSampler:
        """Sampler of the DPP with kernel L, whatever its sets cost: microseconds a draw."""
        values, vectors = self._spectrum
        V = np.ascontiguousarray(vectors[:, values > 0.0])
        return RejectionSampler(
            Proposals(V, *alias_tables(V)), EigenvectorLaw.of(np.log(self.scale * values[values > 0.0]))
        )

    @property
    def half(self) -> int:
        """Half of the room, or of the cost of all sentences if that is less."""
        return max(1, int(_FULL * min(self.room, int(self.costs.sum()))))

    @cached_property
    def low(self) -> int:
        """Least cost of a summary."""
        low = self.half
        pilot = draw_between(self.sampler, self.costs, 1, self.room, _PILOT, rng=0, most=_PILOT)
        spent = np.array([int(self.costs[items].sum()) for items in pilot.sets])
        while low > 1 and (spent >= low).sum() < _FEWEST * _PILOT:
            low //= 2
        return low

    def draw(self, n_sets: int, rng: RNGLike = None) -> Draws:
        """Independent draws from the law, exact, by drawing and rejecting; fewer if hardly any fits."""
        return draw_between(self.sampler, self.costs, self.low, self.room, n_sets, rng=rng)


def cosines(vectors: Any, others: Any) -> FloatArray:
    """Inner products of unit vectors, dense or CSR, as a dense array."""
    found = vectors @ others.T
    return np.asarray(found.toarray() if is_sparse(found) else found, dtype=np.float64)


def given_read(vectors: Any, read: Any) -> FloatArray:
    r"""Similarity of sentences, given that others were read.

    The DPP conditioned on sentences A has the similarity

    .. math::  S - S_{\cdot A}(S_{AA} + \sigma^2 I)^{-1} S_{A\cdot}

    among the others, the Schur complement of conditioning on inclusion. With :math:`\sigma^2 = 0.1` every read sentence
    has a part of its own: otherwise a few hundred read sentences would explain any new one.

    Both arguments hold unit vectors in rows, dense or CSR. The diagonal of the result is the part of each sentence that
    is new: 1 for no common word, 0.09 for a copy.
    """
    S, cross = cosines(vectors, vectors), cosines(vectors, read)
    if cross.shape[1] > _MOST_READ:
        nearest = np.argsort(-cross.max(axis=0), kind="stable")[:_MOST_READ]
        cross, read = cross[:, nearest], read[nearest]
    known = cosines(read, read)
    known[np.diag_indices_from(known)] += _UNREAD
    factor = scipy.linalg.cholesky(known, lower=True)
    W = scipy.linalg.solve_triangular(factor, cross.T, lower=True)
    S -= W.T @ W
    return S
