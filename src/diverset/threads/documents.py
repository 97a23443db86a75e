r"""From documents and citations to graphs ([KuleszaTaskar2012]_, sections 6.6.3 and 6.6.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import IntArray
from diverset.errors import DiversetError
from diverset.numerics.validation import check_count, is_sparse
from diverset.text import lexrank
from diverset.threads.corpus import Corpus
from diverset.threads.graph import ThreadGraph, read_times
from diverset.threads.neighbours import Neighbourhoods, neighbourhoods, salient_terms, term_vectors

__all__ = ["DocumentGraph", "citation_graph", "document_graph"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class DocumentGraph:
    """A graph over documents, with the words it was made from.

    Parameters
    ----------
    graph : ThreadGraph
        Nodes in the order of the documents.
    vectors : csr_array of shape (n, n_terms)
        Their normalised tf-idf vectors.
    terms : list of str
        The word of every column.
    """

    graph: ThreadGraph
    vectors: Any
    terms: list[str]

    def words(self, thread: IntArray, n: int = 6) -> list[str]:
        """The salient words of a thread: those with the highest tf-idf in all its documents together."""
        return salient_terms(self.vectors, self.terms, thread, n)


def document_graph(
    corpus: Corpus,
    *,
    threshold: float = 0.1,
    max_similarity: float | None = None,
    min_documents: int = 2,
    max_share: float = 0.15,
    neighbours: int | None = None,
    damping: float = 0.15,
    analyzer: Callable[[str], list[str]] | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> DocumentGraph:
    """Documents as nodes, with edges to later documents that are similar.

    Parameters
    ----------
    corpus : Corpus
        With times.
    threshold : float
        Least cosine similarity of an edge, which is also its weight.
    max_similarity : float, optional
        Most similarity of an edge: above, documents repeat each other, and a thread through both says nothing new.
    min_documents, max_share, analyzer
        Which words count; see :func:`~diverset.threads.term_vectors`.
    neighbours : int, optional
        Features of a document are the so many documents most similar to it, binary; by default a tenth of all, and
        no more than the 1,000 of the text.
    damping : float
        Of LexRank, which weighs the nodes: thresholded, binarised, and scaled so that the mean weight is 1.
    progress : callable, optional
        Told the stage, how much is done, and of how much.
    client : dask.distributed.Client, optional
        Compare documents on its workers.

    Notes
    -----
    Similarities are computed in blocks of rows, never all at once.
    """
    if corpus.times is None:
        raise DiversetError("the corpus has no times; threads of documents go forward in time")
    tell = (lambda *_: None) if progress is None else progress
    tell("counting words", 0, len(corpus))
    vectors, terms = term_vectors(corpus.texts, min_documents=min_documents, max_share=max_share, analyzer=analyzer)
    tell("counting words", len(corpus), len(corpus))
    found = _neighbourhoods(vectors, threshold, neighbours, tell, client)
    return DocumentGraph(_graph_of(corpus, found, damping, max_similarity, tell), vectors, terms)


def _neighbourhoods(
    vectors: Any, threshold: float, neighbours: int | None, tell: Progress, client: Any = None
) -> Neighbourhoods:
    n = vectors.shape[0]
    nearest = max(min(1000, n // 10), 2) if neighbours is None else check_count(neighbours, name="neighbours")
    return neighbourhoods(
        vectors,
        threshold=threshold,
        nearest=nearest,
        progress=lambda done, total: tell("comparing documents", done, total),
        client=client,
    )


def _graph_of(
    corpus: Corpus, found: Neighbourhoods, damping: float, max_similarity: float | None, tell: Progress
) -> ThreadGraph:
    n = len(corpus)
    tell("weighing documents", 0, 1)
    weights = _centrality(found.similar, damping)
    start = np.repeat(np.arange(n), np.diff(found.similar.indptr))
    end, data = found.similar.indices, found.similar.data
    forward = corpus.times[start] < corpus.times[end]
    if max_similarity is not None:
        forward &= data <= max_similarity
    edges = _sparse(data[forward], start[forward], end[forward], n)
    tell("weighing documents", 1, 1)
    return ThreadGraph(edges, found.nearest, weights=weights, labels=corpus.ids, times=corpus.times)


def _centrality(similar: Any, damping: float) -> Any:
    """LexRank on the pairs above the threshold, all alike; scaled to mean 1."""
    from scipy.sparse import csr_array

    links = csr_array((np.ones(similar.nnz), similar.indices, similar.indptr), shape=similar.shape)
    return similar.shape[0] * lexrank(links, damping=damping)


def _sparse(data: Any, start: Any, end: Any, n: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.asarray(data, dtype=np.float64), (start, end)), shape=(n, n))


def citation_graph(
    citations: Any,
    texts: Any,
    *,
    times: Any = None,
    labels: Sequence[Any] | None = None,
    terms: Sequence[str] | None = None,
    threshold: float = 0.1,
    min_documents: int = 2,
    max_share: float = 0.1,
    neighbours: int | None = None,
    damping: float = 0.15,
    progress: Progress | None = None,
) -> DocumentGraph:
    """Papers as nodes, with edges from a paper to those that cite it, weighted by the similarity of their texts.

    Parameters
    ----------
    citations : scipy.sparse of shape (n, n)
        Entry (a, b) if paper a cites paper b.
    texts : sequence of str, or scipy.sparse of shape (n, n_terms)
        What the papers say, or vectors of it.
    times : sequence, optional
        When they appeared. Citations of papers that are not earlier are left out.
    labels : sequence, optional
        Names of the papers.
    terms : sequence of str, optional
        Words of the columns, where `texts` are vectors.
    threshold, min_documents, max_share, neighbours, damping, progress
        As for :func:`document_graph`; the threshold is that of LexRank only.

    Notes
    -----
    Where no times are given, or papers of one year cite each other in circles, all citations within a circle are left
    out, so that no thread returns.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    tell = (lambda *_: None) if progress is None else progress
    n = citations.shape[0]
    if is_sparse(texts):
        vectors, words = _unit(texts), list(terms) if terms is not None else [str(j) for j in range(texts.shape[1])]
    else:
        vectors, words = term_vectors(texts, min_documents=min_documents, max_share=max_share)
    if vectors.shape[0] != n:
        raise DiversetError(f"there are {vectors.shape[0]} texts for {n} papers; give one for each")
    when = None if times is None else read_times(times, n)
    found = _neighbourhoods(vectors, threshold, neighbours, tell)
    # A thread leads from the paper that is cited to the one that builds on it.
    links = csr_array(citations).T.tocoo()
    start, end = links.coords
    forward = start != end if when is None else when[start] < when[end]
    start, end = start[forward], end[forward]
    _, component = connected_components(_sparse(np.ones(len(start)), start, end, n), connection="strong")
    open_ended = component[start] != component[end]
    start, end = start[open_ended], end[open_ended]
    cosine = np.asarray(vectors[start].multiply(vectors[end]).sum(axis=1)).ravel()
    edges = _sparse(cosine, start, end, n)
    weights = _centrality(found.similar, damping)
    return DocumentGraph(ThreadGraph(edges, found.nearest, weights=weights, labels=labels, times=when), vectors, words)


def _unit(vectors: Any) -> Any:
    from scipy.sparse import csr_array, diags_array

    X = csr_array(vectors, dtype=np.float64)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return csr_array(diags_array(1.0 / np.where(norms > 0.0, norms, 1.0)) @ X).astype(np.float32)
