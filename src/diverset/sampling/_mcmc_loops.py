"""Steps of the add, delete and exchange walk; arrays in, arrays out.

Real and complex kernels share the source.

The module is compiled by Cython and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.diverset.numerics.kernels import choose_kernels
    from cython.cimports.diverset.numerics.numbers import add_row, conj, dot_rows, number, real, squared_modulus
    from cython.cimports.libc.math import log, log1p

    choose_kernels()
else:
    from math import log, log1p

    from diverset import _uncompiled
    from diverset.numerics.numbers import add_row, conj, dot_rows, number, real, squared_modulus

    _uncompiled.warn_once()

__all__ = ["Record", "State", "run"]

#: Departure of one entry of (inverse times kernel) from the identity at which the inverse is made anew.
_STALE = cython.declare(cython.double, 1e-9)


@cython.final
@cython.cclass
class State:
    """The set of a walk: items of the window at the first `size` places of `slots`; `inside` is 1 for these items."""

    slots: cython.Py_ssize_t[::1]
    size: cython.Py_ssize_t
    inside: cython.uchar[::1]

    def __init__(self, slots, size, inside):
        self.slots = slots
        self.size = size
        self.inside = inside


@cython.final
@cython.cclass
class Record:
    """States written on the way, one row each, every `every` steps; `wait` steps before the first."""

    visited: cython.Py_ssize_t[:, ::1]
    sizes: cython.Py_ssize_t[::1]
    log_weights: cython.double[::1]
    wait: cython.Py_ssize_t
    every: cython.Py_ssize_t
    written: cython.Py_ssize_t

    def __init__(self, visited, sizes, log_weights, wait, every):
        self.visited = visited
        self.sizes = sizes
        self.log_weights = log_weights
        self.wait = wait
        self.every = every
        self.written = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def after_step(self, state: State, log_weight: cython.double) -> cython.void:
        """Count a step, and write the state if it is due."""
        a: cython.Py_ssize_t
        self.wait -= 1
        if self.wait == 0:
            for a in range(state.size):
                self.visited[self.written, a] = state.slots[a]
            self.sizes[self.written] = state.size
            self.log_weights[self.written] = log_weight
            self.written += 1
            self.wait = self.every


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_out(M: number[:, ::1], slot: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.void:
    """Inverse without the item at `slot`; row and column `slot` become meaningless."""
    pivot: cython.double = real(M[slot, slot])
    a: cython.Py_ssize_t
    for a in range(size):
        if a != slot:
            add_row(-M[a, slot] / pivot, M, slot, M, a, 0, size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _drop(M: number[:, ::1], slot: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.void:
    """Inverse after the item at `slot` leaves: the last slot moves into its place."""
    last: cython.Py_ssize_t = size - 1
    a: cython.Py_ssize_t
    _take_out(M, slot, size)
    if slot != last:
        for a in range(size):
            M[slot, a] = M[last, a]
        for a in range(size):
            M[a, slot] = M[a, last]
        M[slot, slot] = M[last, last]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(
    M: number[:, ::1], v: number[:, ::1], s: cython.double, slot: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.void:
    """Inverse after an item enters at `slot`: row 1 of v solves against the others, s is its pivot; `size` counts it.

    Row 2 of v is working memory.
    """
    a: cython.Py_ssize_t
    v[1, slot] = 0.0
    for a in range(size):
        v[2, a] = conj(v[1, a])
    for a in range(size):
        if a != slot:
            add_row(v[1, a] / s, v, 2, M, a, 0, size)
    for a in range(size):
        M[a, slot] = -v[1, a] / s
        M[slot, a] = conj(M[a, slot])
    M[slot, slot] = 1.0 / s


def run(
    S: number[:, ::1],
    g: cython.const[cython.double][::1],
    M: number[:, ::1],
    state: State,
    log_weight: cython.double,
    proposed: cython.const[cython.Py_ssize_t][::1],
    uniforms: cython.const[cython.double][:, ::1],
    n: cython.Py_ssize_t,
    moves,
    floor: cython.double,
    record: Record,
):
    """Steps until the uniforms run out or the inverse has drifted.

    ``S`` is the kernel with unit diagonal and ``g`` the logarithm of the diagonal it had; ``M`` the inverse of S at the
    items of ``state``, whose log weight is given. Step t considers item ``proposed[t]``; the row ``uniforms[t]`` holds,
    after the number that chose it, those for the kind of move, the slot and acceptance. ``moves`` are the probabilities
    of an exchange, and of an exchange or addition.

    Returns steps taken, size and moves accepted.
    """
    exchange_below: cython.double
    add_below: cython.double
    exchange_below, add_below = moves
    # Column of the item proposed, what it solves to, and working memory.
    v: number[:, ::1] = np.zeros((3, M.shape[0]), dtype=np.asarray(M).dtype)
    size: cython.Py_ssize_t = state.size
    steps: cython.Py_ssize_t = uniforms.shape[0]
    accepted: cython.Py_ssize_t = 0
    t: cython.Py_ssize_t = 0
    a: cython.Py_ssize_t
    j: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    level: cython.double
    pivot: cython.double
    gain: cython.double = 0.0
    s: cython.double
    exchange: cython.bint
    moved: cython.bint
    stale: cython.bint = False
    ratio: number
    with cython.nogil:
        while t < steps and not stale:
            j = proposed[t]
            level = log1p(-uniforms[t, 3])
            slot = int(uniforms[t, 2] * size)
            moved = False
            if uniforms[t, 1] < add_below:
                exchange = uniforms[t, 1] < exchange_below
                if not state.inside[j] and real(S[j, j]) > 0.0 and (size > 0 or not exchange):
                    s = real(S[j, j])
                    for a in range(size):
                        v[0, a] = S[state.slots[a], j]
                    for a in range(size):
                        v[1, a] = dot_rows(M, a, v, 0, size, False)
                        s -= real(conj(v[0, a]) * v[1, a])
                    if exchange:
                        pivot = real(M[slot, slot])
                        s = max(s, 0.0) + squared_modulus(v[1, slot]) / pivot
                        if s > floor:
                            gain = log(pivot * s) + g[j] - g[state.slots[slot]]
                            if level < gain:
                                ratio = v[1, slot] / pivot
                                for a in range(size):
                                    v[1, a] = v[1, a] - M[a, slot] * ratio
                                # The slot keeps its place: take it out without moving the last one in.
                                _take_out(M, slot, size)
                                _put(M, v, s, slot, size)
                                state.inside[state.slots[slot]] = False
                                moved = True
                    elif s > floor:
                        gain = log(s) + g[j]
                        if level < gain + log(n / (size + 1.0)):
                            slot = size
                            size += 1
                            _put(M, v, s, slot, size)
                            moved = True
                    if moved:
                        state.slots[slot] = j
                        state.inside[j] = True
                        log_weight += gain
            elif size > 0:
                gain = log(real(M[slot, slot])) - g[state.slots[slot]]
                if level < gain + log(cython.cast(cython.double, size) / n):
                    _drop(M, slot, size)
                    state.inside[state.slots[slot]] = False
                    size -= 1
                    state.slots[slot] = state.slots[size]
                    log_weight += gain
                    accepted += 1
            if moved:
                accepted += 1
                for a in range(size):
                    v[0, a] = S[state.slots[a], j]
                ratio = dot_rows(M, slot, v, 0, size, False) - 1.0
                stale = squared_modulus(ratio) > _STALE * _STALE
            state.size = size
            record.after_step(state, log_weight)
            t += 1
    return t, size, accepted
