r"""Who is like whom: cosine similarities above a threshold, and the most similar documents, block by block.

All n x n similarities are looked at and none are kept but these: a block of rows is multiplied with all columns, read,
and forgotten.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.numerics.validation import check_count, check_nonnegative, check_rows, check_size

__all__ = ["Neighbourhoods", "neighbourhoods", "salient_terms", "term_vectors"]

#: Bytes of a block of similarities.
_BLOCK_BYTES = 1 << 26


class Neighbourhoods(NamedTuple):
    """Similar pairs, and the most similar documents of each."""

    similar: Any  # CSR (n, n): cosine of every pair at the threshold or above, the diagonal left out
    nearest: Any  # CSR (n, n) of ones: the most similar documents, itself among them


def term_vectors(
    texts: Any, *, min_documents: int = 2, max_share: float = 0.15, analyzer: Callable[[str], list[str]] | None = None
) -> tuple[Any, list[str]]:
    r"""Normalised tf-idf vectors of documents, with words that are too rare or too common left out.

    Parameters
    ----------
    texts : sequence of str
        The documents.
    min_documents : int
        Words in fewer documents are left out: 2 for citations, 20 for a large news corpus in the text.
    max_share : float
        So are words in a larger share of the documents: 0.1 and 0.15.
    analyzer : callable, optional
        From a text to its terms; by default its words (``diverset.text.words``) without stop words and numbers.

    Returns
    -------
    matrix : csr_array of shape (n, n_terms)
        Entries :math:`\mathrm{tf}\cdot\log(N/N_w)`, rows of length 1, or 0 where no word is left.
    terms : list of str
        The word of every column.
    """
    from scipy.sparse import csr_array

    least, most = check_count(min_documents, name="min_documents"), check_nonnegative(max_share, name="max_share")
    n = len(texts)
    if not least <= most * n:
        raise DiversetError(
            f"no word can be in {least} documents or more and in at most {most:.0%} of {n}; lower min_documents or "
            "raise max_share"
        )
    counts, terms = _term_counts(texts, content_terms if analyzer is None else analyzer)
    frequency = np.bincount(counts.indices, minlength=len(terms))
    kept = np.flatnonzero((least <= frequency) & (frequency <= most * n))
    if len(kept) == 0:  # no words at all, or none that pass
        raise DiversetError(
            f"no word is in {least} documents or more and in at most {most:.0%} of them; lower min_documents or raise "
            "max_share"
        )
    kept = np.array(sorted(kept.tolist(), key=terms.__getitem__))
    counts, frequency = counts[:, kept], frequency[kept]
    counts.sort_indices()
    data = counts.data * np.log(n / frequency)[counts.indices]
    rows = np.repeat(np.arange(n), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, data**2, minlength=n))
    data /= np.where(norms > 0.0, norms, 1.0)[rows]
    matrix = csr_array((data.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)
    return matrix, [terms[j] for j in kept]


def _term_counts(texts: Iterable[str], analyzer: Callable[[str], list[str]]) -> tuple[Any, list[str]]:
    """How often every term is in every text, as a CSR matrix, and the terms in the order in which they were met."""
    from scipy.sparse import csr_array

    numbers: dict[str, int] = {}
    columns, values, ends = array("i"), array("i"), array("q", [0])
    for text in texts:
        found = Counter(analyzer(text))
        columns.extend(numbers.setdefault(term, len(numbers)) for term in found)
        values.extend(found.values())
        ends.append(len(columns))
    index = np.int32 if len(columns) < 2**31 else np.int64
    counts = csr_array(
        (np.array(values, dtype=np.int64), np.array(columns, dtype=index), np.array(ends, dtype=index)),
        shape=(len(ends) - 1, len(numbers)),
    )
    return counts, list(numbers)


def content_terms(text: str) -> list[str]:
    """Words that say something: no stop words, no numbers, no single letters."""
    from diverset.text import STOP_WORDS, words

    return [w for w in words(text) if len(w) > 1 and w not in STOP_WORDS and not w.isdigit()]


def neighbourhoods(
    vectors: Any,
    *,
    threshold: float,
    nearest: int,
    progress: Callable[[int, int], None] | None = None,
    client: Any = None,
) -> Neighbourhoods:
    """Similar pairs and nearest documents of unit vectors.

    Parameters
    ----------
    vectors : csr_array of shape (n, n_terms)
        Rows of length 1 or 0.
    threshold : float
        Least cosine of a similar pair.
    nearest : int
        How many of the most similar documents to list for each; those with nothing in common are not listed.
    progress : callable, optional
        Told how many documents of how many are done.
    client : dask.distributed.Client, optional
        Compare blocks of documents on its workers. The vectors are sent to each once; what comes back is the result.

    Notes
    -----
    O(n) memory for each document of a block, beside the result; time is that of the sparse product, and a partial
    sort of every row.
    """
    from scipy.sparse import csr_array

    n = vectors.shape[0]
    if n == 0:
        raise DiversetError("there are no documents to compare; give at least one")
    near = min(check_count(nearest, name="nearest"), n)
    if vectors.dtype.kind != "f":
        vectors = vectors.astype(np.float64)
    # No cosine is above 1, and 2 is still a number in single precision.
    least = min(max(check_nonnegative(threshold, name="threshold"), float(np.finfo(np.float32).tiny)), 2.0)
    step = max(1, _BLOCK_BYTES // (4 * n))
    starts = range(0, n, step)
    found: list[_Compared] = []
    for start, block in zip(starts, _blocks(vectors, starts, step, near, least, client), strict=True):
        found.append(block)
        if progress is not None:
            progress(min(start + step, n), n)
    ends = np.concatenate([[0], np.cumsum(np.concatenate([block.counts for block in found]))])
    listed = np.concatenate([block.listed for block in found])
    neighbours = csr_array((np.ones(len(listed), dtype=np.float32), listed, ends), shape=(n, n))
    rows = np.concatenate([block.rows for block in found])
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    cosines = np.minimum(np.concatenate([block.cosines for block in found]), 1.0)
    similar = csr_array((cosines, np.concatenate([block.columns for block in found]), ends), shape=(n, n))
    return Neighbourhoods(similar, neighbours)


class _Compared(NamedTuple):
    """What is kept of a block of similarities: the nearest of every row, and the pairs that are similar."""

    counts: IntArray
    listed: IntArray
    rows: IntArray
    columns: IntArray
    cosines: FloatArray


def _blocks(vectors: Any, starts: range, step: int, near: int, least: float, client: Any) -> Iterator[_Compared]:
    """Blocks of documents compared with all, in their order; here, or on the workers of a cluster."""
    across = vectors.T.tocsr()
    if client is None:
        for start in starts:
            yield _compare(vectors, across, start, step, near, least)
        return
    shared, turned = client.scatter([vectors, across], broadcast=True)
    jobs = [client.submit(_compare, shared, turned, start, step, near, least, pure=False) for start in starts]
    for job in jobs:
        block: _Compared = job.result()
        yield block
        job.release()


def _compare(vectors: Any, across: Any, start: int, step: int, near: int, least: float) -> _Compared:
    """One block: its similarities to all documents are made, read, and forgotten."""
    n = vectors.shape[0]
    block = (vectors[start : start + step] @ across).toarray()
    own = np.arange(len(block))
    # Every document is the most similar to itself, also one without words, and is no pair.
    block[own, own + start] = np.inf
    if near < n:
        top = np.argpartition(block, n - near, axis=1)[:, n - near :]
    else:
        top = np.tile(np.arange(n), (len(own), 1))
    top = np.sort(top, axis=1)
    some = np.take_along_axis(block, top, axis=1) > 0.0
    block[own, own + start] = -1.0
    rows, columns = np.nonzero(block >= least)
    return _Compared(
        some.sum(axis=1), top[some].astype(np.int32), rows + start, columns.astype(np.int32), block[rows, columns]
    )


def salient_terms(vectors: Any, terms: list[str], nodes: IntArray, n: int = 6) -> list[str]:
    """The terms with the highest summed tf-idf in some documents."""
    if vectors.shape[1] != len(terms):
        raise DiversetError(f"vectors have {vectors.shape[1]} columns for {len(terms)} terms; give one for each")
    total = np.asarray(vectors[check_rows(nodes, vectors.shape[0], name="nodes")].sum(axis=0)).ravel()
    order = np.argsort(-total, kind="stable")[: check_size(n, name="n")]
    return [terms[j] for j in order if total[j] > 0.0]
