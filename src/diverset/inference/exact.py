r"""The most probable set, with a proof of optimality, by branch and bound.

A node of the tree includes a set A of items, excludes others, and leaves the rest free. If a set S of free items joins
A, the log-determinant is :math:`\log\det L_A + \log\det C_S`, where C is the Schur complement of :math:`L_A`. The
factorisation bound of :mod:`diverset.inference.bounds` limits its size. The search drops a node whose bound is not
above the best value known. It splits the node of largest bound next, so that this bound holds for all sets at any
time. Before a node is split, probing fixes items and finds pairs in conflict.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.inference import _exact_loops, bounds
from diverset.inference.bounds import factorization, probe
from diverset.inference.greedy import check_rank, log_det, make_selection, require_likelihood, whole_kernel
from diverset.inference.local_search import TOLERANCE, SubsetState, best_move, map_local_search
from diverset.inference.result import Selection
from diverset.numerics.linalg import (
    EPS,
    cholesky_lower,
    log_det_from_cholesky,
    log_det_psd,
    positions_outside,
    solve_lower,
)
from diverset.numerics.validation import as_number, check_nonnegative, check_size

__all__ = ["Search", "map_exact"]

#: Log-determinants whose relative difference is below this count as equal: the difference may be rounding error.
_TOLERANCE = 1e-10
#: Up to this condition number, the problem may also be solved for the complement, over the inverse kernel.
_WELL_CONDITIONED = 1e6
#: Random starts of the local search before the tree search; nodes between two attempts to round weights to a set.
_STARTS, _ROUND_EVERY = 24, 50
# Effort per node: eigendecompositions, accuracy of the bound, rounds of fixing, smallest weight.
# A larger smallest weight makes the eigenvalue problem smaller; the slightly weaker bound does not enlarge the tree.
_ROOT, _INNER = (60, 0.01, 8, bounds.NO_WEIGHT), (7, 0.5, 2, 1e-2)


@dataclass(frozen=True, eq=False, slots=True)
class _Node:
    """Sets of `size` items that hold all of `inside`, and otherwise only items of `free`."""

    side: int
    size: int
    inside: IntArray
    free: IntArray
    conflict: NDArray[np.uint8]  # pairs of free items, in packed bits
    potential: FloatArray  # start of the search for a bound
    step: float


class _Side(NamedTuple):
    """One form of the problem: choose the items inside, by L, or the items outside, by the inverse of L."""

    kernel: Array
    floor: FloatArray
    offset: float
    flipped: bool


class Search:
    """Tree search over sets of the given sizes, none above the rank of L, until ``time.monotonic()`` is `deadline`."""

    def __init__(self, L: Array, sizes: list[int], full_rank: bool, deadline: float) -> None:
        self.n = len(L)
        diagonal = np.diagonal(L).real
        scale = float(diagonal.max(initial=0.0)) or 1.0
        self.log_scale = math.log(scale)
        self.deadline = deadline
        self.compiled = not np.iscomplexobj(L)
        C = np.ascontiguousarray(L / scale)
        self.sides = [_Side(C, 64.0 * self.n * EPS * np.diagonal(C).real, 0.0, False)]
        condition = float(np.linalg.cond(C)) if full_rank and self.n else math.inf
        if condition < _WELL_CONDITIONED:
            inverse = np.linalg.inv(C)
            inverse = (inverse + inverse.conj().T) / 2.0
            floor = 64.0 * self.n * EPS * np.diagonal(inverse).real
            # The inverse, and each factor of its minors, has a relative error of n EPS condition^(3/2).
            rounding = self.n**2 * EPS * condition**1.5
            self.sides.append(_Side(inverse, floor, float(np.linalg.slogdet(C)[1]) + rounding, True))
        self.value, self.chosen = -math.inf, np.zeros(0, dtype=np.int64)
        self.heap: list[tuple[float, int, _Node | int]] = []
        self.pushed = self.expanded = 0
        first = bounds.size_bounds(C).min(axis=0)
        for k in sizes:
            self._push(float(first[k]) + k * self.log_scale, k)

    def _push(self, bound: float, node: _Node | int) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (-bound, self.pushed, node))

    @property
    def tolerance(self) -> float:
        """Largest difference of log-determinants that counts as rounding error."""
        return _TOLERANCE * max(1.0, abs(self.value), len(self.chosen)) if self.value > -math.inf else 0.0

    @property
    def bound(self) -> float:
        """Upper bound on the log-determinant of every set."""
        return max(self.value, -self.heap[0][0]) if self.heap else self.value

    def offer(self, members: IntArray) -> None:
        """Replace the best set known, if this one is better."""
        value = self._log_det(members) + len(members) * self.log_scale
        if value > self.value:
            self.value, self.chosen = value, np.sort(members)

    def _log_det(self, members: IntArray) -> float:
        block = self.sides[0].kernel[np.ix_(members, members)]
        return log_det_psd(block, EPS * np.diagonal(block).real)

    def _polish(self, members: IntArray) -> None:
        """Improve a set by exchanges and offer the result."""
        if self._log_det(members) == -math.inf:
            return
        state = self._state(members)
        for _ in range(4 * self.n):
            factor, a, j = best_move(state, sized=True)
            if factor <= 1.0 + TOLERANCE or time.monotonic() > self.deadline or not state.move(a=a, j=j):
                break
            members = state.positions
        self.offer(members)

    def _state(self, members: Iterable[int] = ()) -> SubsetState:
        C = self.sides[0].kernel
        return SubsetState(np.diagonal(C).real.copy(), lambda j: C[j], members)

    def multistart(self, k: int, deadline: float) -> None:
        """Local searches from greedy sets whose gains are multiplied by random factors."""
        rng = np.random.default_rng(0)
        for _ in range(_STARTS):
            state = self._state()
            while len(state.members) < k and time.monotonic() < deadline:
                gains = state.addition_ratios() * np.exp(0.3 * rng.standard_normal(self.n))
                if gains.max() <= 0.0:
                    break
                state.move(j=int(gains.argmax()))
            if len(state.members) < k:
                return
            self._polish(state.positions)

    def _open(self, k: int, bound: float) -> None:
        """Push the root node for size k, in the form with the smaller bound."""
        everything, nothing = np.arange(self.n), np.zeros(0, dtype=np.int64)
        best = (math.inf, 0)
        for i, side in enumerate(self.sides):
            s = self.n - k if side.flipped else k
            usable = np.flatnonzero(np.diagonal(side.kernel).real > side.floor)
            if 0 < s < len(usable):
                C = side.kernel[np.ix_(usable, usable)]
                linear = factorization(C, s, max_iter=12, accuracy=0.1, deadline=self.deadline)
                assert linear is not None
                best = min(best, (linear.value + side.offset + k * self.log_scale, i))
        found, i = best
        size = self.n - k if self.sides[i].flipped else k
        blank = np.packbits(np.zeros((self.n, self.n), dtype=bool))
        self._push(min(bound, found), _Node(i, size, nothing, everything, blank, np.zeros(self.n), 2.0))

    def _seen_from(self, side: _Side, members: IntArray) -> IntArray:
        return positions_outside(members, self.n) if side.flipped else members

    def _condition(self, side: _Side, inside: IntArray, free: IntArray) -> tuple[Array, float]:
        """Schur complement of the block `inside` on `free`, and log-determinant of that block, -inf if singular."""
        C = side.kernel
        if self.compiled:
            return _exact_loops.schur_complement(C, side.floor, inside, free)  # type: ignore[no-any-return]
        A = C[np.ix_(free, free)]
        R = cholesky_lower(C[np.ix_(inside, inside)], overwrite=True)
        if R is None:
            return A, -math.inf
        X = solve_lower(R, C[np.ix_(inside, free)])
        return A - X.conj().T @ X, log_det_from_cholesky(R)

    def _look(
        self,
        A: Array,
        s: int,
        blocks: IntArray,
        potential: FloatArray,
        conflict: BoolArray,
        target: float,
        effort: tuple[int, float, int, float],
        step: float,
    ) -> tuple[float, FloatArray, FloatArray, FloatArray, int, float]:
        """Bound, weights, bounds with and without each item, conflicts found, step; compiled for real kernels."""
        max_iter, accuracy, _, no_weight = effort
        if self.compiled and effort is not _ROOT:
            rest = (bounds.LARGEST_STEP, bounds.POTENTIAL_RANGE, no_weight, bounds.SPLIT)
            return _exact_loops.bound_and_probe(  # type: ignore[no-any-return]
                A, s, blocks, potential, conflict, (target, max_iter, accuracy, step, *rest)
            )
        linear = factorization(
            A, s, blocks=blocks, potential=potential, target=target, max_iter=max_iter, accuracy=accuracy, step=step,
            no_weight=no_weight, deadline=self.deadline,
        )  # fmt: skip
        assert linear is not None  # there are at least s blocks
        if linear.value <= target:
            return linear.value, linear.weights, linear.g, linear.g, 0, linear.step
        return linear.value, linear.weights, *probe(A, s, linear, blocks, conflict, target), linear.step

    def _expand(self, node: _Node, bound: float) -> None:
        """Tighten the bound of a node, fix items where possible, and split the rest."""
        side = self.sides[node.side]
        shift = side.offset + (self.n - node.size if side.flipped else node.size) * self.log_scale
        inside, free, m = node.inside, node.free, len(node.free)
        conflict = np.unpackbits(node.conflict, count=m * m).reshape(m, m).astype(bool)
        potential, step = node.potential, node.step
        effort = _ROOT if len(free) == self.n else _INNER
        for _ in range(effort[2]):
            s = node.size - len(inside)
            A, log_det = self._condition(side, inside, free)
            if log_det == -math.inf or not 0 <= s <= len(free):
                return
            alive = np.diagonal(A).real > side.floor[free]
            if not alive.all():
                A, free, potential = A[np.ix_(alive, alive)], free[alive], potential[alive]
                conflict = conflict[np.ix_(alive, alive)]
            m = len(free)
            if s > m:
                return
            if s in (0, 1, m):
                last = free if s == m else free[[int(np.diagonal(A).real.argmax())]] if s else free[:0]
                self.offer(self._seen_from(side, np.concatenate([inside, last])))
                return
            blocks = _exact_loops.clique_partition(conflict, np.argsort(-potential, kind="stable"))
            target = self.value + self.tolerance - log_det - shift
            if int(blocks.max()) + 1 < s:
                return
            step = min(max(step, 0.5), 15.0)
            value, weights, with_item, without_item, found, step = self._look(
                A, s, blocks, potential, conflict, target, effort, step
            )
            bound = min(bound, value + log_det + shift)
            if bound <= self.value + self.tolerance:
                return
            potential = np.log(np.maximum(weights, 1e-9))
            out, must = with_item <= target, without_item <= target
            out |= conflict[must].any(axis=0)
            if (out & must).any():
                return
            with_item += log_det + shift
            without_item += log_det + shift
            if out.any() or must.any():
                keep = ~(out | must)
                inside, free = np.concatenate([inside, free[must]]), free[keep]
                conflict = conflict[np.ix_(keep, keep)]
                weights, potential = weights[keep], potential[keep]
                with_item, without_item = with_item[keep], without_item[keep]
            elif found <= m // 4:
                break
        s = node.size - len(inside)
        if not 0 <= s <= len(free):
            return
        if s < 2 or s == len(free):
            self._push(bound, _Node(node.side, node.size, inside, free, np.packbits(conflict), potential, step))
            return
        if self.expanded % _ROUND_EVERY == 1:
            guess = np.concatenate([inside, free[np.argsort(-weights, kind="stable")[:s]]])
            self._polish(self._seen_from(side, guess))
        # Split on an item of large weight whose inclusion and exclusion both lower the bound by much.
        j = int((weights + 0.3 * (bound - with_item) + (bound - without_item)).argmax())
        others = np.arange(len(free)) != j
        for taken in (False, True):
            keep = others & ~conflict[j] if taken else others
            held = np.append(inside, free[j]) if taken else inside
            packed = np.packbits(conflict[np.ix_(keep, keep)])
            child = _Node(node.side, node.size, held, free[keep], packed, potential[keep], step)
            self._push(min(bound, float((with_item if taken else without_item)[j])), child)

    def run(self, gap: float) -> None:
        """Split the node of largest bound until the gap is closed or the deadline has passed."""
        while self.heap and self.bound > self.value + max(gap, self.tolerance):
            if time.monotonic() > self.deadline:
                return
            negative, _, node = heapq.heappop(self.heap)
            self.expanded += 1
            if isinstance(node, int):
                self._open(node, -negative)
            else:
                self._expand(node, -negative)
        if gap == 0.0:
            self.heap.clear()


def map_exact(
    dpp: DPP, k: int | None = None, *, time_limit: SupportsFloat = 60.0, gap: SupportsFloat = 0.0
) -> Selection:
    r"""The most probable set, with a proof; or the best set found within the time limit, with a bound on all others.

    .. math::  \max_Y \log\det L_Y \qquad\text{over the sets of } k \text{ items, or over all sets.}

    Parameters
    ----------
    dpp : DPP
        An L-ensemble.
    k : int, optional
        Number of items, at most the rank. By default, sets of every size are searched.
    time_limit : float
        Seconds after which the search stops; ``inf`` for no limit.
    gap : float
        The search stops when no set can have a log-determinant larger by more than this.

    Returns
    -------
    Selection
        ``indices`` ascending; ``upper_bound`` holds for every set; ``gap`` is 0 if optimality is proven.

    Notes
    -----
    Finding the mode is NP-hard ([KuleszaTaskar2012]_, Theorem 2.9), so the time can grow exponentially. The method is
    branch and bound as in [KoLeeQueyranne1995]_, with the factorisation bound ([Nikolov2015]_, [ChenFampaLee2023]_,
    augmented as in [Li2024]_) over the kernel or over its inverse, whichever is better. Probing fixes items and rules
    out pairs (``diverset.inference.bounds``). A node costs O(m^3) for m free items. The page :doc:`/exact` shows which
    instances of 75 items are proven within a minute. Log-determinants that differ by less than 1e-10 of their size
    count as equal.

    If the entries of L hide small eigenvalues (:meth:`DPP.from_spectrum` with ratios of 1e8 and more), the nodes are
    bounded by the gains of single items alone, computed from ``log_prob``, and the tree is larger.

    Examples
    --------
    >>> import diverset as dv
    >>> best = map_exact(dv.DPP.from_features([[1.1, 1.1], [1.5, 0.0], [0.0, 1.5]]), k=2)
    >>> best.indices.tolist(), best.gap
    ([1, 2], 0.0)
    """
    begun = time.monotonic()
    limit = as_number(time_limit, name="time_limit")
    if not limit >= 0.0:
        raise DiversetError(f"time_limit is {limit}; it must be at least 0 seconds")
    allowed = check_nonnegative(gap, name="gap")
    require_likelihood(dpp, "map_exact")
    if dpp._representation.rows_of_hidden is not None:
        chosen, bound = _solve_by_gains(dpp, k, begun + limit, allowed)
        return make_selection(dpp, chosen, upper_bound=bound)
    search = solve(dpp, k, limit, allowed)
    result = make_selection(dpp, search.chosen)
    upper = max(search.bound, result.objective) if search.heap else result.objective
    return replace(result, upper_bound=upper)


def solve(dpp: DPP, k: int | None, limit: float, gap: float) -> Search:
    """Run the search of :func:`map_exact` and return it with its open nodes and the number of expanded nodes."""
    begun = time.monotonic()
    L = whole_kernel(dpp, "map_exact")
    sizes, start = _sizes_and_start(dpp, k)
    search = Search(L, sizes, dpp.rank == dpp.n_items, begun + limit)
    search.offer(start)
    search.multistart(len(start), begun + 0.1 * limit)
    search.run(gap)
    return search


def _sizes_and_start(dpp: DPP, k: int | None) -> tuple[list[int], IntArray]:
    """The sizes to search, and a local optimum."""
    sizes = list(range(dpp.rank + 1)) if k is None else [check_size(k)]
    check_rank(sizes[-1], dpp.rank)
    return sizes, np.searchsorted(dpp.items, map_local_search(dpp, k).indices).astype(np.int64)


def _solve_by_gains(dpp: DPP, k: int | None, deadline: float, gap: float) -> tuple[IntArray, float]:
    """The best set and a bound on all others, computed from ``log_prob`` alone."""
    sizes, best = _sizes_and_start(dpp, k)
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
        # Gains only fall as a set grows, so the sum of the largest ones bounds the gain of all further items.
        bound = min(base + float(gains[:left].sum()), float(spectral[s]))
        if bound > value + tolerance:
            heapq.heappush(heap, (-bound, next(count), s, inside, free, gains, base))

    heap: list[tuple[float, int, int, IntArray, IntArray, FloatArray, float]] = []
    count, tolerance = itertools.count(), 1e-10 * max(1.0, abs(value), len(best))
    nothing = np.zeros(0, dtype=np.int64)
    free, gains = gains_of(nothing, np.arange(dpp.n_items), 0.0)
    for s in sizes:
        push(s, nothing, free, gains, 0.0)
    while heap and -heap[0][0] > value + max(gap, tolerance) and time.monotonic() < deadline:
        _, _, s, inside, free, gains, base = heapq.heappop(heap)
        taken, reached = np.append(inside, free[0]), base + float(gains[0])
        if len(taken) == s:
            # The bound of this node was the value of this set, and only nodes with larger bounds are pushed.
            best, value = np.sort(taken), reached
            continue
        push(s, inside, free[1:], gains[1:], base)
        push(s, taken, *gains_of(taken, free[1:], reached), reached)
    return best, max(value, -heap[0][0]) if heap else value
