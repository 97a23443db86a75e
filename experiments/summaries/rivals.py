"""TextRank, latent semantic analysis and KL-sum: common rivals that the library itself does not need.

All take every sentence of their ranking that fits the limit, as our LexRank does. TextRank and KL-sum need dense
matrices, so all see the first 1,500 sentences of a cluster.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import svds

from diverset._typing import IntArray, RNGLike
from diverset.text import Cluster
from diverset.text.cluster import Budget
from diverset.text.rivals import _fill, _Rival
from diverset.text.terms import Terms, stems_of

__all__ = ["LSA", "KLSum", "TextRank"]

MOST = 1500


def terms_of(cluster: Cluster) -> Terms:
    return Terms([stems_of(found) for found in cluster.words[:MOST]])


class TextRank(_Rival):
    """PageRank on the overlap of words over the sum of log-lengths (Mihalcea and Tarau 2004)."""

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        terms = terms_of(cluster)
        held = terms.held.astype(np.float64)
        size = np.log(np.maximum(terms.lengths, 1))
        total = size[:, None] + size
        weights = np.where(total > 0.0, (held @ held.T).toarray() / np.maximum(total, 1e-9), 0.0)
        np.fill_diagonal(weights, 0.0)
        degree = weights.sum(axis=1)
        moves = weights / np.where(degree > 0.0, degree, 1.0)[:, None]
        rank = np.full(len(size), 1.0 / len(size))
        for _ in range(100):
            rank = 0.15 / len(size) + 0.85 * moves.T @ rank
        return fill_ranking(rank, cluster, budget)


class LSA(_Rival):
    """Lengths in the space of the leading singular vectors (Steinberger and Jezek 2004)."""

    def __init__(self, *, topics: int = 3) -> None:
        self.topics = topics

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        vectors = terms_of(cluster).vectors
        k = min(self.topics, min(vectors.shape) - 1)
        if k < 1:
            return fill_ranking(np.ones(vectors.shape[0]), cluster, budget)
        U, s, _ = svds(vectors, k=k, random_state=0)
        return fill_ranking(np.sqrt(U**2 @ s**2), cluster, budget)


class KLSum(_Rival):
    """Greedy divergence of the summary's words from those of the documents (Haghighi and Vanderwende 2009)."""

    def _choose(self, cluster: Cluster, budget: Budget, rng: RNGLike) -> list[int]:
        terms = terms_of(cluster)
        M = terms.counts.toarray()[:, ~terms.is_stop].astype(np.float64)
        whole = M.sum(axis=0) / max(M.sum(), 1.0)
        costs = budget.costs(cluster.sentences)[: len(M)]
        free = (costs <= budget.room) & (M.sum(axis=1) > 0)
        room, spoken, chosen = budget.room, np.zeros(M.shape[1]), []
        while free.any():
            together = spoken + M
            share = (together + 0.01) / (together.sum(axis=1, keepdims=True) + 0.01 * M.shape[1])
            best = int(np.where(free, np.log(share) @ whole, -np.inf).argmax())
            chosen.append(best)
            spoken = spoken + M[best]
            room -= int(costs[best])
            free[best] = False
            free &= costs <= room
        return chosen


def fill_ranking(score: IntArray, cluster: Cluster, budget: Budget) -> list[int]:
    return _fill(np.argsort(-score, kind="stable"), budget.costs(cluster.sentences), budget.room)
