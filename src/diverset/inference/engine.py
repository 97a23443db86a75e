"""Limits on the picks, the result type of greedy selection, and greedy selection under a dense kernel.

Each pick maximises ``bonus[i] + weight * log(residual)``, where the residual is the factor by which item i multiplies
the squared volume of the set. Each item has a row of Cholesky coordinates, of which only the entries needed so far are
computed: O(nk^2) work at worst, and n x k numbers. Rows of features need no kernel (:mod:`diverset.inference.rows`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.inference import _greedy_loops
from diverset.inference.inputs import NO_ITEMS, as_column, as_groups
from diverset.numerics.linalg import EPS, routine
from diverset.numerics.validation import check_positive, check_size

__all__ = ["Limits", "Picks", "as_costs", "greedy_dense", "independent_items", "read_limits"]

#: Largest number of multiply-adds in one compiled call; Ctrl-C takes effect between calls.
_CALL = 2e9
_NO_COSTS = np.zeros(0)
_NO_COSTS.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Picks:
    """Positions in pick order and the gain of each.

    ``rank_spent`` is the number of picks after which every remaining item depended on them; None if there was no such
    point. ``log_det`` of the similarity over the picks is set if greedy selection computed it anyway.
    """

    positions: IntArray
    gains: FloatArray
    rank_spent: int | None
    log_det: float | None = None


@dataclass(eq=False)
class Limits:
    """Constraints on the picks; an empty array means that there is no such constraint.

    The number of picks from a group is at most its entry of `caps`. The sum of the `costs` of the picks is at most
    `budget`. The gain of every pick is above `stop`.
    """

    available: BoolArray
    groups: IntArray = field(default_factory=lambda: NO_ITEMS)
    caps: IntArray = field(default_factory=lambda: NO_ITEMS)
    costs: FloatArray = field(default_factory=lambda: _NO_COSTS)
    budget: float = math.inf
    stop: float = -math.inf

    def after(self, picks: IntArray = NO_ITEMS) -> Limits:
        """A copy: the limits that remain after these items have been picked."""
        affordable = self.costs <= self.budget if len(self.costs) else True
        left = replace(self, available=self.available & affordable, caps=self.caps.copy())
        for i in picks.tolist():
            left.take(i)
        return left

    def take(self, i: int) -> None:
        """Pick item i, and close the items that no longer fit; the compiled engines have the same in ``_State``."""
        self.available[i] = False
        if len(self.groups):
            group = self.groups[i]
            self.caps[group] -= 1
            if self.caps[group] == 0:
                self.available[self.groups == group] = False
        if len(self.costs):
            self.budget -= float(self.costs[i])
            self.available[self.costs > self.budget] = False


def as_costs(costs: Any, n: int, *, labels: Any = None) -> FloatArray:
    """One positive cost per item."""
    prices = as_column(costs, n, name="costs", labels=labels)
    if n and prices.min() <= 0.0:
        i = int(prices.argmin())
        raise DiversetError(f"costs[{i}] is {prices[i]:.6g}; costs must be positive")
    return prices


def read_limits(
    available: BoolArray, costs: Any, budget: Any, groups: Any, per_group: Any, *, labels: Any = None
) -> Limits:
    """Check the arguments `costs`, `budget`, `groups` and `per_group` of :func:`diverset.select`."""
    limits = Limits(available)
    n = len(available)
    if (costs is None) != (budget is None):
        raise DiversetError("costs and budget go together; give both or neither")
    if (groups is None) != (per_group is None):
        raise DiversetError("groups and per_group go together; give both or neither")
    if costs is not None:
        limits.costs, limits.budget = as_costs(costs, n, labels=labels), check_positive(budget, name="budget")
    if groups is not None:
        limits.groups, cap = as_groups(groups, n, labels=labels), check_size(per_group, name="per_group")
        if cap == 0:
            raise DiversetError("per_group is 0, so nothing could be picked; give at least 1")
        limits.caps = np.full(limits.groups.max(initial=-1) + 1, cap, dtype=np.int64)
    return limits


def independent_items(L: Array, items: IntArray) -> tuple[IntArray, Array]:
    """A largest independent subset of the items, by pivoted Cholesky, and the factor of its correlations."""
    root = np.sqrt(np.maximum(np.diagonal(L).real[items], 0.0))
    items, root = items[root > 0.0], root[root > 0.0, None]
    block = L[np.ix_(items, items)] / root / root.T
    if len(items) == 0:
        return items, block
    R, order, rank, _ = routine("pstrf", block)(block, lower=1, tol=64.0 * len(L) * EPS)
    return items[order[:rank] - 1], np.tril(R[:rank, :rank])


def greedy_dense(
    L: Array, k: int, *, bonus: FloatArray, weight: float, limits: Limits, given: IntArray = NO_ITEMS
) -> Picks:
    """Picks of `greedy_rows` under a positive semidefinite matrix, up to its rank; `given` are positions."""
    n = len(L)
    L = L.astype(np.complex128 if L.dtype.kind == "c" else np.float64, copy=False)
    given = independent_items(L, given)[0]
    diagonal = np.ascontiguousarray(np.diagonal(L).real)
    width = min(n, k + len(given))
    with np.errstate(divide="ignore"):
        keys = bonus + weight * np.log(diagonal)
    keys[~limits.available] = -math.inf
    state = _greedy_loops.DenseState(
        L, diagonal, width,
        (keys, bonus, weight, 64.0 * n * EPS, limits.groups, limits.caps.copy(), limits.costs, limits.budget),
    )  # fmt: skip
    state.give(given)
    picks, gains = np.empty(k, dtype=np.int64), np.empty(k)
    made = 0
    while made < k:
        ask = min(k - made, max(1, int(_CALL / (n * max(state.t, 16) ** 2 + 1))), width - state.t)
        if ask <= 0:
            break
        got = state.pick(ask, limits.stop, picks[made:], gains[made:])
        made += got
        if got < ask:
            break
    return Picks(picks[:made].copy(), gains[:made].copy(), made if made < k else None)
