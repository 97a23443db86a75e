r"""Local search for a set of high probability: exchanges, additions, removals."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from diverset._typing import IntArray
from diverset.core import DPP
from diverset.errors import DiversetError, SizeError
from diverset.inference._state import SubsetState, check_rank, log_det, make_selection, require_likelihood, state_of
from diverset.inference.greedy import map_greedy
from diverset.inference.result import Selection
from diverset.numerics.linalg import positions_outside
from diverset.numerics.validation import check_count, check_size, find_positions

__all__ = ["best_move", "improve", "map_local_search"]

#: Relative growth of the determinant that counts as an improvement; less may be rounding.
TOLERANCE = 1e-9


def best_move(state: SubsetState, *, sized: bool) -> tuple[float, int, int]:
    """The change that multiplies the determinant most: (factor, member to remove, item to add), -1 for none."""
    found = (0.0, -1, -1)
    if state.members:
        exchange = state.exchange_ratios()
        a, j = divmod(int(exchange.argmax()), state.n)
        found = (float(exchange[a, j]), a, j)
    if not sized:
        addition, removal = state.addition_ratios(), state.removal_ratios()
        if len(addition) and addition.max() > found[0]:
            found = (float(addition.max()), -1, int(addition.argmax()))
        if len(removal) and removal.max() > found[0]:
            found = (float(removal.max()), int(removal.argmax()), -1)
    return found


def improve(dpp: DPP, start: IntArray, *, sized: bool, max_iter: int) -> IntArray:
    """Follow the best change until none improves; the determinant is computed afresh before a change is kept."""
    if dpp._representation.rows_of_hidden is not None:
        return _improve_by_log_probs(dpp, start, sized=sized, max_iter=max_iter)
    state = state_of(dpp, start)
    best, value = start, log_det(dpp, start)
    for _ in range(max_iter):
        factor, a, j = best_move(state, sized=sized)
        if factor <= 1.0 + TOLERANCE:
            break
        rest = np.delete(best, a) if a >= 0 else best
        changed = np.append(rest, j) if j >= 0 else rest
        reached = log_det(dpp, changed)
        # The factor was rounding after all: with an ill-conditioned block it may be.
        if reached <= value + 0.1 * TOLERANCE or not state.move(a=a, j=j):
            break
        best, value = changed, reached
    return best


def _improve_by_log_probs(dpp: DPP, start: IntArray, *, sized: bool, max_iter: int) -> IntArray:
    """The same by the log-probability of every neighbour, for kernels whose entries hide small eigenvalues."""
    best, value = start, log_det(dpp, start)
    for _ in range(max_iter):
        others = positions_outside(best, dpp.n_items)
        removed = [np.delete(best, a) for a in range(len(best))]
        neighbours = [[np.append(rest, j) for rest in removed for j in others]]
        if not sized:
            neighbours += [removed, [np.append(best, j) for j in others]]
        found = best
        for sets in neighbours:
            if len(sets) == 0:
                continue
            ordered = np.sort(np.array(sets, dtype=np.int64).reshape(len(sets), -1), axis=1)
            values = dpp._log_probs(ordered) + dpp.log_normalizer
            if values.max() > value + TOLERANCE:
                found, value = ordered[int(values.argmax())], float(values.max())
        if found is best:
            break
        best = found
    return best


def map_local_search(
    dpp: DPP, k: int | None = None, *, start: Iterable[int] | None = None, max_iter: int = 10_000
) -> Selection:
    r"""Improve a set by the best single change until no change raises :math:`\det L_Y`.

    With `k` the changes are exchanges of one item for another; without, also additions and removals.

    Parameters
    ----------
    dpp, k
        As in :func:`diverset.map_exact`. L is not formed where the DPP is one from features.
    start : iterable of int, optional
        Items to begin with (k of them, if `k` is given), a set of positive probability. The greedy set by default.
    max_iter : int
        Largest number of changes.

    Returns
    -------
    Selection
        ``indices`` ascending; never less probable than the start.

    Notes
    -----
    Looking at all exchanges takes O(nk), and so does making one (see ``diverset.inference._state``). Every change
    kept raises the log-determinant, computed afresh, by more than rounding.

    Started from the greedy set, the result keeps the greedy's guarantee with `k`: its determinant is at least
    :math:`1/(k!)^2` of the largest ([CivrilMagdonIsmail2009]_). Without `k`, a set Y that no single change improves has
    :math:`2\log\det L_Y \ge \log\det L_{Y \cup C} + \log\det L_{Y \cap C}` for every set C
    ([FeigeMirrokniVondrak2007]_, Lemma 3.2).

    Examples
    --------
    Greedy takes the long vector 0 first, and cannot take it back.

    >>> import diverset as dv
    >>> dpp = dv.DPP.from_features([[1.1, 1.1], [1.5, 0.0], [0.0, 1.5]])
    >>> dv.map_greedy(dpp, k=2).indices.tolist(), map_local_search(dpp, k=2).indices.tolist()
    ([0, 1], [1, 2])
    """
    require_likelihood(dpp, "map_local_search")
    limit = check_count(max_iter, name="max_iter")
    size = None if k is None else check_size(k)
    if start is None:
        greedy = map_greedy(dpp, size)
        begin = np.searchsorted(dpp.items, greedy.indices).astype(np.int64)
        if size is not None and len(begin) < size:
            check_rank(size, len(begin))
    else:
        begin = find_positions(start, dpp.items, name="start")
        if size is not None and len(begin) != size:
            raise SizeError(f"start has {len(begin)} items and k is {size}; give a start of k items")
        if log_det(dpp, begin) == -math.inf:
            raise DiversetError(f"start is {dpp.items[begin].tolist()}, which has probability 0; leave it out")
    return make_selection(dpp, improve(dpp, begin, sized=size is not None, max_iter=limit))
