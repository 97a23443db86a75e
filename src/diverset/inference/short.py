"""Fast path for the common call: short lists of rows, compared by the cosine, without limits.

One compiled call calibrates the scores of many lists, computes norms and makes all picks, without holding the GIL. The
picks are those of :class:`~diverset.inference.problem.Problem`, which handles every other call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.inference import _greedy_loops
from diverset.inference.engine import Picks
from diverset.inference.inputs import as_column, as_size, calibrated
from diverset.inference.result import Selection, describe_places
from diverset.inference.rows import rounding
from diverset.numerics.linalg import EPS

__all__ = ["ShortLists", "is_short"]

#: Lists of this length or more are not short: their picks are made in rounds, on all cores.
_LONGEST = 2_000
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def is_short(features: Any) -> bool:
    """Whether the compiled loops accept this array without conversion, and it has few rows."""
    return (
        type(features) is np.ndarray
        and features.ndim == 2
        and 0 < len(features) < _LONGEST
        and features.shape[1] > 0
        and features.dtype in _DTYPES
        and features.flags.c_contiguous
    )


class ShortLists:
    """Lists of candidates with calibrated and sorted scores, for picks at any dial.

    All `lists` are short arrays (:func:`is_short`) of the same width and precision.
    """

    def __init__(self, lists: Sequence[Array], quality: Sequence[Any] | None, k: Any, scale: str | None) -> None:
        m, n, D, dtype = len(lists), max(map(len, lists)), lists[0].shape[1], lists[0].dtype
        raw = np.full((m, n), -math.inf)
        for i, X in enumerate(lists):
            raw[i, : len(X)] = 0.0 if quality is None else _read(quality[i], len(X))
        self._lists, self._scale, self._wanted = lists, scale, [min(as_size(k, len(X)), len(X)) for X in lists]
        self._quality = None if quality is None else raw
        self._order = raw.argsort(axis=1)
        self._scores = raw if quality is None or scale is None else raw.copy()
        if quality is not None and scale == "rank":
            _greedy_loops.rank_scores(self._scores, self._order, _rank_scores(n))
        elif quality is not None and scale is not None:
            for row, X in zip(self._scores, lists, strict=True):
                row[: len(X)] = calibrated(row[: len(X)], scale)
        self._usable = raw.max(axis=1) < math.inf  # also false for nan
        self._asked = np.where(self._usable, np.minimum(self._wanted, D), 0)
        self._loops = _greedy_loops.Batch(
            n, D, max(1, min(max(self._wanted), D)), dtype, rounding(D, dtype), 64.0 * D * EPS
        )

    def _pick(self, dial: float) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """Picks, gains, facts and sums, filled in by the compiled loops."""
        m, most = len(self._lists), max(self._wanted)
        positions, gains = np.empty((m, most), dtype=np.int64), np.empty((m, most))
        out = (positions, gains, np.zeros((m, 4), dtype=np.int64), np.zeros((m, 2)))
        self._loops.pick(self._lists, self._scores, self._order, dial, self._asked, *out)
        return out

    def picks(self, dial: float) -> Picks | None:
        """Picks from the first list; None if the fast path cannot make them all."""
        positions, gains, facts, sums = self._pick(dial)
        return Picks(positions[0], gains[0], None, float(sums[0, 0])) if facts[0, 0] == self._wanted[0] else None

    def selections(self, dial: float) -> list[Selection | None]:
        """Picks from each list; None for a list that the fast path cannot handle."""
        positions, gains, facts, sums = self._pick(dial)
        found: list[Selection | None] = []
        for i, (made, candidates, better, above_all) in enumerate(facts.tolist()):
            if made < self._wanted[i] or not self._usable[i]:
                found.append(None)
                continue
            own = None if self._quality is None else self._quality[i, : len(self._lists[i])]
            log_det, total = sums[i].tolist()
            found.append(
                Selection.of(
                    indices=positions[i, :made],
                    gains=gains[i, :made],
                    log_det=log_det,
                    objective=total,
                    diversity=dial,
                    scale=None if own is None else self._scale,
                    notes=() if own is None else describe_places(made, candidates, better, above_all, dial),
                    _facts=partial(_facts, self._lists[i], own),
                )
            )
        return found


def _read(values: Any, n: int) -> Any:
    """Scores of n items, or nan if they are invalid, so that the general path raises the error."""
    if type(values) is np.ndarray and values.shape == (n,) and values.dtype == np.float64:
        return values
    try:
        return as_column(values, n, name="quality", infinite=True)
    except DiversetError:
        return math.nan


@lru_cache(maxsize=4)
def _rank_scores(n: int) -> FloatArray:
    """Entry 2r is the calibrated score of rank r, where r is a rank of n items or the mean of two ranks."""
    ranks = np.arange(2 * n + 1) / 2.0
    ranks[:2] = 1.0  # there is no rank below 1
    scores: FloatArray = -np.log2(ranks)
    scores.flags.writeable = False
    return scores


def _facts(X: Array, quality: FloatArray | None) -> Any:
    """The `Problem` of a short list, which computes the numbers of its `Selection`."""
    from diverset.inference.problem import read_problem

    return read_problem(X, 0, quality=quality, similarity="cosine", scale="rank", given=None, exclude=None)
