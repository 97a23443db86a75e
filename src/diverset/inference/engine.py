"""The result type of greedy selection, and greedy selection under a dense kernel.

Each pick maximises ``bonus[i] + weight * log(residual)``, where the residual is the factor by which item i multiplies
the squared volume of the set. Each item has a row of Cholesky coordinates, of which only the entries needed so far are
computed: O(nk^2) work at worst, and n x k numbers. Rows of features need no kernel (:mod:`diverset.inference.rows`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.inference import _greedy_loops
from diverset.inference.limits import Limits
from diverset.numerics.linalg import EPS, routine

__all__ = ["Picks", "greedy_dense", "independent_items"]

#: Largest number of multiply-adds in one compiled call; Ctrl-C takes effect between calls.
_CALL = 2e9


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


def independent_items(L: Array, items: IntArray) -> tuple[IntArray, Array]:
    """A largest independent subset of the items, in pivot order, and the Cholesky factor of its correlations.

    Pivoting keeps the accuracy if some items nearly depend on others.
    """
    root = np.sqrt(np.maximum(np.diagonal(L).real[items], 0.0))
    items, root = items[root > 0.0], root[root > 0.0, None]
    block = L[np.ix_(items, items)] / root / root.T
    if len(items) == 0:
        return items, block
    R, order, rank, _ = routine("pstrf", block)(block, lower=1, tol=64.0 * len(L) * EPS)
    return items[order[:rank] - 1], np.tril(R[:rank, :rank])


def greedy_dense(
    L: Array,
    k: int,
    *,
    bonus: FloatArray,
    weight: float,
    limits: Limits,
    given: IntArray | None = None,
) -> Picks:
    """Up to k picks under a dense kernel (n, n); stops when every remaining item depends on the picks.

    L is Hermitian positive semidefinite. Items at the positions `given` were shown already: they repel and are not
    picked. The other arguments are those of :func:`diverset.inference.rows.greedy_rows`.
    """
    n = len(L)
    L = L.astype(np.complex128 if L.dtype.kind == "c" else np.float64, copy=False)
    given = independent_items(L, np.zeros(0, dtype=np.int64) if given is None else given)[0]
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
