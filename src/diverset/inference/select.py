r"""Selection of a few good and different items out of many: the main function of the library."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from diverset._typing import RNGLike
from diverset.errors import DiversetError
from diverset.inference.engine import Picks
from diverset.inference.problem import Problem, check_dial, read_problem
from diverset.inference.result import Selection
from diverset.inference.scores import check_scale
from diverset.inference.short import ShortLists, is_short
from diverset.numerics.validation import as_number, check_size

if TYPE_CHECKING:
    from diverset.core import KDPP

__all__ = ["select", "selection_law"]

_METHODS = ("greedy", "local-search", "exact", "sample")
#: Settings of the dial that a search for ``keep`` tries at most.
_TRIALS = 6
#: Log-ratios of the weights beyond which only one of them counts.
_LARGEST = 8.0
#: Shares of quality lost below this count as this much; typical growth of the logarithm of that share with t.
_LEAST_LOSS = 1e-4
_SLOPE = 1.7
#: How near to ``keep`` the share of quality should come.
_NEAR = 0.02


def select(
    features: Any,
    k: int | float = 10,
    *,
    quality: Any = None,
    diversity: float = 0.5,
    scale: str | None = "rank",
    keep: float | None = None,
    similarity: str | Callable[[Any, Any], Any] = "cosine",
    method: str = "greedy",
    given: Any = None,
    exclude: Any = None,
    given_features: Any = None,
    query: Any = None,
    lower_is_better: bool = False,
    zero_vectors: str = "unlike",
    costs: Any = None,
    budget: float | None = None,
    window: int | None = None,
    min_quality: float | None = None,
    groups: Any = None,
    per_group: int | None = None,
    rng: RNGLike = None,
) -> Selection:
    r"""Pick k items that are good and unlike each other.

    Maximises, over sets Y of k items,

    .. math::  (1 - d) \sum_{i \in Y} z_i + d \log\det S_Y,

    with d the `diversity` dial, z the scores on a common `scale` and S the similarity. At d = 0 this is plain top-k, at
    d = 1 pure volume. In between it is the most probable set of a k-DPP with
    :math:`L_{ij} = e^{w z_i/2} S_{ij} e^{w z_j/2}`, :math:`w = (1-d)/d`. With `given` items G the volume is that of
    their complement, :math:`\det S_{Y \cup G} / \det S_G`.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features)
        One row per item: NumPy (float32 stays float32), lists, scipy.sparse, memory maps, torch CPU tensors, pandas
        and polars frames, columns of lists (pandas, polars, pyarrow), dask arrays and frames, whose blocks stay where
        they are (:mod:`diverset.distributed`). With ``similarity="precomputed"``, the (n_items, n_items) matrix. A row
        of zeros has no direction; under the cosine such an item is unlike every other.
    k : int or float
        Number of picks, or a share of the items between 0 and 1. Fewer come back only if there are fewer items, or
        `costs`, `per_group` or `min_quality` leave fewer.
    quality : array_like of shape (n_items,), optional
        Scores. Higher is better, and -inf excludes an item. All are equal by default.
    diversity : float
        The dial, from 0 (plain top-k) to 1 (diversity only).
    scale : {"rank", "standard", None}
        How scores are calibrated over the candidates. ``"rank"`` takes :math:`z_i = -\log_2 r_i` with r the rank, 1 for
        the best: only the order of the scores matters. ``"standard"`` subtracts the mean and divides by the standard
        deviation: the unit of the scores does not matter, but gaps between them do. None takes scores as they are:
        differences near 1 count.
    keep : float, optional
        The share of quality to keep, instead of `diversity`: the most diverse set found along the dial whose mean score
        comes at least this far from the mean of all candidates (0) to the mean of the best k (1). Costs at most as much
        as eight selections. ``Selection.diversity`` is the dial that was found. ``Selection.notes`` says so where the
        set keeps over 0.02 more, and why.
    similarity : {"cosine", "rbf", "dot", "precomputed"} or callable
        A callable gets two groups of rows and returns one number per pair, as the functions of :mod:`diverset.kernels`
        do.
    method : {"greedy", "local-search", "exact", "sample"}
        Greedy; greedy improved by swaps; branch and bound with proof; or a draw of the k-DPP.
    given : positions, labels or boolean mask, optional
        Items already shown: the picks keep away from them, and they are not picked. Whole numbers are positions; other
        values, and a pandas index, are labels of a pandas frame.
    exclude : positions, labels or boolean mask, optional
        Items not to pick, which do not repel.
    given_features : array_like of shape (m, n_features), optional
        Rows already shown that are not among the candidates: the picks keep away from them, too.
    query : array_like of shape (n_features,), optional
        A vector: the quality of an item is its cosine to it.
    lower_is_better : bool
        Whether `quality` holds distances or ranks, of which the lowest is best.
    zero_vectors : {"unlike", "raise"}
        What to do with rows of zeros under the cosine: count them as unlike every other item, and say so in ``notes``,
        or raise an error.
    costs, budget : array_like of shape (n_items,) and float, optional
        Picks cost no more than `budget` in all; they are ranked by gain less d times the log-cost.
    window : int, optional
        Only the last `window` picks repel, for long pages of which a reader sees a part at a time.
    min_quality : float, optional
        Items with a lower score (with `lower_is_better`, a higher one) are not picked. In the unit of `quality`.
    groups, per_group : array_like of shape (n_items,) and int, optional
        At most `per_group` picks with the same value of `groups` (a source, an author).
    rng : int, Generator or None
        For ``method="sample"``.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains`` (what each added to the objective), ``objective`` (their sum), ``log_det``
        of S over the set, ``kept`` (share of quality), ``redundancy`` of the picks and ``redundancy_before`` of the
        best k, ``notes``; ``labels`` for a data frame with an index. ``x[selection]`` and ``selection.take(x)`` give
        the rows.

    Notes
    -----
    Greedy from features never forms the n x n matrix: O(nD) a pick at worst and O(n + kD) memory, by lazy
    evaluation with exact finalists in double precision. Sparse features stay sparse: O(nnz) a pick, and
    O(nnz + n + kD) memory. Past the rank of the features, where every further set has volume zero, picks follow the
    limit of a vanishing ridge (the D-optimal design), ``rank_spent`` says where that began, and the volume in the
    objective is the product of the nonzero eigenvalues.

    A :class:`~diverset.errors.DiversetWarning` appears, once a process, where the picks are exactly the best k although
    `diversity` is above 0, or where no pick is among the better half.

    Examples
    --------
    Two near-duplicates at the top; the second pick is the other kind.

    >>> import diverset as dv
    >>> X = [[1.0, 0.0], [1.0, 0.05], [0.0, 1.0], [0.5, 1.0]]
    >>> dv.select(X, k=2, quality=[0.9, 0.8, 0.7, 0.1]).indices
    array([0, 2])
    >>> dv.select(X, k=2, quality=[0.9, 0.8, 0.7, 0.1], diversity=0.0).indices
    array([0, 1])
    """
    if method not in _METHODS:
        raise DiversetError(f"method is {method!r}; choose one of {', '.join(_METHODS)}")
    dial = check_dial(diversity)
    steps = None if window is None else check_size(window, name="window")
    plain = keep is given is exclude is given_features is query is costs is budget is None
    plain = plain and window is min_quality is groups is per_group is None
    plain = plain and not lower_is_better and zero_vectors == "unlike"
    if plain and method == "greedy" and dial > 0.0 and similarity == "cosine" and is_short(features):
        lists = ShortLists([features], None if quality is None else [quality], k, check_scale(scale))
        found = lists.selections(dial)[0]
        if found is not None:
            return found
    problem = read_problem(
        features, k, quality=quality, similarity=similarity, scale=scale, given=given, exclude=exclude,
        given_features=given_features, query=query, lower_is_better=lower_is_better,
        zero_vectors=zero_vectors, costs=costs, budget=budget, min_quality=min_quality, groups=groups,
        per_group=per_group,
    )  # fmt: skip
    if method not in problem.similarity.methods:
        raise DiversetError(
            f"method is {method!r}; a dask array takes {' or '.join(problem.similarity.methods)} "
            "(dv.distributed.greedi has local search, features.compute() the rest)"
        )
    if keep is not None:
        return _keeping(problem, keep, method, steps)
    if method == "greedy" or dial == 0.0:
        return problem.selection(dial, problem.picks(dial, steps))
    if steps is not None or len(problem.limits.costs) or len(problem.limits.groups):
        raise DiversetError(f'window, costs and groups need method="greedy"; {method!r} looks at the set as a whole')
    return problem.whole(method, dial, rng)


def selection_law(
    features: Any,
    k: int | float = 10,
    *,
    quality: Any = None,
    diversity: float = 0.5,
    scale: str | None = "rank",
    similarity: str | Callable[[Any, Any], Any] = "cosine",
    given: Any = None,
    exclude: Any = None,
    given_features: Any = None,
    query: Any = None,
    lower_is_better: bool = False,
    zero_vectors: str = "unlike",
    min_quality: float | None = None,
) -> KDPP:
    r"""The k-DPP of which ``select(method="sample")`` is a draw, for its probabilities.

    .. math::  \Pr(Y) \propto \exp\Bigl(\frac{1-d}{d} \sum_{i \in Y} z_i\Bigr) \det S_Y, \qquad |Y| = k,

    with d the `diversity` dial, z the calibrated scores and S the similarity: the larger d is, the less quality decides.

    Parameters
    ----------
    features, k, quality, diversity, scale, similarity, given, exclude, given_features, query, lower_is_better, zero_vectors,
    min_quality
        As for :func:`select`. The dial must be above 0, where all weight is on the best k.

    Returns
    -------
    KDPP
        Over the items that can be picked, by their positions.

    Examples
    --------
    >>> import diverset as dv
    >>> X = [[1.0, 0.0], [1.0, 0.05], [0.0, 1.0], [0.5, 1.0]]
    >>> law = dv.selection_law(X, k=2, quality=[0.9, 0.8, 0.7, 0.1])
    >>> law.inclusion_probabilities.round(2)
    array([0.73, 0.26, 0.66, 0.35])
    >>> law.sample(rng=0)
    array([0, 2])
    """  # noqa: E501
    dial = check_dial(diversity)
    if dial == 0.0:
        raise DiversetError("diversity is 0, where the best k are picked without chance; give more than 0")
    problem = read_problem(
        features, k, quality=quality, similarity=similarity, scale=scale, given=given, exclude=exclude,
        given_features=given_features, query=query, lower_is_better=lower_is_better, zero_vectors=zero_vectors,
        min_quality=min_quality,
    )  # fmt: skip
    return problem.dpp(dial).of_size(problem.k)


def _keeping(problem: Problem, keep: Any, method: str, window: int | None) -> Selection:
    """The most diverse picks along the dial that keep this share of quality.

    The search is over t with ``diversity = 1 / (1 + exp(-t))``, the logarithm of the ratio of the two weights. The
    share lost grows about exponentially with t until little quality is left, so the next trial is where a line through
    the logarithms of the shares lost reaches the target. Sets are few, so the target may lie between those of two
    neighbours. Then one item of one of them is exchanged.
    """
    share = as_number(keep, name="keep")
    if not 0.0 <= share <= 1.0:
        raise DiversetError(f"keep is {keep!r}; it is a share of quality, between 0 and 1 (1 keeps the best k)")
    if method != "greedy":
        raise DiversetError(f'keep needs method="greedy", and method is {method!r}; give diversity instead')
    if problem.quality is None:
        raise DiversetError("keep is given without quality; pass the scores of which to keep a share")

    def tried(t: float) -> _Trial:
        dial = 1.0 / (1.0 + math.exp(-t)) if t > -_LARGEST else 0.0
        picks = problem.picks(dial, window)
        kept = problem.kept(picks.positions)
        kept = 1.0 if kept is None else kept
        return _Trial(t, dial, picks, kept, math.log(max(1.0 - kept, _LEAST_LOSS)))

    target = math.log(max(1.0 - share - 0.4 * _NEAR, _LEAST_LOSS))
    shortest = 0.5 if share > 0.8 else 1.0  # past the exponential growth, the share lost changes slowly
    good: _Trial | None = None  # the most diverse trial that keeps enough
    bad: _Trial | None = None  # the other end of the bracket
    near: _Trial | None = None  # the trial that keeps most of those that keep too little
    t = 1.0
    for _ in range(_TRIALS):
        trial = tried(t)
        if trial.kept >= share:
            good = trial
            if trial.kept <= share + _NEAR or t == math.inf:
                break
            nearer = None
            if trial.kept <= share + 2.0 * _NEAR:  # one exchange is cheaper than another trial
                nearer = problem.exchange(trial.dial, trial.picks, share, _NEAR)
            if nearer is not None:
                good = trial._replace(picks=nearer, kept=problem.kept(nearer.positions) or 1.0)
                break
        else:
            bad = trial
            near = bad if near is None or near.kept < bad.kept else near
            if t == -math.inf:
                break
        step = min(max(abs(target - trial.loss) / _SLOPE, shortest), 3.0)
        if bad is None:
            t = t + step if t + step < _LARGEST else math.inf
        elif good is None:
            t = t - step if t >= 0.0 else -math.inf
        else:
            width = min(bad.t, _LARGEST) - good.t
            if width < 0.35 or bad.kept > share - 2.0 * _NEAR:
                break  # neighbours along the dial
            # Not too near an end of the bracket, so that it shrinks.
            t = good.t + width * min(max((target - good.loss) / max(bad.loss - good.loss, 1e-9), 0.15), 0.85)
    best = tried(-math.inf) if good is None else good
    dial, picks, kept = best.dial, best.picks, best.kept
    if kept > share + _NEAR and near is not None:
        for trial in (near, best):
            nearer = problem.exchange(trial.dial, trial.picks, share, _NEAR)
            if nearer is not None:
                dial, picks, kept = trial.dial, nearer, problem.kept(nearer.positions) or 1.0
                break
    if share <= kept <= share + _NEAR:
        return problem.selection(dial, picks)
    why = "the limits allow no more"
    if kept > share:
        why = f"the next more diverse set tried keeps {near.kept:.2f}" if near else "even diversity 1 keeps more"
    note = f"the picks keep {kept:.2f} of quality where {share:.2f} was requested: {why}"
    return problem.selection(dial, picks, notes=(note,))


class _Trial(NamedTuple):
    """Picks at one setting of the dial, the share of quality they keep, and the logarithm of the share they lose."""

    t: float
    dial: float
    picks: Picks
    kept: float
    loss: float
