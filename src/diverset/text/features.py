r"""What makes a sentence worth taking: the 40 quality features of [KuleszaTaskar2012]_, section 4.2.

==========================  =====  ==================================================================================
group                       count  features
==========================  =====  ==================================================================================
constant                    1      1, for the number of sentences
length                      5      quintile of the length in characters, over the training sentences
position                    6      first to fifth sentence of its document, later
similarity                  16     mean cosine to the other sentences: raw, its quintile over the training sentences,
                                   its decile within the cluster
lexrank                     11     continuous LexRank, times the number of sentences: raw, its quintile over the
                                   training sentences, its quintile within the cluster
pronouns                    1      number of personal pronouns
==========================  =====  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.text.cluster import Cluster
from diverset.text.lexrank import lexrank
from diverset.text.words import PRONOUNS

__all__ = ["FEATURE_GROUPS", "Measurements", "QualityFeatures", "measure"]

_FIFTHS = np.arange(1, 5) / 5.0
_TENTHS = np.arange(1, 10) / 10.0
#: Group of every column, in order.
_COLUMN_GROUPS = (
    ["constant"] + ["length"] * 5 + ["position"] * 6 + ["similarity"] * 16 + ["lexrank"] * 11 + ["pronouns"]
)
FEATURE_GROUPS = ("constant", "length", "position", "similarity", "lexrank", "pronouns")
FEATURE_NAMES = (
    ["constant"]
    + [f"length, fifth {i}" for i in range(1, 6)]
    + [f"position {i}" for i in range(1, 6)]
    + ["position 6 or later", "similarity"]
    + [f"similarity, fifth {i}" for i in range(1, 6)]
    + [f"similarity in the cluster, tenth {i}" for i in range(1, 11)]
    + ["LexRank"]
    + [f"LexRank, fifth {i}" for i in range(1, 6)]
    + [f"LexRank in the cluster, fifth {i}" for i in range(1, 6)]
    + ["pronouns"]
)


@dataclass(frozen=True, eq=False)
class Measurements:
    """Numbers about each sentence of a cluster, before they are binned."""

    length: FloatArray  # characters
    position: IntArray  # from 0
    similarity: FloatArray  # mean cosine to the other sentences
    lexrank: FloatArray  # times the number of sentences, so that 1 is average
    pronouns: FloatArray


def measure(cluster: Cluster, vectors: Any) -> Measurements:
    """Measure the sentences of a cluster, given their tf-idf vectors (CSR with rows of length 1 or 0).

    Similarities are never formed: O(number of words) for each of a few dozen products.
    """
    n = len(cluster)
    own = np.asarray(vectors.multiply(vectors).sum(axis=1), dtype=np.float64).ravel()
    total = np.asarray(vectors @ np.asarray(vectors.sum(axis=0)).ravel(), dtype=np.float64)
    return Measurements(
        length=np.fromiter(map(len, cluster.sentences), dtype=np.float64, count=n),
        position=cluster.position,
        similarity=(total - own) / max(n - 1, 1),
        lexrank=lexrank(features=vectors) * n,
        pronouns=np.fromiter(map(_pronouns, cluster.words), dtype=np.float64, count=n),
    )


def _pronouns(words: list[str]) -> int:
    return sum(map(PRONOUNS.__contains__, words))


@dataclass(frozen=True, eq=False)
class QualityFeatures:
    """The features, with bins from training sentences.

    Parameters
    ----------
    length_edges, similarity_edges, lexrank_edges : ndarray of shape (4,)
        Quintiles over the training sentences.
    """

    length_edges: FloatArray
    similarity_edges: FloatArray
    lexrank_edges: FloatArray

    @classmethod
    def from_measurements(cls, measured: Sequence[Measurements]) -> QualityFeatures:
        """Take the bins from the sentences of training clusters."""

        def edges(name: str) -> FloatArray:
            values = np.concatenate([getattr(one, name) for one in measured])
            return np.quantile(values, _FIFTHS) if len(values) else np.zeros(4)

        return cls(edges("length"), edges("similarity"), edges("lexrank"))

    def matrix(self, measured: Measurements) -> FloatArray:
        """Features of the sentences of a cluster, of shape (n, 40)."""
        n = len(measured.length)
        F = np.zeros((n, len(_COLUMN_GROUPS)))
        F[:, 0] = 1.0
        rows = np.arange(n)
        F[rows, 1 + _bins(measured.length, self.length_edges)] = 1.0
        F[rows, 6 + np.minimum(measured.position, 5)] = 1.0
        F[:, 12] = measured.similarity
        F[rows, 13 + _bins(measured.similarity, self.similarity_edges)] = 1.0
        F[rows, 18 + _local_bins(measured.similarity, _TENTHS)] = 1.0
        F[:, 28] = measured.lexrank
        F[rows, 29 + _bins(measured.lexrank, self.lexrank_edges)] = 1.0
        F[rows, 34 + _local_bins(measured.lexrank, _FIFTHS)] = 1.0
        F[:, 39] = measured.pronouns
        return F


def columns_of(groups: Iterable[str]) -> BoolArray:
    """Which of the 40 columns belong to the named groups."""
    wanted = set(groups)
    if unknown := wanted - set(FEATURE_GROUPS):
        raise DiversetError(f"feature group {sorted(unknown)[0]!r} is not known; choose from {FEATURE_GROUPS}")
    return np.array([group in wanted for group in _COLUMN_GROUPS])


def _bins(values: FloatArray, edges: FloatArray) -> IntArray:
    return np.searchsorted(edges, values, side="right").astype(np.int64)


def _local_bins(values: FloatArray, shares: FloatArray) -> IntArray:
    return _bins(values, np.quantile(values, shares)) if len(values) else np.zeros(0, dtype=np.int64)
