"""Words and pairs of neighbouring words of sentences, counted as ROUGE counts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.text.rouge import base_form
from diverset.text.tfidf import count_terms, idf, unit_rows
from diverset.text.words import STOP_WORDS, words

__all__ = ["STOP_STEMS", "Terms", "stems_of"]

STOP_STEMS = frozenset(base_form(word) for word in STOP_WORDS)


def stems_of(found_words: Sequence[str]) -> list[str]:
    """Words as ROUGE compares them; words of other scripts, which ROUGE drops, stay as they are."""
    return [base_form(word) if word.isascii() else word for word in found_words]


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
        return count_terms(self.stems)

    @cached_property
    def _paired(self) -> tuple[Any, list[tuple[str, str]]]:
        counts, pairs = count_terms([list(pairwise(found)) for found in self.stems])
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
        return idf(self.counts) * ~self.is_stop

    @cached_property
    def vectors(self) -> Any:
        r"""Unit vectors of the sentences.

        A stem in :math:`n_w` of n sentences has weight :math:`\log((1 + n)/n_w)`; stop words have weight 0, and a
        sentence of nothing else has a vector of zeros.
        """
        return unit_rows(self.counts, self._weights)

    def vectors_of(self, sentences: Sequence[str]) -> Any:
        """Vectors of other sentences in the same coordinates.

        Stems that the cluster lacks have no coordinate, but count as rare ones in the length: the vector of a sentence
        of which the cluster knows one word in ten is short.
        """
        found = [stems_of(words(text)) for text in sentences]
        known, columns = set(self._counted[1]), [*self._counted[1], None]
        listed = [[stem if stem in known else None for stem in stems if stem not in STOP_STEMS] for stems in found]
        counts, _ = count_terms(listed, columns)
        weights = np.append(self._weights, np.log(1.0 + len(self.stems)))
        return unit_rows(counts, weights)[:, :-1]
