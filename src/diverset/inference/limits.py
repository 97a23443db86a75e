"""Constraints on the picks: available items, caps per group, costs and a budget.

:class:`Limits` holds the constraints and is immutable. :class:`Room` tracks what the picks use up, for the engines
written in Python; the compiled engines do the same in ``_State`` of ``_greedy_loops.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.inference.inputs import as_column, as_groups
from diverset.numerics.validation import check_positive, check_size

__all__ = ["Limits", "Room", "as_costs", "read_limits"]

_NO_ITEMS = np.zeros(0, dtype=np.int64)
_NO_COSTS = np.zeros(0)
for _empty in (_NO_ITEMS, _NO_COSTS):
    _empty.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Limits:
    """Constraints on the picks; an empty array means that there is no such constraint.

    The number of picks from a group is at most its entry of `caps`. The sum of the `costs` of the picks is at most
    `budget`. The gain of every pick is above `stop`.
    """

    available: BoolArray
    groups: IntArray = field(default_factory=lambda: _NO_ITEMS)
    caps: IntArray = field(default_factory=lambda: _NO_ITEMS)
    costs: FloatArray = field(default_factory=lambda: _NO_COSTS)
    budget: float = math.inf
    stop: float = -math.inf

    def after(self, picks: IntArray) -> Limits:
        """The limits that remain after these items have been picked."""
        room = Room(self)
        for i in picks.tolist():
            room.take(i)
        return replace(self, available=room.open, caps=room.caps, budget=room.left)


class Room:
    """The items still `open` to be picked, the remaining `caps` of the groups, and the budget `left`."""

    def __init__(self, limits: Limits) -> None:
        self._groups, self._costs = limits.groups, limits.costs
        self.caps, self.left = limits.caps.copy(), limits.budget
        self.open = limits.available.copy()
        if len(self._costs):
            self.open &= self._costs <= self.left

    def take(self, i: int) -> None:
        """Pick item i, and close the items that no longer fit."""
        self.open[i] = False
        if len(self._groups):
            group = self._groups[i]
            self.caps[group] -= 1
            if self.caps[group] == 0:
                self.open[self._groups == group] = False
        if len(self._costs):
            self.left -= float(self._costs[i])
            self.open[self._costs > self.left] = False


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
        limits = replace(limits, costs=as_costs(costs, n, labels=labels), budget=check_positive(budget, name="budget"))
    if groups is not None:
        numbers = as_groups(groups, n, labels=labels)
        cap = check_size(per_group, name="per_group")
        if cap == 0:
            raise DiversetError("per_group is 0, so nothing could be picked; give at least 1")
        limits = replace(limits, groups=numbers, caps=np.full(numbers.max(initial=-1) + 1, cap, dtype=np.int64))
    return limits
