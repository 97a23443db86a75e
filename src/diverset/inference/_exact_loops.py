# mypy: disable-error-code="untyped-decorator"
"""Compiled loops of exact MAP: points of the polytope, cliques of conflicting items, probing of every item.

Real arrays in, real arrays out. :func:`bound_and_probe` is the compiled twin, for real kernels, of
:func:`diverset.inference.bounds.factorization` followed by :func:`diverset.inference.exact.probe`. A *block* is a set
of items of which a solution holds at most one; items are in exactly one block each, most of them alone.

Numba is imported here: import this module inside the function that needs it.
"""

import math

import numba
import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray

__all__ = [
    "bound_and_probe",
    "clique_partition",
    "exclusion_bounds",
    "inclusion_bounds",
    "linear_maximum",
    "polytope_point",
    "schur_complement",
]

_EPS = float(np.finfo(np.float64).eps)


@numba.njit(cache=True, nogil=True)
def clique_partition(conflict: BoolArray, order: IntArray) -> IntArray:
    """Block of each item: cliques of the conflict graph, grown greedily in the given order."""
    m = len(order)
    block = np.full(m, -1, dtype=np.int64)
    members = np.empty(m, dtype=np.int64)
    count = 0
    for a in range(m):
        i = order[a]
        if block[i] >= 0:
            continue
        block[i] = count
        members[0] = i
        size = 1
        for b in range(a + 1, m):
            j = order[b]
            if block[j] >= 0 or not conflict[i, j]:
                continue
            joins = True
            for t in range(1, size):
                if not conflict[members[t], j]:
                    joins = False
                    break
            if joins:
                members[size] = j
                size += 1
                block[j] = count
        count += 1
    return block


@numba.njit(cache=True, nogil=True)
def schur_complement(C: FloatArray, floor: FloatArray, inside: IntArray, free: IntArray) -> tuple[FloatArray, float]:
    """Schur complement of the block `inside` on `free`, and that block's log-determinant; -inf if it is singular."""
    m = len(free)
    A = np.empty((m, m))
    X = np.empty((len(inside), m))
    R = np.empty((len(inside), len(inside)))
    log_det = 0.0
    for t in range(len(inside)):
        j = inside[t]
        for u in range(t + 1):
            value = C[j, inside[u]]
            for r in range(u):
                value -= R[t, r] * R[u, r]
            if u < t:
                R[t, u] = value / R[u, u]
            elif value <= floor[j]:
                return A, -np.inf
            else:
                R[t, t] = math.sqrt(value)
                log_det += math.log(value)
        for b in range(m):
            X[t, b] = C[j, free[b]]
        for r in range(t):
            for b in range(m):
                X[t, b] -= R[t, r] * X[r, b]
        for b in range(m):
            X[t, b] /= R[t, t]
    product = X.T @ X
    for a in range(m):
        for b in range(m):
            A[a, b] = C[free[a], free[b]] - product[a, b]
    return A, log_det


@numba.njit(cache=True, nogil=True)
def polytope_point(potential: FloatArray, block: IntArray, n_blocks: int, s: int) -> FloatArray:
    """Point x of the polytope (block sums at most 1, total s) with these potentials; they are shifted in place.

    The x_i of a block are proportional to exp(potential), and the block sums y have log-odds equal to the log of
    their total, less a number common to all that makes the y add up to s: found by bisection.
    """
    m = len(potential)
    top = np.full(n_blocks, -np.inf)
    for i in range(m):
        top[block[i]] = max(top[block[i]], potential[i])
    total = np.zeros(n_blocks)
    for i in range(m):
        total[block[i]] += np.exp(potential[i] - top[block[i]])
    low, high = np.inf, -np.inf
    for b in range(n_blocks):
        total[b] = np.log(total[b]) + top[b]
        low = min(low, total[b])
        high = max(high, total[b])
    low -= 30.0
    high += 30.0
    shift = 0.0
    for _ in range(50):
        shift = 0.5 * (low + high)
        y = 0.0
        for b in range(n_blocks):
            y += 1.0 / (1.0 + np.exp(shift - total[b]))
        if abs(y - s) < 1e-7:
            break
        if y > s:
            low = shift
        else:
            high = shift
    x = np.empty(m)
    for i in range(m):
        b = block[i]
        x[i] = np.exp(potential[i] - total[b]) / (1.0 + np.exp(shift - total[b]))
        potential[i] -= shift
    return x


@numba.njit(cache=True, nogil=True)
def linear_maximum(g: FloatArray, block: IntArray, n_blocks: int, s: int) -> tuple[float, float]:
    """Largest sum of g over s items of different blocks, and the smallest g in it."""
    top = np.full(n_blocks, -np.inf)
    for i in range(len(g)):
        top[block[i]] = max(top[block[i]], g[i])
    top = np.sort(top)
    total = 0.0
    for t in range(n_blocks - s, n_blocks):
        total += top[t]
    return total, top[n_blocks - s]


@numba.njit(cache=True, nogil=True)
def inclusion_bounds(
    base: FloatArray, g: FloatArray, block: IntArray, n_blocks: int, s: int, conflict: BoolArray, target: float
) -> tuple[FloatArray, int]:
    """Bound on the sets that include item j, for every j; pairs that cannot be together are marked in `conflict`.

    ``g[j, i]`` is the coefficient of item i once j is in, and ``base[j]`` the constant. With j in, a further item i
    takes the place of the weakest of the s - 1 others: where that bound is not above `target`, i and j conflict.
    """
    m = len(base)
    bound = np.empty(m)
    top = np.empty(n_blocks)
    found = 0
    for j in range(m):
        top[:] = 0.0
        for i in range(m):
            if i != j and not conflict[j, i] and block[i] != block[j]:
                top[block[i]] = max(top[block[i]], g[j, i])
        ordered = np.sort(top)
        total = 0.0
        for t in range(n_blocks - s + 1, n_blocks):
            total += ordered[t]
        bound[j] = base[j] + total
        if s < 2 or bound[j] <= target:
            continue
        weakest = ordered[n_blocks - s + 1]
        for i in range(m):
            if i == j or conflict[j, i]:
                continue
            given_up = max(top[block[i]], weakest) if block[i] != block[j] else weakest
            if bound[j] + g[j, i] - given_up <= target:
                conflict[j, i] = True
                conflict[i, j] = True
                found += 1
    return bound, found


@numba.njit(cache=True, nogil=True)
def exclusion_bounds(g: FloatArray, block: IntArray, n_blocks: int, s: int, value: float) -> FloatArray:
    """Bound on the sets without item j, for every j, where `value` is the bound on all."""
    m = len(g)
    first = np.full(n_blocks, -np.inf)
    second = np.full(n_blocks, -np.inf)
    holder = np.full(n_blocks, -1, dtype=np.int64)
    for i in range(m):
        b = block[i]
        if g[i] > first[b]:
            second[b] = first[b]
            first[b] = g[i]
            holder[b] = i
        elif g[i] > second[b]:
            second[b] = g[i]
    ordered = np.sort(first)
    weakest = ordered[n_blocks - s]
    spare = ordered[n_blocks - s - 1] if n_blocks > s else -np.inf
    bound = np.full(m, value)
    for b in range(n_blocks):
        if first[b] >= weakest:
            bound[holder[b]] = value - first[b] + max(second[b], spare)
    return bound


@numba.njit(cache=True, nogil=True)
def _spread(
    C: FloatArray, x: FloatArray, s: int, psi: float, no_weight: float, g: FloatArray
) -> tuple[float, float, FloatArray, float, FloatArray]:
    """Value of the spectral function at x, constant of the bound, eigenvalues and rest of Theta, W; g is filled."""
    m = len(x)
    support = np.empty(m, dtype=np.int64)
    p = 0
    left = 0.0
    for i in range(m):
        if x[i] > no_weight:
            support[p] = i
            p += 1
            left += x[i] * C[i, i]
    half = np.empty((m, p))
    for i in range(m):
        for b in range(p):
            half[i, b] = C[i, support[b]] * math.sqrt(x[support[b]])
    inner = np.empty((p, p))
    for a in range(p):
        for b in range(p):
            inner[a, b] = half[support[a], b] * math.sqrt(x[support[a]])
    values, U = np.linalg.eigh(inner)
    count = 0
    taken = 0.0
    mean = left / s
    while count < s - 1 and count < p and values[p - 1 - count] > mean * (1.0 + 1e-12):
        taken += values[p - 1 - count]
        count += 1
        mean = (left - taken) / (s - count)
    d = max(mean, _EPS * left / s)
    lam = np.empty(count)
    V = np.empty((p, count))
    for q in range(count):
        lam[q] = max(values[p - 1 - q], d)
        for b in range(p):
            V[b, q] = U[b, p - 1 - q] / math.sqrt(lam[q])
    W = half @ V
    lam += psi
    d += psi
    value = (s - count) * math.log(d)
    constant = psi * (s - count) / d
    for q in range(count):
        value += math.log(lam[q])
        constant += psi / lam[q]
    trace = 0.0
    for i in range(m):
        trace += C[i, i]
        total = C[i, i] / d
        for q in range(count):
            total += (1.0 / lam[q] - 1.0 / d) * W[i, q] * W[i, q]
        g[i] = total
    return value, value + constant + 4.0 * m * _EPS * trace / d, lam, d, W


@numba.njit(cache=True, nogil=True)
def bound_and_probe(
    C: FloatArray,
    s: int,
    block: IntArray,
    n_blocks: int,
    potential: FloatArray,
    conflict: BoolArray,
    limits: tuple[float, int, float, float, float, float, float, float],
) -> tuple[float, FloatArray, FloatArray, FloatArray, int, float]:
    """Factorisation bound, its weights, the bounds with and without each item, the conflicts found, the step reached.

    ``limits`` holds the target, the number of iterations, the accuracy, the first step, the largest change of a
    potential, its range, the weight that counts as none, and the part of the smallest eigenvalue to split off.
    Conflicts are marked in place.
    """
    target, max_iter, accuracy, step, largest, span, no_weight, split = limits
    m = len(C)
    spectrum = np.linalg.eigvalsh(C)
    psi = split * max(0.0, spectrum[0] - m * _EPS * spectrum[m - 1])
    C = C.copy()
    for i in range(m):
        C[i, i] -= psi
    a = potential.copy()
    kept_a = a
    g = np.empty(m)
    kept_g = g
    threshold = 0.0
    attained = reached = -np.inf
    best = np.inf
    constant = 0.0
    d = 1.0
    lam = np.empty(0)
    W = np.empty((m, 0))
    best_g = g
    weights = g
    for iteration in range(max_iter):
        x = polytope_point(a, block, n_blocks, s)
        g = np.empty(m)
        v, new_constant, new_lam, new_d, new_W = _spread(C, x, s, psi, no_weight, g)
        total, smallest = linear_maximum(g, block, n_blocks, s)
        attained = max(attained, v)
        if new_constant - s + total < best:
            best = new_constant - s + total
            weights, best_g, constant, lam, d, W = x, g, new_constant, new_lam, new_d, new_W
        if best <= target or best - attained < 1e-7:
            break
        if iteration > 0 and best - attained < accuracy * (attained - target):
            break
        if v < reached:
            step *= 0.4
        else:
            step *= 1.4
            reached = v
            kept_a = a
            kept_g = g
            threshold = smallest
        a = np.empty(m)
        for i in range(m):
            change = min(max(step * (kept_g[i] - threshold), -largest), largest)
            a[i] = min(max(kept_a[i] + change, -span), span)
    if best <= target:
        return best, weights, best_g, best_g, 0, step
    scaled = np.empty_like(W)
    base = np.empty(m)
    for i in range(m):
        h = d * C[i, i]
        for q in range(len(lam)):
            scaled[i, q] = W[i, q] * (1.0 / lam[q] - 1.0 / d)
            h += (lam[q] - d) * W[i, q] * W[i, q]
        base[i] = constant - (s - 1) + math.log(C[i, i] + psi) + math.log(C[i, i] / h) - psi * best_g[i] / C[i, i]
    G = scaled @ W.T
    for j in range(m):
        for i in range(m):
            ratio = C[i, j] / C[j, j]
            given = best_g[i] - 2.0 * ratio * (G[j, i] + C[i, j] / d) + ratio * ratio * best_g[j]
            G[j, i] = max(given, 0.0) + psi / (psi + C[j, j]) * ratio * C[i, j] / d
    with_item, found = inclusion_bounds(base, G, block, n_blocks, s, conflict, target)
    return best, weights, with_item, exclusion_bounds(best_g, block, n_blocks, s, best), found, step
