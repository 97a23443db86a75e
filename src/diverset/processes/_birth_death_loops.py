# mypy: disable-error-code="untyped-decorator"
"""Compiled steps of the birth, death and move walk, for pair interactions in a box.

The plain twin is :class:`diverset.processes.birth_death.BirthDeathWalk`: ``rng.random()`` gives here the numbers it
gives in NumPy, so both make the same steps from the same generator.

Numba is imported here and nowhere else in this package: import this module inside the function that needs it.
"""

import math

import numba
import numpy as np

from diverset._typing import FloatArray

__all__ = ["LINEAR_CORE", "SOFT_CORE", "STRAUSS", "VERY_SOFT_CORE", "run"]

STRAUSS, VERY_SOFT_CORE, SOFT_CORE, LINEAR_CORE = 0, 1, 2, 3


@numba.njit(cache=True)
def _log_psi(kind: int, p: FloatArray, r: float) -> float:
    if kind == STRAUSS:
        if r > p[1]:
            return 0.0
        return -math.inf if r < p[2] else p[0]
    if kind == VERY_SOFT_CORE:
        value = -math.expm1(-((r / p[0]) ** 2))
        return math.log(value) if value > 0.0 else -math.inf
    if kind == SOFT_CORE:
        return -((p[0] / r) ** p[1]) if r > 0.0 else -math.inf
    if r >= p[0]:
        return 0.0
    return math.log(r / p[0]) if r > 0.0 else -math.inf


@numba.njit(cache=True)
def _log_papangelou(
    place: FloatArray,
    store: FloatArray,
    count: int,
    skipped: int,
    log_activity: float,
    sides: FloatArray,
    torus: bool,
    kind: int,
    p: FloatArray,
) -> float:
    """Log conditional intensity at a place, given all points but one (-1 for none)."""
    total = log_activity
    for i in range(count):
        if i == skipped:
            continue
        squared = 0.0
        for j in range(sides.size):
            step = store[i, j] - place[j]
            if torus:
                step -= sides[j] * np.round(step / sides[j])
            squared += step * step
        total += _log_psi(kind, p, math.sqrt(squared))
        if total == -math.inf:
            break
    return total


@numba.njit(cache=True)
def run(
    rng: np.random.Generator,
    store: FloatArray,
    count: int,
    steps: int,
    move: float,
    log_activity: float,
    sides: FloatArray,
    torus: bool,
    kind: int,
    p: FloatArray,
) -> tuple[int, int, int, float]:
    """Make steps until done or the store is full; returns steps, points, moves accepted and log-weight gained."""
    log_volume = 0.0
    for j in range(sides.size):
        log_volume += math.log(sides[j])
    place = np.zeros(sides.size)
    accepted, gained = 0, 0.0
    for t in range(steps):
        if count == len(store):
            return t, count, accepted, gained
        u = rng.random()
        birth = move <= u < move + 0.5 * (1.0 - move)
        slot = -1
        if not birth:
            if count == 0:
                continue
            slot = int(rng.random() * count)
        if birth or u < move:
            for j in range(sides.size):
                place[j] = rng.random() * sides[j]
        gain = 0.0
        if birth or u < move:
            gain = _log_papangelou(place, store, count, slot, log_activity, sides, torus, kind, p)
        if not birth:
            gain -= _log_papangelou(store[slot], store, count, slot, log_activity, sides, torus, kind, p)
        ratio = gain
        if birth:
            ratio += log_volume - math.log(count + 1)
        elif u >= move:
            ratio -= log_volume - math.log(count)
        if ratio < 0.0 and rng.random() >= math.exp(ratio):
            continue
        accepted += 1
        gained += gain
        if birth:
            store[count] = place
            count += 1
        elif u < move:
            store[slot] = place
        else:
            count -= 1
            store[slot] = store[count]
    return steps, count, accepted, gained
