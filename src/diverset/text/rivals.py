r"""Baselines with the same method ``summarize`` ([KuleszaTaskar2012]_, section 4.2)."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.learn._estimator import Estimator
from diverset.numerics.validation import as_generator, check_nonnegative
from diverset.text.cluster import Budget, Cluster, as_cluster, read_budget
from diverset.text.decode import cosines
from diverset.text.summarizer import Summarizer, fill, oracle_summary
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
    """Lead: the first sentences of the first document, then of the next, each if it fits."""

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        return fill(budget, cluster.sentences, lambda Y: -np.arange(float(len(cluster))))


class Random(_Rival):
    """Random sentences, each if it fits."""

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        order = as_generator(rng).permutation(len(cluster))
        return fill(budget, cluster.sentences, lambda Y: -np.argsort(order).astype(np.float64))


@dataclass(kw_only=True, eq=False, repr=False)
class LexRank(_Rival):
    """The most central sentences by continuous LexRank ([ErkanRadev2004]_), without those that repeat chosen ones.

    Parameters
    ----------
    redundancy : float
        A sentence is skipped if its cosine to a chosen one is above this.
    """

    redundancy: float = 0.5

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        limit = check_nonnegative(self.redundancy, name="redundancy")
        central = lexrank(features=cluster.terms.vectors)
        return fill(budget, cluster.sentences, lambda Y: np.where(_nearest(cluster, Y) > limit, -np.inf, central))


@dataclass(kw_only=True, eq=False, repr=False)
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
    """

    redundancy: float = 4.0
    scaling: float = 0.3

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        vectors = cluster.terms.vectors
        weight = 1.0 + check_nonnegative(self.redundancy, name="redundancy")
        costs = budget.costs(cluster.sentences)
        scale = costs.astype(np.float64) ** check_nonnegative(self.scaling, name="scaling", most=50.0)
        S = cosines(vectors, vectors)
        degree = S.sum(axis=1) - np.diagonal(S)

        def score(Y: list[int]) -> FloatArray:
            # The edges to sentences of the set are no longer cut, and count as redundancy from both ends.
            gain = degree - 2.0 * weight * S[Y].sum(axis=0)
            return np.where(gain > 0.0, gain / scale, -np.inf)

        chosen = fill(budget, cluster.sentences, score)
        inner = S[np.ix_(chosen, chosen)]
        value = degree[chosen].sum() - weight * (inner.sum() - inner.trace())
        fits = np.where(costs <= budget.room, degree, -np.inf)
        single = int(fits.argmax())
        return [single] if fits[single] > value else chosen


class Oracle(_Rival):
    """The oracle summary of a cluster with references (:func:`oracle_summary`), an upper bound."""

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> IntArray:
        return oracle_summary(cluster.sentences, cluster.references, budget)


@dataclass(eq=False, repr=False)
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

    summarizer: Summarizer | None = None
    _: KW_ONLY
    alpha: float = 0.5

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
        return fill(budget, cluster.sentences, lambda Y: relevance - (1.0 - alpha) * _nearest(cluster, Y))


def _nearest(cluster: Cluster, Y: list[int]) -> FloatArray:
    """Largest cosine of each sentence to those of a set."""
    vectors = cluster.terms.vectors
    return np.asarray(cosines(vectors, vectors[Y]).max(axis=1, initial=0.0))
