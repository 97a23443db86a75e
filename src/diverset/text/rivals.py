r"""Baselines with the same method ``summarize`` ([KuleszaTaskar2012]_, section 4.2)."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.learn._estimator import Estimator
from diverset.numerics.validation import as_generator, check_nonnegative
from diverset.text.cluster import Budget, Cluster, as_cluster, read_budget
from diverset.text.summarizer import Summarizer, oracle_summary
from diverset.text.summary import Summary, finish
from diverset.text.tfidf import lexrank

__all__ = ["Begin", "LexRank", "Oracle", "Random", "RelevanceMMR", "Submodular"]


class _Rival(Estimator, abc.ABC):
    """A baseline that needs no training."""

    def fit(self, clusters: Iterable[Cluster]) -> Any:
        """Do nothing: there is nothing to learn."""
        return self

    @abc.abstractmethod
    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> Any:
        """Sentences of the summary."""

    def summarize(
        self,
        documents: Any,
        max_words: int | None = None,
        *,
        max_bytes: int | None = None,
        max_sentences: int | None = None,
        rng: RNGLike = None,
    ) -> Summary:
        """Summarise documents; arguments and result are those of :func:`diverset.summarize`."""
        cluster, budget = as_cluster(documents), read_budget(max_bytes, max_words, max_sentences)
        chosen = self._choose(cluster, budget, rng) if len(cluster) else []
        return finish(cluster, chosen, budget, type(self).__name__.lower())


class Begin(_Rival):
    """Lead: the first sentences of the first document, then of the next, each if it fits.

    Examples
    --------
    >>> Begin().summarize(["One two. Three four.", "Five six."], max_words=3).text
    'One two.'
    """

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        return _fill(-np.arange(len(cluster)), cluster, budget)


class Random(_Rival):
    """Random sentences, each if it fits.

    Examples
    --------
    >>> Random().summarize(["One. Two. Three."], max_sentences=1, rng=0).text
    'Three.'
    """

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        return _fill(-np.argsort(as_generator(rng).permutation(len(cluster))), cluster, budget)


class LexRank(_Rival):
    """The most central sentences by continuous LexRank ([ErkanRadev2004]_), without those that repeat chosen ones.

    Parameters
    ----------
    redundancy : float
        A sentence is skipped if its cosine to a chosen one is above this.
    """

    def __init__(self, *, redundancy: float = 0.5) -> None:
        self.redundancy = redundancy

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        limit = check_nonnegative(self.redundancy, name="redundancy")
        central = lexrank(features=cluster.terms.vectors)
        return _fill(central, cluster, budget, lambda nearest: np.where(nearest > limit, -np.inf, central))


class Submodular(_Rival):
    r"""SUBMOD1: the graph cut of [LinBilmes2010]_, by cost-scaled greedy choice.

    .. math::  f(Y) = \sum_{i \notin Y} \sum_{j \in Y} s_{ij} - \lambda \sum_{i, j \in Y, i \ne j} s_{ij}

    The sentence of largest :math:`(f(Y + i) - f(Y)) / c_i^r` that fits is taken while f grows; the result is the
    better of this set and the best single sentence.

    Parameters
    ----------
    redundancy : float
        The weight :math:`\lambda`.
    scaling : float
        The exponent r of the costs.

    Notes
    -----
    f is submodular, not monotone. O(n^2) for the similarities, then O(n) for each sentence taken.
    """

    def __init__(self, *, redundancy: float = 4.0, scaling: float = 0.3) -> None:
        self.redundancy = redundancy
        self.scaling = scaling

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        vectors = cluster.terms.vectors
        weight = check_nonnegative(self.redundancy, name="redundancy")
        costs = budget.costs(cluster.sentences)
        scale = costs.astype(np.float64) ** check_nonnegative(self.scaling, name="scaling", most=50.0)
        S = (vectors @ vectors.T).toarray()
        degree = S.sum(axis=1) - np.diagonal(S)
        chosen: list[int] = []
        gain = degree.copy()
        free, room, value = costs <= budget.room, budget.room, 0.0
        while free.any():
            best = int(np.where(free, gain / scale, -np.inf).argmax())
            if gain[best] <= 0.0:
                break  # and gains only fall
            free[best] = False
            chosen.append(best)
            value += float(gain[best])
            room -= int(costs[best])
            # The edge to the new sentence is no longer cut, and counts as redundancy from both ends.
            gain = gain - (2.0 + 2.0 * weight) * S[best]
            free &= costs <= room
        fits = np.where(costs <= budget.room, degree, -np.inf)
        single = int(fits.argmax())
        return [single] if fits[single] > value else chosen


class Oracle(_Rival):
    """The oracle summary of a cluster with references (:func:`oracle_summary`), an upper bound."""

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> IntArray:
        return oracle_summary(cluster.sentences, cluster.references, budget)


class RelevanceMMR(_Rival):
    r"""LR+MMR: maximal marginal relevance with the quality of a trained summarizer.

    Sentences are taken by :math:`\alpha q_i - (1 - \alpha) \max_{j \in Y} s_{ij}` until the budget is full
    ([CarbonellGoldstein1998]_). As in the experiments of [KuleszaTaskar2012]_, q is the quality by logistic regression,
    here scaled to at most 1 within the cluster.

    Parameters
    ----------
    summarizer : Summarizer
        Fitted, or to be fitted, usually with ``training="logistic"``.
    alpha : float
        Weight of quality, from 0 to 1.
    """

    def __init__(self, summarizer: Summarizer | None = None, *, alpha: float = 0.5) -> None:
        self.summarizer = summarizer
        self.alpha = alpha

    def fit(self, clusters: Iterable[Cluster]) -> RelevanceMMR:
        """Fit the summarizer."""
        self.summarizer = (self.summarizer or Summarizer(training="logistic")).fit(clusters)
        return self

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        if self.summarizer is None:
            raise DiversetError("this RelevanceMMR has no fitted summarizer; call fit(clusters) or pass one")
        alpha = check_nonnegative(self.alpha, name="alpha")
        quality = self.summarizer.quality_of(cluster)
        # A sentence without content words has similarity 0 to all others, so only its quality would count.
        silent = np.diff(cluster.terms.vectors.indptr) == 0
        relevance = np.where(silent, -np.inf, alpha * quality / quality.max())
        return _fill(relevance, cluster, budget, lambda nearest: relevance - (1.0 - alpha) * nearest)


def _fill(scores: Any, cluster: Cluster, budget: Budget, rescore: Callable[[Any], Any] | None = None) -> list[int]:
    """Sentences of the highest score, one at a time, until none fits or all scores are -inf.

    `rescore` computes new scores from the largest cosine of each sentence to the chosen ones.
    """
    vectors, costs = cluster.terms.vectors, budget.costs(cluster.sentences)
    room, free, nearest = budget.room, costs <= budget.room, np.zeros(len(cluster))
    chosen: list[int] = []
    while free.any():
        best = int(np.where(free, scores, -np.inf).argmax())
        if not free[best] or scores[best] == -np.inf:
            break
        chosen.append(best)
        room -= int(costs[best])
        free &= costs <= room
        free[best] = False
        if rescore is not None:
            np.maximum(nearest, (vectors @ vectors[best].T).toarray().ravel(), out=nearest)
            scores = rescore(nearest)
    return chosen
