"""The two ends of the scale: the best items whatever they resemble, and any items at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.baselines._picker import Picker
from diverset.inference.result import Selection
from diverset.inference.similarity import SimilarityLike

__all__ = ["random", "top_k"]


def top_k(
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
    r"""The k best items, best first.

    Maximises :math:`\sum_{i \in Y} q_i`, and is what every baseline gives with ``diversity=0``.

    Parameters
    ----------
    features, k, quality, scale, similarity, given, exclude
        As in :func:`mmr`; features and similarity only enter ``log_det``.
    diversity : float
        Checked and ignored, so that one call fits all baselines.

    Returns
    -------
    Selection
        ``indices`` by falling quality, ``gains`` their quality, ``objective`` its sum, ``log_det`` of the
        similarities over the picks.

    Notes
    -----
    Equal quality goes to the lowest number. O(nd) to check the features, O(n log n) to pick.

    Examples
    --------
    >>> top_k([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 2, quality=[0.9, 0.8, 0.5]).indices
    array([0, 1])
    """
    p = Picker(
        features, k, quality=quality, diversity=diversity, scale=scale, similarity=similarity, given=given,
        exclude=exclude,
    )  # fmt: skip
    items = np.flatnonzero(p.available)
    return _with_quality(p, items[np.argsort(-p.quality[items], kind="stable")[: p.k]])


def random(
    features: Any,
    k: int | float,
    *,
    quality: Any = None,
    diversity: float = 0.5,
    scale: str | None = "rank",
    similarity: SimilarityLike = "cosine",
    given: Any = None,
    exclude: Any = None,
    rng: RNGLike = None,
) -> Selection:
    r"""Items drawn uniformly without replacement: what any method must beat.

    .. math::  \Pr(Y) = 1 \Big/ \binom{m}{k} \quad\text{for m items that may be picked.}

    Parameters
    ----------
    features, k, quality, scale, similarity, given, exclude
        As in :func:`mmr`; quality only enters ``gains``, features and similarity only ``log_det``.
    diversity : float
        Checked and ignored, so that one call fits all baselines.
    rng : numpy.random.Generator, int or None
        Draws the items.

    Returns
    -------
    Selection
        ``indices`` in the order drawn, ``gains`` their quality, ``objective`` its sum, ``log_det`` of the
        similarities over the picks.

    Notes
    -----
    O(nd) to check the features, O(n) to draw.

    Examples
    --------
    >>> len(random([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 2, rng=0))
    2
    """
    p = Picker(
        features, k, quality=quality, diversity=diversity, scale=scale, similarity=similarity, given=given,
        exclude=exclude,
    )  # fmt: skip
    return _with_quality(p, np.random.default_rng(rng).permutation(np.flatnonzero(p.available))[: p.k])


def _with_quality(p: Picker, items: IntArray) -> Selection:
    gains = p.quality[items].tolist()
    return p.selection(items.tolist(), gains, sum(gains))
