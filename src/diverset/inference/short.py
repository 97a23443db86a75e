"""The quick way for the common call: a short list of rows, compared by the cosine, without limits.

One compiled call computes norms and keys and makes the picks, so that little is left to the interpreter. The picks are
those of :class:`~diverset.inference.problem.Problem`, which serves every other call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.inference import _greedy_loops
from diverset.inference.inputs import as_column
from diverset.inference.problem import Problem, read_problem, remarks
from diverset.inference.result import Selection
from diverset.inference.rows import rounding
from diverset.inference.scores import calibrated
from diverset.numerics.linalg import EPS

__all__ = ["ShortLists", "is_short"]

#: Longer lists are picked from in rounds, by all cores.
_LONGEST = 2_000


def is_short(features: Any) -> bool:
    """Whether this is an array that the compiled loops take as it is, with few rows."""
    return (
        type(features) is np.ndarray
        and features.ndim == 2
        and 0 < len(features) < _LONGEST
        and features.shape[1] > 0
        and features.dtype in (np.float32, np.float64)
        and features.flags.c_contiguous
    )


class ShortLists:
    """Picks from lists of rows of one width and precision, in shared memory.

    Parameters
    ----------
    n, D : int
        Rows of a list at most, and their width.
    dtype : dtype
        float32 or float64.
    k : int
        Number of picks.
    dial : float
        The dial, above 0.
    scale : str or None
        How scores are calibrated.
    """

    def __init__(self, n: int, D: int, dtype: Any, k: int, dial: float, scale: str | None) -> None:
        self._batch = _greedy_loops.Batch(n, D, min(k, n, D), dtype, dial, rounding(D, dtype), 64.0 * D * EPS)
        self._form = (n, D, dtype)
        self._k, self._dial, self._scale = k, dial, scale

    def select(self, X: Array, quality: Any, *, name: str = "quality") -> Selection | None:
        """Picks from a list; None where the general way must be taken."""
        n, D = X.shape
        longest, width, dtype = self._form
        wanted = min(self._k, n)
        if n > longest or D != width or X.dtype != dtype or wanted > D:
            return None
        raw = None if quality is None else as_column(quality, n, name=name, infinite=True)
        scores = np.zeros(n) if raw is None else calibrated(raw, self._scale)
        positions, gains = np.empty(wanted, dtype=np.int64), np.empty(wanted)
        made, log_det, total = self._batch.pick(X, scores, positions, gains)
        if made < wanted:
            return None
        return Selection(
            indices=positions,
            gains=gains,
            log_det=log_det,
            objective=total,
            diversity=self._dial,
            scale=None if raw is None else self._scale,
            notes=() if raw is None else remarks(scores, positions, self._dial),
            _facts=_Facts(X, raw),
        )


@dataclass(frozen=True, eq=False)
class _Facts:
    """Facts about picks from a short list, computed when they are asked for."""

    X: Array
    quality: FloatArray | None

    @cached_property
    def _problem(self) -> Problem:
        return read_problem(
            self.X, 0, quality=self.quality, similarity="cosine", scale="rank", given=None, exclude=None
        )

    def kept(self, positions: IntArray) -> float | None:
        return self._problem.kept(positions)

    def redundancy(self, positions: IntArray) -> float:
        return self._problem.redundancy(positions)

    def best(self, k: int) -> IntArray:
        return self._problem.best(k)
