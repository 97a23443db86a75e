r"""Texts as vectors of their words: counts, tf-idf, pairs of words, and LexRank.

Every module of the package that compares texts by their words uses these functions. A term in :math:`n_w` of n texts
has the weight :math:`\log((1 + n)/n_w)`, which is positive even for a term that occurs in every text.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.numerics.validation import as_real, check_nonnegative, is_sparse
from diverset.text.words import STOP_WORDS, base_form, words

__all__ = ["lexrank"]


def count_terms(
    lists: Iterable[Iterable[Hashable]], columns: Iterable[Hashable] | None = None
) -> tuple[Any, list[Any]]:
    """Count how often each term occurs in each list: CSR of shape (n_lists, n_terms), and the term of each column.

    Columns are in the order of first occurrence. With `columns` only these terms are counted, in this order.
    """
    numbers: dict[Hashable, int] = {} if columns is None else {term: j for j, term in enumerate(columns)}
    indices, values, ends = array("i"), array("q"), array("q", [0])
    for terms in lists:
        found = Counter(terms if columns is None else (term for term in terms if term in numbers))
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
    return np.asarray(np.log((1.0 + counts.shape[0]) / np.maximum(holders, 1)))


def unit_rows(counts: Any, weights: FloatArray) -> Any:
    """Multiply the columns of a CSR matrix by weights, then scale the rows to unit length; rows of zeros stay."""
    data = counts.data * weights[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, data**2, minlength=counts.shape[0]))
    norms[norms == 0.0] = 1.0
    matrix = counts.copy()
    matrix.data = data / norms[rows]
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
    r"""Tf-idf vectors of texts, of unit length: CSR of float32, and the term of each column.

    `analyzer` finds the terms of a text. Terms in fewer than `min_documents` texts, or in a larger share of the texts
    than `max_share`, are left out; a text without any other term has a row of zeros. `sublinear` replaces a count c by
    :math:`1 + \log c`; `floor` is added to every idf, so that frequent words keep some weight.
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


STOP_STEMS = frozenset(base_form(word) for word in STOP_WORDS)


def stems_of(found_words: Sequence[str]) -> list[str]:
    """Words as ROUGE compares them; words of other scripts, which ROUGE drops, stay as they are."""
    return [base_form(word) if word.isascii() else word for word in found_words]


class Terms:
    """The stems of each sentence, stop words included, their `counts` (CSR of shape (n, n_stems)) and numbers."""

    def __init__(self, stems: list[list[str]]) -> None:
        self.stems = stems
        self.counts, self._terms = count_terms(stems)
        self.lengths: IntArray = np.fromiter(map(len, stems), dtype=np.int64, count=len(stems))
        self.is_stop: BoolArray = np.array([stem in STOP_STEMS for stem in self._terms], dtype=bool)
        self._weights = idf(self.counts) * ~self.is_stop

    @classmethod
    def of(cls, sentences: Sequence[str]) -> Terms:
        """The terms of sentences."""
        return cls([stems_of(words(sentence)) for sentence in sentences])

    @cached_property
    def pairs(self) -> tuple[Any, BoolArray]:
        """Which sentence holds which pair of neighbouring stems (CSR of ones), and which are pairs of stop words."""
        counts, pairs = count_terms([list(pairwise(found)) for found in self.stems])
        return counts.sign(), np.array([a in STOP_STEMS and b in STOP_STEMS for a, b in pairs], dtype=bool)

    @cached_property
    def vectors(self) -> Any:
        """Unit vectors of the sentences, with tf-idf weights; zeros for a sentence of nothing but stop words."""
        return unit_rows(self.counts, self._weights)

    def vectors_of(self, sentences: Sequence[str]) -> Any:
        """Vectors of other sentences in the same coordinates; short ones if the cluster lacks many of their stems."""
        found = [stems_of(words(text)) for text in sentences]
        known = set(self._terms)
        # Stems that the cluster lacks have no coordinate, but count as rare ones in the length.
        listed = [[stem if stem in known else None for stem in stems if stem not in STOP_STEMS] for stems in found]
        counts, _ = count_terms(listed, [*self._terms, None])
        weights = np.append(self._weights, np.log(1.0 + len(self.stems)))
        return unit_rows(counts, weights)[:, :-1]


def lexrank(
    similarity: Any = None, *, features: Any = None, threshold: float | None = None, damping: float = 0.15
) -> FloatArray:
    r"""Compute the centrality of texts: the stationary distribution of a random walk on their similarities.

    From text i the walk moves to text j with probability proportional to :math:`s_{ij}`, or with probability
    ``damping`` to any text ([ErkanRadev2004]_):

    .. math::  p = d\,\tfrac1n \mathbf 1 + (1 - d)\, S D^{-1} p, \qquad D = \operatorname{diag}(S \mathbf 1).

    Parameters
    ----------
    similarity : array_like or scipy.sparse of shape (n, n), optional
        Symmetric, nonnegative similarities, diagonal included.
    features : ndarray or scipy.sparse of shape (n, d), optional
        Instead of the similarity: nonnegative rows with :math:`S = F F^T`, which is not formed.
    threshold : float, optional
        By default the walk uses the similarities themselves (*continuous* LexRank). With a threshold, the similarity is
        1 where it is above it, else 0; this needs ``similarity``.
    damping : float
        Probability d of a jump, from 0 to 1. Without jumps p is proportional to the row sums of S.

    Returns
    -------
    ndarray of shape (n,)
        Scores that sum to 1. A text without similar texts counts as similar to itself.

    Examples
    --------
    >>> S = [[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]
    >>> lexrank(S).round(3)
    array([0.388, 0.306, 0.306])
    >>> lexrank(S, threshold=0.1).round(3)
    array([0.416, 0.292, 0.292])
    """
    jump = check_nonnegative(damping, name="damping")
    if jump > 1.0:
        raise DiversetError(f"damping is {jump:.6g}; it is a probability, from 0 to 1")
    if (similarity is None) == (features is None):
        raise DiversetError("give either similarity or features")
    if features is not None and threshold is not None:
        raise DiversetError("a threshold needs the similarities themselves: pass similarity, not features")
    if features is not None:
        A = _real_matrix(features, "features")
    else:
        A = _real_matrix(similarity, "similarity")
        if A.shape[0] != A.shape[1]:
            raise DiversetError(f"similarity has shape {A.shape}; it must be square")
        lowest = float(A.min()) if A.shape[0] else 0.0
        if not lowest >= 0.0:
            raise DiversetError(f"similarity holds {lowest:.6g}; LexRank needs nonnegative numbers")
        if threshold is not None:
            A = (A > check_nonnegative(threshold, name="threshold")).astype(np.float64)
    n = A.shape[0]

    def times(x: FloatArray) -> FloatArray:
        return np.asarray(A @ x if features is None else A @ (A.T @ x), dtype=np.float64)

    if n == 0:
        return np.zeros(0)
    degree = times(np.ones(n))
    lonely = degree <= 0.0
    degree = np.where(lonely, 1.0, degree)
    if jump == 0.0:
        return np.asarray(degree / degree.sum())
    # With p = D^1/2 z the system is positive definite, with condition number (2 - d) / d at most.
    root = np.sqrt(degree)

    def system(z: FloatArray) -> FloatArray:
        z = z.ravel()
        moved = times(z / root) / root + np.where(lonely, z, 0.0)
        return z - (1.0 - jump) * moved

    z, _ = cg(LinearOperator((n, n), system, dtype=np.float64), jump / n / root, rtol=1e-12, maxiter=1000)
    scores = np.maximum(root * z, 0.0)
    scores /= scores.sum()
    return scores


def _real_matrix(a: Any, name: str) -> Any:
    """A matrix of real numbers, dense or CSR."""
    if not is_sparse(a):
        return as_real(a, name=name, shape=(None, None))
    as_real(a.tocsr().data, name=name, shape=(None,))
    return a.tocsr()
