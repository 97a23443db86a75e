r"""Greedy search under a budget: each item has a cost, and the costs of a set must not exceed the budget."""

from __future__ import annotations

import math
from typing import SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.inference._state import log_det, make_selection, require_likelihood
from diverset.inference.limits import as_costs
from diverset.inference.result import Selection
from diverset.numerics.linalg import EPS, squared_modulus
from diverset.numerics.validation import check_nonnegative

__all__ = ["map_budgeted"]

_RULES = ("probability", "log")


def _fits(spent: list[float], cost: float, budget: float) -> bool:
    """Whether the sum of the costs is at most the budget, by ``math.fsum`` and by ``np.sum`` in both directions."""
    together = [*spent, cost]
    return max(math.fsum(together), float(np.sum(together)), float(np.sum(together[::-1]))) <= budget


def map_budgeted(
    dpp: DPP, costs: ArrayLike, budget: SupportsFloat, *, rule: str = "probability", fill: bool = False
) -> Selection:
    r"""Pick items one at a time by gain per cost, among the items that still fit the budget.

    Parameters
    ----------
    dpp : DPP
        An L-ensemble: dense or from features, in which case L is not formed.
    costs : array_like of shape (n_items,)
        Positive cost of each item, in the order of ``dpp.items``.
    budget : float
        Largest total cost; at least 0.
    rule : {"probability", "log"}
        Rank by :math:`(\Pr(Y+i) - \Pr(Y))/c_i`, as Algorithm 6 of [KuleszaTaskar2012]_ does, or by
        :math:`(\log\Pr(Y+i) - \log\Pr(Y))/c_i`.
    fill : bool
        False: stop when no item that fits raises the probability, and return the best single item if it is more
        probable than the set. True: Algorithm 6 as printed, which continues until no item fits (here: no item with
        positive probability) and returns all picks.

    Returns
    -------
    Selection
        ``indices`` in pick order; the sum of their costs is at most the budget.

    Notes
    -----
    If :math:`\log\det L_Y` is monotone (no eigenvalue of L below 1), the ``"log"`` rule guarantees
    :math:`\log\det L_Y \ge \frac12 (1 - \frac1e) \max \log\det L_{Y'}` over the sets within the budget. Greedy by ratio
    alone can be arbitrarily bad; the comparison with the best single item gives the guarantee
    ([KrauseGuestrin2005]_). For other kernels, and for the ``"probability"`` rule, no approximation factor is known.
    The result is at least as probable as every single item and as the empty set.

    With r the pivot of the item given the picks, :math:`\Pr(Y+i) - \Pr(Y) = \Pr(Y)(r-1)`. The ratios computed are
    :math:`(r-1)/c` and :math:`\log(r)/c`, which do not underflow. O(nk^2) for k picks.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> dpp = dv.DPP(np.diag([9.0, 4.0, 4.0]))
    >>> map_budgeted(dpp, costs=[4.0, 1.0, 1.0], budget=4.0).indices
    array([1, 2])
    """
    require_likelihood(dpp, "map_budgeted")
    n = dpp.n_items
    cost = as_costs(costs, n)
    limit = check_nonnegative(budget, name="budget")
    if rule not in _RULES:
        raise DiversetError(f"rule is {rule!r}; choose one of {', '.join(_RULES)}")
    representation = dpp._representation
    everything = np.arange(n)
    diagonal = np.array(representation.likelihood_diagonal(), dtype=np.float64)
    residual = diagonal.copy()
    floor = 64.0 * n * EPS * diagonal
    available = cost <= limit
    coordinates: list[np.ndarray] = []
    picked: list[int] = []
    spent: list[float] = []
    while True:
        useful = available & (residual > (floor if fill else np.maximum(floor, 1.0)))
        if not useful.any():
            break
        pivots = np.where(useful, residual, 1.0)
        ratio = np.where(useful, (pivots - 1.0 if rule == "probability" else np.log(pivots)) / cost, -math.inf)
        best = int(ratio.argmax())
        available[best] = False
        if not _fits(spent, float(cost[best]), limit):
            continue
        column = representation.likelihood_block(everything, np.array([best]))[:, 0]
        for row in coordinates:
            column = column - row * row[best].conj()
        column = column / math.sqrt(residual[best])
        coordinates.append(column)
        residual = residual - squared_modulus(column)
        picked.append(best)
        spent.append(float(cost[best]))
    if not fill and n:
        alone = np.where(cost <= limit, diagonal, 0.0)
        single = int(alone.argmax())
        if alone[single] > 1.0 and math.log(alone[single]) > log_det(dpp, np.array(picked, dtype=np.int64)):
            picked = [single]
    return make_selection(dpp, picked, ordered=True)
