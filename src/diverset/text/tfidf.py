r"""Texts as vectors: words weighted by how often they are here and how rare they are elsewhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.text.porter import stem
from diverset.text.words import STOP_WORDS, content_words, words

__all__ = ["TermVectors", "Tfidf"]


class TermVectors(NamedTuple):
    """Vectors of texts, and the term of each column."""

    matrix: Any  # scipy.sparse CSR of shape (n_texts, n_terms)
    terms: list[str]


@dataclass(frozen=True)
class Tfidf:
    r"""Weights :math:`\mathrm{tf}(w)\,\mathrm{idf}(w)` with idf from a collection of documents.

    :math:`\mathrm{idf}(w) = \log(N / N_w)` where :math:`N_w` of the collection's N documents hold w
    ([KuleszaTaskar2012]_, section 4.2). Words of no document of the collection count as in one. Stop words are left
    out and words are stemmed (:func:`content_words`).

    Parameters
    ----------
    document_counts : mapping of str to int
        In how many documents each term is.
    n_documents : int
        Number of documents N.

    Examples
    --------
    >>> model = Tfidf.from_documents(["a dry summer", "a wet summer", "a wet night", "cold nights"])
    >>> vectors = model.vectors(["a dry night", "dry, wet, dry"])
    >>> vectors.terms
    ['dry', 'night', 'wet']
    >>> vectors.matrix.toarray().round(3)
    array([[0.894, 0.447, 0.   ],
           [0.97 , 0.   , 0.243]])
    """

    document_counts: Mapping[str, int]
    n_documents: int

    @classmethod
    def from_documents(cls, documents: Iterable[str | Sequence[str]]) -> Tfidf:
        """Count the documents that hold each word.

        Parameters
        ----------
        documents : iterable of str or of sequences of str
            Each a text, or the sentences of one.
        """
        counts: Counter[str] = Counter()
        n = 0
        for document in documents:
            sentences = [document] if isinstance(document, str) else document
            counts.update({word for sentence in sentences for word in content_words(sentence)})
            n += 1
        if n == 0:
            raise DiversetError("there are no documents; weights need at least one")
        return cls(dict(counts), n)

    def idf(self, term: str) -> float:
        """Inverse document frequency of a term."""
        return math.log(max(self.n_documents, 2) / self.document_counts.get(term, 1))

    def vectors(self, texts: Sequence[str], *, found_words: Sequence[list[str]] | None = None) -> TermVectors:
        r"""Vectors of unit length; of zeros where a text has no words of weight.

        Parameters
        ----------
        texts : sequence of str
            Usually sentences.
        found_words : sequence of lists of str, optional
            The words of each text, as :func:`words` finds them, where they are known already.

        Returns
        -------
        TermVectors
            ``matrix`` (CSR, of shape (n_texts, n_terms)) and ``terms``, those of the texts, in alphabetic order.
        """
        listed = [words(text) for text in texts] if found_words is None else found_words
        stems = [[stem(word) for word in found if word not in STOP_WORDS] for found in listed]
        terms = sorted(set().union(*stems))
        column = {term: j for j, term in enumerate(terms)}
        columns = np.fromiter((column[word] for found in stems for word in found), dtype=np.int64)
        lengths = np.fromiter((len(found) for found in stems), dtype=np.int64, count=len(stems))
        rows = np.repeat(np.arange(len(stems)), lengths)
        counts = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(stems), len(terms))).tocsr()
        weights = np.fromiter((self.idf(term) for term in terms), dtype=np.float64, count=len(terms))
        return TermVectors(unit_rows(counts, weights), terms)


def unit_rows(counts: Any, weights: FloatArray) -> Any:
    """Rows of a CSR matrix with weighted columns, scaled to unit length; rows of zeros stay."""
    data = counts.data * weights[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, data**2, minlength=counts.shape[0]))
    norms[norms == 0.0] = 1.0
    matrix = sparse.csr_matrix((data / norms[rows], counts.indices, counts.indptr), shape=counts.shape)
    matrix.eliminate_zeros()
    return matrix
