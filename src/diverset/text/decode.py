r"""Decoding by expected ROUGE: the words and word pairs that draws from the model agree on.

Draws stand for what people might have written. A summary Y that holds the word w :math:`c_w` times has

.. math::  h(Y) = \sum_w a_w \sum_{t=1}^{c_w} \Pr(w \text{ occurs } t \text{ times or more})
           + b \sum_{(v, w) \in Y} \Pr(v w \text{ occurs})

expected hits, where probabilities are shares of the draws, :math:`a_w` is 1, or 0.5 for a stop word, and b is 0.5. h is
monotone and submodular. The decoder maximises

.. math::  F(Y) = \frac{2 h(Y)}{|Y| + m}

with :math:`|Y|` the number of words and m 0.8 of the mean length of a draw, because people write shorter summaries than
the limit allows. This is ROUGE-1F plus half of ROUGE-2F with the lengths of all draws replaced by one. Because of the
denominator a sentence that says little is not added even if it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.numerics.validation import check_rows
from diverset.text.law import Draws
from diverset.text.terms import Terms

__all__ = ["covering_summary", "least_risk", "mean_rouge", "pairwise_rouge", "word_counts"]


def word_counts(sentences: Sequence[str]) -> Any:
    """How often each word is in each sentence, as ROUGE counts: CSR of shape (n_sentences, n_words).

    In English text the words are ROUGE's; words of other scripts, which it drops, count as well.
    """
    return Terms.of(sentences).counts


def _indicators(sets: Sequence[Iterable[int]], counts: Any) -> tuple[Any, FloatArray]:
    """For every set, which words it holds at least t times (CSR of 0 and 1), and its number of words."""
    # Numbers beyond the sentences would be looked up beyond the array.
    lists = [check_rows(list(items), counts.shape[0], name=f"set {i}") for i, items in enumerate(sets)]
    indptr = np.concatenate([[0], np.cumsum([len(items) for items in lists], dtype=np.int64)])
    members = np.concatenate([np.zeros(0, dtype=np.int64), *lists])
    chosen = sparse.csr_matrix((np.ones(len(members), dtype=np.int64), members, indptr), (len(lists), counts.shape[0]))
    together = (chosen @ counts).tocsr()
    total = np.asarray(together.sum(axis=1), dtype=np.float64).ravel()
    most = np.zeros(counts.shape[1], dtype=np.int64)
    np.maximum.at(most, together.indices, together.data)
    first = np.concatenate([[0], np.cumsum(most)])
    # Every entry c becomes c ones, in the columns of its word for t = 1 to c.
    repeat = together.data
    start = np.repeat(first[together.indices], repeat)
    within = np.arange(len(start)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    rows = np.concatenate([[0], np.cumsum(total.astype(np.int64))])
    ones = sparse.csr_matrix(
        (np.ones(len(start), dtype=np.float32), start + within, rows), (len(lists), int(first[-1]))
    )
    return ones, total


def pairwise_rouge(sets: Sequence[Iterable[int]], counts: Any) -> Array:
    """ROUGE-1F between all pairs of sets of sentences.

    Parameters
    ----------
    sets : sequence of iterables of int
        R candidates: positions of sentences.
    counts : CSR of shape (n_sentences, n_words)
        From :func:`word_counts`.

    Returns
    -------
    ndarray of float32, of shape (R, R)
        Symmetric.

    Notes
    -----
    One product of an R x V matrix of zeros and ones with its transpose; sums of ones are exact in float32.

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
    hits: Array = dense @ dense.T
    lengths = total.astype(np.float32)
    hits *= 2.0
    hits /= np.maximum(lengths[:, None] + lengths, 1.0)
    return hits


def mean_rouge(sets: Sequence[Iterable[int]], counts: Any) -> FloatArray:
    r"""Mean ROUGE-1F of each set of sentences against all of them: :math:`\frac1R \sum_r F(Y^{r'}, Y^r)`.

    Parameters
    ----------
    sets : sequence of iterables of int
        R candidates: positions of sentences.
    counts : CSR of shape (n_sentences, n_words)
        From :func:`word_counts`.

    Returns
    -------
    ndarray of shape (R,)
        Means of the rows of :func:`pairwise_rouge`, which is not formed.

    Notes
    -----
    O(RwM) for candidates of w words of which M lengths occur, instead of O(R^2 w): with
    :math:`N_\ell(w, t)` the number of candidates of :math:`\ell` words that hold w at least t times, the score is
    :math:`\frac1R \sum_\ell \frac{2}{\ell' + \ell} \sum_{(w, t)} N_\ell(w, t)`, over the words of the candidate.

    Examples
    --------
    >>> counts = word_counts(["a red cat", "a black dog", "red red wine"])
    >>> mean_rouge([[0], [0, 1], [2]], counts).round(3)
    array([0.667, 0.63 , 0.519])
    """
    ones, total = _indicators(sets, counts)
    lengths, group = np.unique(total, return_inverse=True)
    R = len(total)
    by_length = sparse.csr_matrix((np.ones(R), (group, np.arange(R))), shape=(len(lengths), R))
    held = (by_length @ ones).toarray()
    hits = np.asarray(ones.astype(np.float64) @ held.T)
    weights = 2.0 / np.maximum(total[:, None] + lengths, 1.0)
    scores: FloatArray = np.einsum("rl,rl->r", hits, weights) / max(R, 1)
    return scores


def least_risk(sets: Sequence[IntArray], counts: Any) -> int:
    """Number of the draw of highest mean ROUGE-1F against all draws (minimum Bayes risk); the first of equals."""
    scores = mean_rouge(sets, counts)
    # The order of summation must not decide between equals.
    return int(np.argmax(scores >= scores.max() - 1e-12))


_STOP_WEIGHT = 0.5
_PAIR_WEIGHT = 0.5
_HUMAN_LENGTH = 0.8
#: A word is expected this many times at most.
_MOST_REPEATED = 5
#: Sentences of a higher similarity repeat each other.
_SAME_FACT = 0.6
#: Rounds of swaps at most.
_ROUNDS = 20


class _Hits:
    """Expected hits of sets of sentences."""

    def __init__(self, draws: Draws, terms: Terms) -> None:
        self.counts, self.pairs = terms.counts, terms.pairs
        chosen = draws.indicator(len(terms.stems))
        held = chosen @ self.counts.astype(np.float32)
        share = [
            np.bincount(held.indices[held.data >= t], minlength=held.shape[1]) for t in range(1, _MOST_REPEATED + 1)
        ]
        weights = np.where(terms.is_stop, _STOP_WEIGHT, 1.0) / max(len(draws.sets), 1)
        # Entry (w, t): expected hits of a text that holds w t times.
        self.expected = np.vstack([np.zeros(held.shape[1]), np.cumsum(share, axis=0) * weights]).T
        paired = chosen @ self.pairs.astype(np.float32)
        self.pair_share = (
            _PAIR_WEIGHT * np.bincount(paired.indices, minlength=paired.shape[1]) / max(len(draws.sets), 1)
        )
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
    r"""Sentences of highest F, among all sets rather than among the draws, in ascending order.

    Sentences are added one at a time while F grows. Then single sentences are added, dropped or swapped while that
    raises F.

    Parameters
    ----------
    draws : Draws
        Draws of the law of summaries.
    terms : Terms
        Words of the sentences.
    costs, room
        Costs of the sentences, and the largest cost of the set.
    allowed : ndarray of bool, optional
        Sentences that may be taken; all by default.
    needs : ndarray of int64, optional
        For each sentence the one that must be taken before it, or -1. A sentence that needs itself is never taken.
    similarity : ndarray of shape (n, n), optional
        No two sentences with a similarity above 0.6 are taken.
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
