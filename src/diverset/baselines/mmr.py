"""Maximal marginal relevance, the greedy rule of search engines ([CarbonellGoldstein1998]_)."""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.baselines._picker import Picker
from diverset.inference import _row_loops
from diverset.inference.result import Selection
from diverset.inference.similarity import Rows, SimilarityLike

__all__ = ["mmr"]


def mmr(
    features: Any,
    k: int | float,
    *,
    quality: Any = None,
    diversity: float = 0.5,
    scale: str | None = "rank",
    similarity: SimilarityLike = "cosine",
    given: Any = None,
    exclude: Any = None,
) -> Selection:
    r"""Maximal marginal relevance: good, and unlike the nearest thing already there.

    One after the other, the item of highest

    .. math::  (1 - \delta)\, q_i - \delta \max_{j \in Y \cup G} s_{ij}

    is picked, for picks Y, ``given`` items G and ``diversity`` :math:`\delta`. The maximum over nothing is 0.

    Parameters
    ----------
    features : array_like or scipy.sparse of shape (n, d)
        One item per row; of shape (n, n) with ``similarity="precomputed"``. Dense float64 features, and large
        ones of any precision, are not copied.
    k : int
        How many items; as many as there are if that is fewer.
    quality : array_like of shape (n,), optional
        How good each item is, of either sign. Left out, all are equal.
    diversity : float
        The dial :math:`\delta`: 0 is plain top-k, 1 looks at similarity only. :mod:`diverset.baselines`
        compares it with the dials of other tools.
    similarity : {"cosine", "rbf", "dot", "precomputed"} or callable
        How alike two items are, as in :mod:`diverset.kernels` (rbf with the median distance as its length),
        a symmetric matrix passed as ``features``, or a function of two arrays of rows that returns one
        number per pair. A row of zeros has no direction; under the cosine it is unlike every other.
    given : iterable of int, optional
        Items already shown: not picked, but repelling.
    exclude : iterable of int, optional
        Items not to be picked.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains`` with the score of each pick when it was picked, ``objective``
        their sum, ``log_det`` of the similarities over the picks (-inf where they are dependent).

    Notes
    -----
    A rule, not the maximiser of a set function, so it comes without a guarantee. Equal scores, up to
    rounding, go to the item of lowest number. O(nkd) time and O(n) memory beside the features, then
    O(k^2 d + k^3) for the log-determinant.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> mmr(X, 2, quality=[0.9, 0.8, 0.5], diversity=0.5).indices
    array([0, 2])
    >>> mmr(X, 2, quality=[0.9, 0.8, 0.5], diversity=0.0).indices
    array([0, 1])
    """
    p = Picker(
        features, k, quality=quality, diversity=diversity, scale=scale, similarity=similarity, given=given,
        exclude=exclude,
    )  # fmt: skip
    nearest = np.full(p.n, -np.inf)
    relevance = (1.0 - p.diversity) * p.quality
    for _, block in p.similarity.blocks(p.given):
        np.maximum(nearest, block.max(axis=1), out=nearest)
    if isinstance(p.similarity, Rows):
        return p.selection(*_picked_lazily(p, p.similarity, relevance, nearest))
    picked: list[int] = []
    gains: list[float] = []
    for _ in range(p.k):
        if picked or len(p.given):
            score = relevance - p.diversity * nearest
            item = p.pick(score, np.abs(relevance) + p.diversity * (p.similarity.unit + np.abs(nearest)))
        else:
            score = relevance
            item = p.pick(score)
        picked.append(item)
        gains.append(float(score[item]))
        np.maximum(nearest, p.similarity.column(item), out=nearest)
    return p.selection(picked, gains, sum(gains))


def _picked_lazily(
    p: Picker, rows: Rows, relevance: FloatArray, nearest: FloatArray
) -> tuple[IntArray, FloatArray, float]:
    """Picks by a compiled loop that compares few items with few picks."""
    picks, gains = np.empty(p.k, dtype=np.int64), np.empty(p.k)
    _row_loops.mmr_picks(
        rows.X, np.sqrt(rows.factor), relevance, p.diversity, p.rounding(1.0) if p.diversity else 0.0,
        p.similarity.unit, nearest,
        p.available.view(np.uint8), np.empty((p.k, rows.X.shape[1])), picks, gains,
    )  # fmt: skip
    return picks, gains, float(gains.sum())
