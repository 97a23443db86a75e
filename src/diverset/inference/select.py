r"""Selection of a few good and diverse items from one or many lists of candidates."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from diverset._typing import RNGLike
from diverset.errors import DiversetError
from diverset.inference.engine import Picks
from diverset.inference.inputs import check_scale
from diverset.inference.problem import Problem, ShortLists, check_dial, is_short, read_problem
from diverset.inference.result import Selection
from diverset.inference.rows import thread_map
from diverset.numerics.validation import as_number, check_count, check_size

if TYPE_CHECKING:
    from diverset.core import KDPP

__all__ = ["select", "select_many", "selection_law"]

_METHODS = ("greedy", "local-search", "exact", "sample")
#: Options of :func:`select` that have one value per list in :func:`select_many`, and lists per task of its thread pool.
_PER_LIST = ("given", "exclude", "given_features", "query", "costs", "groups")
_CHUNK = 128
#: Largest number of settings of the dial that a search for ``keep`` tries.
_TRIALS = 6
#: Largest log-ratio of the two weights; beyond it, the search uses dial 0 or 1.
_LARGEST = 8.0
#: Smallest share of quality lost that the search distinguishes; typical slope of the logarithm of that share in t.
_LEAST_LOSS = 1e-4
_SLOPE = 1.7
#: The share of quality kept should exceed ``keep`` by at most this.
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
    r"""Pick k items of high quality that differ from each other.

    Maximises, over sets Y of k items,

    .. math::  (1 - d) \sum_{i \in Y} z_i + d \log\det S_Y,

    with d the `diversity` dial, z the scores calibrated by `scale` and S the similarity. At d = 0 this is plain top-k,
    at d = 1 only the volume counts. In between, the maximiser is the most probable set of a k-DPP with
    :math:`L_{ij} = e^{w z_i/2} S_{ij} e^{w z_j/2}`, :math:`w = (1-d)/d`. With `given` items G, the determinant is
    conditional: :math:`\det S_{Y \cup G} / \det S_G`.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features)
        One row per item: NumPy (float32 stays float32), lists, scipy.sparse, memory maps, torch CPU tensors, pandas
        and polars frames, columns of lists (pandas, polars, pyarrow), dask arrays and frames, whose blocks are not
        gathered (:mod:`diverset.distributed`). With ``similarity="precomputed"``, the (n_items, n_items) matrix.
    k : int or float
        Number of picks, or a fraction of the items between 0 and 1. The result has fewer picks only if there are fewer
        items, or if `costs`, `per_group` or `min_quality` leave fewer.
    quality : array_like of shape (n_items,), optional
        Scores. Higher is better, and -inf excludes an item. By default all scores are equal.
    diversity : float
        The dial, from 0 (plain top-k) to 1 (diversity only).
    scale : {"rank", "standard", None}
        Calibration of the scores. ``"rank"`` uses :math:`z_i = -1.2 \log_2 r_i` with r the rank, 1 for the best: only
        the order of the scores matters. ``"standard"`` subtracts the mean and divides by the standard deviation: gaps
        between scores matter, too. None uses the scores as they are.
    keep : float, optional
        The share of quality to keep, instead of `diversity`: 0 at the mean score of all candidates, 1 at the mean score
        of the best k. The result is the most diverse set found along the dial that keeps at least this share, within
        the time of eight selections. ``Selection.diversity`` is the dial found. If the set keeps more by over 0.02,
        ``Selection.notes`` gives the reason.
    similarity : {"cosine", "rbf", "dot", "precomputed"} or callable
        A callable takes two arrays of rows and returns one number per pair, as the functions of :mod:`diverset.kernels`
        do.
    method : {"greedy", "local-search", "exact", "sample"}
        Greedy; greedy improved by swaps; branch and bound with a proof of optimality; or a sample of the k-DPP.
    given : positions, labels or boolean mask, optional
        Items already shown, which repel the picks and are not picked. Integers are positions; other values, and a
        pandas index, are labels of a pandas frame.
    exclude : positions, labels or boolean mask, optional
        Items that are not picked and do not repel.
    given_features : array_like of shape (m, n_features), optional
        Rows already shown that are not among the candidates, which repel, too.
    query : array_like of shape (n_features,), optional
        A query vector; the quality of an item is its cosine to this vector.
    lower_is_better : bool
        Whether lower values of `quality` are better, as for distances or ranks.
    zero_vectors : {"unlike", "raise"}
        Rows of zeros have no direction. Under the cosine, ``"unlike"`` counts them as unlike every other item and adds
        a note; ``"raise"`` raises an error.
    costs, budget : array_like of shape (n_items,) and float, optional
        The total cost of the picks is at most `budget`. Items are ranked by gain minus d times the log-cost.
    window : int, optional
        Only the last `window` picks repel, for long pages that a reader sees in parts.
    min_quality : float, optional
        Items with a lower score (with `lower_is_better`, a higher score) are not picked. In the unit of `quality`.
    groups, per_group : array_like of shape (n_items,) and int, optional
        At most `per_group` picks have the same value of `groups` (a source, an author).
    rng : int, Generator or None
        Seed or generator for ``method="sample"``.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains`` of the picks in the objective, ``kept`` (share of quality), ``redundancy``,
        ``notes`` and more. ``x[selection]`` and ``selection.take(x)`` give the rows.

    Notes
    -----
    Greedy selection from features never forms the n x n matrix. It takes O(nD) per pick at worst and O(n + kD) memory,
    by lazy evaluation; sparse features stay sparse. Sets larger than the rank of the features have volume zero. Beyond
    the rank, picks follow the limit of a vanishing ridge (the D-optimal design), and the volume in the objective is the
    product of the nonzero eigenvalues; ``rank_spent`` is the number of picks before that.

    A :class:`~diverset.errors.DiversetWarning` is issued, once per process, if the picks are exactly the best k
    although `diversity` is above 0, or if no pick is in the better half by quality.

    Examples
    --------
    The two best items are near-duplicates, so the second pick is another item.

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
    r"""The k-DPP that ``select(method="sample")`` samples from.

    .. math::  \Pr(Y) \propto \exp\Bigl(\frac{1-d}{d} \sum_{i \in Y} z_i\Bigr) \det S_Y, \qquad |Y| = k,

    with d the `diversity` dial, z the calibrated scores and S the similarity. A larger d gives quality less weight.

    The parameters are those of :func:`select`. The dial must be above 0; at 0, all probability is on the best k. The
    items of the k-DPP are the positions of the available items.

    Examples
    --------
    >>> import diverset as dv
    >>> X = [[1.0, 0.0], [1.0, 0.05], [0.0, 1.0], [0.5, 1.0]]
    >>> law = dv.selection_law(X, k=2, quality=[0.9, 0.8, 0.7, 0.1])
    >>> law.inclusion_probabilities.round(2)
    array([0.77, 0.23, 0.68, 0.33])
    >>> law.sample(rng=0)
    array([0, 2])
    """
    dial = check_dial(diversity)
    if dial == 0.0:
        raise DiversetError("diversity is 0, where the best k are picked without chance; give more than 0")
    problem = read_problem(
        features, k, quality=quality, similarity=similarity, scale=scale, given=given, exclude=exclude,
        given_features=given_features, query=query, lower_is_better=lower_is_better, zero_vectors=zero_vectors,
        min_quality=min_quality,
    )  # fmt: skip
    return problem.dpp(dial).of_size(problem.k)


def select_many(
    features: Iterable[Any],
    k: int = 10,
    *,
    quality: Iterable[Any] | None = None,
    diversity: float = 0.5,
    scale: str | None = "rank",
    similarity: str | Callable[[Any, Any], Any] = "cosine",
    n_jobs: int | None = None,
    **options: Any,
) -> list[Selection]:
    """Pick k items from each of many lists; the picks are those of one call of :func:`select` per list.

    Parameters
    ----------
    features : iterable of array_like
        One array of candidates per list; lists may differ in length.
    n_jobs : int, optional
        Number of threads; all cores by default.
    k, quality, diversity, scale, similarity, **options
        As in :func:`select`. `quality`, `given`, `exclude`, `given_features`, `query`, `costs` and `groups` take one
        value per list, the others one value for all.

    Notes
    -----
    Lists of fewer than 2,000 rows, of the same width and precision and compared by the cosine, are processed in batches
    by compiled code that releases the GIL and uses all cores. Other lists go through :func:`select`.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> lists = [np.eye(4), np.eye(4)[:3]]
    >>> [list(picks) for picks in dv.select_many(lists, 2, quality=[[1, 2, 3, 4], [1, 3, 2]])]
    [[3, 2], [1, 2]]
    """
    arrays = list(features)
    dial, scale = check_dial(diversity), check_scale(scale)
    shared: dict[str, Any] = {"diversity": dial, "scale": scale, "similarity": similarity}
    own = {"quality": quality, **{name: options.pop(name) for name in _PER_LIST if name in options}}
    columns = {name: list(values) for name, values in own.items() if values is not None}
    for name, values in columns.items():
        if len(values) != len(arrays):
            raise DiversetError(f"{name} has {len(values)} entries for {len(arrays)} lists; give one per list")
    n_threads = min(os.cpu_count() or 1, 64) if n_jobs is None else check_count(n_jobs, name="n_jobs")
    plain = similarity == "cosine" and dial > 0.0 and not options and set(columns) <= {"quality"}

    def one(i: int) -> Selection:
        each = {name: values[i] for name, values in columns.items()}
        try:
            return select(arrays[i], k, **shared, **each, **options)
        except DiversetError as error:
            raise type(error)(f"list {i}: {error}") from error

    def some(chunk: Sequence[int]) -> list[Selection]:
        quick: list[Selection | None] = [None] * len(chunk)
        if plain and is_short(arrays[chunk[0]]):
            scores = [columns["quality"][i] for i in chunk] if "quality" in columns else None
            quick = ShortLists([arrays[i] for i in chunk], scores, k, scale).selections(dial)
        return [one(i) if found is None else found for i, found in zip(chunk, quick, strict=True)]

    # A chunk holds lists of the same width and precision, and of similar lengths.
    forms: dict[Any, list[int]] = {}
    for i, X in enumerate(arrays):
        forms.setdefault((X.shape[1], X.dtype) if is_short(X) else None, []).append(i)
    chunks = []
    for form, lists in forms.items():
        if form is not None:
            lists.sort(key=lambda i: len(arrays[i]))
        chunks += [lists[start : start + _CHUNK] for start in range(0, len(lists), _CHUNK)]
    with thread_map(1 if len(chunks) < 2 else n_threads) as share:
        found = dict(zip(chain(*chunks), chain.from_iterable(share(some, chunks)), strict=True))
    return [found[i] for i in range(len(arrays))]


def _keeping(problem: Problem, keep: Any, method: str, window: int | None) -> Selection:
    """The most diverse picks along the dial that keep this share of quality.

    The search is over t with ``diversity = 1 / (1 + exp(-t))``, the logarithm of the ratio of the two weights. The
    share lost grows about exponentially with t until little quality is left. So the next t is the point at which a line
    through the logarithms of the shares lost reaches the target. The dial gives only finitely many sets, so the target
    may lie between two neighbouring sets. In that case, one item of one of the two sets is exchanged.
    """
    share = as_number(keep, name="keep")
    if not 0.0 <= share <= 1.0:
        raise DiversetError(f"keep is {keep!r}; it is a share of quality, between 0 and 1 (1 keeps the best k)")
    if method != "greedy":
        raise DiversetError(f'keep needs method="greedy", and method is {method!r}; give diversity instead')
    if problem.quality is None:
        raise DiversetError("keep is given without quality; pass the scores of which to keep a share")

    def exchanged(trial: _Trial) -> _Trial | None:
        nearer = problem.exchange(trial.dial, trial.picks, share, _NEAR)
        return trial._replace(picks=nearer, kept=problem.kept(nearer.positions) or 1.0) if nearer else None

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
            # One exchange is cheaper than another trial.
            nearer = exchanged(trial) if trial.kept <= share + 2.0 * _NEAR else None
            if nearer is not None:
                good = nearer
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
    if best.kept > share + _NEAR and near is not None:
        best = exchanged(near) or exchanged(best) or best
    notes: tuple[str, ...] = ()
    if not share <= best.kept <= share + _NEAR:
        why = "the limits allow no more"
        if best.kept > share:
            why = f"the next more diverse set tried keeps {near.kept:.2f}" if near else "even diversity 1 keeps more"
        notes = (f"the picks keep {best.kept:.2f} of quality where {share:.2f} was requested: {why}",)
    return problem.selection(best.dial, best.picks, notes=notes)


class _Trial(NamedTuple):
    """Picks at one setting of the dial, the share of quality they keep, and the logarithm of the share they lose."""

    t: float
    dial: float
    picks: Picks
    kept: float
    loss: float
