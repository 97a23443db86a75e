r"""From a DPP over sentences to a summary within a budget.

Sentences have positive whole costs, and a set may cost ``room`` at most. L is dense here: summaries are chosen from a
few thousand sentences at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from diverset._typing import FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.numerics.linalg import EPS
from diverset.sampling.rejection import prepare
from diverset.text.overlap import mean_rouge

__all__ = ["Draws", "draw_between", "greedy_summary", "least_risk"]

#: Draws made at a time.
_BATCH = 2000


def greedy_summary(L: FloatArray, costs: IntArray, room: int) -> IntArray:
    r"""Sentences that add most probability per cost, until nothing fits ([KuleszaTaskar2012]_, Algorithm 6).

    Parameters
    ----------
    L : ndarray of shape (n, n)
        Likelihood kernel.
    costs : ndarray of int64, of shape (n,)
        Positive costs.
    room : int
        What the set may cost.

    Returns
    -------
    ndarray of int64
        Positions in the order of picking.

    Notes
    -----
    With the pivot :math:`r_i = \det L_{Y + i} / \det L_Y`, the rule :math:`(\Pr(Y + i) - \Pr(Y)) / c_i` ranks as
    :math:`(r_i - 1) / c_i`. Pivots are updated by a row of the Cholesky factor for each pick: O(nk^2) for k picks.
    The same set as ``diverset.map_budgeted(dpp, costs, room, fill=True)``, without the normaliser.
    """
    residual = np.diagonal(L).copy()
    floor = 64.0 * len(L) * EPS * residual
    rows: list[FloatArray] = []
    picked: list[int] = []
    free = costs <= room
    while True:
        ratio = np.where(free & (residual > floor), (residual - 1.0) / costs, -math.inf)
        best = int(ratio.argmax()) if len(ratio) else -1
        if best < 0 or ratio[best] == -math.inf:
            return np.array(picked, dtype=np.int64)
        row = L[best].copy()
        for before in rows:
            row -= before[best] * before
        row /= math.sqrt(residual[best])
        rows.append(row)
        residual = residual - row**2
        picked.append(best)
        room -= int(costs[best])
        free &= costs <= room
        free[best] = False


@dataclass(frozen=True)
class Draws:
    """Sets drawn from a DPP given that their cost is in a window, and how many draws that took."""

    sets: list[IntArray]
    n_drawn: int

    def indicator(self, n: int) -> Any:
        """The sets as rows of zeros and ones: CSR of shape (n_sets, n)."""
        ends = np.cumsum([0, *map(len, self.sets)])
        members = np.concatenate([np.zeros(0, dtype=np.int64), *self.sets])
        return sparse.csr_matrix((np.ones(len(members), dtype=np.float32), members, ends), (len(self.sets), n))


def draw_between(
    dpp: DPP, costs: IntArray, low: int, high: int, n_sets: int, *, rng: Any = None, most: int | None = None
) -> Draws:
    """Draw sets whose cost lies in a window, exactly, by drawing and rejecting.

    Parameters
    ----------
    dpp : DPP
        Over sentences 0 to n - 1.
    costs : ndarray of int64, of shape (n,)
        Positive costs.
    low, high : int
        The window, bounds included.
    n_sets : int
        How many sets.
    rng : int, Generator or None
        Random numbers.
    most : int, optional
        Draws at most; 10,000, and 200 for each set asked for, by default.

    Returns
    -------
    Draws
        The sets, fewer than asked for or none if draws that fit are rare, and the number of draws.
    """
    if low > high:
        raise DiversetError(f"the window from {low} to {high} is empty")
    generator = np.random.default_rng(rng)
    limit = 10_000 + 200 * n_sets if most is None else most
    # By name: nearly all draws are rejected, so there will be many, and this sampler makes them in microseconds.
    sampler = prepare(dpp._representation)
    kept: list[IntArray] = []
    drawn = 0
    while len(kept) < n_sets and drawn < limit:
        for flat, offsets in sampler.draw_flat(min(_BATCH, limit - drawn), generator):
            spent = np.diff(np.concatenate([[0], np.cumsum(costs[flat])])[offsets])
            inside = np.flatnonzero((low <= spent) & (spent <= high))[: n_sets - len(kept)]
            kept += [flat[offsets[d] : offsets[d + 1]] for d in inside]
            if len(kept) == n_sets:
                return Draws(kept, drawn + int(inside[-1]) + 1)
            drawn += len(spent)
    return Draws(kept, drawn)


def least_risk(sets: Sequence[IntArray], counts: Any) -> tuple[int, FloatArray]:
    r"""The candidate of highest mean ROUGE-1F against all candidates (minimum-Bayes-risk decoding).

    Parameters
    ----------
    sets : sequence of ndarray
        Draws from the model, which are the candidates and stand for the truth.
    counts : CSR
        Words of the sentences, from ``word_counts``.

    Returns
    -------
    best : int
        Its number; the first of equals.
    scores : ndarray of shape (n_sets,)
        Mean scores.
    """
    scores = mean_rouge(sets, counts)
    # Sums in another order must not decide between equals.
    return int(np.argmax(scores >= scores.max() - 1e-12)), scores
