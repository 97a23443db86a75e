"""The most probable set, proven: branch and bound.

The tree is in :mod:`diverset.inference._tree`, its bounds, and the probing that keeps it small, in
:mod:`diverset.inference.bounds`.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from dataclasses import replace
from typing import SupportsFloat

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.inference._state import check_rank, log_det, make_selection, require_likelihood, whole_kernel
from diverset.inference._tree import Search
from diverset.inference.local_search import map_local_search
from diverset.inference.result import Selection
from diverset.numerics.validation import as_number, check_nonnegative, check_size

__all__ = ["map_exact"]


def map_exact(
    dpp: DPP, k: int | None = None, *, time_limit: SupportsFloat = 60.0, gap: SupportsFloat = 0.0
) -> Selection:
    r"""The most probable set, with a proof; or the best found in the time given, with a bound on all others.

    .. math::  \max_Y \log\det L_Y \qquad\text{over the sets of } k \text{ items, or over all sets.}

    Parameters
    ----------
    dpp : DPP
        An L-ensemble.
    k : int, optional
        How many items, at most the rank; by default the size is free.
    time_limit : float
        Seconds after which to stop, ``inf`` for no limit.
    gap : float
        Stop when no set can be better by more than this, in log-determinant.

    Returns
    -------
    Selection
        ``indices`` ascending; ``upper_bound`` holds for every set, and ``gap`` is 0 once optimality is proven.

    Notes
    -----
    Finding the mode is NP-hard ([KuleszaTaskar2012]_, Theorem 2.9), so the time can grow exponentially. Branch and
    bound as in [KoLeeQueyranne1995]_, with the factorisation bound ([Nikolov2015]_, [ChenFampaLee2023]_, augmented as
    in [Li2024]_) in the place of their spectral one, over the kernel or over its inverse, whichever bound is better;
    items are fixed, and pairs ruled out, by probing (see ``diverset.inference.bounds``). The search starts from local
    search, and splits the node of largest bound first. With free size, all sizes share one queue. Which instances of 75
    items are proven in a minute is measured in :doc:`/exact`.

    Where the entries of L hide small eigenvalues (:meth:`DPP.from_spectrum` with eigenvalues 1e8 and more apart), the
    tree is bounded by the gains of single items alone, from ``log_prob``, and grows faster.

    A node costs a few eigendecompositions, O(m^3) for m items still free. Log-determinants that differ by less than
    1e-10 of their size count as equal.

    Examples
    --------
    >>> import diverset as dv
    >>> best = map_exact(dv.DPP.from_features([[1.1, 1.1], [1.5, 0.0], [0.0, 1.5]]), k=2)
    >>> best.indices.tolist(), best.gap
    ([1, 2], 0.0)
    """
    limit = as_number(time_limit, name="time_limit")
    if not limit >= 0.0:
        raise DiversetError(f"time_limit is {limit}; it must be at least 0 seconds")
    allowed = check_nonnegative(gap, name="gap")
    require_likelihood(dpp, "map_exact")
    if dpp._representation.rows_of_hidden is not None:
        chosen, bound = solve_by_gains(dpp, k, limit, allowed)
        return make_selection(dpp, chosen, upper_bound=bound)
    search = solve(dpp, k, limit, allowed)
    result = make_selection(dpp, search.chosen)
    upper = max(search.bound, result.objective) if search.heap else result.objective
    return replace(result, upper_bound=upper)


def solve(dpp: DPP, k: int | None, limit: float, gap: float) -> Search:
    """The tree of :func:`map_exact` when it stops: what is left of it, and how many nodes it took."""
    begun = time.monotonic()
    L = whole_kernel(dpp, "map_exact")
    size = None if k is None else check_size(k)
    rank = dpp.rank
    if size is not None:
        check_rank(size, rank)
    sizes = list(range(rank + 1)) if size is None else [size]
    search = Search(L, sizes, rank == dpp.n_items, begun + limit)
    start = map_local_search(dpp, size)
    search.offer(np.searchsorted(dpp.items, start.indices).astype(np.int64))
    search.multistart(len(start), begun + 0.1 * limit)
    search.run(gap)
    return search


def solve_by_gains(dpp: DPP, k: int | None, limit: float, gap: float) -> tuple[IntArray, float]:
    r"""The best set and a bound on all others, by ``log_prob`` alone.

    Gains only fall as a set grows, so the s largest gains of single items bound what s further items can add.
    """
    begun = time.monotonic()
    size = None if k is None else check_size(k)
    rank = dpp.rank
    if size is not None:
        check_rank(size, rank)
    best = np.searchsorted(dpp.items, map_local_search(dpp, size).indices).astype(np.int64)
    value = log_det(dpp, best)
    spectral = np.concatenate([[0.0], np.cumsum(dpp._spectrum.support[::-1])])

    def gains_of(inside: IntArray, free: IntArray, base: float) -> tuple[IntArray, FloatArray]:
        sets = np.sort(np.column_stack([np.tile(inside, (len(free), 1)), free]), axis=1)
        gains = dpp._log_probs(sets) + dpp.log_normalizer - base
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > -math.inf]
        return free[order], gains[order]

    def push(s: int, inside: IntArray, free: IntArray, gains: FloatArray, base: float) -> None:
        left = s - len(inside)
        if left > len(free):
            return
        bound = min(base + float(gains[:left].sum()), float(spectral[s]))
        if bound > value + tolerance:
            heapq.heappush(heap, (-bound, next(count), s, inside, free, gains, base))

    heap: list[tuple[float, int, int, IntArray, IntArray, FloatArray, float]] = []
    count, tolerance = itertools.count(), 1e-10 * max(1.0, abs(value), len(best))
    nothing = np.zeros(0, dtype=np.int64)
    free, gains = gains_of(nothing, np.arange(dpp.n_items), 0.0)
    for s in range(1, rank + 1) if size is None else [size]:
        push(s, nothing, free, gains, 0.0)
    while heap and -heap[0][0] > value + max(gap, tolerance) and time.monotonic() < begun + limit:
        _, _, s, inside, free, gains, base = heapq.heappop(heap)
        taken, reached = np.append(inside, free[0]), base + float(gains[0])
        if len(taken) == s:
            # The bound was the value of this set: only a better one is pushed.
            best, value = np.sort(taken), reached
            continue
        push(s, inside, free[1:], gains[1:], base)
        push(s, taken, *gains_of(taken, free[1:], reached), reached)
    return best, max(value, -heap[0][0]) if heap else value
