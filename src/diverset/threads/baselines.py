r"""Baselines of threads from a k-SDPP ([KuleszaTaskar2012]_, section 6.6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from diverset._typing import Array, IntArray, RNGLike
from diverset.errors import DiversetError, MissingExtraError, SizeError
from diverset.numerics.validation import as_finite, as_generator, check_count, is_sparse
from diverset.structured.quality_model import QualityModel
from diverset.threads.model import ThreadModel, ThreadSet

__all__ = ["dtm_threads", "greedy_threads", "independent_threads", "kmeans_threads", "short_indices"]


def _time_slices(times: Array, n: int) -> list[IntArray]:
    """Documents in order of time, cut into n slices of equal size."""
    parts = np.array_split(np.argsort(times, kind="stable"), check_count(n, name="n"))
    if min(len(part) for part in parts) == 0:
        raise SizeError(f"{len(times)} documents cannot be cut into {n} slices with something in each")
    return parts


def kmeans_threads(vectors: Any, times: Array, *, k: int, length: int, rng: RNGLike = None) -> list[IntArray]:
    """Cluster every time slice by k-means, take the most central document of each cluster, and match them in time.

    Parameters
    ----------
    vectors : scipy.sparse or ndarray of shape (n, n_terms)
        Rows of unit length, so that nearest means highest cosine.
    times : ndarray of shape (n,)
        When each document appeared.
    k, length : int
        Number of threads, and of slices.
    rng : int, Generator or None
        Seed or generator of the clusterings.

    Notes
    -----
    Documents of neighbouring slices are matched one to one for the highest mean similarity (Hungarian algorithm). Where
    a slice has fewer than k different documents, some threads share one.
    """
    try:
        from sklearn.cluster import KMeans
    except ImportError as error:
        raise MissingExtraError('clusterings need scikit-learn: pip install "diverset[text]"') from error
    from scipy.optimize import linear_sum_assignment

    generator = as_generator(rng)
    k = check_count(k, name="k")
    if vectors.shape[1] == 0:
        raise DiversetError(f"vectors have shape {vectors.shape}; documents without any terms cannot be compared")
    if vectors.shape[0] != len(times):
        raise DiversetError(f"there are {vectors.shape[0]} vectors and {len(times)} times; give one for each document")
    as_finite(vectors.data if is_sparse(vectors) else np.ravel(vectors), name="vectors", shape=(None,))
    probe = np.random.default_rng(0).standard_normal(vectors.shape[1])
    columns: list[IntArray] = []
    for part in _time_slices(times, length):
        if len(part) < k:
            raise SizeError(f"a time slice has {len(part)} documents, fewer than the {k} threads; take fewer of either")
        X = short_indices(vectors[part])
        # Equal rows, and almost surely no others, have the same product with a random vector.
        clusters = min(k, len(np.unique(np.asarray(X @ probe))))
        fitted = KMeans(clusters, n_init=4, random_state=int(generator.integers(2**31))).fit(X)
        near = np.asarray(X @ fitted.cluster_centers_.T)
        # The most central document of its own cluster.
        own = np.where(fitted.labels_[:, None] == np.arange(clusters), near, -np.inf)
        chosen = part[own.argmax(axis=0)[np.arange(k) % clusters]]
        if columns:
            near = vectors[columns[-1]] @ vectors[chosen].T
            chosen = chosen[linear_sum_assignment(near.toarray() if is_sparse(near) else near, maximize=True)[1]]
        columns.append(chosen)
    return list(np.column_stack(columns))


def short_indices(X: Any) -> Any:
    """A copy of a sparse matrix with 32-bit indices, which scikit-learn needs; dense arrays as they are."""
    if is_sparse(X):
        X = X.copy()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def dtm_threads(
    documents: Sequence[Sequence[str]], times: Array, *, k: int, length: int, iterations: int = 6, rng: RNGLike = None
) -> list[IntArray]:
    """Fit a dynamic topic model ([BleiLafferty2006]_); for every topic and slice, take the document it explains best.

    Parameters
    ----------
    documents : sequence of sequences of str
        The words of each document.
    times, k, length, rng
        As for :func:`kmeans_threads`; there is a topic for each thread.
    iterations : int
        Maximum number of rounds of expectation and maximisation.

    Notes
    -----
    gensim's ``LdaSeqModel``; minutes for a thousand documents. It may warn of divisions by zero in its first step.
    """
    try:
        from gensim.corpora import Dictionary  # type: ignore[import-untyped,unused-ignore]
        from gensim.models import LdaSeqModel  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingExtraError('the dynamic topic model needs gensim: pip install "diverset[topics]"') from error
    from scipy.special import log_softmax

    k = check_count(k, name="k")
    slices = _time_slices(times, length)
    if len(documents) != len(times):
        raise DiversetError(f"there are {len(documents)} documents and {len(times)} times; give one for each")
    dictionary = Dictionary(documents)
    counts = [[dictionary.doc2bow(documents[i]) for i in part.tolist()] for part in slices]
    rounds, seed = check_count(iterations, name="iterations"), int(as_generator(rng).integers(2**31))
    with np.errstate(all="ignore"):  # its first step divides by zero
        model = LdaSeqModel(
            list(chain.from_iterable(counts)),
            id2word=dictionary,
            time_slice=[len(part) for part in slices],
            num_topics=k,
            em_min_iter=min(rounds, 2),
            em_max_iter=rounds,
            random_state=np.random.RandomState(seed),
        )
    threads = np.zeros((k, length), dtype=np.int64)
    for r, part in enumerate(slices):
        for topic in range(k):
            log_p = log_softmax(np.asarray(model.topic_chains[topic].e_log_prob)[:, r])
            scores = [
                sum(c * log_p[w] for w, c in own) / sum(c for _, c in own) if own else -np.inf for own in counts[r]
            ]
            threads[topic, r] = part[int(np.argmax(scores))]
    return list(threads)


def independent_threads(model: ThreadModel, *, rng: RNGLike = None) -> ThreadSet:
    """Threads drawn independently from the quality model, without repulsion; all different if 20 rounds find k."""
    quality = QualityModel(model.structured._space.graph, power=2.0)
    generator = as_generator(rng)
    rows = np.zeros((0, model.length), dtype=np.int64)
    for _ in range(20):
        rows = np.concatenate([rows, quality.sample(4 * model.k, rng=generator)])
        first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        if len(first) >= model.k:
            return model._set(rows[first[: model.k]])
    return model._set(rows[: model.k])


def greedy_threads(model: ThreadModel) -> ThreadSet:
    """The thread of highest quality, then the best one without its nodes, and so on."""
    found = np.zeros((0, model.length), dtype=np.int64)
    allowed = np.ones(model.graph.n_nodes, dtype=bool)
    for _ in range(model.k):
        try:
            thread = QualityModel(model._factor_graph(allowed)).n_best(1)
        except DiversetError:  # no path is left
            break
        found = np.concatenate([found, thread])
        allowed[thread[0]] = False
    return model._set(found)
