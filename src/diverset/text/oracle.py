r"""What sentences of the documents are worth, knowing the human summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.numerics.validation import check_nonnegative
from diverset.text.budget import Budget
from diverset.text.rouge import rouge_words
from diverset.text.terms import Terms

__all__ = ["oracle_summary", "sentence_scores"]


def oracle_summary(
    sentences: Sequence[str], references: Sequence[str], budget: Budget, *, scaling: float = 0.5
) -> IntArray:
    r"""Sentences that together cover the words of human summaries ([KuleszaTaskar2012]_, Algorithm 5).

    One after the other, the sentence of largest :math:`\mathrm{ROUGE\text{-}1F}(i, H) / \sqrt{\mathrm{length}(i)}` is
    taken among those that fit, and its words are struck off the references H. Training data for sets of sentences,
    since human summaries are not made of sentences of the documents.

    Parameters
    ----------
    sentences : sequence of str
        Candidates.
    references : sequence of str
        Human summaries; each word is struck off each of them.
    budget : Budget
        Lengths and the limit.
    scaling : float
        Exponent of the length: a half as printed; 0 prefers longer sentences.

    Returns
    -------
    ndarray of int64
        Positions in the order of picking. Where no sentence that fits holds a word that is left, the algorithm ends;
        as printed it would go on with sentences that match nothing.

    Notes
    -----
    O(nVR) for n sentences, R references and V words of theirs, for each pick.

    Examples
    --------
    >>> sentences = ["It rained.", "Floods in town.", "Rain hit the town."]
    >>> oracle_summary(sentences, ["Rain in the town"], Budget("words", 7))
    array([2, 1])
    """
    if not references:
        raise DiversetError("there are no references; an oracle summary is made from human ones")
    words = [Counter(rouge_words(sentence)) for sentence in sentences]
    humans = [Counter(rouge_words(reference)) for reference in references]
    vocabulary = {word: j for j, word in enumerate(sorted(set().union(*humans)))}
    counts = np.array([_vector(counter, vocabulary) for counter in words]).reshape(len(words), len(vocabulary))
    left = np.array([_vector(counter, vocabulary) for counter in humans])
    totals = np.array([counter.total() for counter in words], dtype=np.float64)
    costs = budget.costs(sentences)
    weight = np.maximum(budget.lengths(sentences), 1).astype(np.float64) ** check_nonnegative(
        scaling, name="scaling", most=50.0
    )
    room = budget.room
    picked: list[int] = []
    free = costs <= room
    while free.any():
        hits = np.minimum(counts[:, None, :], left).sum(axis=(1, 2))
        score = 2.0 * hits / np.maximum(left.sum() + len(left) * totals, 1.0) / weight
        score[~free] = -1.0
        best = int(score.argmax())
        if score[best] <= 0.0:
            break
        picked.append(best)
        left = np.maximum(left - counts[best], 0.0)
        room -= int(costs[best])
        free &= costs <= room
        free[best] = False
    return np.array(picked, dtype=np.int64)


def sentence_scores(terms: Terms, references: Sequence[str]) -> FloatArray:
    r"""How much of human summaries each sentence holds by itself, words and twice its word pairs, for its length.

    .. math::  \frac{h_1 + 2 h_2}{\ell + 0.35\,\bar m}

    with :math:`h_1` and :math:`h_2` the hits of ROUGE-1 and ROUGE-2, averaged over the references, :math:`\ell` the
    words of the sentence and :math:`\bar m` the mean length of a reference.
    """
    humans = [rouge_words(reference) for reference in references]
    mean_length = sum(map(len, humans)) / len(humans)
    singles = [Counter(human) for human in humans]
    doubles = [Counter(pairwise(human)) for human in humans]
    scores = np.zeros(len(terms.stems))
    for i, stems in enumerate(terms.stems):
        own, pairs = Counter(stems), Counter(pairwise(stems))
        hits = sum((own & human).total() for human in singles) + 2 * sum((pairs & human).total() for human in doubles)
        scores[i] = hits / len(humans) / max(len(stems) + 0.35 * mean_length, 1.0)
    return scores


def _vector(counter: Counter[str], vocabulary: dict[str, int]) -> FloatArray:
    vector = np.zeros(len(vocabulary))
    for word, count in counter.items():
        if word in vocabulary:
            vector[vocabulary[word]] = count
    return vector
