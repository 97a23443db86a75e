r"""Greedy selection over rows of features, without their kernel.

Each pick maximises ``bonus[i] + weight * log(residual)``, where the residual is what item i adds to the squared
volume of the set: its squared distance to the span of the picks. When no item is independent of the picks any more,
picking goes on by the limit of a vanishing ridge: :math:`\det(S_Y + \varepsilon I)` is
:math:`\varepsilon^{|Y|-D}\det(X_Y^*X_Y + \varepsilon I)`, so for :math:`\varepsilon \to 0` the next pick is the
D-optimal one, ``bonus[i] + weight * log(1 + leverage)``.

Few items are picked from at once, by one compiled loop. Many are in rounds. At the start of a round, the items whose
keys reach a *level* are brought up to date, by all cores and in the order of memory; those that still reach it are the
round's pool, and picks are made from it as long as their keys reach the level, for no other item can. The level is
where keys are expected to be a round later. Any level is right, and only costs: too high and the round ends early, too
low and its pool is large.

Work and memory: O(nD) a pick at worst, much less as most items stop early (see the compiled loops), and O(n + kD)
numbers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import KernelError
from diverset.inference import _greedy_loops, _row_loops
from diverset.inference.engine import Picks
from diverset.inference.limits import Limits
from diverset.numerics.linalg import EPS, row_norms_squared

__all__ = ["greedy_rows", "information_inverse", "leverages", "orthonormal_rows", "rounding", "squared_norms"]

#: From this many entries of X on, several threads share a pass over it.
_THREADS_MIN_ENTRIES = 3_000_000
#: From `_ROUND_MIN_ITEMS` items on, picks are made in rounds of `_ROUND_PICKS`, from the best 1/`_POOL_SHARE` of them.
_ROUND_MIN_ITEMS = 2_000
_ROUND_PICKS = 24
_POOL_SHARE = 32


def greedy_rows(
    X: Array,
    k: int,
    *,
    scale: FloatArray,
    factor: FloatArray,
    bonus: FloatArray,
    weight: float,
    limits: Limits,
    given: Array | None = None,
    lone: int = 0,
    beyond_rank: bool = True,
) -> Picks:
    """Up to k picks among the rows of X, item i standing for ``sqrt(factor[i]) * X[i]``.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        float32 or float64, C order; read only.
    k : int
        Number of picks wanted.
    scale : ndarray of shape (n,)
        Squared norms of the items, ``factor * |X[i]|^2`` in double precision; exactly 1 for unit vectors.
    factor, bonus : ndarray of shape (n,)
        Squared factor of each row, and what it earns for itself.
    weight : float
        Weight of the log-volume; positive.
    limits : Limits
        What may be picked.
    given : ndarray of shape (g, D), optional
        Rows already shown, as scaled as the items: they repel, and are not picked.
    lone : int
        Number of items with factor 0: such an item has no direction, and is unlike every other.
    beyond_rank : bool
        Whether to go on past the rank.
    """
    if X.shape[1] == 0:
        X = np.zeros((len(X), 1))  # rows without entries are zero vectors
        given = None
    run = _Run(X, scale, factor, bonus, weight, limits, lone)
    log_det = run.by_volume(k, given)
    spent = None
    if run.made < k and beyond_rank and limits.stop == -math.inf:
        left = run.left_over()
        if left.any():
            spent, log_det = run.made, None
            run.by_leverage(k - run.made, given, left)
    return Picks(*run.found(), spent, log_det)


class _Run:
    """Picks made so far, and what they leave of the limits."""

    def __init__(
        self,
        X: Array,
        scale: FloatArray,
        factor: FloatArray,
        bonus: FloatArray,
        weight: float,
        limits: Limits,
        lone: int,
    ) -> None:
        self._X = X
        self._lone = lone
        self._items = (scale, factor, bonus)
        self._weight = weight
        self._limits = limits
        self._caps = limits.caps.copy()
        self._budget = limits.budget
        # A pick has a key above `stop`, so of this or more.
        self._floor = math.nextafter(limits.stop, math.inf) if limits.stop > -math.inf else limits.stop
        self._tolerance = 64.0 * X.shape[1] * EPS
        self._unit = rounding(X.shape[1], X.dtype)
        self._found: list[tuple[IntArray, FloatArray]] = []
        self.made = 0

    def found(self) -> tuple[IntArray, FloatArray]:
        """Positions of the picks, and the gain of each."""
        if len(self._found) == 1:
            return self._found[0]
        picks, gains = zip(*self._found, strict=True) if self._found else ((), ())
        return np.concatenate([np.zeros(0, dtype=np.int64), *picks]), np.concatenate([np.zeros(0), *gains])

    def left_over(self) -> Array:
        """Items that could still be picked, but for the rank."""
        left: Array = self._limits.available.copy()
        left[self.found()[0]] = False
        if self._limits.groups.size:
            left &= self._caps[self._limits.groups] > 0
        if self._limits.costs.size:
            left &= self._limits.costs <= self._budget
        return left

    def by_volume(self, k: int, given: Array | None) -> float | None:
        """Picks that depend on no others; the log-determinant over them, if nothing was given."""
        D = self._X.shape[1]
        scale, _, bonus = self._items
        basis = np.zeros((0, D)) if given is None else orthonormal_rows(given, self._tolerance)
        with np.errstate(divide="ignore"):
            logs = np.log(scale, out=np.zeros(len(scale)), where=scale != 1.0)  # most are unit vectors
        keys = np.where(self._limits.available, bonus + self._weight * logs, -math.inf)
        own = self._pick(min(k, D - len(basis) + self._lone), scale, keys, basis, np.zeros((0, 0)), 0.0)
        # The determinant is the product of what was left of each item beside those before it.
        return float(np.log(own[: self.made]).sum()) if given is None else None

    def by_leverage(self, k: int, given: Array | None, available: Array) -> None:
        """Picks past the rank."""
        X, D = self._X, self._X.shape[1]
        scale, factor, bonus = self._items
        chosen = self.found()[0]
        rows = np.sqrt(factor[chosen])[:, None] * X[chosen].astype(np.float64)
        rows = rows if given is None else np.vstack([given, rows])
        inverse, half = information_inverse(rows)
        # Bounds are enough here: the loops compute what they need to know exactly from the inverse.
        doubt = (self._unit + 8.0 * D * EPS) * float((half**2).sum(axis=0).max(initial=0.0))
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = factor * leverages(X, half.astype(X.dtype))
            keys = bonus + self._weight * np.log1p(leverage + doubt * scale)
        keys[np.isnan(keys)] = math.inf  # out of range, so that nothing is known of them
        keys[~available] = -math.inf
        self._pick(k, leverage, keys, np.zeros((0, D)), inverse, doubt)

    def _pick(
        self, wanted: int, u0: FloatArray, keys: FloatArray, start: FloatArray, inverse: FloatArray, doubt: float
    ) -> FloatArray:
        """Make up to `wanted` picks, beside the directions of `start`; returns their potentials."""
        (n, D), t = self._X.shape, len(start)
        scale, factor, bonus = self._items
        limits = self._limits
        Z = np.zeros((t + wanted, D))
        slack = np.full(t + wanted + 1, doubt)
        if t:
            Z[:t] = start
            slack[1 : t + 1] += self._unit * np.cumsum(row_norms_squared(start))
        state = _greedy_loops.RowState(
            self._X, scale, factor, u0, Z, t, slack, self._unit, inverse, u0.copy(), np.zeros(n, dtype=np.int64),
            (keys, bonus, self._weight, self._tolerance, limits.groups, self._caps, limits.costs, self._budget),
        )  # fmt: skip
        if n < _ROUND_MIN_ITEMS:
            self._pick_from(state, wanted, np.arange(n), self._floor)
        else:
            self._in_rounds(state, wanted, keys)
        self._budget = state.budget
        own: FloatArray = state.potentials[t:]
        return own

    def _pick_from(self, state: Any, ask: int, pool: IntArray, level: float) -> tuple[FloatArray, float]:
        """Up to `ask` picks of the pool with keys of `level` or more: their gains, and the last key seen."""
        picks, gains = np.empty(ask, dtype=np.int64), np.empty(ask)
        got, key = state.pick(ask, pool, level, picks, gains)
        self._found.append((picks[:got], gains[:got]))
        self.made += got
        return gains[:got], key

    def _in_rounds(self, state: Any, wanted: int, keys: FloatArray) -> None:
        """Make picks from the pool of one round after another; interrupts are heard between them."""
        n, end = len(keys), state.t + wanted
        room = max(1, n // _POOL_SHARE)
        level = max(_largest(keys, room), self._floor)
        reach = float(keys.max()) - level if level > -math.inf else 0.0
        parts = _parts(n, self._X.size)
        idle = 0  # rounds without a pick
        with _thread_map(len(parts)) as share:
            while state.t < end:
                if idle > 2 or math.isnan(level):
                    # All items are the pool, so that this round makes a pick or is the last one.
                    level, room = self._floor, n
                places = np.empty(n, dtype=np.int64)
                sizes = share(lambda part: state.gather(level, *part, places), parts)  # noqa: B023
                pool = np.concatenate([places[lo : lo + size] for (lo, _), size in zip(parts, sizes, strict=True)])
                crowded = len(pool) > room
                if crowded:
                    level = max(level, _largest(keys[pool], room))
                    pool = pool[keys[pool] >= level]
                ask = min(_ROUND_PICKS, end - state.t)
                gains, key = self._pick_from(state, ask, pool, level)
                got = len(gains)
                idle = 0 if got else idle + 1
                if got < ask and level == self._floor:
                    break
                # Keys are expected to fall as they did, somewhat faster.
                low = key if key > -math.inf else min(level, float(keys.max()))
                if low == -math.inf:
                    break
                fall = 1.25 * (float(gains[0]) - low) * min(_ROUND_PICKS, end - state.t) / got if got else 0.0
                if got < ask // 4:  # a round that made few picks was given too little
                    room, fall = (2 * room, fall) if crowded else (room, max(fall, 2.0 * reach))
                reach = max(fall, 1e-6 * (1.0 + abs(low)))
                level = max(low - reach, self._floor)


def rounding(D: int, dtype: Any) -> float:
    """By how much (z . x)^2, for unit vectors, can be off when it is computed in numbers of this type.

    Sums have at most D / 2 terms each; all rounding one way is not to be expected of long ones, but cannot be excluded.
    """
    return max(8.0 * math.sqrt(D), 0.5 * D) * float(np.finfo(dtype).eps) + 4.0 * EPS


def squared_norms(X: Array) -> FloatArray:
    """Squared norms of the rows in double precision; infinite or nan where a row is."""
    norms = np.empty(len(X))
    parts = _parts(len(X), X.size)
    if len(parts) == 1:
        _row_loops.squared_norms(X, norms, 0, len(X))
    else:
        with _thread_map(len(parts)) as share:
            list(share(lambda part: _row_loops.squared_norms(X, norms, *part), parts))
    return norms


@contextmanager
def _thread_map(n_threads: int) -> Iterator[Any]:
    """``map`` by a pool of `n_threads`; with one thread, the plain ``map``."""
    if n_threads == 1:
        yield map
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(n_threads) as pool:
            yield pool.map


def _parts(n: int, entries: int) -> list[tuple[int, int]]:
    """Consecutive ranges of n items, one for each thread that is worth its while."""
    if entries < _THREADS_MIN_ENTRIES:
        return [(0, n)]
    workers = min(os.cpu_count() or 1, 8)
    edges = [n * w // workers for w in range(workers + 1)]
    return list(pairwise(edges))


def _largest(values: FloatArray, count: int) -> float:
    """The count-th largest value."""
    return float(np.partition(values, len(values) - count)[len(values) - count])


def orthonormal_rows(rows: FloatArray, tolerance: float) -> FloatArray:
    """Orthonormal basis of the span of a few rows, dependent ones dropped."""
    rows = rows[rows.any(axis=1)]
    if len(rows) == 0:
        return rows
    _, sigma, Vh = np.linalg.svd(rows / np.sqrt((rows**2).sum(axis=1)).max(), full_matrices=False)
    return np.ascontiguousarray(Vh[sigma**2 > tolerance])


def information_inverse(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pseudoinverse of ``rows.T @ rows``, and a matrix of orthogonal columns whose product with its transpose it is."""
    with np.errstate(over="ignore", invalid="ignore"):
        M = rows.T @ rows
    if not np.isfinite(M).all():
        raise KernelError("features were changed during the call: picks are no longer finite; pass a copy")
    lam, V = np.linalg.eigh(M)
    half = V[:, lam > 1e-15 * lam[-1]] / np.sqrt(lam[lam > 1e-15 * lam[-1]])
    return half @ half.T, half


def leverages(X: Array, half: Array) -> FloatArray:
    """Squared norms of the rows of X times a matrix, in the precision of X."""
    leverage = np.empty(len(X))
    for start in range(0, len(X), 4096):
        leverage[start : start + 4096] = row_norms_squared(X[start : start + 4096] @ half)
    return leverage
