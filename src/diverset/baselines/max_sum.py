"""Max-sum diversification: a set of high mean quality and high mean distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset.baselines._picker import Picker
from diverset.inference.result import Selection
from diverset.inference.similarity import SimilarityLike

__all__ = ["max_sum"]


def max_sum(
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
    r"""Max-sum diversification: high mean quality, and far apart on average.

    Greedily maximises

    .. math::  F(Y) = (1 - \delta)\, \frac{1}{k} \sum_{i \in Y} q_i
               + \delta\, \frac{1}{|P|} \sum_{\{i, j\} \in P} (1 - s_{ij}), \qquad |Y| = k,

    where P holds the pairs within Y and between Y and the ``given`` items: with ``diversity``
    :math:`\delta` = 1 this is the intra-list diversity, with 0 the mean quality.

    Parameters
    ----------
    features, k, quality, diversity, scale, similarity, given, exclude
        As in :func:`mmr`.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains`` with what each pick added to F, ``objective`` their sum F(Y),
        ``log_det`` of the similarities over the picks.

    Notes
    -----
    Each pick has the highest gain with its quality, and its distance to the ``given`` items, counted half:
    with that, F(Y) is at least half the best value if :math:`1 - s` is a metric and quality is nonnegative
    ([BorodinLeeYe2012]_; weights of [GollapudiSharma2009]_). One minus a cosine or rbf similarity
    is half a *squared* distance, for which the triangle inequality holds up to a factor of 2, and the same
    proof gives a quarter.

    Sums of distances reward the rim: at a high dial, copies of two opposite items can be the best set, and
    are picked. The weights depend on k, so the picks for a smaller k need not come first. Equal scores, up to rounding,
    go to the item of lowest number. O(nkd) time and O(n) memory beside the features.

    Examples
    --------
    >>> chosen = max_sum([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 2, quality=[0.9, 0.8, 0.5], scale=None)
    >>> chosen.indices, round(chosen.objective, 6)
    (array([0, 2]), 0.85)
    """
    p = Picker(
        features, k, quality=quality, diversity=diversity, scale=scale, similarity=similarity, given=given,
        exclude=exclude,
    )  # fmt: skip
    n_pairs = p.k * (p.k - 1) // 2 + p.k * len(p.given)
    per_item = (1.0 - p.diversity) / max(p.k, 1)
    per_pair = p.diversity / max(n_pairs, 1)
    alone = per_item * p.quality
    size = np.abs(alone)  # of the terms in a score
    for some, block in p.similarity.blocks(p.given):
        alone += per_pair * (len(some) - block.sum(axis=1))
        size += per_pair * (len(some) * (1.0 + p.similarity.unit) + np.abs(block).sum(axis=1))
    apart = np.zeros(p.n)
    picked: list[int] = []
    gains: list[float] = []
    for _ in range(p.k):
        item = p.pick(0.5 * alone + per_pair * apart, size if picked or len(p.given) else 0.0)
        picked.append(item)
        gains.append(float(alone[item] + per_pair * apart[item]))
        column = p.similarity.column(item)
        apart += 1.0 - column
        size += per_pair * (1.0 + p.similarity.unit + np.abs(column))
    return p.selection(picked, gains, sum(gains))
