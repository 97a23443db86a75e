"""The law of summaries, and decoding by expected ROUGE; the formulas are in ``docs/summaries.rst``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy import sparse

from diverset._typing import Array, BoolArray, FloatArray, IntArray, RNGLike
from diverset.numerics.validation import as_generator, check_rows, is_sparse
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.sampling.rejection import Proposals, RejectionSampler, alias_tables
from diverset.text.tfidf import Terms

__all__ = ["mean_rouge", "pairwise_rouge", "word_counts"]

_BATCH = 2000  # draws made at a time
_EXPECTED = 0.85  # expected cost of a draw before it is accepted or rejected, as a share of the room
_FULL = 0.5  # draws are kept if they use at least this share of the room
_PILOT, _FEWEST = 2000, 0.02  # draws from which the least cost is found, and the share of them that must fit
_UNREAD, _MOST_READ = 0.1, 2000  # added to the diagonal for read sentences; how many, the nearest, are compared


def indicator(sets: Sequence[IntArray], n: int) -> Any:
    """Sets as rows of zeros and ones: CSR of float32, of shape (n_sets, n)."""
    ends = np.cumsum([0, *map(len, sets)])
    members = np.concatenate([np.zeros(0, dtype=np.int64), *sets])
    return sparse.csr_matrix((np.ones(len(members), dtype=np.float32), members, ends), (len(sets), n))


class Draws(NamedTuple):
    """Sets drawn from a DPP given that their cost is in a window, and the number of draws made to find them."""

    sets: list[IntArray]
    n_drawn: int


def draw_between(
    sampler: RejectionSampler, costs: IntArray, low: int, high: int, n_sets: int, *, rng: RNGLike = None, most: int = 0
) -> Draws:
    """Draw sets whose cost is from `low` to `high`, exactly, by drawing and rejecting.

    Fewer are returned if such sets are rare: the search ends after `most` draws, by default 10,000 + 200 `n_sets`.
    """
    generator = as_generator(rng)
    limit = most or 10_000 + 200 * n_sets
    kept, drawn = list[IntArray](), 0
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
    room, or half of the cost of all sentences; it is halved as long as fewer than 2% of the draws would be accepted.
    """

    def __init__(self, quality: FloatArray, similarity: FloatArray, costs: IntArray, room: int) -> None:
        self.quality, self.similarity, self.costs, self.room = quality, similarity, costs, room

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        L = self.quality[:, None] * self.similarity * self.quality
        values, vectors = scipy.linalg.eigh(L, driver="evd", check_finite=False)
        return np.maximum(values, 0.0), vectors

    @cached_property
    def scale(self) -> float:
        r"""The factor a, by bisection: the expected cost is :math:`\sum_n w_n a \lambda_n / (1 + a \lambda_n)`."""
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
        """Sampler of the DPP with kernel L, without the condition on costs: microseconds a draw."""
        values, vectors = self._spectrum
        V = np.ascontiguousarray(vectors[:, values > 0.0])
        law = EigenvectorLaw.of(np.log(self.scale * values[values > 0.0]))
        return RejectionSampler(Proposals(V, *alias_tables(V)), law)

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
        """Independent, exact draws from the law, by rejection; fewer than `n_sets` if very few sets fit."""
        return draw_between(self.sampler, self.costs, self.low, self.room, n_sets, rng=rng)


def cosines(vectors: Any, others: Any) -> FloatArray:
    """Inner products of unit vectors, dense or CSR, as a dense array."""
    found = vectors @ others.T
    return np.asarray(found.toarray() if is_sparse(found) else found, dtype=np.float64)


def given_read(vectors: Any, read: Any) -> FloatArray:
    r"""Similarity of sentences if others, A, were read: :math:`S - S_{\cdot A}(S_{AA} + 0.1 I)^{-1} S_{A\cdot}`.

    This is the Schur complement of conditioning on inclusion. With the term 0.1 I every read sentence keeps a part of
    its own: otherwise a few hundred read sentences would span the vector of any new one. The diagonal of the result is
    the part of each sentence that is new: 1 if it shares no word with the read ones, 0.09 for a copy.
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


def word_counts(sentences: Sequence[str]) -> Any:
    """Count how often each word is in each sentence, as ROUGE counts: CSR of shape (n_sentences, n_words).

    In English text the words are ROUGE's; words of other scripts, which it drops, count as well.
    """
    return Terms.of(sentences).counts


def _indicators(sets: Sequence[Iterable[int]], counts: Any) -> tuple[Any, FloatArray]:
    """For every set, which words it holds at least t times (CSR of 0 and 1), and its number of words."""
    # SciPy does not check column indices: one that is too large would be read outside the array.
    lists = [check_rows(list(items), counts.shape[0], name=f"set {i}") for i, items in enumerate(sets)]
    together = (indicator(lists, counts.shape[0]).astype(np.int64) @ counts).tocsr()
    total = np.asarray(together.sum(axis=1), dtype=np.float64).ravel()
    most = np.zeros(counts.shape[1], dtype=np.int64)
    np.maximum.at(most, together.indices, together.data)
    first = np.concatenate([[0], np.cumsum(most)])
    # Every entry c becomes c ones, in the columns of its word for t = 1 to c.
    repeat = together.data
    start = np.repeat(first[together.indices], repeat)
    within = np.arange(len(start)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    rows = np.concatenate([[0], np.cumsum(total.astype(np.int64))])
    ones = np.ones(len(start), dtype=np.float32)
    return sparse.csr_matrix((ones, start + within, rows), (len(lists), int(first[-1]))), total


def pairwise_rouge(sets: Sequence[Iterable[int]], counts: Any) -> Array:
    """Compute ROUGE-1F between all pairs of sets of sentences.

    Parameters
    ----------
    sets : sequence of iterables of int
        R sets of positions of sentences.
    counts : CSR of shape (n_sentences, n_words)
        From :func:`word_counts`.

    Returns
    -------
    ndarray of float32, of shape (R, R)

    Examples
    --------
    >>> counts = word_counts(["a red cat", "a black dog", "red red wine"])
    >>> pairwise_rouge([[0], [0, 1], [2]], counts).round(3)
    array([[1.   , 0.667, 0.333],
           [0.667, 1.   , 0.222],
           [0.333, 0.222, 1.   ]], dtype=float32)
    """
    ones, total = _indicators(sets, counts)
    dense = ones.toarray()
    lengths = total.astype(np.float32)
    return np.asarray(2.0 * (dense @ dense.T) / np.maximum(lengths[:, None] + lengths, 1.0))


def mean_rouge(sets: Sequence[Iterable[int]], counts: Any) -> FloatArray:
    r"""Compute the mean ROUGE-1F of each set of sentences against all sets: :math:`\frac1R \sum_r F(Y^{r'}, Y^r)`.

    These are the means of the rows of :func:`pairwise_rouge`, which is not formed, with the same arguments.

    Notes
    -----
    O(RwM) for sets of w words with M different lengths, instead of O(R^2 w): with :math:`N_\ell(w, t)` the number of
    sets of :math:`\ell` words that hold w at least t times, the score of a set of :math:`\ell'` words is
    :math:`\frac1R \sum_\ell \frac{2}{\ell' + \ell} \sum_{(w, t)} N_\ell(w, t)`, over its words.

    """
    ones, total = _indicators(sets, counts)
    lengths, group = np.unique(total, return_inverse=True)
    R = len(total)
    by_length = sparse.csr_matrix((np.ones(R), (group, np.arange(R))), shape=(len(lengths), R))
    held = (by_length @ ones).toarray()
    hits = np.asarray(ones.astype(np.float64) @ held.T)
    weights = 2.0 / np.maximum(total[:, None] + lengths, 1.0)
    return np.asarray(np.einsum("rl,rl->r", hits, weights) / max(R, 1))


def least_risk(sets: Sequence[IntArray], counts: Any) -> int:
    """Position of the draw of highest mean ROUGE-1F against all draws (minimum Bayes risk); the first of equals."""
    scores = mean_rouge(sets, counts)
    # With a tolerance, so that rounding errors do not decide between equals.
    return int(np.argmax(scores >= scores.max() - 1e-12))


_STOP_WEIGHT = 0.5
_PAIR_WEIGHT = 0.5
_HUMAN_LENGTH = 0.8
_MOST_REPEATED = 5  # further occurrences of a word in a draw are not counted
_SAME_FACT = 0.6  # sentences of a higher similarity repeat each other
_ROUNDS = 20  # largest number of rounds of swaps


class _Hits:
    """Expected hits of sets of sentences."""

    def __init__(self, draws: Draws, terms: Terms) -> None:
        self.counts, self.pairs = terms.counts, terms.pairs[0]
        chosen = indicator(draws.sets, len(terms.stems))
        held = chosen @ self.counts.astype(np.float32)
        times = range(1, _MOST_REPEATED + 1)
        share = [np.bincount(held.indices[held.data >= t], minlength=held.shape[1]) for t in times]
        weights = np.where(terms.is_stop, _STOP_WEIGHT, 1.0) / max(len(draws.sets), 1)
        # Entry (w, t): expected hits of a text that holds w t times.
        self.expected = np.vstack([np.zeros(held.shape[1]), np.cumsum(share, axis=0) * weights]).T
        paired = chosen @ self.pairs.astype(np.float32)
        holders = np.bincount(paired.indices, minlength=paired.shape[1])
        self.pair_share = _PAIR_WEIGHT * holders / max(len(draws.sets), 1)
        self.lengths = terms.lengths.astype(np.float64)
        self.human = _HUMAN_LENGTH * float((chosen @ self.lengths).mean()) if draws.sets else 0.0
        self._rows = np.repeat(np.arange(self.counts.shape[0]), np.diff(self.counts.indptr))

    def scores(self, Y: list[int]) -> tuple[float, FloatArray]:
        """F of a set, and of the set with each sentence added."""
        own = np.asarray(self.counts[Y].sum(axis=0)).ravel()
        before = np.minimum(own, _MOST_REPEATED)
        columns = self.counts.indices
        after = np.minimum(before[columns] + self.counts.data, _MOST_REPEATED)
        more = self.expected[columns, after] - self.expected[columns, before[columns]]
        fresh = self.pair_share.copy()
        taken = self.pairs[Y].indices
        hits = float(self.expected[np.arange(len(own)), before].sum() + fresh[np.unique(taken)].sum())
        fresh[taken] = 0.0
        gain = np.bincount(self._rows, more, minlength=len(self.lengths)) + self.pairs @ fresh
        spoken = float(self.lengths[Y].sum()) + self.human
        return 2.0 * hits / max(spoken, 1.0), 2.0 * (hits + gain) / np.maximum(spoken + self.lengths, 1.0)


def covering_summary(
    draws: Draws,
    terms: Terms,
    costs: IntArray,
    room: int,
    *,
    allowed: BoolArray | None = None,
    needs: IntArray | None = None,
    similarity: FloatArray | None = None,
) -> IntArray:
    """Sentences of highest F, among all sets rather than among the draws, in ascending order.

    Sentences are added one at a time while F grows. Then single sentences are added, dropped or swapped while that
    raises F. `room` is the largest cost of the set. Only `allowed` sentences are taken, a sentence i only together with
    the sentence ``needs[i]`` (-1 for none; never if that is i itself), and no two with a `similarity` above 0.6.
    """
    hits = _Hits(draws, terms)
    n = len(costs)
    open_ = (hits.lengths > 0) if allowed is None else (hits.lengths > 0) & allowed
    required = np.full(n, -1) if needs is None else needs

    def best_addition(Y: list[int], banned: int) -> tuple[float, float, int]:
        """F of a set, the highest F with one more sentence, and that sentence."""
        own, scores = hits.scores(Y)
        free = open_ & (costs <= room - int(costs[Y].sum()))
        free &= (required < 0) | np.isin(required, Y)
        free[[*Y, banned] if banned >= 0 else Y] = False
        if similarity is not None and Y:
            free &= similarity[Y].max(axis=0) <= _SAME_FACT
        scores = np.where(free, scores, -1.0)
        i = int(scores.argmax())
        return own, float(scores[i]), i

    Y: list[int] = []
    while n:
        value, more, i = best_addition(Y, -1)
        if more <= value + 1e-12:
            break
        Y.append(i)
    for _ in range(_ROUNDS if Y else 0):
        best, change = hits.scores(Y)[0] + 1e-9, None
        for dropped in Y:
            rest = [i for i in Y if i != dropped]
            if dropped in required[rest]:
                continue
            value, more, i = best_addition(rest, dropped)
            if rest and value > best:
                best, change = value, rest
            if more > best:
                best, change = more, [*rest, i]
        _, more, i = best_addition(Y, -1)
        if more > best:
            change = [*Y, i]
        if change is None:
            break
        Y = change
    return np.array(sorted(Y), dtype=np.int64)
