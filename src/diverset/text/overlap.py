r"""ROUGE between many candidate summaries at once, each a set of sentences.

A word that is a times in one text and b times in another makes :math:`\min(a, b) = \sum_t [a \ge t][b \ge t]` hits:
with one column for every word and every t, hits are products of 0/1 matrices. For the *mean* score against all
candidates not even the products of pairs are needed: F depends on the other candidate only through its hits and its
number of words, and hits of candidates with the same number of words add up beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from diverset._typing import Array, FloatArray
from diverset.numerics.validation import check_rows
from diverset.text.terms import Terms

__all__ = ["mean_rouge", "pairwise_rouge", "word_counts"]


def word_counts(sentences: Sequence[str]) -> Any:
    """How often each word is in each sentence, as ROUGE counts: CSR of shape (n_sentences, n_words).

    In English text the words are ROUGE's; words of other scripts, which it drops, count as well.
    """
    return Terms.of(sentences).counts


def _indicators(sets: Sequence[Iterable[int]], counts: Any) -> tuple[Any, FloatArray]:
    """For every set, which words it holds at least t times (CSR of 0 and 1), and its number of words."""
    # Numbers beyond the sentences would be looked up beyond the array.
    lists = [check_rows(list(items), counts.shape[0], name=f"set {i}") for i, items in enumerate(sets)]
    indptr = np.concatenate([[0], np.cumsum([len(items) for items in lists], dtype=np.int64)])
    members = np.concatenate([np.zeros(0, dtype=np.int64), *lists])
    chosen = sparse.csr_matrix((np.ones(len(members), dtype=np.int64), members, indptr), (len(lists), counts.shape[0]))
    together = (chosen @ counts).tocsr()
    total = np.asarray(together.sum(axis=1), dtype=np.float64).ravel()
    most = np.zeros(counts.shape[1], dtype=np.int64)
    np.maximum.at(most, together.indices, together.data)
    first = np.concatenate([[0], np.cumsum(most)])
    # Every entry c becomes c ones, in the columns of its word for t = 1 to c.
    repeat = together.data
    start = np.repeat(first[together.indices], repeat)
    within = np.arange(len(start)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    rows = np.concatenate([[0], np.cumsum(total.astype(np.int64))])
    ones = sparse.csr_matrix(
        (np.ones(len(start), dtype=np.float32), start + within, rows), (len(lists), int(first[-1]))
    )
    return ones, total


def pairwise_rouge(sets: Sequence[Iterable[int]], counts: Any) -> Array:
    """ROUGE-1F between all pairs of sets of sentences.

    Parameters
    ----------
    sets : sequence of iterables of int
        R candidates: positions of sentences.
    counts : CSR of shape (n_sentences, n_words)
        From :func:`word_counts`.

    Returns
    -------
    ndarray of float32, of shape (R, R)
        Symmetric.

    Notes
    -----
    One product of an R x V matrix of zeros and ones with its transpose; sums of ones are exact in float32.

    Examples
    --------
    >>> counts = word_counts(["a red cat", "a black dog", "red red wine"])
    >>> pairwise_rouge([[0], [0, 1], [2]], counts).round(3)
    array([[1.   , 0.667, 0.333],
           [0.667, 1.   , 0.222],
           [0.333, 0.222, 1.   ]], dtype=float32)
    """
    ones, total = _indicators(sets, counts)
    dense = ones.toarray()
    hits: Array = dense @ dense.T
    lengths = total.astype(np.float32)
    hits *= 2.0
    hits /= np.maximum(lengths[:, None] + lengths, 1.0)
    return hits


def mean_rouge(sets: Sequence[Iterable[int]], counts: Any) -> FloatArray:
    r"""Mean ROUGE-1F of each set of sentences against all of them: :math:`\frac1R \sum_r F(Y^{r'}, Y^r)`.

    Parameters
    ----------
    sets : sequence of iterables of int
        R candidates: positions of sentences.
    counts : CSR of shape (n_sentences, n_words)
        From :func:`word_counts`.

    Returns
    -------
    ndarray of shape (R,)
        Means of the rows of :func:`pairwise_rouge`, which is not formed.

    Notes
    -----
    O(RwM) for candidates of w words of which M lengths occur, instead of O(R^2 w): with
    :math:`N_\ell(w, t)` the number of candidates of :math:`\ell` words that hold w at least t times, the score is
    :math:`\frac1R \sum_\ell \frac{2}{\ell' + \ell} \sum_{(w, t)} N_\ell(w, t)`, over the words of the candidate.

    Examples
    --------
    >>> counts = word_counts(["a red cat", "a black dog", "red red wine"])
    >>> mean_rouge([[0], [0, 1], [2]], counts).round(3)
    array([0.667, 0.63 , 0.519])
    """
    ones, total = _indicators(sets, counts)
    lengths, group = np.unique(total, return_inverse=True)
    R = len(total)
    by_length = sparse.csr_matrix((np.ones(R), (group, np.arange(R))), shape=(len(lengths), R))
    held = (by_length @ ones).toarray()
    hits = np.asarray(ones.astype(np.float64) @ held.T)
    weights = 2.0 / np.maximum(total[:, None] + lengths, 1.0)
    scores: FloatArray = np.einsum("rl,rl->r", hits, weights) / max(R, 1)
    return scores
