"""A selection problem: similarities, calibrated scores, limits, and the items already shown.

:func:`diverset.select`, ``selection_law`` and every baseline turn their arguments into a :class:`Problem`.
:class:`ShortLists` is a fast path for the common call: short lists of rows, compared by the cosine, without limits. One
compiled call calibrates the scores of many lists, computes norms and makes all picks, without holding the GIL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError
from diverset.inference import _greedy_loops, inputs
from diverset.inference.engine import Limits, Picks, read_limits
from diverset.inference.inputs import Items, as_column, as_positions, as_size, calibrated, check_scale, read_items
from diverset.inference.result import Selection, describe_places
from diverset.inference.rows import rounding, squared_norms
from diverset.inference.similarity import Rows, Similarity, SimilarityLike, read_similarity
from diverset.numerics._loops import places, standardize
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import as_number, is_blocked, is_sparse

if TYPE_CHECKING:
    from diverset.core import DPP

__all__ = ["Problem", "ShortLists", "check_dial", "is_short", "read_problem"]

#: Exponents of the weights of a k-DPP are clipped to this range, so that no kernel entry overflows or underflows.
_LARGEST_EXPONENT = 150.0
#: Lists of this length or more are not short: their picks are made in rounds, on all cores.
_LONGEST = 2_000
_PLAIN: dict[str, Any] = {"similarity": "cosine", "scale": "rank", "given": None, "exclude": None}
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class Problem:
    """A selection problem with all its arguments checked.

    `scores` are calibrated by the `scale`; an item without a score has 0 and cannot be picked. `quality` holds the
    scores before calibration (higher is better), or None. `given` items were shown already, and repel the picks.
    """

    similarity: Similarity
    k: int
    scores: FloatArray
    quality: FloatArray | None
    limits: Limits
    given: IntArray
    labels: Any
    scale: str | None
    _tops: dict[int, tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """Number of items, including the rows of ``given_features``, which come last."""
        return self.similarity.n

    def picks(self, dial: float, window: int | None = None) -> Picks:
        """Greedy picks, repelled by all the shown items and picks, or by the last `window` of them; O(n D w) each."""
        if window is None or dial == 0.0:
            return self.greedy(dial, self.k, self.given, self.limits)
        recent, limits, gains = self.given, self.limits, np.zeros(0)
        while len(gains) < min(self.k, self.n):
            step = self.greedy(dial, 1, recent[max(len(recent) - window, 0) :], limits)
            if len(step.positions) == 0:
                break
            recent, gains = np.append(recent, step.positions), np.append(gains, step.gains)
            limits = limits.after(step.positions)
        return Picks(recent[len(self.given) :], gains, None)

    def greedy(self, dial: float, k: int, given: IntArray, limits: Limits) -> Picks:
        """Up to k greedy picks, each of the largest gain given the picks before it; plain top-k at dial 0."""
        if dial == 0.0:
            return self._top(k, limits)
        if limits is self.limits and k == self.k and len(given) == 0 and self._short is not None:
            quick = self._short.picks(dial)
            if quick is not None:
                return quick
        bonus = (1.0 - dial) * self.scores
        if len(limits.costs) == 0:
            return self.similarity.greedy(k, bonus, dial, limits, given)
        prices = dial * np.log(limits.costs)
        picks = self.similarity.greedy(k, bonus - prices, dial, limits, given)
        return replace(picks, gains=picks.gains + prices[picks.positions])

    @cached_property
    def _short(self) -> ShortLists | None:
        """The input of the compiled fast path; None if there are limits or another form of similarity."""
        limits, form = self.limits, self.similarity
        limited = len(self.given) or len(limits.costs) or len(limits.groups) or not limits.available.all()
        if limited or not isinstance(form, Rows) or not form.is_cosine or form.lone is not None:
            return None
        return ShortLists([form.X], [self.scores], self.k, None) if is_short(form.X) else None

    def _top(self, k: int, limits: Limits) -> Picks:
        left, chosen = limits.after(), list[int]()
        for i in np.argsort(-self.scores, kind="stable").tolist():
            if len(chosen) == k:
                break
            if left.available[i]:
                left.take(i)
                chosen.append(i)
        positions = np.array(chosen, dtype=np.int64)
        return Picks(positions, self.scores[positions], None)

    def exchange(self, dial: float, picks: Picks, share: float, width: float) -> Picks | None:
        """Exchange one pick, with the largest volume, so that from `share` to ``share + width`` of quality is kept.

        At most ``max(64, 4 k)`` items are tried, evenly spaced among those with a suitable score. The result is None if
        there is no such set, or if there are group caps or costs.
        """
        Y, quality, limits = picks.positions, self.quality, self.limits
        limited = len(limits.groups) or len(limits.costs) or not self.similarity.has_columns
        if quality is None or limited or len(Y) == 0:
            return None
        k = len(Y)
        mean, top = self._mean_and_top(k)
        least = quality[Y] - (quality[Y].sum() - k * mean - share * k * top)  # quality needed to replace each
        most = least + width * k * top
        outside = limits.available & (quality >= least.min()) & (quality <= most.max())
        outside[Y] = False
        others = np.flatnonzero(outside)
        others = others[:: -(-len(others) // max(64, 4 * k)) or 1]
        allowed = (quality[others, None] >= least) & (quality[others, None] <= most)
        base = np.concatenate([Y, self.given])
        if not allowed.any() or not self.similarity.pivots(base).all():
            return None
        S = self.similarity.among(np.concatenate([base, others]))
        P, C = np.linalg.inv(S[: len(base), : len(base)]), S[len(base) :, : len(base)]
        T = C @ P
        residual = np.maximum(np.diagonal(S)[len(base) :] - np.einsum("ij,ij->i", T, C), 0.0)
        # Factors by which replacing a (column) by j (row) multiplies the determinant.
        ratios = np.diagonal(P)[:k] * residual[:, None] + T[:, :k] ** 2
        j, a = divmod(int(np.where(allowed, ratios, -math.inf).argmax()), k)
        positions = np.where(np.arange(k) == a, others[j], Y)
        return Picks(positions, self._gains_in_order(dial, positions), None)

    def dpp(self, dial: float) -> DPP:
        """The DPP of the same objective over the available items, conditioned on the items already shown."""
        exponent = 0.5 * (1.0 - dial) / dial * self.scores
        open_ = np.flatnonzero(self.limits.available)
        if len(open_):
            # A common factor of the weights does not change a k-DPP. The k-th best score gets weight 1.
            k = min(max(self.k, 1), len(open_))
            exponent = exponent - np.partition(exponent[open_], len(open_) - k)[len(open_) - k]
        weights = np.exp(np.clip(exponent, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
        closed = ~self.limits.available
        closed[self.given] = False
        return self.similarity.dpp(weights).condition(include=self.given, exclude=np.flatnonzero(closed))

    def whole(self, method: str, dial: float, rng: RNGLike) -> Selection:
        """Selection by a method that optimises or draws whole sets, from the DPP of the same objective."""
        dpp = self.dpp(dial)
        size = min(self.k, dpp.rank)
        bound = None
        if method == "sample":
            positions = np.asarray(dpp.of_size(size).sample(rng=rng), dtype=np.int64)
        else:
            from diverset.inference.exact import map_exact
            from diverset.inference.local_search import map_local_search

            found = map_exact(dpp, size) if method == "exact" else map_local_search(dpp, size)
            positions = np.asarray(found.indices, dtype=np.int64)
            if found.upper_bound is not None:
                bound = dial * (found.upper_bound - found.objective)  # the gap, in units of the objective
        gains, made = self._gains_in_order(dial, positions), len(positions)
        if made < min(self.k, int(self.limits.available.sum())):
            given = np.union1d(self.given, positions)
            more = self.greedy(dial, self.k - made, given, self.limits.after(positions))
            positions, gains = np.append(positions, more.positions), np.append(gains, more.gains)
            return self.selection(dial, Picks(positions, gains, made))
        bound = None if bound is None else float(gains.sum()) + bound
        return self.selection(dial, Picks(positions, gains, None), bound=bound)

    def _gains_in_order(self, dial: float, positions: IntArray) -> FloatArray:
        """Gain in the objective from each item, given the shown items and the items before it."""
        with np.errstate(divide="ignore"):
            volumes = np.log(self.similarity.pivots(np.concatenate([self.given, positions]))[len(self.given) :])
        # Past the rank a volume is -inf, which a dial of 0 does not count.
        return (1.0 - dial) * self.scores[positions] + (dial * volumes if dial else 0.0)

    def selection(
        self, dial: float, picks: Picks, *, bound: float | None = None, notes: tuple[str, ...] = ()
    ) -> Selection:
        """The `Selection` for these picks, with its numbers and notes."""
        positions = picks.positions
        return Selection(
            indices=positions,
            gains=picks.gains,
            log_det=self.similarity.log_det(positions) if picks.log_det is None else picks.log_det,
            objective=float(picks.gains.sum()),
            upper_bound=bound,
            rank_spent=picks.rank_spent,
            labels=None if self.labels is None else self.labels[positions],
            diversity=dial,
            scale=None if self.quality is None else self.scale,
            notes=notes + self._remarks(dial, positions),
            _facts=lambda: self,
        )

    def _remarks(self, dial: float, positions: IntArray) -> tuple[str, ...]:
        found: tuple[str, ...] = ()
        if self.quality is not None and dial > 0.0 and len(positions):
            scores = np.where(self.limits.available, self.scores, -math.inf)
            better, above_all = places(scores, positions)
            found = describe_places(len(positions), int(self.limits.available.sum()), better, above_all, dial)
        if (lone := self.similarity.lone) is not None:
            first, count = int(lone.argmax()), int(lone.sum())
            which = f"item {first} has" if count == 1 else f"{count} items, item {first} the first, have"
            found += (f"{which} a vector of zeros, which has no direction: it counts as unlike every other",)
        return found

    def best(self, k: int) -> IntArray:
        """The k available items of best quality."""
        items = np.flatnonzero(self.limits.available)
        return items[np.argsort(-self.scores[items], kind="stable")[:k]]

    def kept(self, positions: IntArray) -> float | None:
        """Share of quality kept: 0 at the mean of all candidates, 1 at that of the best k; None without scores."""
        if self.quality is None or len(positions) == 0:
            return None
        mean, top = self._mean_and_top(len(positions))
        return 1.0 if top <= 0.0 else (float(np.sort(self.quality[positions]).mean()) - mean) / top

    def _mean_and_top(self, k: int) -> tuple[float, float]:
        """Mean quality of the candidates, and the difference between the mean of the best k and this mean."""
        assert self.quality is not None
        if k not in self._tops:
            candidates = self.quality[self.limits.available]
            mean, start = float(candidates.mean()), len(candidates) - k
            self._tops[k] = (mean, float(np.sort(np.partition(candidates, start)[start:]).mean()) - mean)
        return self._tops[k]

    def redundancy(self, positions: IntArray) -> float:
        """Mean similarity of an item to its nearest neighbour in the set; 0 for fewer than two items."""
        if len(positions) < 2:
            return 0.0
        S = self.similarity.among(positions)
        root = np.sqrt(np.maximum(np.diagonal(S), np.finfo(np.float64).tiny))
        S = S / root[:, None] / root
        np.fill_diagonal(S, -math.inf)
        return float(np.clip(S.max(axis=1), 0.0, 1.0).mean())


def check_dial(diversity: Any) -> float:
    """Check that the dial is a number between 0 and 1."""
    try:
        dial = float(diversity)
    except (TypeError, ValueError):
        dial = math.nan
    if not 0.0 <= dial <= 1.0:
        raise DiversetError(f"diversity is {diversity!r}; it lies between 0 (plain top-k) and 1 (diversity only)")
    return dial


def read_problem(
    features: Any,
    k: Any,
    *,
    quality: Any,
    similarity: SimilarityLike,
    scale: Any,
    given: Any,
    exclude: Any,
    given_features: Any = None,
    query: Any = None,
    lower_is_better: bool = False,
    zero_vectors: str = "unlike",
    costs: Any = None,
    budget: Any = None,
    min_quality: Any = None,
    groups: Any = None,
    per_group: Any = None,
) -> Problem:
    """Check all arguments of a selection; :func:`diverset.select` explains them."""
    scale = check_scale(scale)
    form: Similarity
    items: Items | None = None
    if is_blocked(features):
        from diverset.distributed.greedy import BlockRows

        for name, value in (("given_features", given_features), ("query", query)):
            if value is not None:
                raise DiversetError(
                    f"{name} needs features in memory, and they are a dask array; pass features.compute()"
                )
        form = BlockRows(features, similarity)
        n, labels = form.n, None
        quality, costs, groups = (
            np.asarray(column.compute()) if is_blocked(column) else column for column in (quality, costs, groups)
        )
    else:
        items = read_items(features)
        n, labels = items.n, items.labels
    raw = None
    if quality is not None:
        raw = as_column(quality, n, name="quality", labels=labels, infinite=not lower_is_better)
        raw = -raw if lower_is_better else raw
    if items is not None:
        if query is not None:
            if raw is not None:
                raise DiversetError("quality and query are both given; the cosine to the query is a quality: give one")
            raw = _cosines(items.features, as_column(query, items.features.shape[1], name="query"))
        form = read_similarity(_with_given(items, given_features, similarity), similarity)
    if zero_vectors not in ("unlike", "raise"):
        raise DiversetError(f'zero_vectors is {zero_vectors!r}; choose "unlike" or "raise"')
    if zero_vectors == "raise" and form.lone is not None:
        raise KernelError(
            f"features[{int(form.lone.argmax())}] is all zeros, and a zero vector has no direction; leave the item "
            'out, or pass zero_vectors="unlike"'
        )
    wanted = as_size(k, n)
    available: BoolArray = np.ones(n, dtype=bool)
    shown = as_positions(given, n, name="given", labels=labels)
    if len(shown):
        available[shown] = False
    if exclude is not None:
        available[as_positions(exclude, n, name="exclude", labels=labels)] = False
    if raw is None:
        if min_quality is not None:
            raise DiversetError("min_quality is given without quality; pass the scores it refers to")
        scores = np.zeros(n)
    else:
        scores = calibrated(raw, scale)
        if n and scores.min() == -math.inf:
            known = scores > -math.inf
            available &= known
            scores = np.where(known, scores, 0.0)
        if min_quality is not None:
            least = as_number(min_quality, name="min_quality")
            available &= raw >= (-least if lower_is_better else least)
    limits = read_limits(available, costs, budget, groups, per_group, labels=labels)
    if form.n > n:
        # The rows of `given_features` come after the items and cannot be picked.
        more = (0, form.n - n)
        shown = np.concatenate([shown, np.arange(n, form.n)])
        scores, raw = np.pad(scores, more), None if raw is None else np.pad(raw, more)
        groups = np.pad(limits.groups, more) if len(limits.groups) else limits.groups
        prices = np.pad(limits.costs, more, constant_values=1.0) if len(limits.costs) else limits.costs
        limits = replace(limits, available=np.pad(limits.available, more), groups=groups, costs=prices)
    return Problem(form, wanted, scores, raw, limits, shown, labels, scale)


def _with_given(items: Items, given_features: Any, similarity: SimilarityLike) -> Items:
    """The items, followed by the rows of `given_features`."""
    if given_features is None:
        return items
    if similarity == "precomputed":
        raise DiversetError(
            'given_features needs rows of features; with similarity="precomputed", put the shown items into the matrix '
            "and name them with given"
        )
    shown = read_items(given_features, name="given_features").features
    X = items.features
    if shown.shape[1] != X.shape[1]:
        raise DiversetError(f"given_features has {shown.shape[1]} columns and features has {X.shape[1]}; use one model")
    if is_sparse(X) or is_sparse(shown):
        import scipy.sparse

        return Items(scipy.sparse.vstack([X, shown], format="csr"))
    return Items(np.vstack([X, shown.astype(X.dtype, copy=False)]))


def _cosines(features: Any, query: FloatArray) -> FloatArray:
    """Cosine of each row to the query; 0 for a row of zeros."""
    if not query.any():
        raise DiversetError("query is all zeros, and a zero vector has no direction; give another")
    products = np.asarray(features @ (query / np.linalg.norm(query)).astype(features.dtype), dtype=np.float64)
    norms = np.sqrt(squared_norms(features))
    return np.divide(products, norms, out=np.zeros(len(norms)), where=norms > 0.0)


def is_short(features: Any) -> bool:
    """Whether the compiled loops accept this array without conversion, and it has few rows."""
    return (
        type(features) is np.ndarray
        and features.ndim == 2
        and 0 < len(features) < _LONGEST
        and features.shape[1] > 0
        and features.dtype in _DTYPES
        and features.flags.c_contiguous
    )


class ShortLists:
    """Short arrays (:func:`is_short`) of one width and precision, with calibrated scores, for picks at any dial."""

    def __init__(self, lists: Sequence[Array], quality: Sequence[Any] | None, k: Any, scale: str | None) -> None:
        m, n, D, dtype = len(lists), max(map(len, lists)), lists[0].shape[1], lists[0].dtype
        raw = np.full((m, n), -math.inf)
        for i, X in enumerate(lists):
            raw[i, : len(X)] = 0.0 if quality is None else _read(quality[i], len(X))
        self._lists, self._scale, self._wanted = lists, scale, [min(as_size(k, len(X)), len(X)) for X in lists]
        self._quality = None if quality is None else raw
        self._order = raw.argsort(axis=1)
        self._scores = raw if quality is None or scale is None else raw.copy()
        if quality is not None and scale == "rank":
            _greedy_loops.rank_scores(self._scores, self._order, _rank_scores(n))
        elif quality is not None and scale is not None:
            for given, row, X in zip(raw, self._scores, lists, strict=True):
                standardize(given[: len(X)], row[: len(X)])
        self._usable = raw.max(axis=1) < math.inf  # also false for nan
        self._asked = np.where(self._usable, np.minimum(self._wanted, D), 0)
        self._loops = _greedy_loops.Batch(
            n, D, max(1, min(max(self._wanted), D)), dtype, rounding(D, dtype), 64.0 * D * EPS
        )

    def _pick(self, dial: float) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """Picks, gains, facts and sums, filled in by the compiled loops."""
        m, most = len(self._lists), max(self._wanted)
        positions, gains = np.empty((m, most), dtype=np.int64), np.empty((m, most))
        out = (positions, gains, np.zeros((m, 4), dtype=np.int64), np.zeros((m, 2)))
        self._loops.pick(self._lists, self._scores, self._order, dial, self._asked, *out)
        return out

    def picks(self, dial: float) -> Picks | None:
        """Picks from the first list; None if the fast path cannot make them all."""
        positions, gains, facts, sums = self._pick(dial)
        return Picks(positions[0], gains[0], None, float(sums[0, 0])) if facts[0, 0] == self._wanted[0] else None

    def selections(self, dial: float) -> list[Selection | None]:
        """Picks from each list; None for a list that the fast path cannot handle."""
        positions, gains, facts, sums = self._pick(dial)
        found: list[Selection | None] = []
        for i, (made, candidates, better, above_all) in enumerate(facts.tolist()):
            if made < self._wanted[i] or not self._usable[i]:
                found.append(None)
                continue
            X = self._lists[i]
            own = None if self._quality is None else self._quality[i, : len(X)]
            log_det, total = sums[i].tolist()
            found.append(
                Selection.of(
                    indices=positions[i, :made],
                    gains=gains[i, :made],
                    log_det=log_det,
                    objective=total,
                    diversity=dial,
                    scale=None if own is None else self._scale,
                    notes=() if own is None else describe_places(made, candidates, better, above_all, dial),
                    _facts=partial(read_problem, X, 0, quality=own, **_PLAIN),
                )
            )
        return found


def _read(values: Any, n: int) -> Any:
    """Scores of n items, or nan if they are invalid, so that the general path raises the error."""
    if type(values) is np.ndarray and values.shape == (n,) and values.dtype == np.float64:
        return values
    try:
        return as_column(values, n, name="quality", infinite=True)
    except DiversetError:
        return math.nan


@lru_cache(maxsize=4)
def _rank_scores(n: int) -> FloatArray:
    """Entry 2r is the calibrated score of rank r, where r is a rank of n items or the mean of two ranks."""
    ranks = np.arange(2 * n + 1) / 2.0
    ranks[:2] = 1.0  # there is no rank below 1
    scores: FloatArray = -inputs.RANK_COST * np.log2(ranks)
    scores.flags.writeable = False
    return scores
