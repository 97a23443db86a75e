"""Words and pairs of neighbouring words of sentences, counted as ROUGE counts them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.text.rouge import base_form
from diverset.text.words import STOP_WORDS, words

__all__ = ["STOP_STEMS", "Terms", "count_matrix", "stems_of"]

STOP_STEMS = frozenset(base_form(word) for word in STOP_WORDS)


def stems_of(found_words: Sequence[str]) -> list[str]:
    """Words as ROUGE compares them; words of other scripts, which ROUGE drops, stay as they are."""
    return [base_form(word) if word.isascii() else word for word in found_words]


def count_matrix(lists: Sequence[Sequence[Hashable]], known: Sequence[Hashable] | None = None) -> tuple[Any, list[Any]]:
    """Count the units of each list.

    Parameters
    ----------
    lists : sequence of sequences
        Units of each sentence: stems, or pairs of stems.
    known : sequence, optional
        The units to count, in the order of the columns; by default all, in order of appearance.

    Returns
    -------
    counts : CSR of shape (n_lists, n_units)
        How often each list holds each unit.
    units : list
        The unit of each column.
    """
    column: dict[Hashable, int] = {unit: j for j, unit in enumerate(known or ())}
    if known is None:
        for units in lists:
            for unit in units:
                column.setdefault(unit, len(column))
    rows, columns = [], []
    for i, units in enumerate(lists):
        for unit in units:
            if (j := column.get(unit)) is not None:
                rows.append(i)
                columns.append(j)
    ones = np.ones(len(rows), dtype=np.int64)
    places = (np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))
    return sparse.coo_matrix((ones, places), shape=(len(lists), len(column))).tocsr(), list(column)


def _unit_rows(counts: Any, weights: FloatArray) -> Any:
    """Rows of a CSR matrix with weighted columns, scaled to unit length; rows of zeros stay."""
    data = counts.data * weights[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, data**2, minlength=counts.shape[0]))
    norms[norms == 0.0] = 1.0
    matrix = sparse.csr_matrix((data / norms[rows], counts.indices, counts.indptr), shape=counts.shape)
    matrix.eliminate_zeros()
    return matrix


@dataclass(frozen=True, eq=False)
class Terms:
    """Stems of the sentences of a cluster, with their counts.

    Parameters
    ----------
    stems : list of lists of str
        Stems of each sentence, stop words included.
    """

    stems: list[list[str]]

    @classmethod
    def of(cls, sentences: Sequence[str]) -> Terms:
        """Read sentences."""
        return cls([stems_of(words(sentence)) for sentence in sentences])

    @cached_property
    def _counted(self) -> tuple[Any, list[str]]:
        return count_matrix(self.stems)

    @cached_property
    def _paired(self) -> tuple[Any, list[tuple[str, str]]]:
        counts, pairs = count_matrix([list(pairwise(found)) for found in self.stems])
        counts.data[:] = 1
        return counts, pairs

    @property
    def counts(self) -> Any:
        """How often each stem is in each sentence: CSR of shape (n, n_stems)."""
        return self._counted[0]

    @cached_property
    def held(self) -> Any:
        """Which sentence holds which stem: CSR of ones, of shape (n, n_stems)."""
        held = self.counts.copy()
        held.data[:] = 1
        return held

    @cached_property
    def is_stop(self) -> BoolArray:
        """Which stems are stop words."""
        return np.array([stem in STOP_STEMS for stem in self._counted[1]], dtype=bool)

    @property
    def pairs(self) -> Any:
        """Which sentence holds which pair of neighbouring stems: CSR of ones, of shape (n, n_pairs)."""
        return self._paired[0]

    @cached_property
    def pair_is_stop(self) -> BoolArray:
        """Which pairs consist of two stop words."""
        return np.array([a in STOP_STEMS and b in STOP_STEMS for a, b in self._paired[1]], dtype=bool)

    @cached_property
    def lengths(self) -> IntArray:
        """Number of stems of each sentence."""
        return np.fromiter(map(len, self.stems), dtype=np.int64, count=len(self.stems))

    @cached_property
    def _weights(self) -> FloatArray:
        holders = np.bincount(self.held.indices, minlength=self.held.shape[1])
        weights: FloatArray = np.log((1.0 + len(self.stems)) / np.maximum(holders, 1)) * ~self.is_stop
        return weights

    @cached_property
    def vectors(self) -> Any:
        r"""Unit vectors of the sentences.

        A stem in :math:`n_w` of n sentences has weight :math:`\log((1 + n)/n_w)`; stop words have weight 0, and a
        sentence of nothing else has a vector of zeros.
        """
        return _unit_rows(self.counts, self._weights)

    def vectors_of(self, sentences: Sequence[str]) -> Any:
        """Vectors of other sentences in the same coordinates.

        Stems that the cluster lacks have no coordinate, but count as rare ones in the length: the vector of a sentence
        of which the cluster knows one word in ten is short.
        """
        found = [stems_of(words(text)) for text in sentences]
        known, columns = set(self._counted[1]), [*self._counted[1], None]
        listed = [[stem if stem in known else None for stem in stems if stem not in STOP_STEMS] for stems in found]
        counts, _ = count_matrix(listed, columns)
        weights = np.append(self._weights, np.log(1.0 + len(self.stems)))
        return _unit_rows(counts, weights)[:, :-1]
