# mypy: disable-error-code="untyped-decorator"
"""Compiled steps of the add, delete and exchange walk; arrays in, arrays out.

The plain twin is :class:`diverset.sampling.mcmc.Walk`, which takes the same steps from the same uniforms.

Numba is imported here and nowhere else: import this module inside the function that needs it.
"""

from typing import Any

import numba
import numpy as np

from diverset._typing import Array, FloatArray, IntArray

__all__ = ["run"]

#: Departure of one entry of (inverse times kernel) from the identity at which the inverse is made anew.
_STALE = 1e-9


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _times(M: Array, b: Array, size: int, v: Array) -> None:
    """Set v to M b, for the leading `size` rows and columns."""
    for a in range(size):
        total = M[a, 0] * b[0]
        for c in range(1, size):
            total += M[a, c] * b[c]
        v[a] = total


@numba.njit(cache=True)
def _drop(M: Array, slot: int, size: int) -> None:
    """Inverse after the item at `slot` leaves: the last slot moves into its place."""
    pivot = M[slot, slot]
    for a in range(size):
        if a != slot:
            factor = M[a, slot] / pivot
            for c in range(size):
                if c != slot:
                    M[a, c] -= factor * M[slot, c]
    last = size - 1
    if slot != last:
        for c in range(size):
            M[slot, c] = M[last, c]
        for a in range(size):
            M[a, slot] = M[a, last]
        M[slot, slot] = M[last, last]


@numba.njit(cache=True)
def _put(M: Array, v: Array, s: float, slot: int, size: int) -> None:
    """Inverse after an item enters at `slot`: v solves against the others, s is its pivot; `size` counts it."""
    for a in range(size):
        if a != slot:
            factor = v[a] / s
            for c in range(size):
                if c != slot:
                    M[a, c] += factor * np.conj(v[c])
    for a in range(size):
        if a != slot:
            M[a, slot] = -v[a] / s
            M[slot, a] = np.conj(M[a, slot])
    M[slot, slot] = 1.0 / s


@numba.njit(cache=True)
def run(
    S: Array,
    g: FloatArray,
    M: Array,
    slots: IntArray,
    size: int,
    log_weight: float,
    inside: Any,
    proposed: IntArray,
    uniforms: FloatArray,
    n: int,
    moves: tuple[float, float],
    floor: float,
    sizes: IntArray,
    log_weights: FloatArray,
    visited: IntArray,
    first: int,
    every: int,
) -> tuple[int, int, float, int, int]:
    """Steps until the uniforms run out or the inverse has drifted.

    Items are numbered within the window. ``S`` is the kernel with unit diagonal and ``g`` the logarithm of the
    diagonal it had; ``M`` the inverse of S at ``slots[:size]``. Step t considers item ``proposed[t]``; the row
    ``uniforms[t]`` holds, after the number that chose it, those for the kind of move, the slot and acceptance.
    ``moves`` are the probabilities of an exchange, and of an exchange or addition. After step ``first`` and every
    ``every`` steps from there the state is written to the next row of ``visited``, ``sizes`` and ``log_weights``.

    Returns steps taken, size, log weight, moves accepted and states written.
    """
    b = np.empty(len(M), dtype=M.dtype)
    v = np.empty(len(M), dtype=M.dtype)
    accepted = 0
    written = 0
    for t in range(len(uniforms)):
        j = proposed[t]
        kind = uniforms[t, 1]
        level = np.log1p(-uniforms[t, 3])
        slot = int(uniforms[t, 2] * size)
        moved = False
        if kind < moves[1]:
            exchange = kind < moves[0]
            if not inside[j] and S[j, j].real > 0.0 and (size > 0 or not exchange):
                s = S[j, j].real
                if size > 0:
                    for a in range(size):
                        b[a] = S[slots[a], j]
                    _times(M, b, size, v)
                    for a in range(size):
                        s -= (np.conj(b[a]) * v[a]).real
                if exchange:
                    pivot = M[slot, slot].real
                    s = max(s, 0.0) + abs(v[slot]) ** 2 / pivot
                    if s > floor:
                        gain = np.log(pivot * s) + g[j] - g[slots[slot]]
                        if level < gain:
                            ratio = v[slot] / M[slot, slot]
                            for a in range(size):
                                v[a] -= M[a, slot] * ratio
                            # The slot keeps its place: take it out without moving the last one in.
                            for a in range(size):
                                if a != slot:
                                    factor = M[a, slot] / pivot
                                    for c in range(size):
                                        if c != slot:
                                            M[a, c] -= factor * M[slot, c]
                            _put(M, v, s, slot, size)
                            inside[slots[slot]] = False
                            moved = True
                elif s > floor:
                    gain = np.log(s) + g[j]
                    if level < gain + np.log(n / (size + 1.0)):
                        slot = size
                        size += 1
                        _put(M, v, s, slot, size)
                        moved = True
                if moved:
                    slots[slot] = j
                    inside[j] = True
                    log_weight += gain
        elif size > 0:
            gain = np.log(M[slot, slot].real) - g[slots[slot]]
            if level < gain + np.log(size / n):
                _drop(M, slot, size)
                inside[slots[slot]] = False
                size -= 1
                slots[slot] = slots[size]
                log_weight += gain
                accepted += 1
        stale = False
        if moved:
            accepted += 1
            one = M[slot, slot] * S[slots[slot], j]
            for c in range(size):
                if c != slot:
                    one += M[slot, c] * S[slots[c], j]
            stale = abs(one - 1.0) > _STALE
        if t + 1 >= first and (t + 1 - first) % every == 0:
            visited[written, :size] = slots[:size]
            sizes[written] = size
            log_weights[written] = log_weight
            written += 1
        if stale:
            return t + 1, size, log_weight, accepted, written
    return len(uniforms), size, log_weight, accepted, written
