r"""Quality of sentences by learned weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.numerics.validation import check_nonnegative
from diverset.text.cluster import Cluster
from diverset.text.features import columns_of, feature_matrix
from diverset.text.model_file import parse_model
from diverset.text.terms import Terms

__all__ = ["TRAININGS", "QualityWeights", "default_entries", "default_weights"]

TRAININGS = ("regression", "dpp", "logistic")
#: Standard deviation of :math:`2 \log q` within a cluster, for weights by regression.
_SHARPNESS = 0.5
#: In a cluster of several documents, sentences count less from this place of their document on.
_EARLY = 5


@dataclass(frozen=True, eq=False)
class QualityWeights:
    r"""Weights of features, and what is done with their sum.

    .. math::  2 \log q_i = \theta^T f_i - \beta \log\max(1, r_i / 5)

    with :math:`r_i` the place of the sentence in its document, from 1; the second term is for clusters of several
    documents. Weights by regression are defined up to scale, so :math:`\theta^T f` is given the standard deviation 0.5
    in every cluster.

    Parameters
    ----------
    coef : ndarray of shape (1 + n_features,)
        Weights: of a constant, then of the features of the groups.
    training : {"regression", "dpp", "logistic"}
        How they were learned.
    groups : tuple of str
        Feature groups in use.
    late : float
        The weight :math:`\beta`.
    """

    coef: FloatArray
    training: str
    groups: tuple[str, ...]
    late: float

    def __post_init__(self) -> None:
        if self.training not in TRAININGS:
            raise DiversetError(f"training is {self.training!r}; choose one of {', '.join(TRAININGS)}")
        wanted = 1 + int(columns_of(self.groups).sum())
        if self.coef.shape != (wanted,):
            raise DiversetError(f"{self.coef.size} weights for {wanted} features")
        if not np.isfinite(self.coef).all():
            raise DiversetError("a weight is not finite")
        check_nonnegative(self.late, name="late", most=1e6)

    @classmethod
    def from_entries(cls, stored: dict[str, Any]) -> QualityWeights:
        """Weights from the entries of a model file."""
        coef = np.array(stored["coef"], dtype=np.float64)
        return cls(coef, str(stored["training"]), tuple(stored["groups"]), float(stored["late"]))

    def quality_of(self, cluster: Cluster, terms: Terms) -> FloatArray:
        """Quality of every sentence of a cluster, given its words."""
        score = feature_matrix(cluster, terms)[:, columns_of(self.groups)] @ self.coef[1:] + self.coef[0]
        if self.training == "regression" and len(score):
            score = _SHARPNESS * (score - score.mean()) / max(float(score.std()), 1e-9)
        if len(cluster.documents) > 1:
            score = score - self.late * np.log(np.maximum(1.0, (cluster.position + 1) / _EARLY))
        quality: FloatArray = np.exp(0.5 * np.clip(score, -200.0, 200.0))
        return quality


@cache
def default_entries() -> dict[str, Any]:
    """Entries of the model that comes with the package."""
    return parse_model((files("diverset") / "data" / "summarizer.json").read_bytes(), "the default model")


@cache
def default_weights() -> QualityWeights:
    """Weights of the model that comes with the package."""
    return QualityWeights.from_entries(default_entries())
