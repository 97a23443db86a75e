r"""Systems to compare with, behind the same ``summarize`` ([KuleszaTaskar2012]_, section 4.2)."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.learn._estimator import Estimator
from diverset.numerics.validation import check_nonnegative
from diverset.text.cluster import Budget, Cluster, as_cluster, read_budget
from diverset.text.learning import oracle_summary
from diverset.text.lexrank import lexrank
from diverset.text.summarizer import Summarizer
from diverset.text.summary import Summary, finish
from diverset.text.terms import Terms, stems_of

__all__ = ["Begin", "LexRank", "Oracle", "Random", "RelevanceMMR", "Submodular"]


class _Rival(Estimator, abc.ABC):
    """A way to choose sentences that needs no training."""

    def fit(self, clusters: Iterable[Cluster]) -> Any:
        """Nothing is learned; returns the object."""
        return self

    def _vectors(self, cluster: Cluster) -> Any:
        """Vectors of the sentences, the same that :func:`diverset.summarize` compares."""
        return Terms([stems_of(found) for found in cluster.words]).vectors

    @abc.abstractmethod
    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> Any:
        """Sentences of the summary."""

    def summarize(
        self,
        documents: Cluster | Iterable[str | Sequence[str]],
        max_words: int | None = None,
        *,
        max_bytes: int | None = None,
        max_sentences: int | None = None,
        rng: RNGLike = None,
    ) -> Summary:
        """Summarise documents; arguments and result as for :func:`diverset.summarize`."""
        cluster, budget = as_cluster(documents), read_budget(max_bytes, max_words, max_sentences)
        chosen = self._choose(cluster, budget, rng) if len(cluster) else []
        return finish(cluster, chosen, budget, type(self).__name__.lower())


class Begin(_Rival):
    """Lead: sentences from the beginning of the first document on, then of the next, each if it fits.

    Examples
    --------
    >>> Begin().summarize(["One two. Three four.", "Five six."], max_words=3).text
    'One two.'
    """

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        return _fill(np.arange(len(cluster)), budget.costs(cluster.sentences), budget.room)


class Random(_Rival):
    """Sentences at random, each if it fits.

    Examples
    --------
    >>> Random().summarize(["One. Two. Three."], max_sentences=1, rng=0).text
    'Three.'
    """

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        order = np.random.default_rng(rng).permutation(len(cluster))
        return _fill(order, budget.costs(cluster.sentences), budget.room)


class LexRank(_Rival):
    """The most central sentences by continuous LexRank ([ErkanRadev2004]_), less those that repeat chosen ones.

    Parameters
    ----------
    redundancy : float
        A sentence is passed over if its cosine to a chosen one is above this.
    """

    def __init__(self, *, redundancy: float = 0.5) -> None:
        self.redundancy = redundancy

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        vectors = self._vectors(cluster)
        limit = check_nonnegative(self.redundancy, name="redundancy")
        nearest = np.zeros(len(cluster))

        def fresh(i: int) -> bool:
            if nearest[i] > limit:
                return False
            np.maximum(nearest, (vectors @ vectors[i].T).toarray().ravel(), out=nearest)
            return True

        order = np.argsort(-lexrank(features=vectors), kind="stable")
        return _fill(order, budget.costs(cluster.sentences), budget.room, fresh)


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
    f is submodular, not monotone. O(n^2) for the similarities, then O(n) for each sentence tried.
    """

    def __init__(self, *, redundancy: float = 4.0, scaling: float = 0.3) -> None:
        self.redundancy = redundancy
        self.scaling = scaling

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        vectors = self._vectors(cluster)
        weight = check_nonnegative(self.redundancy, name="redundancy")
        costs = budget.costs(cluster.sentences)
        scale = costs.astype(np.float64) ** check_nonnegative(self.scaling, name="scaling", most=50.0)
        S = (vectors @ vectors.T).toarray()
        own = np.diagonal(S).copy()
        degree = S.sum(axis=1) - own
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
            # An item near the set no longer gains that edge, cuts it, and pays for it from both ends.
            gain = gain - (2.0 + 2.0 * weight) * S[best]
            free &= costs <= room
        fits = np.where(costs <= budget.room, degree, -np.inf)
        single = int(fits.argmax())
        return [single] if fits[single] > value else chosen


class Oracle(_Rival):
    """The oracle summary, for clusters with references (:func:`oracle_summary`): what could be reached."""

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> IntArray:
        return oracle_summary(cluster.sentences, cluster.references, budget)


class RelevanceMMR(_Rival):
    r"""LR+MMR: maximal marginal relevance with the quality of a trained summarizer.

    Sentences are taken by :math:`\alpha q_i - (1 - \alpha) \max_{j \in Y} s_{ij}` until the budget is full
    ([CarbonellGoldstein1998]_). As in the experiments of [KuleszaTaskar2012]_ q is the quality by logistic regression,
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
        vectors = self._vectors(cluster)
        quality = self.summarizer.quality_of(cluster)
        relevance = alpha * quality / quality.max()
        costs = budget.costs(cluster.sentences)
        free = (costs <= budget.room) & (np.diff(vectors.indptr) > 0)
        nearest: FloatArray = np.zeros(len(cluster))
        chosen: list[int] = []
        room = budget.room
        while free.any():
            best = int(np.where(free, relevance - (1.0 - alpha) * nearest, -np.inf).argmax())
            chosen.append(best)
            np.maximum(nearest, (vectors @ vectors[best].T).toarray().ravel(), out=nearest)
            room -= int(costs[best])
            free &= costs <= room
            free[best] = False
        return chosen


def _fill(order: IntArray, costs: IntArray, room: int, accepts: Callable[[int], bool] | None = None) -> list[int]:
    """Items in order, each if it fits and is accepted."""
    chosen = []
    smallest = int(costs.min())
    for i in order.tolist():
        if room < smallest:
            break
        if costs[i] <= room and (accepts is None or accepts(i)):
            chosen.append(i)
            room -= int(costs[i])
    return chosen
