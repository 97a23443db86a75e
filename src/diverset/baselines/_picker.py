"""What all baselines share: the checked call, picking with ties, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import KernelError
from diverset.inference.problem import check_dial, read_problem
from diverset.inference.result import Selection
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import check_fits_in_memory, is_blocked

__all__ = ["Picker"]

#: Scores this many rounding errors apart are equal.
_SLACK = 32.0


class Picker:
    """A call of a baseline, checked by the reader of :func:`diverset.select`, and the items that are left.

    Attributes
    ----------
    similarity : Similarity
        How alike the items are.
    quality : ndarray of shape (n,)
        Calibrated scores.
    diversity : float
        The dial.
    k : int
        Number of picks, never more than there are items to pick.
    given : ndarray of int64
        Items already shown.
    available : ndarray of bool
        Items that can still be picked; loses one with every pick.
    """

    def __init__(self, features: Any, k: Any, *, diversity: Any, **options: Any) -> None:
        if is_blocked(features):
            raise KernelError("features are a dask array, and baselines need them in memory; pass features.compute()")
        problem = read_problem(features, k, **options)
        self._problem = problem
        self.similarity, self.quality = problem.similarity, problem.scores
        self.diversity = check_dial(diversity)
        self.given = problem.given
        self.available = problem.limits.available.copy()
        self.k = min(problem.k, int(self.available.sum()))
        if self.k <= self.similarity.rank:
            check_fits_in_memory(
                16 * self.k**2,
                what=f"the log-determinant over {self.k} picks",
                remedy='pick fewer items, or use similarity="cosine"',
            )

    @property
    def n(self) -> int:
        """Number of items."""
        return self.similarity.n

    def rounding(self, magnitude: float) -> float:
        """How far two sums of terms of this magnitude can differ by rounding alone.

        Copies of an item have the same similarities, but sums taken in another order differ in the last bit.
        """
        # Only float64 arithmetic is forgiven: a function that returns float32 is taken at its word.
        return _SLACK * min(self.similarity.rounding, 1e3 * EPS) * magnitude

    def pick(self, score: FloatArray, magnitude: FloatArray | float = 0.0, *, by_quality: bool = False) -> int:
        """Take the available item of highest score: of equals, the first (or the first of best quality).

        `magnitude` is that of the terms that each score is the sum of. A score without similarities is exact.
        """
        masked = np.where(self.available, score, -np.inf)
        best = int(masked.argmax())
        if self.diversity or by_quality:
            slack = self.rounding(float(magnitude[best] if isinstance(magnitude, np.ndarray) else magnitude))
            equals = (masked >= masked[best] - (slack if self.diversity else 0.0)).nonzero()[0]
            best = int(equals[self.quality[equals].argmax()] if by_quality else equals[0])
        self.available[best] = False
        return best

    def selection(
        self, picked: Sequence[int] | IntArray, gains: Sequence[float] | FloatArray, objective: float
    ) -> Selection:
        """The result."""
        indices = np.array(picked, dtype=np.int64)
        return Selection(
            indices=indices,
            gains=np.array(gains, dtype=np.float64),
            log_det=self.similarity.log_det(indices),
            objective=float(objective),
            labels=None if self._problem.labels is None else self._problem.labels[indices],
            diversity=self.diversity,
            scale=None if self._problem.quality is None else self._problem.scale,
            _facts=lambda: self._problem,
        )
