"""Steps of the birth, death and move walk, for pair interactions in a box.

:class:`diverset.theory.processes.birth_death.BirthDeathWalk` is the plain version. Both use the numbers of
``rng.random()`` in the same order, so they make the same steps. The module also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.diverset.numerics.uniforms import Bits, lock_of, open_generator, uniform
    from cython.cimports.libc.math import INFINITY, exp, expm1, log, pow, sqrt
else:
    from math import exp, expm1, log, pow, sqrt
    from math import inf as INFINITY

    from diverset import _uncompiled
    from diverset.numerics.uniforms import Bits, lock_of, open_generator, uniform

    _uncompiled.warn_once()

__all__ = ["LINEAR_CORE", "SOFT_CORE", "STRAUSS", "VERY_SOFT_CORE", "Pairs", "run"]

_STRAUSS = cython.declare(cython.int, 0)
_VERY_SOFT_CORE = cython.declare(cython.int, 1)
_SOFT_CORE = cython.declare(cython.int, 2)
# The names above are C variables; these are for other modules.
STRAUSS, VERY_SOFT_CORE, SOFT_CORE, LINEAR_CORE = _STRAUSS, _VERY_SOFT_CORE, _SOFT_CORE, 3


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _log_psi(
    kind: cython.int, p0: cython.double, p1: cython.double, p2: cython.double, r: cython.double
) -> cython.double:
    """Log of the interaction of two points at distance r."""
    value: cython.double
    if kind == _STRAUSS:
        if r > p1:
            return 0.0
        return -INFINITY if r < p2 else p0
    if kind == _VERY_SOFT_CORE:
        value = r / p0
        value = -expm1(-(value * value))
        return log(value) if value > 0.0 else -INFINITY
    if kind == _SOFT_CORE:
        return -pow(p0 / r, p1) if r > 0.0 else -INFINITY
    if r >= p0:
        return 0.0
    return log(r / p0) if r > 0.0 else -INFINITY


@cython.final
@cython.cclass
class Pairs:
    """Target of the walk: points in a box with a pair interaction.

    `kind` is the number of the interaction. Its parameters are log gamma, radius and hard core for Strauss, sigma and
    power for the soft core, and sigma otherwise.
    """

    log_activity: cython.double
    sides: cython.const[cython.double][::1]
    torus: cython.bint
    kind: cython.int
    p0: cython.double
    p1: cython.double
    p2: cython.double

    def __init__(self, log_activity, sides, torus, kind, parameters):
        self.log_activity = log_activity
        self.sides = sides
        self.torus = torus
        self.kind = kind
        self.p0, self.p1, self.p2 = (*parameters, 0.0, 0.0)[:3]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def log_papangelou(
        self,
        places: cython.const[cython.double][:, ::1],
        at: cython.Py_ssize_t,
        store: cython.const[cython.double][:, ::1],
        count: cython.Py_ssize_t,
        skipped: cython.Py_ssize_t,
    ) -> cython.double:
        """Log conditional intensity at place ``places[at]``, given all points but one (-1 for none)."""
        total: cython.double = self.log_activity
        squared: cython.double
        step: cython.double
        dim: cython.Py_ssize_t = self.sides.shape[0]
        torus: cython.bint = self.torus
        kind: cython.int = self.kind
        p0: cython.double = self.p0
        p1: cython.double = self.p1
        p2: cython.double = self.p2
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for i in range(count):
            if i == skipped:
                continue
            squared = 0.0
            for j in range(dim):
                step = abs(store[i, j] - places[at, j])
                if torus:
                    step = min(step, self.sides[j] - step)
                squared += step * step
            total += _log_psi(kind, p0, p1, p2, sqrt(squared))
            if total == -INFINITY:
                break
        return total


def run(
    rng,
    store: cython.double[:, ::1],
    count: cython.Py_ssize_t,
    steps: cython.Py_ssize_t,
    move: cython.double,
    target: Pairs,
):
    """Make `steps` steps, or fewer if the store is full.

    Returns the numbers of steps made, points and accepted moves, and the gain of log-weight.
    """
    dim: cython.Py_ssize_t = target.sides.shape[0]
    place: cython.double[:, ::1] = np.zeros((1, dim))
    log_volume: cython.double = 0.0
    accepted: cython.Py_ssize_t = 0
    gained: cython.double = 0.0
    gain: cython.double
    ratio: cython.double
    u: cython.double
    birth: cython.bint
    slot: cython.Py_ssize_t
    j: cython.Py_ssize_t
    t: cython.Py_ssize_t = 0
    bits: Bits
    for j in range(dim):
        log_volume += log(target.sides[j])
    with lock_of(rng):
        bits = open_generator(rng)
        with cython.nogil:
            while t < steps and count < store.shape[0]:
                t += 1
                u = uniform(bits)
                birth = move <= u < move + 0.5 * (1.0 - move)
                slot = -1
                if not birth:
                    if count == 0:
                        continue
                    slot = int(uniform(bits) * count)
                gain = 0.0
                if birth or u < move:
                    for j in range(dim):
                        place[0, j] = uniform(bits) * target.sides[j]
                    gain = target.log_papangelou(place, 0, store, count, slot)
                if not birth:
                    gain -= target.log_papangelou(store, slot, store, count, slot)
                ratio = gain
                if birth:
                    ratio += log_volume - log(count + 1)
                elif u >= move:
                    ratio -= log_volume - log(count)
                if ratio < 0.0 and uniform(bits) >= exp(ratio):
                    continue
                accepted += 1
                gained += gain
                if birth:
                    slot = count
                    count += 1
                elif u >= move:
                    count -= 1
                for j in range(dim):
                    store[slot, j] = place[0, j] if birth or u < move else store[count, j]
    return t, count, accepted, gained
