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
    """Apply the best change until no change improves; each new determinant is recomputed before it is accepted."""
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
        # The predicted growth was rounding error, which an ill-conditioned block can cause.
        if reached <= value + 0.1 * TOLERANCE or not state.move(a=a, j=j):
            break
        best, value = changed, reached
    return best


def _improve_by_log_probs(dpp: DPP, start: IntArray, *, sized: bool, max_iter: int) -> IntArray:
    """`improve` by the log-probability of every neighbour, for kernels whose entries hide small eigenvalues."""
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

    With `k`, a change replaces one item by another. Without `k`, additions and removals are allowed, too.

    Parameters
    ----------
    dpp, k
        As in :func:`diverset.map_exact`. L is not formed if the DPP is from features.
    start : iterable of int, optional
        Initial set, of positive probability and of k items if `k` is given. The greedy set by default.
    max_iter : int
        Maximum number of changes.

    Returns
    -------
    Selection
        ``indices`` ascending; at least as probable as the initial set.

    Notes
    -----
    Evaluating all exchanges takes O(nk), and so does making one (see ``diverset.inference._state``). A change is
    accepted only if the recomputed log-determinant grows by more than rounding error.

    With `k`, a search from the greedy set has the guarantee of greedy search: the determinant is at least
    :math:`1/(k!)^2` of the largest ([CivrilMagdonIsmail2009]_). Without `k`, a set Y that no single change improves has
    :math:`2\log\det L_Y \ge \log\det L_{Y \cup C} + \log\det L_{Y \cap C}` for every set C
    ([FeigeMirrokniVondrak2007]_, Lemma 3.2).

    Examples
    --------
    Greedy search picks the long vector 0 first and never removes it.

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
