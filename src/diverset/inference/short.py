"""The quick way for the common call: short lists of rows, compared by the cosine, without limits.

One compiled call calibrates the scores of many lists, computes norms and makes all picks, without the interpreter's
lock. The picks are those of :class:`~diverset.inference.problem.Problem`, which serves every other call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray
from diverset.errors import DiversetError
from diverset.inference import _greedy_loops
from diverset.inference.inputs import as_column, as_size
from diverset.inference.problem import describe_places, read_problem
from diverset.inference.result import Selection
from diverset.inference.rows import rounding
from diverset.inference.scores import calibrated
from diverset.numerics.linalg import EPS

__all__ = ["is_short", "select_short"]

#: Longer lists are picked from in rounds, by all cores.
_LONGEST = 2_000
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_NO_SCORES = np.zeros(0)


def is_short(features: Any) -> bool:
    """Whether this is an array that the compiled loops take as it is, with few rows."""
    return (
        type(features) is np.ndarray
        and features.ndim == 2
        and 0 < len(features) < _LONGEST
        and features.shape[1] > 0
        and features.dtype in _DTYPES
        and features.flags.c_contiguous
    )


def select_short(
    lists: Sequence[Array], quality: Sequence[Any] | None, k: Any, dial: float, scale: str | None
) -> list[Selection | None]:
    """Picks from each list; None where the general way must be taken.

    Parameters
    ----------
    lists : sequence of ndarray
        Arrays for which :func:`is_short` holds, all of one width and precision.
    quality : sequence or None
        Scores of the items of each list.
    k : int or float
        Number of picks, or a share of the items.
    dial : float
        The dial, above 0.
    scale : str or None
        How scores are calibrated.
    """
    m, longest = len(lists), max(map(len, lists))
    D, dtype = lists[0].shape[1], lists[0].dtype
    wanted = [min(as_size(k, len(X)), len(X)) for X in lists]
    most = max(wanted)
    raw = np.full((m, longest), -math.inf)
    for i, X in enumerate(lists):
        n = len(X)
        values = 0.0 if quality is None else quality[i]
        if not (quality is None or (type(values) is np.ndarray and values.shape == (n,) and values.dtype == raw.dtype)):
            try:
                values = as_column(values, n, name="quality", infinite=True)
            except DiversetError:
                values = math.nan  # the general way says what is wrong
        raw[i, :n] = values
    scores, table = raw, _NO_SCORES
    if quality is not None and scale == "rank":
        scores, table = raw.copy(), _rank_scores(longest)
    elif quality is not None and scale is not None:
        scores = raw.copy()
        for row, X in zip(scores, lists, strict=True):
            row[: len(X)] = calibrated(row[: len(X)], scale)
    positions, gains = np.empty((m, most), dtype=np.int64), np.empty((m, most))
    facts, sums = np.zeros((m, 4), dtype=np.int64), np.empty((m, 2))
    width = max(1, min(most, D))
    loops = _greedy_loops.Batch(longest, D, width, dtype, dial, rounding(D, dtype), 64.0 * D * EPS)
    usable = raw.max(axis=1) < math.inf  # false for nan, too
    asked = np.where(usable, np.minimum(wanted, D), 0)
    loops.pick(lists, scores, raw.argsort(axis=1), table, asked, positions, gains, facts, sums)
    found: list[Selection | None] = []
    for i, (made, candidates, better, above_all) in enumerate(facts.tolist()):
        if made < wanted[i] or not usable[i]:
            found.append(None)
            continue
        own = None if quality is None else raw[i, : len(lists[i])]
        log_det, total = sums[i].tolist()
        found.append(
            Selection.of(
                indices=positions[i, :made],
                gains=gains[i, :made],
                log_det=log_det,
                objective=total,
                diversity=dial,
                scale=None if own is None else scale,
                notes=() if own is None else describe_places(made, candidates, better, above_all, dial),
                _facts=partial(_facts, lists[i], own),
            )
        )
    return found


@lru_cache(maxsize=4)
def _rank_scores(n: int) -> FloatArray:
    """Entry 2r is the calibrated score of rank r, for the ranks of n items and the means of two of them."""
    ranks = np.arange(2 * n + 1) / 2.0
    ranks[:2] = 1.0  # there is no rank below 1
    scores: FloatArray = -np.log2(ranks)
    scores.flags.writeable = False
    return scores


def _facts(X: Array, quality: FloatArray | None) -> Any:
    """The problem whose answers are the facts about picks from a short list."""
    return read_problem(X, 0, quality=quality, similarity="cosine", scale="rank", given=None, exclude=None)
