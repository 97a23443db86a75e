r"""The front door: ten good, different things out of a thousand, with one dial."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._typing import BoolArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.inference.engine import Limits, Picks
from diverset.inference.inputs import as_column, as_groups, read_items
from diverset.inference.problem import Problem, after_picks
from diverset.inference.result import Selection
from diverset.numerics.validation import (
    check_positive,
    check_size,
    find_positions,
    is_blocked,
)

if TYPE_CHECKING:
    from diverset.core import KDPP

__all__ = ["select", "selection_law"]

_METHODS = ("greedy", "local-search", "exact", "sample")


def select(
    features: Any,
    k: int = 10,
    *,
    quality: Any = None,
    diversity: float = 0.5,
    similarity: str | Callable[..., Any] = "cosine",
    method: str = "greedy",
    given: Iterable[int] | None = None,
    exclude: Iterable[int] | None = None,
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

    .. math::  (1 - d) \sum_{i \in Y} q_i + d \log\det S_Y,

    with d the `diversity` dial, q the quality and S the similarity. At d = 0 this is plain top-k, at d = 1 pure
    volume; in between it is the most probable set of a k-DPP with
    :math:`L_{ij} = e^{w q_i/2} S_{ij} e^{w q_j/2}`, :math:`w = (1-d)/d`.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features)
        One row per item: NumPy (float32 stays float32), lists, scipy.sparse, memory maps, torch CPU tensors, pandas
        and polars frames (a pandas column beside a frame must have its index); dask arrays and frames, whose blocks
        stay where they are (:mod:`diverset.distributed`). With ``similarity="precomputed"``, the
        (n_items, n_items) similarity matrix.
    k : int
        How many; fewer come back only if there are fewer items, or `costs`, `per_group` or `min_quality` say so.
    quality : array_like of shape (n_items,), optional
        Scores, higher is better, on a scale where differences near 1 matter; all equal by default.
    diversity : float
        0 to 1; 1 is diverse (in MMR as LangChain writes it, ``lambda_mult = 1 - diversity``).
    similarity : {"cosine", "rbf", "dot", "precomputed"} or callable
        A callable gets all features (2-D) and returns the (n_items, n_items) similarity.
    method : {"greedy", "local-search", "exact", "sample"}
        Greedy; greedy improved by swaps; branch and bound with proof; or a draw of the k-DPP.
    given : iterable of int, optional
        Items already shown: the picks keep away from them, and they are not picked.
    exclude : iterable of int, optional
        Items not to pick, which do not repel.
    costs, budget : array_like of shape (n_items,) and float, optional
        Picks cost no more than `budget` in all; ranked by gain less log-cost, probability per unit of cost.
    window : int, optional
        Only the last `window` picks repel, as on a long page of which a reader sees a part.
    min_quality : float, optional
        Items of lower quality are not picked.
    groups, per_group : array_like of shape (n_items,) and int, optional
        At most `per_group` picks with the same value of `groups` (a source, an author).
    rng : int, Generator or None
        For ``method="sample"``.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains`` (what each added to the objective), ``log_det`` of S over the set,
        ``objective``; ``labels`` for a data frame with an index. ``x[selection]`` takes the rows.

    Notes
    -----
    Greedy from features never forms the n x n matrix: O(nD) a pick at worst and O(n + kD) memory, by lazy
    evaluation with exact finalists in double precision. Sparse features stay sparse: O(nnz) a pick, and
    O(nnz + n + kD) memory. Past the rank of the features, where every further set has volume zero, picks follow the
    limit of a vanishing ridge (the D-optimal design), and ``rank_spent`` says where that began.

    Examples
    --------
    Two near copies at the top; the second pick is the other kind.

    >>> import diverset as dv
    >>> dv.select([[1.0, 0.0], [1.0, 0.05], [0.0, 1.0]], k=2, quality=[0.9, 0.8, 0.5]).indices
    array([0, 2])
    >>> dv.select([[1.0, 0.0], [1.0, 0.05], [0.0, 1.0]], k=2, quality=[0.9, 0.8, 0.5], diversity=0.0).indices
    array([0, 1])
    """
    if method not in _METHODS:
        raise DiversetError(f"method is {method!r}; choose one of {', '.join(_METHODS)}")
    wanted = check_size(k)
    dial = _check_dial(diversity)
    if is_blocked(features):
        from diverset.distributed.select import select_blocks

        return select_blocks(
            features, wanted, quality=quality, dial=dial, similarity=similarity, method=method, given=given,
            exclude=exclude, costs=costs, budget=budget, window=window, min_quality=min_quality, groups=groups,
            per_group=per_group, rng=rng,
        )  # fmt: skip
    items = read_items(features)
    problem = Problem(items, similarity, quality, dial)
    shown = _positions(given, items.n, "given")
    limits = _limits(problem, shown, exclude, costs, budget, min_quality, groups, per_group)
    steps = None if window is None else check_size(window, name="window")
    if method == "greedy" or dial == 0.0:
        if steps is not None and dial > 0.0:
            picks = _windowed(problem, wanted, shown, limits, steps)
        else:
            picks = problem.greedy(wanted, shown, limits)
        return problem.selection(picks.positions, picks.gains, picks.rank_spent, log_det=picks.log_det)
    if steps is not None or len(limits.costs) or len(limits.groups):
        raise DiversetError(f'window, costs and groups need method="greedy"; {method!r} looks at the set as a whole')
    return problem.whole(method, wanted, shown, limits, rng)


def selection_law(
    features: Any,
    k: int = 10,
    *,
    quality: Any = None,
    diversity: float = 0.5,
    similarity: str | Callable[..., Any] = "cosine",
    given: Iterable[int] | None = None,
    exclude: Iterable[int] | None = None,
    min_quality: float | None = None,
) -> KDPP:
    r"""The k-DPP of which ``select(method="sample")`` is a draw, for its probabilities.

    .. math::  \Pr(Y) \propto \exp\Bigl(\frac{1-d}{d} \sum_{i \in Y} q_i\Bigr) \det S_Y, \qquad |Y| = k,

    with d the `diversity` dial, q the quality and S the similarity: the larger d is, the less quality decides.

    Parameters
    ----------
    features, k, quality, diversity, similarity, given, exclude, min_quality
        As for :func:`select`; the dial must be above 0, where all weight is on the best k.

    Returns
    -------
    KDPP
        Over the items that can be picked, by their numbers.

    Examples
    --------
    >>> import diverset as dv
    >>> law = dv.selection_law([[1.0, 0.0], [1.0, 0.05], [0.0, 1.0]], k=2, quality=[0.9, 0.8, 0.5])
    >>> law.inclusion_probabilities.round(2)
    array([0.53, 0.48, 1.  ])
    >>> law.sample(rng=0)
    array([0, 2])
    """
    wanted, dial = check_size(k), _check_dial(diversity)
    if dial == 0.0:
        raise DiversetError("diversity is 0, where the best k are picked without chance; give more than 0")
    problem = Problem(read_items(features), similarity, quality, dial)
    shown = _positions(given, problem.n, "given")
    limits = _limits(problem, shown, exclude, None, None, min_quality, None, None)
    return problem.dpp(shown, limits).of_size(wanted)


def _check_dial(diversity: Any) -> float:
    try:
        dial = float(diversity)
    except (TypeError, ValueError):
        dial = math.nan
    if not 0.0 <= dial <= 1.0:
        raise DiversetError(f"diversity is {diversity!r}; it lies between 0 (plain top-k) and 1 (volume only)")
    return dial


def _positions(labels: Iterable[int] | None, n: int, name: str) -> IntArray:
    return find_positions(() if labels is None else labels, range(n), name=name)


def _limits(
    problem: Problem,
    shown: IntArray,
    exclude: Iterable[int] | None,
    costs: Any,
    budget: float | None,
    min_quality: float | None,
    groups: Any,
    per_group: int | None,
) -> Limits:
    """Everything that restricts the picks, checked."""
    n = problem.n
    available: BoolArray = np.ones(n, dtype=bool)
    if len(shown):
        available[shown] = False
    if exclude is not None:
        available[_positions(exclude, n, "exclude")] = False
    if min_quality is not None:
        if problem.plain:
            raise DiversetError("min_quality is given without quality; pass the scores it refers to")
        available &= problem.quality >= float(min_quality)
    limits = Limits(available)
    if (costs is None) != (budget is None):
        raise DiversetError("costs and budget go together; give both or neither")
    if costs is not None and budget is not None:
        prices = as_column(costs, n, name="costs", labels=problem.items.labels)
        if n and prices.min() <= 0.0:
            i = int(prices.argmin())
            raise DiversetError(f"costs[{i}] is {prices[i]:.6g}; costs must be positive")
        limits = replace(limits, costs=prices, budget=check_positive(budget, name="budget"))
    if (groups is None) != (per_group is None):
        raise DiversetError("groups and per_group go together; give both or neither")
    if groups is not None and per_group is not None:
        numbers = as_groups(groups, n, labels=problem.items.labels)
        cap = check_size(per_group, name="per_group")
        if cap == 0:
            raise DiversetError("per_group is 0, so nothing could be picked; give at least 1")
        caps = np.full(numbers.max(initial=-1) + 1, cap, dtype=np.int64)
        limits = replace(limits, groups=numbers, caps=caps)
    return limits


def _windowed(problem: Problem, k: int, shown: IntArray, limits: Limits, window: int) -> Picks:
    """Greedy in which only the last `window` picks (and shown items, first in line) repel: O(n D w) a pick."""
    recent = shown.tolist()
    positions: list[int] = []
    gains: list[float] = []
    while len(positions) < min(k, problem.n) and limits.available.any():
        last = np.array(recent[len(recent) - window :] if window else [], dtype=np.int64)
        step = problem.greedy(1, last, limits)
        if len(step.positions) == 0:
            break
        positions.append(int(step.positions[0]))
        gains.append(float(step.gains[0]))
        recent.append(positions[-1])
        limits = after_picks(limits, step.positions)
    return Picks(np.array(positions, dtype=np.int64), np.array(gains), None)
