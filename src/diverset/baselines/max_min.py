"""Max-min diversification: farthest first ([Gonzalez1985]_), with quality."""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset.baselines._picker import Picker
from diverset.inference.result import Selection
from diverset.inference.similarity import SimilarityLike

__all__ = ["max_min"]


def max_min(
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
    r"""Max-min diversification (farthest first): even the worst pair is good and far apart.

    Greedily maximises the smallest

    .. math::  d'_{ij} = (1 - \delta)\, \frac{q_i + q_j}{2} + \delta\, (1 - s_{ij})

    over pairs of a pick and another pick or ``given`` item. With ``diversity`` :math:`\delta` = 1 that is the
    smallest distance, and the picks are those of farthest-first traversal; 0 is plain top-k.

    Parameters
    ----------
    features, k, quality, diversity, scale, similarity, given, exclude
        As in :func:`mmr`.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains`` with the smallest :math:`d'` of each pick to those before it and
        the ``given`` ones, ``objective`` the smallest of these (not their sum), ``log_det`` of the
        similarities over the picks. A first pick with nothing before it starts at
        :math:`(1 - \delta) q_i + \delta`, which is the objective only if it stays alone.

    Notes
    -----
    The first pick is the item of best quality unless there are ``given`` ones; equal scores, up to rounding,
    go to better quality, then to the lowest number. The distance d' is that of [GollapudiSharma2009]_; the
    objective is at least half the best value if :math:`1 - s` is a metric and quality is nonnegative
    ([RaviRosenkrantzTayi1994]_), and at least a quarter for cosine and rbf similarity, whose distance is half
    a squared one. O(nkd) time and O(n) memory beside the features.

    Examples
    --------
    >>> chosen = max_min([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 2, quality=[0.9, 0.8, 0.5], scale=None)
    >>> chosen.indices, round(chosen.objective, 6)
    (array([0, 2]), 0.85)
    """
    p = Picker(
        features, k, quality=quality, diversity=diversity, scale=scale, similarity=similarity, given=given,
        exclude=exclude,
    )  # fmt: skip
    half = 0.5 * (1.0 - p.diversity) * p.quality
    nearest = np.full(p.n, np.inf)  # smallest of half[j] + diversity * distance, over the j already there
    for some, block in p.similarity.blocks(p.given):
        np.minimum(nearest, (half[some] + p.diversity * (1.0 - block)).min(axis=1), out=nearest)
    picked: list[int] = []
    gains: list[float] = []
    for _ in range(p.k):
        if picked or len(p.given):
            score = half + nearest
            size = np.abs(half) + np.abs(nearest) + p.diversity * (1.0 + p.similarity.unit)
            item = p.pick(score, size, by_quality=True)
            gains.append(float(score[item]))
        else:
            item = p.pick(p.quality)
            gains.append(float(2.0 * half[item] + p.diversity))
        picked.append(item)
        away = half[item] + p.diversity * (1.0 - p.similarity.column(item))
        np.minimum(nearest, away, out=nearest)
    paired = gains if len(p.given) or len(gains) < 2 else gains[1:]
    return p.selection(picked, gains, min(paired, default=0.0))
