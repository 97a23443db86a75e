"""Facility location: every item is near one of the picks."""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.baselines._picker import Picker
from diverset.inference.result import Selection
from diverset.inference.similarity import SimilarityLike

__all__ = ["facility_location"]

#: Stale gains are brought up to date so many at a time at first; the number doubles while more are needed.
_FIRST_BATCH = 4


def facility_location(
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
    r"""Facility location: picks that stand for all items.

    Greedily maximises

    .. math::  F(Y) = (1 - \delta)\, \frac{1}{k} \sum_{i \in Y} q_i
               + \delta\, \frac{1}{n} \sum_{v=1}^{n} \Bigl( \max_{j \in Y \cup G} s_{vj}^+ - \max_{j \in G} s_{vj}^+
               \Bigr), \qquad |Y| \le k,

    the mean quality of the picks and how well they cover the items on average, beyond what the ``given``
    items G cover. Negative similarities count as 0, as does a maximum over nothing. Unlike the other
    baselines it wants picks that are *typical*: an outlier covers only itself.

    Parameters
    ----------
    features, k, quality, diversity, scale, similarity, given, exclude
        As in :func:`mmr`. Excluded items still want to be covered.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains`` with what each pick added to F, ``objective`` their sum F(Y),
        ``log_det`` of the similarities over the picks.

    Notes
    -----
    F is monotone and submodular where quality is nonnegative, so that greedy picks reach at least
    :math:`1 - 1/e` of the best value ([NemhauserWolseyFisher1978]_). Gains only fall, so an old one is an
    upper bound, and only items that could still be best are looked at again ([Minoux1978]_). Equal gains, up
    to rounding, go to the item of lowest number.

    The first pick compares all pairs, O(n^2 d) time; later ones look again at few or many items, at O(nd)
    each. Similarities are computed in blocks of 16 MB and never kept, so memory is O(n) beside the
    features. For n beyond some 10,000, cover a sample of the items instead.

    Examples
    --------
    >>> facility_location([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [0.0, 1.0]], 2, diversity=1.0).indices
    array([2, 3])
    """
    p = Picker(
        features, k, quality=quality, diversity=diversity, scale=scale, similarity=similarity, given=given,
        exclude=exclude,
    )  # fmt: skip
    covered = np.zeros(p.n)
    for _, block in p.similarity.blocks(p.given):
        np.maximum(covered, block.max(axis=1), out=covered)
    return p.selection(*_greedy(p, covered)) if p.k else p.selection([], [], 0.0)


def _greedy(p: Picker, covered: FloatArray) -> tuple[list[int], list[float], float]:
    """Lazy greedy picks; `covered` holds how well each item is covered, and is updated."""
    alone = (1.0 - p.diversity) / p.k * p.quality
    coverage = np.zeros(p.n)  # what each item would add, or once did
    if p.diversity:
        _refresh(p, coverage, covered, np.flatnonzero(p.available))
    fresh = p.available.copy()
    picked: list[int] = []
    gains: list[float] = []
    for _ in range(p.k):
        fresh |= coverage == 0.0  # and can add no less
        size = np.abs(alone) + coverage + _scale(p, covered)
        batch = _FIRST_BATCH
        while len(stale := _rivals(p, alone + coverage, fresh, size)):
            top = stale[:batch]
            _refresh(p, coverage, covered, top)
            fresh[top] = True
            batch *= 2
        bound = alone + coverage
        item = p.pick(np.where(fresh, bound, -np.inf), size)
        picked.append(item)
        gains.append(float(bound[item]))
        np.maximum(covered, p.similarity.column(item), out=covered)
        fresh[:] = False
    return picked, gains, sum(gains)


def _rivals(p: Picker, bound: FloatArray, fresh: BoolArray, size: FloatArray) -> IntArray:
    """Items whose old gain, a bound, could still make them the next pick; the most promising first."""
    known = np.where(fresh & p.available, bound, -np.inf)
    best = int(known.argmax())
    stale = ~fresh & p.available
    if known[best] > -np.inf:
        level = known[best] - p.rounding(float(size[best]))
        first = int(np.argmax(known >= level))
        # By a higher gain, or by an equal one and a lower number.
        stale &= bound >= level
        stale[first:] &= bound[first:] > known[best]
    rivals = np.flatnonzero(stale)
    return rivals[np.argsort(-bound[rivals], kind="stable")]


def _refresh(p: Picker, coverage: FloatArray, covered: FloatArray, items: IntArray) -> None:
    """Bring what `items` would add to the coverage up to date."""
    for some, block in p.similarity.blocks(items):
        block -= covered[:, np.newaxis]
        np.maximum(block, 0.0, out=block)
        added = p.diversity / p.n * block.sum(axis=0)
        # What a copy of a covered item seems to add is rounding.
        coverage[some] = np.where(added > p.rounding(_scale(p, covered)), added, 0.0)


def _scale(p: Picker, covered: FloatArray) -> float:
    """Magnitude of the sums whose differences are gains."""
    return p.diversity * (p.similarity.unit + float(covered.mean()))
