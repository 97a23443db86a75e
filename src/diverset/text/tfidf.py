r"""Term counts and tf-idf vectors as sparse matrices.

Every module of the package that compares texts by their words uses these functions: one tokeniser
(:func:`diverset.text.words`), one formula. A term in :math:`n_w` of n texts has the weight

.. math::  \operatorname{idf}(w) = \log\frac{1 + n}{n_w},

which is positive even for a term that occurs in every text.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from diverset._typing import FloatArray
from diverset.text.words import words

__all__ = ["count_terms", "idf", "tfidf", "unit_rows"]


def count_terms(
    lists: Iterable[Iterable[Hashable]], columns: Iterable[Hashable] | None = None
) -> tuple[Any, list[Any]]:
    """Count how often each term occurs in each list.

    Parameters
    ----------
    lists : iterable of iterables
        Terms of each text, with repetitions. Read once, so a generator will do.
    columns : iterable, optional
        The terms to count, in the order of the columns; by default all terms, in the order of their first occurrence.

    Returns
    -------
    counts : csr_matrix of int64, of shape (n_texts, n_terms)
        With sorted column indices.
    terms : list
        The term of each column.
    """
    numbers: dict[Hashable, int] = {} if columns is None else {term: j for j, term in enumerate(columns)}
    indices, values, ends = array("i"), array("q"), array("q", [0])
    for terms in lists:
        found = Counter(terms)
        if columns is not None:
            found = Counter({term: count for term, count in found.items() if term in numbers})
        indices.extend(numbers.setdefault(term, len(numbers)) for term in found)
        values.extend(found.values())
        ends.append(len(indices))
    counts = sparse.csr_matrix(
        (np.array(values, dtype=np.int64), np.array(indices, dtype=np.int32), np.array(ends, dtype=np.int64)),
        shape=(len(ends) - 1, len(numbers)),
    )
    counts.sort_indices()
    return counts, list(numbers)


def idf(counts: Any) -> FloatArray:
    r"""Weight :math:`\log((1 + n)/n_w)` of each column of a CSR matrix of counts."""
    holders = np.bincount(counts.indices, minlength=counts.shape[1])
    weights: FloatArray = np.log((1.0 + counts.shape[0]) / np.maximum(holders, 1))
    return weights


def unit_rows(counts: Any, weights: FloatArray) -> Any:
    """Multiply the columns of a CSR matrix by weights, then scale the rows to unit length; rows of zeros stay."""
    data = counts.data * weights[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, data**2, minlength=counts.shape[0]))
    norms[norms == 0.0] = 1.0
    # Copies, since zeros are eliminated in place.
    indices, ends = counts.indices.copy(), counts.indptr.copy()
    matrix = sparse.csr_matrix((data / norms[rows], indices, ends), shape=counts.shape)
    matrix.eliminate_zeros()
    return matrix


def tfidf(
    texts: Iterable[str],
    *,
    analyzer: Callable[[str], Iterable[str]] = words,
    min_documents: int = 1,
    max_share: float = 1.0,
    sublinear: bool = False,
    floor: float = 0.0,
) -> tuple[Any, list[str]]:
    r"""Tf-idf vectors of texts, of unit length.

    Parameters
    ----------
    texts : iterable of str
        The texts. Read once.
    analyzer : callable
        From a text to its terms; all its words by default.
    min_documents : int
        Terms in fewer texts are left out.
    max_share : float
        Terms in a larger share of the texts are left out.
    sublinear : bool
        Replace a count c by :math:`1 + \log c`, so that repetition counts less.
    floor : float
        Added to every idf, so that frequent words keep some weight.

    Returns
    -------
    matrix : csr_matrix of float32, of shape (n_texts, n_terms)
        Entries proportional to count times idf. Rows have length 1, or 0 if a text has no term that is kept.
    terms : list of str
        The term of each column, in the order of first occurrence.

    Examples
    --------
    >>> matrix, terms = tfidf(["red wine", "red red roses"])
    >>> terms
    ['red', 'wine', 'roses']
    >>> matrix.toarray().round(3)
    array([[0.346, 0.938, 0.   ],
           [0.594, 0.   , 0.805]], dtype=float32)
    """
    counts, terms = count_terms(map(analyzer, texts))
    holders = np.bincount(counts.indices, minlength=len(terms))
    weights = idf(counts) + floor
    kept = np.flatnonzero((min_documents <= holders) & (holders <= max_share * counts.shape[0]))
    if len(kept) < len(terms):
        counts, weights, terms = counts[:, kept], weights[kept], [terms[j] for j in kept]
    if sublinear:
        counts = counts.astype(np.float64)
        counts.data = 1.0 + np.log(counts.data)
    return unit_rows(counts, weights).astype(np.float32), terms
