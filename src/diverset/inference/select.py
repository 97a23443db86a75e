r"""The front door: ten good, different things out of a thousand, with one dial."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from diverset import kernels
from diverset._typing import Array, BoolArray, FloatArray, IntArray, RNGLike
from diverset.core import DPP, KDPP
from diverset.errors import DiversetError, KernelError
from diverset.inference.engine import Limits, Picks, greedy_dense
from diverset.inference.inputs import Items, as_column, as_groups, read_items
from diverset.inference.result import Selection
from diverset.inference.rows import greedy_rows, squared_norms
from diverset.inference.sparse import dense_rows, greedy_sparse, squared_norms_sparse
from diverset.kernels._arrays import as_features
from diverset.numerics.linalg import EPS, log_det_gram, log_det_psd
from diverset.numerics.validation import (
    as_hermitian,
    check_fits_in_memory,
    check_positive,
    check_positive_semidefinite,
    check_size,
    find_positions,
    is_blocked,
    is_sparse,
)

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
    problem = _Problem(items, similarity, quality, dial)
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
    problem = _Problem(read_items(features), similarity, quality, dial)
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
    problem: _Problem,
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


class _Problem:
    """Similarity and quality, read once; knows how to score and pick."""

    def __init__(self, items: Items, similarity: str | Callable[..., Any], quality: Any, dial: float) -> None:
        self.items = items
        self.n = items.n
        self.dial = dial
        self.plain = quality is None
        self.quality = (
            np.zeros(self.n) if quality is None else as_column(quality, self.n, name="quality", labels=items.labels)
        )
        self.rows: Array | None = None  # features of a linear kernel,
        self.sparse_rows: Any = None  # or a CSR matrix of them,
        self.kernel: Array | None = None  # or the kernel itself
        if similarity in ("cosine", "dot"):
            self._read_rows(similarity == "cosine")
        else:
            self._read_kernel(similarity)

    def _read_rows(self, cosine: bool) -> None:
        rows = self.items.features
        if is_sparse(rows):
            rows = as_features(rows, name="features", allow_sparse=True)
        elif not isinstance(rows, np.memmap) and not rows.flags.c_contiguous:
            rows = np.ascontiguousarray(rows)
        norms = _row_norms(rows)
        if cosine and not norms.all():
            i = int(norms.argmin())
            raise KernelError(
                f"features[{i}] is all zeros, and a zero vector has no direction; leave the item out, or use "
                'similarity="dot" or "rbf"'
            )
        if is_sparse(rows):
            self.sparse_rows = rows
        else:
            self.rows = rows
        self.factor = 1.0 / norms if cosine else np.ones(self.n)
        # Unit vectors have norm 1 exactly, so that equal items tie exactly.
        self.scale = np.ones(self.n) if cosine else norms

    def _read_kernel(self, similarity: str | Callable[..., Any]) -> None:
        X = self.items.features
        check_fits_in_memory(24 * self.n**2, what=f"the similarity of {self.n} items")
        if similarity == "precomputed":
            S = as_hermitian(X, name="features")
        elif callable(similarity):
            S = as_hermitian(similarity(X), name="similarity(features)")
        elif similarity == "rbf":
            S = kernels.rbf(X.toarray() if is_sparse(X) else X) if self.n > 1 else np.ones((self.n, self.n))
        else:
            raise DiversetError(
                f"similarity is {similarity!r}; choose cosine, rbf, dot, precomputed, or pass a function"
            )
        if len(S) != self.n:
            raise KernelError(f"similarity(features) has shape {S.shape} for {self.n} items; it must be square")
        if similarity == "precomputed" or callable(similarity):
            check_positive_semidefinite(
                S,
                name="similarity",
                given=X,
                remedy="a similarity must be positive semidefinite (diverset.kernels.nearest_psd repairs one)",
            )
        self.kernel = S

    @property
    def bonus(self) -> FloatArray:
        """What each item earns for itself."""
        return (1.0 - self.dial) * self.quality

    def greedy(self, k: int, shown: IntArray, limits: Limits) -> Picks:
        if self.dial == 0.0:
            return self._top(k, limits)
        bonus = self.bonus
        if len(limits.costs):
            bonus -= self.dial * np.log(limits.costs)
        if self.rows is not None:
            given = np.sqrt(self.factor[shown])[:, None] * self.rows[shown].astype(np.float64) if len(shown) else None
            picks = greedy_rows(
                self.rows,
                min(k, self.n),
                scale=self.scale,
                factor=self.factor,
                bonus=bonus,
                weight=self.dial,
                limits=limits,
                given=given,
            )
        elif self.sparse_rows is not None:
            picks = greedy_sparse(
                self.sparse_rows,
                k,
                scale=self.scale,
                factor=self.factor,
                bonus=bonus,
                weight=self.dial,
                limits=limits,
                given=shown,
            )
        else:
            assert self.kernel is not None
            picks = self._greedy_kernel(min(k, self.n), shown, limits, bonus)
        if len(limits.costs):
            gains = picks.gains + self.dial * np.log(limits.costs[picks.positions])
            picks = replace(picks, gains=gains)
        return picks

    def _greedy_kernel(self, k: int, shown: IntArray, limits: Limits, bonus: FloatArray) -> Picks:
        assert self.kernel is not None
        picks = greedy_dense(self.kernel, k, bonus=bonus, weight=self.dial, limits=limits, given=shown)
        if len(picks.positions) == k or picks.rank_spent is None:
            return picks
        # Past the rank: eigenvectors give features of the kernel, and the row engine goes on from the picks so far.
        done = picks.positions
        lam, V = np.linalg.eigh(self.kernel)
        rows = np.ascontiguousarray((V * np.sqrt(np.maximum(lam, 0.0)))[:, lam > self.n * EPS * max(lam[-1], 0.0)])
        more = greedy_rows(
            rows,
            k - len(done),
            scale=np.einsum("ij,ij->i", rows, rows),
            factor=np.ones(self.n),
            bonus=bonus,
            weight=self.dial,
            limits=_after(limits, done),
            given=rows[np.concatenate([shown, done])],
        )
        # Nothing more: the caps or the budget were spent, and not the rank.
        spent = picks.rank_spent if len(more.positions) else None
        return Picks(np.concatenate([done, more.positions]), np.concatenate([picks.gains, more.gains]), spent)

    def _top(self, k: int, limits: Limits) -> Picks:
        order = np.argsort(-self.quality, kind="stable")
        chosen: list[int] = []
        caps, left = limits.caps.copy(), limits.budget
        for i in order:
            if len(chosen) == k:
                break
            if not limits.available[i]:
                continue
            if len(limits.costs) and limits.costs[i] > left:
                continue
            if len(caps):
                if caps[limits.groups[i]] == 0:
                    continue
                caps[limits.groups[i]] -= 1
            left -= limits.costs[i] if len(limits.costs) else 0.0
            chosen.append(int(i))
        positions = np.array(chosen, dtype=np.int64)
        return Picks(positions, self.quality[positions], None)

    def log_det(self, positions: IntArray) -> float:
        """Log-determinant of the similarity over the positions."""
        if self.kernel is None:
            if self.rows is not None:
                B = np.sqrt(self.factor[positions])[:, None] * self.rows[positions].astype(np.float64)
            else:
                B = dense_rows(self.sparse_rows, self.factor, positions)
            return log_det_gram(B, EPS * np.sqrt(np.einsum("ij,ij->i", B, B)))
        S = self.kernel[np.ix_(positions, positions)]
        return log_det_psd(S, EPS * np.diagonal(S).real)

    def selection(
        self,
        positions: IntArray,
        gains: FloatArray,
        spent: int | None,
        *,
        log_det: float | None = None,
        upper_bound: float | None = None,
    ) -> Selection:
        log_det = self.log_det(positions) if log_det is None else log_det
        objective = (1.0 - self.dial) * float(self.quality[positions].sum())
        if self.dial > 0.0:
            objective += self.dial * log_det
        labels = None if self.items.labels is None else self.items.labels[positions]
        return Selection(
            indices=positions,
            gains=gains,
            log_det=log_det,
            objective=objective,
            rank_spent=spent,
            labels=labels,
            upper_bound=upper_bound,
        )

    def dpp(self, shown: IntArray, limits: Limits) -> DPP:
        """The DPP of the same objective, over what can be picked beside the items already shown."""
        w = (1.0 - self.dial) / self.dial
        # A common factor changes no k-DPP; without it the exponential could overflow.
        q = np.exp(0.5 * w * (self.quality - self.quality.max(initial=0.0)))
        if self.rows is not None:
            dpp = DPP.from_features(self.rows, quality=q * np.sqrt(self.factor))
        elif self.sparse_rows is not None:
            # These methods need the whole kernel anyway, and words of texts are more than the texts.
            S = kernels.dot(self.sparse_rows.multiply(np.sqrt(self.factor)[:, None]).tocsr())
            np.fill_diagonal(S, self.scale)
            dpp = DPP.from_quality_diversity(q, S)
        else:
            assert self.kernel is not None
            dpp = DPP.from_quality_diversity(q, self.kernel)
        closed = np.flatnonzero(~limits.available & ~np.isin(np.arange(self.n), shown))
        return dpp.condition(include=shown, exclude=closed)

    def whole(self, method: str, k: int, shown: IntArray, limits: Limits, rng: RNGLike) -> Selection:
        """Methods that look at sets, through the DPP of the same objective."""
        dpp = self.dpp(shown, limits)
        size = min(k, dpp.rank)
        if method == "sample":
            found = Selection(dpp.of_size(size).sample(rng=rng), np.zeros(size), 0.0, 0.0)
        elif method == "exact":
            from diverset.inference.exact import map_exact

            found = map_exact(dpp, size)
        else:
            from diverset.inference.local_search import map_local_search

            found = map_local_search(dpp, size)
        positions = np.asarray(found.indices, dtype=np.int64)
        gains = self._gains_in_order(positions, shown)
        bound = None
        if found.upper_bound is not None:
            bound = self.dial * found.upper_bound + (1.0 - self.dial) * size * float(self.quality.max(initial=0.0))
        if len(positions) < min(k, int(limits.available.sum())):
            rest = limits.available.copy()
            rest[positions] = False
            more = self.greedy(k - len(positions), np.union1d(shown, positions), replace(limits, available=rest))
            spent = len(positions)
            positions = np.concatenate([positions, more.positions])
            return self.selection(positions, np.concatenate([gains, more.gains]), spent)
        return self.selection(positions, gains, None, upper_bound=bound)

    def _gains_in_order(self, positions: IntArray, shown: IntArray) -> FloatArray:
        """What each item adds to those before it."""
        before = self.log_det(shown) if len(shown) else 0.0
        gains = np.empty(len(positions))
        for t in range(len(positions)):
            after = self.log_det(np.concatenate([shown, positions[: t + 1]]))
            gains[t] = self.bonus[positions[t]] + self.dial * (after - before)
            before = after
        return gains


def _after(limits: Limits, picks: IntArray) -> Limits:
    """What the limits leave once these have been picked."""
    available = limits.available.copy()
    available[picks] = False
    caps, budget = limits.caps, limits.budget
    if len(caps):
        caps = caps - np.bincount(limits.groups[picks], minlength=len(caps))
        available &= caps[limits.groups] > 0
    if len(limits.costs):
        budget = budget - float(limits.costs[picks].sum())
    return replace(limits, available=available, caps=caps, budget=budget)


def _row_norms(rows: Any) -> FloatArray:
    """Squared norms in double precision; refuses what is not finite, naming it."""
    if is_sparse(rows):
        with np.errstate(over="ignore", invalid="ignore"):
            norms = squared_norms_sparse(rows)
    else:
        norms = squared_norms(rows)
    if not np.isfinite(norms).all():
        i = int(np.flatnonzero(~np.isfinite(norms))[0])
        if not is_sparse(rows) and not np.isfinite(rows[i]).all():  # sparse entries were looked at when read
            j = int(np.flatnonzero(~np.isfinite(rows[i]))[0])
            raise KernelError(f"features[{i}, {j}] is {rows[i, j]}; every entry must be finite")
        raise KernelError(f"features[{i}] has a norm beyond the range of floats; divide the features by a constant")
    return norms


def _windowed(problem: _Problem, k: int, shown: IntArray, limits: Limits, window: int) -> Picks:
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
        limits = _after(limits, step.positions)
    return Picks(np.array(positions, dtype=np.int64), np.array(gains), None)
