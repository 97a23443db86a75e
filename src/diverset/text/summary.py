"""A summary, and why its sentences were chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.text.budget import Budget
from diverset.text.cluster import Cluster

__all__ = ["Summary"]


@dataclass(frozen=True, eq=False)
class Summary:
    """Chosen sentences in the order of the documents.

    Attributes
    ----------
    text : str
        The summary, within the budget.
    indices : ndarray of int64
        Which sentences of ``cluster.sentences``, ascending.
    cluster : Cluster
        The documents.
    budget : Budget
        The limit that was asked for.
    method : str
        How it was decoded.
    candidates : ndarray of int64
        Sentences that could be chosen: those with words that fit the budget, the best of very many.
    n_drawn, n_accepted : int
        Draws made and kept, where the method draws.
    notes : tuple of str
        What the reader should know.
    """

    text: str
    indices: IntArray
    cluster: Cluster
    budget: Budget
    method: str
    candidates: IntArray
    kernel: Any = field(repr=False, default=None)
    n_drawn: int = 0
    n_accepted: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text

    @property
    def sentences(self) -> list[str]:
        """The chosen sentences."""
        return [self.cluster.sentences[i] for i in self.indices]

    def _spread(self, values: FloatArray) -> FloatArray:
        spread = np.zeros(len(self.cluster))
        spread[self.candidates] = values
        return spread

    @cached_property
    def quality(self) -> FloatArray:
        """Quality of every sentence of the cluster, 0 for those that could not be chosen."""
        if self.kernel is None:
            return np.zeros(len(self.cluster))
        return self._spread(self.kernel.quality)

    @cached_property
    def inclusion(self) -> FloatArray:
        """Probability that a draw from the model holds the sentence, for every sentence; O(n^3) on first use."""
        if self.kernel is None or not len(self.candidates):
            return np.zeros(len(self.cluster))
        L = self.kernel.L
        return self._spread(1.0 - np.diagonal(np.linalg.inv(L + np.eye(len(L)))))

    @cached_property
    def novelty(self) -> FloatArray:
        r"""What share of each chosen sentence is not in the others: :math:`\det S_Y / (s_{ii} \det S_{Y - i})`.

        1 for a sentence like none of the others, 0 for a copy.
        """
        if self.kernel is None or not len(self.indices):
            return np.ones(len(self.indices))
        S = self.kernel.similarity(np.searchsorted(self.candidates, self.indices))
        inverse = np.linalg.pinv(S, hermitian=True)
        share: FloatArray = np.clip(1.0 / (np.diagonal(inverse) * np.diagonal(S)), 0.0, 1.0)
        return share

    def explain(self) -> list[dict[str, Any]]:
        """For every chosen sentence: where it stands, and why it was chosen."""
        return [
            {
                "sentence": self.cluster.sentences[i],
                "document": self.cluster.names[self.cluster.document_of[i]],
                "position": int(self.cluster.position[i]) + 1,
                "quality": float(self.quality[i]),
                "quality_rank": int((self.quality > self.quality[i]).sum()) + 1,
                "novelty": float(self.novelty[place]),
                "inclusion_probability": float(self.inclusion[i]),
            }
            for place, i in enumerate(self.indices.tolist())
        ]
