r"""Who is like whom: cosine similarities above a threshold, and the most similar documents, block by block.

All n x n similarities are looked at and none are kept but these: a block of rows is multiplied with all columns, read,
and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.numerics.validation import check_count, check_nonnegative

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

    from diverset.errors import DiversetError, MissingExtraError

    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError as error:
        raise MissingExtraError('threading documents needs scikit-learn: pip install "diverset[text]"') from error
    least, most = check_count(min_documents, name="min_documents"), check_nonnegative(max_share, name="max_share")
    n = len(texts)
    if not least <= most * n:
        raise DiversetError(
            f"no word can be in {least} documents or more and in at most {most:.0%} of {n}; lower min_documents or "
            "raise max_share"
        )
    vectorizer = CountVectorizer(analyzer=content_terms if analyzer is None else analyzer, min_df=least, max_df=most)
    try:
        counts = vectorizer.fit_transform(texts).tocsr()
    except ValueError as error:  # no words at all, or none that pass
        raise DiversetError(
            f"no word is in {least} documents or more and in at most {most:.0%} of them; lower min_documents or raise "
            "max_share"
        ) from error
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    data = counts.data * np.log(n / frequency)[counts.indices]
    rows = np.repeat(np.arange(n), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, data**2, minlength=n))
    data /= np.where(norms > 0.0, norms, 1.0)[rows]
    matrix = csr_array((data.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)
    return matrix, vectorizer.get_feature_names_out().tolist()


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

    Notes
    -----
    O(n) memory for each document of a block, beside the result; time is that of the sparse product, and a partial
    sort of every row.
    """
    from scipy.sparse import csr_array

    n = vectors.shape[0]
    near = min(check_count(nearest, name="nearest"), n)
    least = check_nonnegative(threshold, name="threshold")
    across = vectors.T.tocsr()
    step = max(1, _BLOCK_BYTES // (4 * n))
    pairs: list[tuple[IntArray, IntArray, FloatArray]] = []
    listed: list[IntArray] = []
    counts = np.zeros(n, dtype=np.int64)
    for start in range(0, n, step):
        stop = min(start + step, n)
        block = (vectors[start:stop] @ across).toarray()
        own = np.arange(stop - start)
        # Every document is the most similar to itself, also one without words, and is no pair.
        block[own, own + start] = np.inf
        top = (
            np.argpartition(block, n - near, axis=1)[:, n - near :]
            if near < n
            else np.tile(np.arange(n), (len(own), 1))
        )
        some = np.take_along_axis(block, top, axis=1) > 0.0
        for i in range(stop - start):
            found = np.sort(top[i, some[i]])
            counts[start + i] = len(found)
            listed.append(found.astype(np.int32))
        block[own, own + start] = -1.0
        rows, columns = np.nonzero(block >= max(least, np.finfo(np.float32).tiny))
        pairs.append((rows + start, columns.astype(np.int32), block[rows, columns]))
        if progress is not None:
            progress(stop, n)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    ones = np.ones(int(indptr[-1]), dtype=np.float32)
    neighbours = csr_array((ones, np.concatenate(listed), indptr), shape=(n, n))
    rows = np.concatenate([p[0] for p in pairs])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    data = np.minimum(np.concatenate([p[2] for p in pairs]), 1.0)
    similar = csr_array((data, np.concatenate([p[1] for p in pairs]), indptr), shape=(n, n))
    return Neighbourhoods(similar, neighbours)


def salient_terms(vectors: Any, terms: list[str], nodes: IntArray, n: int = 6) -> list[str]:
    """The terms with the highest summed tf-idf in some documents."""
    total = np.asarray(vectors[nodes].sum(axis=0)).ravel()
    order = np.argsort(-total, kind="stable")[:n]
    return [terms[j] for j in order if total[j] > 0.0]
