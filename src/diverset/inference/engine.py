r"""Greedy selection over rows of features or a dense kernel, in positions.

Each pick maximises ``bonus[i] + weight * log(residual)``, where the residual is what item i adds to the squared
volume of the set: its squared distance to the span of the picks. When no item is independent of the picks any more,
picking goes on by the limit of a vanishing ridge: :math:`\det(S_Y + \varepsilon I)` is
:math:`\varepsilon^{|Y|-D}\det(X_Y^*X_Y + \varepsilon I)`, so for :math:`\varepsilon \to 0` the next pick is the
D-optimal one, ``bonus[i] + weight * log(1 + leverage)``.

Work and memory: O(nD) a pick at worst, much less as most items stop early (see the compiled loops), and O(n + kD)
numbers; a dense kernel keeps n x k Cholesky rows.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.numerics.linalg import EPS, row_norms_squared

__all__ = ["Limits", "Picks", "greedy_dense", "greedy_rows", "squared_norms"]

#: Interrupts are heard between compiled calls; each makes about this many multiply-adds at most.
_CALL = 2e9
#: Entries of X from which a scan is shared by threads.
_THREADS_FROM = 3_000_000


def _nothing() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Limits:
    """What may be picked: see :func:`diverset.select`. Empty arrays mean no limit of that kind."""

    available: np.ndarray
    groups: IntArray = field(default_factory=_nothing)
    caps: IntArray = field(default_factory=_nothing)
    costs: FloatArray = field(default_factory=lambda: np.zeros(0))
    budget: float = math.inf
    stop: float = -math.inf


@dataclass(frozen=True, eq=False)
class Picks:
    """Positions in pick order, the gain of each, and after how many the rank was spent (None: it was not).

    ``log_det`` of the similarity over the picks is there where it cost nothing.
    """

    positions: IntArray
    gains: FloatArray
    rank_spent: int | None
    log_det: float | None = None


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
    beyond_rank : bool
        Whether to go on past the rank.
    """
    from diverset.inference import _greedy_loops

    loops: Any = _greedy_loops
    n, D = X.shape
    # One type for the compiled loops, whether the caller's array may be written or not.
    X = X.view()
    X.flags.writeable = False
    given = np.zeros((0, D)) if given is None else np.asarray(given, dtype=np.float64)
    tolerance = 64.0 * D * EPS
    # Rounding of one product in the precision of X: a few units per addition, with slack for their order.
    unit = 8.0 * math.sqrt(D) * float(np.finfo(X.dtype).eps) + 4.0 * EPS
    state: dict[str, Any] = {
        "groups": limits.groups,
        "caps": limits.caps.copy(),
        "costs": limits.costs,
        "left": limits.budget,
    }
    picked: list[IntArray] = []
    gains: list[FloatArray] = []
    potentials: list[FloatArray] = []

    def run(wanted: int, u0: FloatArray, keys: FloatArray, start: FloatArray, inverse: FloatArray, doubt: float) -> int:
        t = len(start)
        Z = np.zeros((t + wanted, D))
        Z[:t] = start
        Z_low = Z.astype(X.dtype)
        slack = np.full(t + wanted + 1, doubt)
        if t:
            slack[1 : t + 1] += unit * np.cumsum(row_norms_squared(start))
        bound, step = u0.copy(), np.zeros(n, dtype=np.int64)
        if limits.costs.size:
            keys[limits.costs > state["left"]] = -math.inf
        shared = (X, scale, factor, u0, bonus, weight, tolerance, inverse, Z, Z_low, slack)
        own = np.empty(t + wanted)
        potentials.append(own)
        known = (bound, step, keys)
        caps = (state["groups"], state["caps"], state["costs"])
        if n * D >= _THREADS_FROM:
            return _pick_in_threads(wanted, shared, known, own, caps, state, unit, t, limits, picked, gains)
        new, gain = np.empty(wanted, dtype=np.int64), np.empty(wanted)
        made, t, state["left"] = loops.pick_linear(
            wanted, *shared, own, unit, t, *known, *caps, state["left"], limits.stop, new, gain
        )
        picked.append(new[:made])
        gains.append(gain[:made])
        return int(made)

    with np.errstate(divide="ignore"):
        keys = np.where(limits.available, bonus + weight * np.log(scale), -math.inf)
    basis = _orthonormal_rows(given, tolerance)
    made = run(min(k, D - len(basis)), scale, keys, basis, np.zeros((0, 0)), 0.0)
    spent = None
    if made < k and beyond_rank and limits.stop == -math.inf:
        chosen = np.concatenate(picked) if picked else _nothing()
        open_ = limits.available.copy()
        open_[chosen] = False
        # Picking may have ended because the caps or the budget are spent, and not the rank.
        if limits.groups.size:
            open_ &= state["caps"][limits.groups] > 0
        if limits.costs.size:
            open_ &= limits.costs <= state["left"]
        spent = made if open_.any() else None
    if spent is not None:
        rows = np.vstack([given, np.sqrt(factor[chosen])[:, None] * X[chosen].astype(np.float64)])
        inverse = np.linalg.pinv(rows.T @ rows, hermitian=True) if len(rows) else np.zeros((D, D))
        lam, V = np.linalg.eigh(inverse)
        half = (V * np.sqrt(np.maximum(lam, 0.0))).astype(X.dtype)
        # Bounds are enough here: the loops compute what they need to know exactly from the inverse.
        doubt = (unit + 8.0 * D * EPS) * max(float(lam[-1]), 0.0)
        leverage = factor * _leverages(X, half)
        keys = bonus + weight * np.log1p(leverage + doubt * scale)
        keys[~open_] = -math.inf
        run(k - made, leverage, keys, np.zeros((0, D)), inverse, doubt)
    positions = np.concatenate(picked) if picked else _nothing()
    # The determinant is the product of what was left of each item beside those before it.
    log_det = float(np.log(potentials[0][:made]).sum()) if spent is None and len(given) == 0 else None
    return Picks(positions, np.concatenate(gains) if gains else np.zeros(0), spent, log_det)


def squared_norms(X: Array) -> FloatArray:
    """Squared norms of the rows in double precision; infinite or nan where a row is."""
    from diverset.inference import _greedy_loops

    loops: Any = _greedy_loops
    X = X.view()
    X.flags.writeable = False
    norms = np.empty(len(X))
    parts = _parts(len(X), X.size)
    if len(parts) == 1:
        loops.squared_norms(X, norms, 0, len(X))
        return norms
    with _Crew(len(parts) - 1) as crew:
        crew.run([partial(loops.squared_norms, X, norms, lo, hi) for lo, hi in parts])
    return norms


class _Crew:
    """Threads that share one scan after another; a lock handed to and fro wakes them sooner than a pool would."""

    def __init__(self, n_helpers: int) -> None:
        self._jobs: list[Any] = [None] * n_helpers
        self._results: list[Any] = [None] * n_helpers
        self._errors: list[BaseException | None] = [None] * n_helpers
        self._go = [threading.Lock() for _ in range(n_helpers)]
        self._done = [threading.Lock() for _ in range(n_helpers)]
        for lock in (*self._go, *self._done):
            lock.acquire()
        for w in range(n_helpers):
            threading.Thread(target=self._work, args=(w,), daemon=True).start()

    def _work(self, w: int) -> None:
        while True:
            self._go[w].acquire()
            if self._jobs[w] is None:
                return
            try:
                self._results[w] = self._jobs[w]()
            except BaseException as error:
                self._errors[w] = error
            self._done[w].release()

    def run(self, jobs: list[Callable[[], Any]]) -> list[Any]:
        """Results of the jobs: the first in this thread, the others each in a thread of its own."""
        for w, job in enumerate(jobs[1:]):
            self._jobs[w] = job
            self._go[w].release()
        try:
            first = jobs[0]()
        finally:
            # An interrupt, too, waits for the others: they write to arrays of the caller.
            for w in range(len(jobs) - 1):
                self._done[w].acquire()
        for error in self._errors:
            if error is not None:
                raise error
        return [first, *self._results[: len(jobs) - 1]]

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for w, lock in enumerate(self._go):
            self._jobs[w] = None
            lock.release()


def _parts(n: int, entries: int) -> list[tuple[int, int]]:
    """Consecutive ranges of n items, one for each thread that is worth its while."""
    workers = min(os.cpu_count() or 1, 8) if entries >= _THREADS_FROM else 1
    edges = [n * w // workers for w in range(workers + 1)]
    return list(pairwise(edges))


def _pick_in_threads(
    wanted: int,
    shared: tuple[Any, ...],
    known: tuple[Any, ...],
    potentials: FloatArray,
    caps: tuple[Any, ...],
    state: dict[str, Any],
    unit: float,
    t: int,
    limits: Limits,
    picked: list[IntArray],
    gains: list[FloatArray],
) -> int:
    """The picks of ``pick_linear``, every scan shared by the cores; interrupts are heard between picks."""
    from diverset.inference import _greedy_loops

    loops: Any = _greedy_loops
    X, _, factor, _, _, _, _, inverse, Z, Z_low, slack = shared
    keys = known[2]
    parts = _parts(len(keys), X.size)
    seeds = [-1] * len(parts)
    made = 0
    with _Crew(len(parts) - 1) as crew:
        while made < wanted:
            found = crew.run(
                [
                    partial(loops.scan_linear, *shared, t, *known, seed, lo, hi)
                    for seed, (lo, hi) in zip(seeds, parts, strict=True)
                ]
            )
            # The largest key, the lowest index among equal ones.
            winner = max(
                range(len(parts)), key=lambda w: (found[w][1], -found[w][0]) if found[w][0] >= 0 else (-math.inf, 0)
            )
            best, key = found[winner][:2]
            if best < 0 or key <= limits.stop:
                break
            # What came first in a part of the items but lost to another part starts its next scan.
            seeds = [second if w == winner else first for w, (first, _, second, _) in enumerate(found)]
            picked.append(np.array([best], dtype=np.int64))
            gains.append(np.array([key]))
            state["left"] = loops.commit_linear(
                best, X, factor, inverse, Z, Z_low, slack, potentials, unit, t, keys, *caps, state["left"]
            )
            t += 1
            made += 1
    return made


def _orthonormal_rows(rows: FloatArray, tolerance: float) -> FloatArray:
    """Orthonormal basis of the span of a few rows, dependent ones dropped."""
    if len(rows) == 0:
        return rows
    _, sigma, Vh = np.linalg.svd(rows / np.sqrt((rows**2).sum(axis=1)).max(), full_matrices=False)
    return np.ascontiguousarray(Vh[sigma**2 > tolerance])


def _leverages(X: Array, half: Array) -> FloatArray:
    """Squared norms of the rows of X times a matrix, in the precision of X."""
    leverage = np.empty(len(X))
    for start in range(0, len(X), 4096):
        leverage[start : start + 4096] = row_norms_squared(X[start : start + 4096] @ half)
    return leverage


def greedy_dense(
    L: Array,
    k: int,
    *,
    bonus: FloatArray,
    weight: float,
    limits: Limits,
    given: IntArray | None = None,
) -> Picks:
    """Up to k picks under a dense kernel; stops where every remaining item depends on the picks.

    Parameters
    ----------
    L : ndarray of shape (n, n)
        Hermitian positive semidefinite.
    k : int
        Number of picks wanted.
    bonus, weight, limits
        As in :func:`greedy_rows`.
    given : ndarray of int64, optional
        Positions already shown; they repel.
    """
    from diverset.inference._greedy_loops import advance_dense, pick_dense

    n = len(L)
    given = _nothing() if given is None else given
    diagonal = np.ascontiguousarray(np.diagonal(L).real)
    width = min(n, k + len(given))
    C = np.zeros((n, width), dtype=L.dtype)
    pivots, history = np.zeros(width), np.zeros(width, dtype=np.int64)
    residual, step = diagonal.copy(), np.zeros(n, dtype=np.int64)
    tolerance = 64.0 * n * EPS
    t = 0
    for j in given:
        advance_dense(L, int(j), C, pivots, history, t, residual, step, bonus, weight, -math.inf)
        if residual[j] > tolerance * diagonal[j]:
            history[t], pivots[t] = j, math.sqrt(residual[j])
            t += 1
    with np.errstate(divide="ignore"):
        keys = bonus + weight * np.log(diagonal)
    keys[~limits.available] = -math.inf
    picks, gains = np.empty(k, dtype=np.int64), np.empty(k)
    caps, left, made = limits.caps.copy(), limits.budget, 0
    while made < k:
        ask = min(k - made, max(1, int(_CALL / (n * max(t, 16) ** 2 + 1))), width - t)
        if ask <= 0:
            break
        got, t, left = pick_dense(
            ask, L, diagonal, bonus, weight, tolerance, C, pivots, history, t, residual, step, keys,
            limits.groups, caps, limits.costs, left, limits.stop, picks[made:], gains[made:],
        )  # fmt: skip
        made += got
        if got < ask:
            break
    return Picks(picks[:made].copy(), gains[:made].copy(), made if made < k else None)
