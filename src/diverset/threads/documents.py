r"""From documents and citations to graphs ([KuleszaTaskar2012]_, sections 6.6.3 and 6.6.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from diverset._typing import Array, IntArray
from diverset.errors import DiversetError
from diverset.numerics.validation import (
    as_finite,
    as_number,
    check_count,
    check_nonnegative,
    check_rows,
    check_size,
    is_sparse,
)
from diverset.text import lexrank
from diverset.text.tfidf import tfidf, unit_rows
from diverset.threads.corpus import Corpus, content_terms, read_times
from diverset.threads.graph import ThreadGraph

__all__ = ["DocumentGraph", "citation_graph", "document_graph", "salient_terms", "term_vectors"]

#: Bytes of a block of similarities.
_BLOCK_BYTES = 1 << 26
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class DocumentGraph:
    """A graph over documents, with the words it was made from.

    The nodes of `graph` are in the order of the documents. `vectors` are their normalised tf-idf vectors, a CSR array
    of shape (n, n_terms), and `terms` the word of every column.
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
        Largest cosine of an edge: more similar documents repeat each other.
    min_documents, max_share, analyzer
        Which words count; see :func:`~diverset.threads.term_vectors`.
    neighbours : int, optional
        Number of binary features of a document, which are the documents most similar to it. By default a tenth of all,
        and at most 1,000, as in the monograph.
    damping : float
        Damping of LexRank, which gives the weights of the nodes: thresholded, binarised, scaled to mean 1.
    progress : callable, optional
        Called with the stage, the amount done and the total.
    client : dask.distributed.Client, optional
        Compare documents on its workers.
    """
    if corpus.times is None:
        raise DiversetError("the corpus has no times; threads of documents go forward in time")
    tell = (lambda *_: None) if progress is None else progress
    most = np.inf if max_similarity is None else as_number(max_similarity, name="max_similarity")
    tell("counting words", 0, len(corpus))
    vectors, terms = term_vectors(corpus.texts, min_documents=min_documents, max_share=max_share, analyzer=analyzer)
    similar, nearest = _neighbourhoods(vectors, threshold, neighbours, tell, client)
    tell("weighing documents", 0, 1)
    start, end = np.repeat(np.arange(len(corpus)), np.diff(similar.indptr)), similar.indices
    forward = (corpus.times[start] < corpus.times[end]) & (similar.data <= most)
    edges = csr_array((similar.data[forward].astype(np.float64), (start[forward], end[forward])), similar.shape)
    weights = _centrality(similar, damping)
    graph = ThreadGraph(edges, nearest, weights=weights, labels=corpus.ids, times=corpus.times)
    return DocumentGraph(graph, vectors, terms)


def _centrality(similar: Any, damping: float) -> Any:
    """LexRank on the pairs above the threshold with equal weights; scaled to mean 1."""
    links = csr_array((np.ones(similar.nnz), similar.indices, similar.indptr), shape=similar.shape)
    return similar.shape[0] * lexrank(links, damping=damping)


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
        Entry (a, b) if paper a cites paper b. Citations within a cycle are left out.
    texts : sequence of str, or scipy.sparse of shape (n, n_terms)
        Texts of the papers, or their vectors.
    times : sequence, optional
        When they appeared. Citations of papers that are not earlier are left out.
    labels : sequence, optional
        Names of the papers.
    terms : sequence of str, optional
        Words of the columns, if `texts` are vectors.
    threshold, min_documents, max_share, neighbours, damping, progress
        As for :func:`document_graph`; the threshold is that of LexRank only.
    """
    tell = (lambda *_: None) if progress is None else progress
    n = citations.shape[0]
    if is_sparse(texts):
        as_finite(texts.data, name="texts", shape=(None,))
        vectors = unit_rows(csr_array(texts), np.ones(texts.shape[1])).astype(np.float32)
        words = [str(j) for j in range(texts.shape[1])] if terms is None else list(terms)
    else:
        vectors, words = term_vectors(texts, min_documents=min_documents, max_share=max_share)
    if vectors.shape[0] != n:
        raise DiversetError(f"there are {vectors.shape[0]} texts for {n} papers; give one for each")
    when = None if times is None else read_times(times, n)
    similar, nearest = _neighbourhoods(vectors, threshold, neighbours, tell)
    # A thread leads from the paper that is cited to the one that builds on it.
    start, end = csr_array(citations).T.tocoo().coords
    forward = start != end if when is None else when[start] < when[end]
    links = csr_array((np.ones(forward.sum()), (start[forward], end[forward])), shape=(n, n))
    component = connected_components(links, connection="strong")[1]
    forward &= component[start] != component[end]
    start, end = start[forward], end[forward]
    cosine = np.asarray(vectors[start].multiply(vectors[end]).sum(axis=1), dtype=np.float64).ravel()
    edges = csr_array((cosine, (start, end)), shape=(n, n))
    weights = _centrality(similar, damping)
    return DocumentGraph(ThreadGraph(edges, nearest, weights=weights, labels=labels, times=when), vectors, words)


def term_vectors(
    texts: Any, *, min_documents: int = 2, max_share: float = 0.15, analyzer: Callable[[str], list[str]] | None = None
) -> tuple[Any, list[str]]:
    """Tf-idf vectors of documents, of unit length, without words that are too rare or too common.

    Parameters
    ----------
    texts : sequence of str
        The documents.
    min_documents : int
        Words in fewer documents are left out: 2 for citations, 20 for a large news corpus in the monograph.
    max_share : float
        Words in a larger share of the documents are left out: 0.1 and 0.15 in the monograph.
    analyzer : callable, optional
        Function from a text to its terms; by default its words without stop words and numbers.

    Returns
    -------
    matrix, terms
        A CSR matrix (n, n_terms) with rows of length 1, or 0 if no word is left, and the word of every column.
    """
    least, most = check_count(min_documents, name="min_documents"), check_nonnegative(max_share, name="max_share")
    matrix, terms = tfidf(texts, analyzer=analyzer or content_terms, min_documents=least, max_share=most)
    if not terms:
        raise DiversetError(
            f"no word is in {least} documents or more and in at most {most:.0%} of {len(texts)}; lower min_documents "
            "or raise max_share"
        )
    return csr_array(matrix), terms


def _neighbourhoods(
    vectors: Any, threshold: float, neighbours: int | None, tell: Progress, client: Any = None
) -> tuple[Any, Any]:
    """Cosines of at least `threshold` off the diagonal, and ones for the `neighbours` nearest documents: CSR (n, n).

    A document is among its own nearest; documents without a common word are not. With `client`, its workers compare.
    """
    n = vectors.shape[0]
    near = min(max(min(1000, n // 10), 2) if neighbours is None else check_count(neighbours, name="neighbours"), n)
    # No cosine is above 1, and 2 is still a number in single precision.
    least = min(max(check_nonnegative(threshold, name="threshold"), float(np.finfo(np.float32).tiny)), 2.0)
    step = max(1, _BLOCK_BYTES // (4 * n))
    starts, across = range(0, n, step), vectors.T.tocsr()
    if client is None:
        blocks = (_compare(vectors, across, start, step, near, least) for start in starts)
    else:
        shared = client.scatter([vectors, across], broadcast=True)
        jobs = [client.submit(_compare, *shared, start, step, near, least, pure=False) for start in starts]
        blocks = (jobs.pop(0).result() for _ in starts)  # the cluster forgets a result that is no longer listed
    found = []
    for start, block in zip(starts, blocks, strict=True):
        found.append(block)
        tell("comparing documents", min(start + step, n), n)
    counts, listed, rows, columns, cosines = (np.concatenate(parts) for parts in zip(*found, strict=True))
    nearest = csr_array((np.ones(len(listed), dtype=np.float32), listed, np.append(0, np.cumsum(counts))), shape=(n, n))
    ends = np.append(0, np.cumsum(np.bincount(rows, minlength=n)))
    return csr_array((np.minimum(cosines, 1.0), columns, ends), shape=(n, n)), nearest


def _compare(vectors: Any, across: Any, start: int, step: int, near: int, least: float) -> tuple[Array, ...]:
    """Compare a block of documents with all: number and list of the nearest of every row, and the similar pairs."""
    n = vectors.shape[0]
    block = (vectors[start : start + step] @ across).toarray()
    own = np.arange(len(block))
    # Every document, even one without words, is most similar to itself, but is not a pair with itself.
    block[own, own + start] = np.inf
    top = np.sort(np.argpartition(block, n - near, axis=1)[:, n - near :], axis=1)
    some = np.take_along_axis(block, top, axis=1) > 0.0
    block[own, own + start] = -1.0
    rows, columns = np.nonzero(block >= least)
    nearest = some.sum(axis=1), top[some].astype(np.int32)
    return *nearest, rows + start, columns.astype(np.int32), block[rows, columns]


def salient_terms(vectors: Any, terms: list[str], nodes: IntArray, n: int = 6) -> list[str]:
    """The terms with the highest summed tf-idf in some documents."""
    if vectors.shape[1] != len(terms):
        raise DiversetError(f"vectors have {vectors.shape[1]} columns for {len(terms)} terms; give one for each")
    total = np.asarray(vectors[check_rows(nodes, vectors.shape[0], name="nodes")].sum(axis=0)).ravel()
    order = np.argsort(-total, kind="stable")[: check_size(n, name="n")]
    return [terms[j] for j in order if total[j] > 0.0]
