"""What all baselines are given and give back: the checks at the door, picking with ties, the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.baselines._similarity import Similarities, SimilarityLike, read_similarities
from diverset.errors import DiversetError, KernelError
from diverset.inference.result import Selection
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import (
    as_number,
    as_real_or_complex,
    check_finite,
    check_fits_in_memory,
    check_size,
    find_positions,
)

if TYPE_CHECKING:
    from diverset.kernels._arrays import Features

__all__ = ["Problem", "read_problem"]

#: Scores this many rounding errors apart are equal.
_SLACK = 32.0


@dataclass(eq=False)
class Problem:
    """A checked call, and which items are still to be had."""

    similarities: Similarities
    quality: FloatArray
    diversity: float
    k: int  # never more than there are items to pick
    given: IntArray
    available: BoolArray  # loses an item with every pick

    @property
    def n(self) -> int:
        """Number of items."""
        return self.similarities.n

    def rounding(self, magnitude: float) -> float:
        """How far two sums of terms of this magnitude can be apart by rounding alone.

        Copies of an item have the same similarities, but sums taken in another order differ in the last bit.
        """
        # A function in single precision is taken at its word: only float64 arithmetic is forgiven.
        return _SLACK * min(self.similarities.rounding, 1e3 * EPS) * magnitude

    def pick(self, score: FloatArray, magnitude: FloatArray | float = 0.0, *, by_quality: bool = False) -> int:
        """Take the available item of highest score: of equals, the first (or the first of best quality).

        `magnitude` is that of the terms each score is the sum of; without similarities among them, a score
        is exact.
        """
        masked = np.where(self.available, score, -np.inf)
        best = int(masked.argmax())
        slack = self.rounding(float(np.broadcast_to(magnitude, masked.shape)[best])) if self.diversity else 0.0
        equals = np.flatnonzero(masked >= masked[best] - slack)
        item = int(equals[np.argmax(self.quality[equals])] if by_quality else equals[0])
        self.available[item] = False
        return item

    def selection(self, picked: Sequence[int], gains: Sequence[float], objective: float) -> Selection:
        """The result, with the log-determinant of the similarities."""
        indices = np.array(picked, dtype=np.int64)
        return Selection(
            indices=indices,
            gains=np.array(gains, dtype=np.float64),
            log_det=self.similarities.log_det(indices),
            objective=float(objective),
        )


def read_problem(
    features: Features,
    k: int,
    *,
    quality: ArrayLike | None,
    diversity: float,
    similarity: SimilarityLike,
    given: Iterable[int] | None,
    exclude: Iterable[int] | None,
) -> Problem:
    """Check all arguments of a baseline."""
    k = check_size(k)
    weight = as_number(diversity, name="diversity")
    if not 0.0 <= weight <= 1.0:
        raise DiversetError(f"diversity is {weight}; it must be between 0 (plain top-k) and 1 (only diversity)")
    similarities = read_similarities(features, similarity)
    n = similarities.n
    items = np.arange(n)
    shown = find_positions(() if given is None else given, items, name="given")
    barred = find_positions(() if exclude is None else exclude, items, name="exclude")
    available = np.ones(n, dtype=bool)
    available[shown] = False
    available[barred] = False
    k = min(k, int(available.sum()))
    if k <= similarities.rank:
        check_fits_in_memory(
            16 * k * k,
            what=f"the log-determinant over {k} picks",
            remedy='pick fewer items, or use similarity="cosine"',
        )
    return Problem(
        similarities=similarities,
        quality=_read_quality(quality, n),
        diversity=weight,
        k=k,
        given=shown,
        available=available,
    )


def _read_quality(quality: Any, n: int) -> FloatArray:
    """One finite number per item, of either sign: scores need not be probabilities."""
    if quality is None:
        return np.ones(n)
    q = as_real_or_complex(quality, name="quality", ndim=1)
    if np.iscomplexobj(q):
        raise KernelError("quality is complex; it must be one real number per item")
    if len(q) != n:
        raise KernelError(f"quality has {len(q)} entries for {n} items; give one per item")
    check_finite(q, name="quality")
    return np.array(q, dtype=np.float64)
