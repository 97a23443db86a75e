"""Baselines: greedy methods that trade quality off against similarity without determinants."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, ParamSpec

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import KernelError
from diverset.inference import _row_loops
from diverset.inference.problem import check_dial, read_problem
from diverset.inference.result import Selection
from diverset.inference.similarity import Rows, SimilarityLike
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import as_generator, check_fits_in_memory, is_blocked

__all__ = ["facility_location", "max_min", "max_sum", "mmr", "random", "top_k"]

_P = ParamSpec("_P")
#: Scores that differ by at most this many rounding errors count as equal.
_SLACK = 32.0
#: Number of stale gains that facility location recomputes together at first; it doubles while more are needed.
_FIRST_BATCH = 4


class _Picker:
    """The checked arguments of a baseline, as in :func:`diverset.select`, and the picks made so far."""

    def __init__(
        self,
        features: Any,
        k: int | float,
        *,
        quality: Any = None,
        diversity: float = 0.5,
        scale: str | None = "rank",
        similarity: SimilarityLike = "cosine",
        given: Any = None,
        exclude: Any = None,
    ) -> None:
        if is_blocked(features):
            raise KernelError("features are a dask array, and baselines need them in memory; pass features.compute()")
        self._problem = problem = read_problem(
            features, k, quality=quality, scale=scale, similarity=similarity, given=given, exclude=exclude
        )
        self.similarity, self.quality, self.given = problem.similarity, problem.scores, problem.given
        self.n, self.unit = problem.n, problem.similarity.unit
        self.diversity = check_dial(diversity)
        self.available = problem.limits.available.copy()  # loses one item with every pick
        self.k = min(problem.k, int(self.available.sum()))
        self.picked: list[int] = []
        self.gains: list[float] = []
        if self.k <= self.similarity.rank:
            what, remedy = f"the log-determinant over {self.k} picks", 'pick fewer items, or use similarity="cosine"'
            check_fits_in_memory(16 * self.k**2, what=what, remedy=remedy)

    def rounding(self, magnitude: float) -> float:
        """Largest rounding difference of two sums of terms of this magnitude, as for duplicates of an item."""
        # The tolerance is for float64 arithmetic: differences between float32 similarities are not ignored.
        return _SLACK * min(self.similarity.rounding, 1e3 * EPS) * magnitude

    def pick(
        self,
        score: FloatArray,
        magnitude: FloatArray | float = 0.0,
        *,
        gains: FloatArray | None = None,
        by_quality: bool = False,
    ) -> FloatArray:
        """Pick the available item of highest score, and return the similarities of all items to it.

        In case of ties the first item is picked, or with `by_quality` the first of best quality. `magnitude` is the
        magnitude of the terms of each score, 0 if scores have no rounding error. `gains` are the scores by default.
        """
        masked = np.where(self.available, score, -np.inf)
        best = int(masked.argmax())
        if self.diversity or by_quality:
            slack = self.rounding(float(magnitude[best] if isinstance(magnitude, np.ndarray) else magnitude))
            equals = (masked >= masked[best] - (slack if self.diversity else 0.0)).nonzero()[0]
            best = int(equals[self.quality[equals].argmax()] if by_quality else equals[0])
        self.available[best] = False
        self.picked.append(best)
        self.gains.append(float((score if gains is None else gains)[best]))
        return self.similarity.column(best)

    def of(self, items: IntArray) -> Selection:
        """These items, with their quality as gains."""
        self.picked, self.gains = items.tolist(), self.quality[items].tolist()
        return self.selection()

    def selection(self, objective: float | None = None) -> Selection:
        """The result; by default the objective is the sum of the gains."""
        indices = np.array(self.picked, dtype=np.int64)
        return Selection(
            indices=indices,
            gains=np.array(self.gains, dtype=np.float64),
            log_det=self.similarity.log_det(indices),
            objective=float(sum(self.gains) if objective is None else objective),
            labels=None if self._problem.labels is None else self._problem.labels[indices],
            diversity=self.diversity,
            scale=None if self._problem.quality is None else self._problem.scale,
            _facts=lambda: self._problem,
        )


def _baseline(read: Callable[_P, _Picker], rule: Callable[[_Picker], Selection]) -> Callable[_P, Selection]:
    """A baseline with the signature of `read`, which picks by a `rule`."""

    def call(*args: _P.args, **options: _P.kwargs) -> Selection:
        return rule(read(*args, **options))

    call.__name__, call.__qualname__, call.__doc__ = rule.__name__, rule.__qualname__, rule.__doc__
    vars(call)["__signature__"] = signature(read).replace(return_annotation=Selection)
    return call


@partial(_baseline, _Picker)
def mmr(p: _Picker) -> Selection:
    r"""Maximal marginal relevance: high quality, low similarity to the nearest pick ([CarbonellGoldstein1998]_).

    Each pick is the item that maximises

    .. math::  (1 - \delta)\, q_i - \delta \max_{j \in Y \cup G} s_{ij},

    with Y the earlier picks, G the ``given`` items and :math:`\delta` the ``diversity``. The maximum over the empty set
    is 0.

    Parameters
    ----------
    features, k, quality, scale, similarity, given, exclude
        As in :func:`diverset.select`. A precomputed similarity need not be positive semidefinite here.
    diversity : float
        The dial :math:`\delta`: 0 is plain top-k, 1 uses similarity only.

    Returns
    -------
    Selection
        ``indices`` in pick order; ``gains``, the score of each item when it was picked; ``objective``, their sum;
        ``log_det`` of the similarities over the picks (-inf if they are dependent).

    Notes
    -----
    The method maximises no set function, so it has no approximation guarantee. Ties, up to rounding, go to the lowest
    index. O(nkd) time and O(n) memory in addition to the features; O(k^2 d + k^3) time for the log-determinant.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> mmr(X, 2, quality=[0.9, 0.8, 0.5], diversity=0.5).indices
    array([0, 2])
    >>> mmr(X, 2, quality=[0.9, 0.8, 0.5], diversity=0.0).indices
    array([0, 1])
    """
    nearest = np.full(p.n, -np.inf)
    relevance = (1.0 - p.diversity) * p.quality
    for _, block in p.similarity.blocks(p.given):
        np.maximum(nearest, block.max(axis=1), out=nearest)
    if isinstance(rows := p.similarity, Rows) and not rows.is_sparse:
        picks, gains = np.empty(p.k, dtype=np.int64), np.empty(p.k)
        _row_loops.mmr_picks(
            rows.X, np.sqrt(rows.factor), relevance, p.diversity, p.rounding(1.0) if p.diversity else 0.0, p.unit,
            nearest, p.available.view(np.uint8), np.empty((p.k, rows.X.shape[1])), picks, gains,
        )  # fmt: skip
        p.picked, p.gains = picks.tolist(), gains.tolist()
        return p.selection(gains.sum())
    for _ in range(p.k):
        score: FloatArray = relevance
        size: FloatArray | float = 0.0
        if p.picked or len(p.given):
            score = relevance - p.diversity * nearest
            size = np.abs(relevance) + p.diversity * (p.unit + np.abs(nearest))
        np.maximum(nearest, p.pick(score, size), out=nearest)
    return p.selection()


@partial(_baseline, _Picker)
def max_sum(p: _Picker) -> Selection:
    r"""Max-sum diversification: high mean quality and large mean distance.

    Greedily maximises

    .. math::  F(Y) = (1 - \delta)\, \frac{1}{k} \sum_{i \in Y} q_i
               + \delta\, \frac{1}{|P|} \sum_{\{i, j\} \in P} (1 - s_{ij}), \qquad |Y| = k,

    where P is the set of pairs within Y and between Y and the ``given`` items. With ``diversity`` :math:`\delta` = 1, F
    is the intra-list diversity; with 0, the mean quality. The parameters are those of :func:`mmr`. ``gains`` are
    those of each pick in F, ``objective`` is F(Y).

    Notes
    -----
    Each pick has the largest gain, where quality and distance to the ``given`` items have weight one half. With these
    weights, F(Y) is at least half the best value if :math:`1 - s` is a metric and quality is nonnegative
    ([BorodinLeeYe2012]_; weights of [GollapudiSharma2009]_). One minus a cosine or rbf similarity is half a *squared*
    distance, for which the same proof gives a quarter. Sums of distances favour extreme items: at a high dial,
    duplicates of two opposite items can be the best set. The weights depend on k, so the picks for a smaller k need not
    be the first picks for a larger k.

    Examples
    --------
    >>> chosen = max_sum([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 2, quality=[0.9, 0.8, 0.5], scale=None)
    >>> chosen.indices, round(chosen.objective, 6)
    (array([0, 2]), 0.85)
    """
    n_pairs = p.k * (p.k - 1) // 2 + p.k * len(p.given)
    per_pair = p.diversity / max(n_pairs, 1)
    alone = (1.0 - p.diversity) / max(p.k, 1) * p.quality
    size = np.abs(alone)  # of the terms in a score
    for some, block in p.similarity.blocks(p.given):
        alone += per_pair * (len(some) - block.sum(axis=1))
        size += per_pair * (len(some) * (1.0 + p.unit) + np.abs(block).sum(axis=1))
    apart = np.zeros(p.n)
    for _ in range(p.k):
        magnitude = size if p.picked or len(p.given) else 0.0
        column = p.pick(0.5 * alone + per_pair * apart, magnitude, gains=alone + per_pair * apart)
        apart += 1.0 - column
        size += per_pair * (1.0 + p.unit + np.abs(column))
    return p.selection()


@partial(_baseline, _Picker)
def max_min(p: _Picker) -> Selection:
    r"""Max-min diversification (farthest first): maximises the smallest value over pairs of picks.

    Greedily maximises the smallest

    .. math::  d'_{ij} = (1 - \delta)\, \frac{q_i + q_j}{2} + \delta\, (1 - s_{ij})

    over the pairs of a pick and another pick or ``given`` item. With ``diversity`` :math:`\delta` = 1 this is the
    smallest distance, and the picks are those of farthest-first traversal ([Gonzalez1985]_). 0 is plain top-k. The
    parameters are those of :func:`mmr`.

    Notes
    -----
    ``gains`` are the smallest :math:`d'` of each pick to the earlier picks and the ``given`` items, ``objective`` is
    the smallest gain (not the sum). Without ``given`` items, the first pick is the item of best quality, with the gain
    :math:`(1 - \delta) q_i + \delta`, which is the objective only if k = 1. Ties, up to rounding, go to the best
    quality, then to the lowest index. The distance d' is that of [GollapudiSharma2009]_. The objective is at least half
    the best value if :math:`1 - s` is a metric and quality is nonnegative ([RaviRosenkrantzTayi1994]_). It is at least
    a quarter for cosine and rbf similarity, for which :math:`1 - s` is half a squared distance.

    Examples
    --------
    >>> chosen = max_min([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 2, quality=[0.9, 0.8, 0.5], scale=None)
    >>> chosen.indices, round(chosen.objective, 6)
    (array([0, 2]), 0.85)
    """
    half = 0.5 * (1.0 - p.diversity) * p.quality
    nearest = np.full(p.n, np.inf)  # smallest half[j] + diversity * distance over earlier picks and given j
    for some, block in p.similarity.blocks(p.given):
        np.minimum(nearest, (half[some] + p.diversity * (1.0 - block)).min(axis=1), out=nearest)
    for _ in range(p.k):
        if p.picked or len(p.given):
            size = np.abs(half) + np.abs(nearest) + p.diversity * (1.0 + p.unit)
            column = p.pick(half + nearest, size, by_quality=True)
        else:
            column = p.pick(p.quality, gains=2.0 * half + p.diversity)
        np.minimum(nearest, half[p.picked[-1]] + p.diversity * (1.0 - column), out=nearest)
    paired = p.gains if len(p.given) or p.k < 2 else p.gains[1:]
    return p.selection(min(paired, default=0.0))


@partial(_baseline, _Picker)
def facility_location(p: _Picker) -> Selection:
    r"""Facility location: picks that represent all items.

    Greedily maximises

    .. math::  F(Y) = (1 - \delta)\, \frac{1}{k} \sum_{i \in Y} q_i
               + \delta\, \frac{1}{n} \sum_{v=1}^{n} \Bigl( \max_{j \in Y \cup G} s_{vj}^+ - \max_{j \in G} s_{vj}^+
               \Bigr), \qquad |Y| \le k,

    the mean quality of the picks plus the mean coverage of all items, beyond the coverage by the ``given`` items G.
    Negative similarities count as 0, as does a maximum over the empty set. Unlike the other baselines, facility
    location prefers *typical* items: an outlier covers only itself. The parameters are those of :func:`mmr`. Excluded
    items count in the coverage. ``gains`` are those of each pick in F, ``objective`` is F(Y).

    Notes
    -----
    If quality is nonnegative, F is monotone and submodular, so that greedy picks reach at least :math:`1 - 1/e` of the
    best value ([NemhauserWolseyFisher1978]_). Gains only fall, so an old gain is an upper bound, and only items that
    could still be best are updated ([Minoux1978]_). Ties, up to rounding, go to the lowest index.

    The first pick compares all pairs in O(n^2 d) time. Later picks update some of the items, at O(nd) each. The memory
    is O(n) in addition to the features. For n above about 10,000, use a sample of the items instead.

    Examples
    --------
    >>> facility_location([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [0.0, 1.0]], 2, diversity=1.0).indices
    array([2, 3])
    """
    covered = np.zeros(p.n)
    for _, block in p.similarity.blocks(p.given):
        np.maximum(covered, block.max(axis=1), out=covered)
    alone = (1.0 - p.diversity) / max(p.k, 1) * p.quality
    coverage = np.zeros(p.n)  # gain of each item, current or old
    if p.diversity and p.k:
        _refresh(p, coverage, covered, np.flatnonzero(p.available))
    fresh = p.available.copy()
    for _ in range(p.k):
        fresh |= coverage == 0.0  # the gain cannot fall further
        size = np.abs(alone) + coverage + _magnitude(p, covered)
        batch = _FIRST_BATCH
        while len(stale := _rivals(p, alone + coverage, fresh, size)):
            _refresh(p, coverage, covered, stale[:batch])
            fresh[stale[:batch]] = True
            batch *= 2
        column = p.pick(np.where(fresh, alone + coverage, -np.inf), size)
        np.maximum(covered, column, out=covered)
        fresh[:] = False
    return p.selection()


def _rivals(p: _Picker, bound: FloatArray, fresh: BoolArray, size: FloatArray) -> IntArray:
    """Items with an old gain, an upper bound, large enough to be the next pick; the largest gain first."""
    known = np.where(fresh & p.available, bound, -np.inf)
    best = int(known.argmax())
    stale = ~fresh & p.available
    if known[best] > -np.inf:
        level = known[best] - p.rounding(float(size[best]))
        first = int(np.argmax(known >= level))
        # A rival has a larger gain, or an equal gain and a lower index.
        stale &= bound >= level
        stale[first:] &= bound[first:] > known[best]
    rivals = np.flatnonzero(stale)
    return rivals[np.argsort(-bound[rivals], kind="stable")]


def _refresh(p: _Picker, coverage: FloatArray, covered: FloatArray, items: IntArray) -> None:
    """Recompute the gains in coverage of `items`."""
    for some, block in p.similarity.blocks(items):
        block -= covered[:, np.newaxis]
        np.maximum(block, 0.0, out=block)
        added = p.diversity / p.n * block.sum(axis=0)
        # A gain this small, as of a duplicate of a covered item, is rounding error.
        coverage[some] = np.where(added > p.rounding(_magnitude(p, covered)), added, 0.0)


def _magnitude(p: _Picker, covered: FloatArray) -> float:
    """Magnitude of the sums whose differences are gains."""
    return p.diversity * (p.unit + float(covered.mean()))


@partial(_baseline, _Picker)
def top_k(p: _Picker) -> Selection:
    r"""The k best items, best first.

    Maximises :math:`\sum_{i \in Y} q_i`. With ``diversity=0``, every baseline makes these picks. The parameters are
    those of :func:`mmr`; features and similarity only affect ``log_det``, and diversity is ignored. ``gains`` are the
    quality of the picks, ``objective`` its sum. Ties go to the lowest index.

    Examples
    --------
    >>> top_k([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 2, quality=[0.9, 0.8, 0.5]).indices
    array([0, 1])
    """
    return p.of(p._problem.best(p.k))


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
    r"""Items drawn uniformly without replacement, as a reference for other methods.

    .. math::  \Pr(Y) = 1 \Big/ \binom{m}{k} \quad\text{for m available items.}

    The parameters are those of :func:`top_k`, and the seed or generator `rng`; quality only affects ``gains``, whose
    sum is the ``objective``.

    Examples
    --------
    >>> len(random([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 2, rng=0))
    2
    """
    p = _Picker(
        features,
        k,
        quality=quality,
        diversity=diversity,
        scale=scale,
        similarity=similarity,
        given=given,
        exclude=exclude,
    )
    return p.of(as_generator(rng).permutation(np.flatnonzero(p.available))[: p.k])
