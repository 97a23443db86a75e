r"""Greedy selection over rows of features, without forming their kernel.

Each pick maximises ``bonus[i] + weight * log(residual)``, where the residual of item i is its squared distance to the
span of the picks. When all remaining items depend on the picks, picking continues in the limit of a vanishing ridge:
:math:`\det(S_Y + \varepsilon I) = \varepsilon^{|Y|-D}\det(X_Y^*X_Y + \varepsilon I)`, so for
:math:`\varepsilon \to 0` the next pick is the D-optimal one, ``bonus[i] + weight * log(1 + leverage)``.

With few items, one compiled loop makes all picks. With many items, picks are made in rounds. At the start of a round,
the items whose keys reach a *level* are updated, on all cores and in memory order. Those that still reach it are the
pool of the round. Picks are made from the pool as long as their keys reach the level, since no other item does. The
level is a guess of the keys at the end of the round. It affects only the speed: if it is too high, the round ends
early; if it is too low, the pool is large.

The work is O(nD) per pick at worst, but most items stop early (see the compiled loops). The memory is O(n + kD). Sparse
rows stay sparse (:func:`greedy_sparse`): pick t takes one product of the matrix with a vector, O(nnz + tD). The matrix
:math:`M = \sum_{j \in Y} x_j x_j^\top` of the D-optimal rule is stored in a basis of the span of the picks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import KernelError
from diverset.inference import _greedy_loops, _row_loops
from diverset.inference.engine import Limits, Picks
from diverset.numerics.linalg import EPS, row_norms_squared
from diverset.numerics.validation import check_fits_in_memory, is_sparse

__all__ = [
    "greedy_rows",
    "greedy_sparse",
    "information_inverse",
    "leverages",
    "orthonormal_rows",
    "rounding",
    "squared_norms",
    "thread_map",
]

#: Smallest number of entries of X for which several threads share a pass over X.
_THREADS_MIN_ENTRIES = 3_000_000
#: From `_ROUND_MIN_ITEMS` items on, picks are made in rounds of `_ROUND_PICKS`, from the best 1/`_POOL_SHARE` items.
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
    """Up to k picks among the rows of X (float32 or float64, C order), by ``bonus[i] + weight * log(residual)``.

    The vector of item i is ``sqrt(factor[i]) * X[i]``; ``scale[i]`` is its squared norm in double precision, exactly 1
    for unit vectors. `given` are rows already shown, scaled like the items: they repel the picks. `lone` is the number
    of items with factor 0. Such an item has no direction and is unlike every other. If `beyond_rank` is false, picking
    ends at the rank.
    """
    if X.shape[1] == 0:
        X = np.zeros((len(X), 1))  # rows without entries are zero vectors
        given = None
    D = X.shape[1]
    items = (X, scale, factor, bonus, weight)
    basis = np.zeros((0, D)) if given is None else orthonormal_rows(given, 64.0 * D * EPS)
    with np.errstate(divide="ignore"):
        logs = np.log(scale, out=np.zeros(len(scale)), where=scale != 1.0)  # most are unit vectors
    keys = np.where(limits.available, bonus + weight * logs, -math.inf)
    wanted = min(k, D - len(basis) + lone)
    positions, gains, own = _pick(items, limits, wanted, scale, keys, basis, np.zeros((0, 0)), 0.0)
    if len(positions) < k and beyond_rank and limits.stop == -math.inf:
        rest = limits.after(positions)
        if rest.available.any():
            more = _pick_by_leverage(items, rest, k - len(positions), given, positions)
            return Picks(np.concatenate([positions, more[0]]), np.concatenate([gains, more[1]]), len(positions))
    # The determinant is the product of the residuals, each given the items before it.
    return Picks(positions, gains, None, float(np.log(own[: len(positions)]).sum()) if given is None else None)


_Items: TypeAlias = tuple[Array, FloatArray, FloatArray, FloatArray, float]


def _pick_by_leverage(
    items: _Items, limits: Limits, k: int, given: Array | None, chosen: IntArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Picks past the rank."""
    X, scale, factor, bonus, weight = items
    D = X.shape[1]
    rows = np.sqrt(factor[chosen])[:, None] * X[chosen].astype(np.float64)
    inverse, half = information_inverse(rows if given is None else np.vstack([given, rows]))
    # Upper bounds suffice here: the loops compute exact leverages from the inverse where they need them.
    doubt = (rounding(D, X.dtype) + 8.0 * D * EPS) * float((half**2).sum(axis=0).max(initial=0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        leverage = factor * leverages(X, half.astype(X.dtype))
        keys = bonus + weight * np.log1p(leverage + doubt * scale)
    keys[np.isnan(keys)] = math.inf  # overflow: the bound is unknown
    keys[~limits.available] = -math.inf
    return _pick(items, limits, k, leverage, keys, np.zeros((0, D)), inverse, doubt)


def _pick(
    items: _Items, limits: Limits, wanted: int, u0: FloatArray, keys: FloatArray, start: FloatArray,
    inverse: FloatArray, doubt: float,
) -> tuple[IntArray, FloatArray, FloatArray]:  # fmt: skip
    """Up to `wanted` picks, repelled by the directions of `start`: positions, gains and potentials."""
    X, scale, factor, bonus, weight = items
    (n, D), t = X.shape, len(start)
    unit = rounding(D, X.dtype)
    Z = np.zeros((t + wanted, D))
    slack = np.full(t + wanted + 1, doubt)
    if t:
        Z[:t] = start
        slack[1 : t + 1] += unit * np.cumsum(row_norms_squared(start))
    state = _greedy_loops.RowState(
        X, scale, factor, u0, Z, t, slack, unit, inverse, u0.copy(), np.zeros(n, dtype=np.int64),
        (keys, bonus, weight, 64.0 * D * EPS, limits.groups, limits.caps.copy(), limits.costs, limits.budget),
    )  # fmt: skip
    # The key of a pick is above `stop`, so it is at least the next float.
    floor = math.nextafter(limits.stop, math.inf) if limits.stop > -math.inf else limits.stop
    positions, gains = np.empty(wanted, dtype=np.int64), np.empty(wanted)
    if n < _ROUND_MIN_ITEMS:
        made, _ = state.pick(wanted, np.arange(n), floor, positions, gains)
    else:
        made = _pick_in_rounds(state, keys, X.size, floor, positions, gains)
    return positions[:made], gains[:made], state.potentials[t:]


def _pick_in_rounds(
    state: Any, keys: FloatArray, entries: int, floor: float, positions: IntArray, gains: FloatArray
) -> int:
    """Pick in rounds and return the number of picks; Ctrl-C takes effect between rounds."""
    n, wanted, made = len(keys), len(positions), 0
    room = max(1, n // _POOL_SHARE)
    level = max(_largest(keys, room), floor)
    reach = float(keys.max()) - level if level > -math.inf else 0.0
    parts = _parts(n, entries)
    idle = 0  # rounds without a pick
    with thread_map(len(parts)) as share:
        while made < wanted:
            if idle > 2 or math.isnan(level):
                # Use all items as the pool, so that this round makes a pick or is the last one.
                level, room = floor, n
            places = np.empty(n, dtype=np.int64)
            sizes = share(lambda part: state.gather(level, *part, places), parts)  # noqa: B023
            pool = np.concatenate([places[lo : lo + size] for (lo, _), size in zip(parts, sizes, strict=True)])
            crowded = len(pool) > room
            if crowded:
                level = max(level, _largest(keys[pool], room))
                pool = pool[keys[pool] >= level]
            ask = min(_ROUND_PICKS, wanted - made)
            got, key = state.pick(ask, pool, level, positions[made:], gains[made:])
            first = float(gains[made]) if got else 0.0
            made += got
            idle = 0 if got else idle + 1
            if got < ask and level == floor:
                break
            # Expect the keys to fall somewhat faster than in this round.
            low = float(key) if key > -math.inf else min(level, float(keys.max()))
            if low == -math.inf:
                break
            fall = 1.25 * (first - low) * min(_ROUND_PICKS, wanted - made) / got if got else 0.0
            if got < ask // 4:  # few picks: the pool was too small
                room, fall = (2 * room, fall) if crowded else (room, max(fall, 2.0 * reach))
            reach = max(fall, 1e-6 * (1.0 + abs(low)))
            level = max(low - reach, floor)
    return made


def rounding(D: int, dtype: Any) -> float:
    """Bound on the rounding error of (z . x)^2 for unit vectors in this dtype, even if all errors have one sign."""
    return max(8.0 * math.sqrt(D), 0.5 * D) * float(np.finfo(dtype).eps) + 4.0 * EPS


def squared_norms(X: Any) -> FloatArray:
    """Squared norms of dense or CSR rows in double precision; infinite or nan if the row has such entries."""
    norms = np.zeros(X.shape[0])
    if is_sparse(X):
        with np.errstate(over="ignore", under="ignore"):
            np.add.at(norms, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.data**2)
        return norms
    X = np.ascontiguousarray(X)
    parts = _parts(len(X), X.size)
    if len(parts) == 1:
        _row_loops.squared_norms(X, norms, 0, len(X))
    else:
        with thread_map(len(parts)) as share:
            list(share(lambda part: _row_loops.squared_norms(X, norms, *part), parts))
    return norms


@contextmanager
def thread_map(n_threads: int) -> Iterator[Any]:
    """``map`` by a pool of `n_threads`; with one thread, the plain ``map``."""
    if n_threads == 1:
        yield map
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(n_threads) as pool:
            yield pool.map


def _parts(n: int, entries: int) -> list[tuple[int, int]]:
    """Consecutive ranges of n items, one per thread; a single range if X is small."""
    if entries < _THREADS_MIN_ENTRIES:
        return [(0, n)]
    workers = min(os.cpu_count() or 1, 8)
    edges = [n * w // workers for w in range(workers + 1)]
    return list(pairwise(edges))


def _largest(values: FloatArray, count: int) -> float:
    """The count-th largest value."""
    return float(np.partition(values, len(values) - count)[len(values) - count])


def orthonormal_rows(rows: FloatArray, tolerance: float) -> FloatArray:
    """Orthonormal basis of the span of a few rows."""
    rows = rows[rows.any(axis=1)]
    if len(rows) == 0:
        return rows
    _, sigma, Vh = np.linalg.svd(rows / np.sqrt((rows**2).sum(axis=1)).max(), full_matrices=False)
    return np.ascontiguousarray(Vh[sigma**2 > tolerance])


def information_inverse(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pseudoinverse of ``rows.T @ rows``, and a matrix H with orthogonal columns for which it is ``H @ H.T``."""
    with np.errstate(over="ignore", invalid="ignore"):
        M = rows.T @ rows
    if not np.isfinite(M).all():
        raise KernelError("features were changed during the call: picks are no longer finite; pass a copy")
    lam, V = np.linalg.eigh(M)
    half = V[:, lam > 1e-15 * lam[-1]] / np.sqrt(lam[lam > 1e-15 * lam[-1]])
    return half @ half.T, half


def leverages(X: Array, half: Array) -> FloatArray:
    """Squared norms of the rows of X times a matrix, in the precision of X."""
    leverage = np.empty(X.shape[0])
    for start in range(0, X.shape[0], 4096):
        leverage[start : start + 4096] = row_norms_squared(X[start : start + 4096] @ half)
    return leverage


def greedy_sparse(
    X: Any,
    k: int,
    *,
    scale: FloatArray,
    factor: FloatArray,
    bonus: FloatArray,
    weight: float,
    limits: Limits,
    given: IntArray,
) -> Picks:
    """Picks of :func:`greedy_rows` for a CSR matrix of float64 without duplicates; `given` are positions."""
    n, D = X.shape
    k = min(k, n)
    most = k + len(given)
    what, remedy = f"the directions of {most} picks among {D} features", "pick fewer items, or reduce the features"
    check_fits_in_memory(8 * most * D, what=what, remedy=f"{remedy} (TruncatedSVD)")
    span = _Span(X, factor, min(most, D))
    # Rounding errors come from the entries of a row in each product, and from one product per direction.
    tolerance = 64.0 * min(D, int(np.diff(X.indptr).max(initial=1)) + most) * EPS
    residual = scale.copy()
    for j in given:
        if residual[j] > tolerance * scale[j]:
            span.add(int(j), residual)
    left = limits.after()
    picked: list[int] = []
    gains: list[float] = []

    def pick(potential: FloatArray) -> int:
        """Pick the open item of largest key, the first in case of ties; returns -1 if there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            keys = np.where(left.available & (potential > 0.0), bonus + weight * np.log(potential), -math.inf)
        best = int(keys.argmax()) if n else -1
        if best < 0 or keys[best] <= limits.stop:
            return -1
        left.take(best)
        picked.append(best)
        gains.append(float(keys[best]))
        return best

    while len(picked) < k and (best := pick(np.where(residual > tolerance * scale, residual, 0.0))) >= 0:
        span.add(best, residual)
    spent = None
    if len(picked) < k and limits.stop == -math.inf and left.available.any():
        spent = len(picked)
        leverage, inverse = span.leverages(np.concatenate([given, np.array(picked, dtype=np.int64)]))
        # If rows have very different lengths, some leverages may be negative or nan; they count as 0.
        while len(picked) < k and (best := pick(1.0 + np.where(leverage > 0.0, leverage, 0.0))) >= 0:
            inverse = span.lower(best, leverage, inverse)
    return Picks(np.array(picked, dtype=np.int64), np.array(gains), spent)


class _Span:
    """Orthonormal directions of the picks so far, and their effect on residuals and leverages."""

    def __init__(self, X: Any, factor: FloatArray, most: int) -> None:
        self._X, self._factor = X, factor
        self._all = np.zeros((most, X.shape[1]))
        self.Z = self._all[:0]

    def _row(self, i: int) -> FloatArray:
        row = np.zeros(self._X.shape[1])
        entries = slice(self._X.indptr[i], self._X.indptr[i + 1])
        row[self._X.indices[entries]] = math.sqrt(self._factor[i]) * self._X.data[entries]
        return row

    def add(self, i: int, residual: FloatArray) -> None:
        """Add the direction of item i, and lower every residual by its part along that direction."""
        z = self._row(i)
        if not z.any():  # an item without a direction lowers no other residual
            residual[i] = 0.0
            return
        for _ in range(2):  # two passes give orthogonality to rounding error
            z -= self.Z.T @ (self.Z @ z)
        z /= math.sqrt(z @ z)
        t = len(self.Z)
        self._all[t] = z
        self.Z = self._all[: t + 1]
        residual -= self._factor * (self._X @ z) ** 2

    def leverages(self, chosen: IntArray) -> tuple[FloatArray, FloatArray]:
        """Leverage x M^-1 x of every item, where M belongs to the chosen items, and M^-1 in the basis Z."""
        X, Z = self._X, self.Z
        C = np.sqrt(self._factor[chosen])[:, None] * (X[chosen] @ Z.T)
        lam, V = np.linalg.eigh(C.T @ C)
        known = lam > len(lam) * EPS * lam.max(initial=0.0)
        lam, V = lam[known], V[:, known]
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = leverages(X, np.ascontiguousarray(Z.T @ (V / np.sqrt(lam))))
            return self._factor * leverage, (V / lam) @ V.T

    def lower(self, i: int, leverage: FloatArray, inverse: FloatArray) -> FloatArray:
        """Add item i to M: lower every leverage, and return the new inverse (Sherman-Morrison)."""
        c = self.Z @ self._row(i)
        with np.errstate(over="ignore", invalid="ignore"):
            v = inverse @ c
            v /= math.sqrt(1.0 + max(float(c @ v), 0.0))
            leverage -= self._factor * (self._X @ (self.Z.T @ v)) ** 2
            return inverse - np.outer(v, v)
