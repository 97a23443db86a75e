r"""Maximum likelihood of summaries given that they fit the limit.

Draws come from the DPP conditioned on a cost within the limit, so the weights are learned from the same law. With
:math:`2 \log q_i = \theta^T f_i`, feature sums :math:`F(Y) = \sum_{i \in Y} f_i` and sets Y that fit,

.. math::  \log \Pr(Y \mid \text{fits}) = \log\det L_Y - \log \sum_{Y' \text{ fits}} \det L_{Y'}
           = \log \Pr(Y) - \log \Pr(\text{fits}), \qquad
           \nabla_\theta = F(Y) - \mathbb E[F(Y') \mid \text{fits}].

This is an exponential family, so the log-likelihood is concave. The expectation is a mean over draws that the sampler
accepts. Draws at :math:`\theta_0` also give the change of the log-likelihood near :math:`\theta_0`,

.. math::  (\theta - \theta_0)^T F(Y) - \log \tfrac1m \sum_j e^{(\theta - \theta_0)^T F(Y_j)},

which is maximised within a box around :math:`\theta_0`; then new draws are made at the maximum (Geyer and Thompson
1992). The scale of L is that of the law in use and is updated with the draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, minimize

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.numerics.validation import check_nonnegative
from diverset.text.cluster import Budget, Cluster
from diverset.text.law import SummaryLaw
from diverset.text.rouge import rouge_words

__all__ = ["Example", "accepted_sums", "fit_given_budget", "oracle_summary", "relative_likelihood", "sentence_scores"]


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


def sentence_scores(cluster: Cluster) -> FloatArray:
    r"""Overlap of each sentence with the human summaries, in words and word pairs, relative to its length.

    .. math::  \frac{h_1 + 2 h_2}{\ell + 0.35\,\bar m}

    with :math:`h_1` and :math:`h_2` the hits of ROUGE-1 and ROUGE-2, averaged over the references, :math:`\ell` the
    words of the sentence and :math:`\bar m` the mean length of a reference.
    """
    humans = [rouge_words(reference) for reference in cluster.references]
    mean_length = sum(map(len, humans)) / len(humans)
    singles = [Counter(human) for human in humans]
    doubles = [Counter(pairwise(human)) for human in humans]
    scores = np.zeros(len(cluster))
    for i, stems in enumerate(cluster.terms.stems):
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


#: Rounds of draws, draws for each cluster in a round, and the largest change of a weight in a round.
_ROUNDS, _DRAWS, _STEP = 12, 400, 0.25


class Example(NamedTuple):
    """Sentences of a cluster that fit the limit, and a summary made of them."""

    features: FloatArray
    offset: FloatArray  # subtracted from 2 log q
    similarity: FloatArray
    costs: IntArray
    room: int
    chosen: IntArray

    def law(self, theta: FloatArray) -> SummaryLaw:
        """Law of summaries for weights; its least cost is at most that of the summary."""
        score = np.clip(self.features @ theta - self.offset, -200.0, 200.0)
        law = SummaryLaw(np.exp(0.5 * score), self.similarity, self.costs, self.room)
        law.low = min(law.half, int(self.costs[self.chosen].sum()))
        return law


def accepted_sums(example: Example, theta: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Feature sums of draws that fit, of shape (n_accepted, n_features)."""
    draws = example.law(theta).draw(n_draws, rng)
    return np.asarray(draws.indicator(len(example.costs)).astype(np.float64) @ example.features)


def relative_likelihood(step: FloatArray, own: FloatArray, sums: FloatArray) -> tuple[float, FloatArray]:
    """Change of the log-likelihood of one summary, and its gradient.

    `step` is the change of the weights since the draws were made, `own` the feature sum of the summary, and the rows of
    `sums` are those of accepted draws.
    """
    exponents = sums @ step
    top = exponents.max()
    weights = np.exp(exponents - top)
    total = weights.sum()
    value = float(step @ own - top - np.log(total / len(sums)))
    return value, own - weights @ sums / total


def fit_given_budget(
    examples: Sequence[Example], shares: FloatArray, prior_variance: float, *, d: int, rng: int = 0
) -> FloatArray:
    """Weights of highest posterior density: the mean over the second half of the rounds."""
    generator = np.random.default_rng(rng)
    shares = shares * (len(shares) / shares.sum()) if len(shares) else shares
    own = [example.features[example.chosen].sum(axis=0) for example in examples]
    theta, kept = np.zeros(d), []
    for turn in range(_ROUNDS):
        sums = [accepted_sums(example, theta, _DRAWS, generator) for example in examples]
        parts = [(share, o, s) for share, o, s in zip(shares, own, sums, strict=True) if len(s)]

        def loss(new: Any, theta: FloatArray = theta, parts: list[Any] = parts) -> tuple[float, FloatArray]:
            value, gradient = 0.5 * float(new @ new) / prior_variance, new / prior_variance
            for share, o, s in parts:
                more, slope = relative_likelihood(new - theta, o, s)
                value, gradient = value - share * more, gradient - share * slope
            return value, gradient

        # The approximation by draws is good near the weights they were made at, so steps get shorter.
        reach = _STEP / (1.0 + turn / 3.0)
        theta = minimize(loss, theta, jac=True, method="L-BFGS-B", bounds=Bounds(theta - reach, theta + reach)).x
        if turn >= _ROUNDS // 2:
            kept.append(theta)
    return np.asarray(np.mean(kept, axis=0))
