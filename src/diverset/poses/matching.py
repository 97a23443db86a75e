"""Precision and recall of predicted poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.numerics.validation import as_finite, as_real, find_positions

__all__ = ["MatchScores", "match_poses", "mean_interval"]


@dataclass(frozen=True, eq=False)
class MatchScores:
    """Scores of one predicted set at every radius, each of shape (n_radii,)."""

    precision: FloatArray
    recall: FloatArray

    @property
    def f1(self) -> FloatArray:
        """Harmonic mean of precision and recall; 0 where both are 0."""
        total = self.precision + self.recall
        return np.divide(2.0 * self.precision * self.recall, total, out=np.zeros_like(total), where=total > 0.0)


def match_poses(predicted: Any, truth: Any, radii: Any, *, parts: Sequence[int] | None = None) -> MatchScores:
    """Precision and recall of predicted parts by radius of acceptance ([KuleszaTaskar2012]_, section 6.4.3).

    Precision is the fraction of predicted parts with both ends within a radius of the ends of an annotated part of the
    same type. Recall is the fraction of annotated parts with such a prediction.

    Parameters
    ----------
    predicted : array_like of shape (k, n_parts, 2, 2)
        Both ends of each part.
    truth : array_like of shape (n, n_parts, 2, 2)
        Both ends for the annotated people; NaN for parts that are not annotated.
    radii : array_like of shape (n_radii,)
        Radii in pixels.
    parts : sequence of int, optional
        Parts that are scored; all by default.

    Notes
    -----
    As in the monograph, two predictions may match one annotation: copies of one good pose lower recall, not precision.
    Without predictions both scores are 0.

    Examples
    --------
    >>> import numpy as np
    >>> limb = np.array([[[[0.0, 0.0], [0.0, 5.0]]]])
    >>> scores = match_poses(limb + 3.0, np.concatenate([limb, limb + 50.0]), radii=[4.0, 5.0])
    >>> scores.precision, scores.recall, scores.f1
    (array([0., 1.]), array([0. , 0.5]), array([0.        , 0.66666667]))
    """
    found = as_finite(predicted, name="predicted", shape=("k", "n_parts", 2, 2))
    known = as_real(truth, name="truth", shape=("n", "n_parts", 2, 2))
    as_finite(np.where(np.isnan(known), 0.0, known), name="truth")
    if found.shape[1] != known.shape[1]:
        raise DiversetError(f"predicted has {found.shape[1]} parts, truth {known.shape[1]}")
    if parts is not None:
        own = find_positions(parts, range(found.shape[1]), name="parts")
        found, known = found[:, own], known[:, own]
    limits = as_finite(radii, name="radii", shape=(None,))
    # The larger of the distances between corresponding ends, of shape (k, n, n_parts).
    apart = np.linalg.norm(found[:, None] - known[None], axis=-1).max(axis=-1)
    annotated = ~np.isnan(known).any(axis=(2, 3))
    apart = np.where(annotated, apart, np.inf)
    if apart.size == 0:
        return MatchScores(np.zeros(len(limits)), np.zeros(len(limits)))
    hit = (apart.min(axis=1)[..., None] <= limits).mean(axis=(0, 1))
    recalled = (
        (apart.min(axis=0)[annotated][:, None] <= limits).mean(axis=0) if annotated.any() else np.zeros(len(limits))
    )
    return MatchScores(np.asarray(hit), np.asarray(recalled))


def mean_interval(values: Any) -> tuple[FloatArray, FloatArray]:
    """Mean over the first axis and the half width of its 95% interval, 1.96 standard errors."""
    x = as_finite(values, name="values")
    if x.ndim == 0 or len(x) == 0:
        raise DiversetError(f"values have shape {x.shape}; give at least one row")
    spread = x.std(axis=0, ddof=1) if len(x) > 1 else np.full(x.shape[1:], np.inf)
    return np.asarray(x.mean(axis=0)), np.asarray(1.96 * spread / np.sqrt(len(x)))
