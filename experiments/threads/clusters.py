"""Clusterings of a whole pile as threads, and connected paths: baselines of ``find_threads``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn.cluster

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.threads.baselines import short_indices

__all__ = ["cluster_threads", "density_threads", "dots_threads"]


def cluster_threads(vectors: Any, times: Array, *, k: int, length: int, rng: RNGLike = None) -> list[IntArray]:
    """Cluster all documents by k-means, and put those nearest to each centre in order of time.

    Parameters
    ----------
    vectors : scipy.sparse or ndarray of shape (n, n_terms)
        Rows of length 1.
    times : ndarray of shape (n,)
        When.
    k, length : int
        Number of clusters, and of documents taken from each.
    rng : int, Generator or None
        Seed or generator.
    """
    seed = int(np.random.default_rng(rng).integers(2**31))
    X = short_indices(vectors)
    fitted = sklearn.cluster.KMeans(k, n_init=10, random_state=seed).fit(X)
    distance = fitted.transform(X)
    return _nearest(fitted.labels_, [distance[:, c] for c in range(k)], times, length)


def density_threads(
    vectors: Any, times: Array, *, k: int, length: int, min_cluster_size: int = 5, dims: int = 20
) -> list[IntArray]:
    """The k largest HDBSCAN clusters of the leading singular vectors; their surest documents in order of time.

    Parameters
    ----------
    vectors : scipy.sparse of shape (n, n_terms)
        Rows of length 1.
    times : ndarray of shape (n,)
        When.
    k, length : int
        Number of clusters, and of documents taken from each. There may be fewer clusters.
    min_cluster_size, dims : int
        Of HDBSCAN, and how many singular vectors it sees.
    """
    from scipy.sparse.linalg import svds

    found = svds(vectors.astype(np.float64), k=min(dims, min(vectors.shape) - 1), random_state=0)
    U = found[0] * found[1]
    norms = np.linalg.norm(U, axis=1, keepdims=True)
    fitted = sklearn.cluster.HDBSCAN(min_cluster_size=min_cluster_size, copy=True).fit(
        U / np.where(norms > 0, norms, 1.0)
    )
    sizes = np.bincount(fitted.labels_[fitted.labels_ >= 0])
    largest = np.argsort(-sizes, kind="stable")[:k]
    labels = np.full(len(fitted.labels_), -1)
    for new, old in enumerate(largest.tolist()):
        labels[fitted.labels_ == old] = new
    return _nearest(labels, [-fitted.probabilities_] * len(largest), times, length)


def dots_threads(vectors: Any, times: Array, *, k: int, length: int, rng: RNGLike = None) -> list[IntArray]:
    """Connect the dots ([ShahafGuestrin2010]_): the path with the strongest weakest link between two documents.

    The ends are the first and the last document of each k-means cluster; the path may pass through all documents.
    """
    seed = int(np.random.default_rng(rng).integers(2**31))
    labels = sklearn.cluster.KMeans(k, n_init=10, random_state=seed).fit(short_indices(vectors)).labels_
    S = np.asarray((vectors @ vectors.T).toarray(), dtype=np.float64)
    weight = np.where(times[:, None] < times[None, :], S, -1.0)
    threads = []
    for c in range(k):
        own = np.flatnonzero(labels == c)
        own = own[np.argsort(times[own], kind="stable")]
        weakest = np.full(len(times), -1.0)
        weakest[own[0]] = np.inf
        back, reached = [], [weakest]
        for _ in range(length - 1):
            through = np.minimum(reached[-1][:, None], weight)
            back.append(through.argmax(axis=0))
            reached.append(through.max(axis=0))
        steps = max((r for r in range(length) if reached[r][own[-1]] > 0.0), default=0)
        path = [int(own[-1])]
        for r in range(steps, 0, -1):
            path.append(int(back[r - 1][path[-1]]))
        threads.append(np.array(path[::-1], dtype=np.int64))
    return threads


def _nearest(labels: IntArray, distances: Sequence[FloatArray], times: Array, length: int) -> list[IntArray]:
    """Of each cluster that is not empty the `length` nearest documents, in order of time."""
    threads = []
    for c, distance in enumerate(distances):
        own = np.flatnonzero(labels == c)
        near = own[np.argsort(distance[own], kind="stable")][:length]
        if len(near):
            threads.append(near[np.argsort(times[near], kind="stable")])
    return threads
