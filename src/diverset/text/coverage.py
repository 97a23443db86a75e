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

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.text.decode import Draws
from diverset.text.terms import Terms

__all__ = ["covering_summary"]

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
    r"""Sentences of highest expected ROUGE against draws, among all sets rather than among the draws.

    Sentences are added one after the other while F grows. Then single sentences are added, dropped or swapped while
    that raises F.

    Parameters
    ----------
    draws : Draws
        From the law of summaries.
    terms : Terms
        Words of the same sentences.
    costs : ndarray of int64, of shape (n,)
        Positive costs.
    room : int
        What the set may cost.
    allowed : ndarray of bool, optional
        Sentences that may be taken; all by default.
    needs : ndarray of int64, optional
        For each sentence the one that must be taken too, or -1. A sentence that needs itself is never taken.
    similarity : ndarray of shape (n, n), optional
        No two sentences with a similarity above 0.6 are taken.

    Returns
    -------
    ndarray of int64
        Ascending positions.
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
