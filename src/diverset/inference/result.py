"""What selecting returns: the items, in order, and the numbers that speak for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray

__all__ = ["Selection"]


@dataclass(frozen=True, eq=False)
class Selection:
    """A chosen set, usable as an index: ``x[selection]`` picks its rows, in pick order.

    Parameters
    ----------
    indices : ndarray of int64
        Items, in the order they were picked (ascending where a method has no order).
    gains : ndarray of shape (len(indices),)
        What each pick added to the objective.
    log_det : float
        Log-determinant of the kernel (or similarity) over the set; ``-inf`` past the rank.
    objective : float
        What was maximised: the log-determinant itself, or the quality-diversity trade-off of ``select``.
    log_prob : float or None
        Log-probability under the DPP or k-DPP, where there is one.
    upper_bound : float or None
        No set has a larger objective, where that is known.
    rank_spent : int or None
        Number of picks after which no item was linearly independent of the picks; None if that did not happen.
    labels : sequence or None
        Labels of the items, where the input had an index of its own (a data frame).
    """

    indices: IntArray
    gains: FloatArray
    log_det: float
    objective: float
    log_prob: float | None = None
    upper_bound: float | None = None
    rank_spent: int | None = None
    labels: Any = None

    @property
    def gap(self) -> float:
        """How far the objective can be from the best: 0 is proven optimal, ``inf`` is not known."""
        return math.inf if self.upper_bound is None else max(0.0, self.upper_bound - self.objective)

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IntArray:
        result: IntArray = np.array(self.indices, dtype=dtype)
        return result
