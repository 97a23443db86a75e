# cython: infer_types=True
"""Compiled loops of exact MAP: points of the polytope, cliques of conflicting items, probing of every item.

All arrays are real. :func:`bound_and_probe` is the fast version, for real kernels, of
:func:`diverset.inference.bounds.factorization` followed by :func:`diverset.inference.bounds.probe`. A *block* is a set
of items of which a solution contains at most one. Each item is in exactly one block; most blocks have one item.

The module is compiled by Cython, with SciPy's BLAS and LAPACK, and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import HUGE_VAL, exp, fabs, log, sqrt
    from cython.cimports.scipy.linalg.cython_blas import dgemm
    from cython.cimports.scipy.linalg.cython_lapack import dsyevd
else:
    from math import exp, fabs, log, sqrt
    from math import inf as HUGE_VAL

    from diverset import _uncompiled

    _uncompiled.warn_once()

__all__ = ["Polytope", "bound_and_probe", "clique_partition", "schur_complement"]

_EPS = cython.declare(cython.double, 2.220446049250313e-16)


def schur_complement(
    C: cython.const[cython.double][:, ::1],
    floor: cython.const[cython.double][::1],
    inside: cython.const[cython.longlong][::1],
    free: cython.const[cython.longlong][::1],
):
    """Schur complement of the block `inside` on `free`, and log-determinant of that block, -inf if singular."""
    k = inside.shape[0]
    n = k + free.shape[0]
    items: cython.const[cython.longlong][::1] = np.concatenate([inside, free])
    A: cython.double[:, ::1] = np.empty((n, n))
    log_det: cython.double = 0.0
    with cython.nogil:
        for a in range(n):
            for b in range(a + 1):
                A[a, b] = C[items[a], items[b]]
        for t in range(k):
            if A[t, t] <= floor[items[t]]:
                log_det = -HUGE_VAL
                break
            log_det += log(A[t, t])
            for a in range(t + 1, n):
                A[t, a] = A[a, t] / A[t, t]  # multipliers go above the diagonal
            for a in range(t + 1, n):
                for b in range(t + 1, a + 1):
                    A[a, b] -= A[a, t] * A[t, b]
        for a in range(k, n):
            for b in range(k, a):
                A[b, a] = A[a, b]
    return np.ascontiguousarray(A[k:, k:]), log_det


def clique_partition(conflict, order: cython.const[cython.longlong][::1]):
    """Block of each item: cliques of the conflict graph, grown greedily in the given order."""
    m = order.shape[0]
    marks: cython.const[cython.uchar][:, ::1] = conflict.view(np.uint8)
    block: cython.longlong[::1] = np.full(m, -1, dtype=np.int64)
    members: cython.Py_ssize_t[::1] = np.empty(m, dtype=np.intp)
    count = 0
    with cython.nogil:
        for a in range(m):
            i = order[a]
            if block[i] >= 0:
                continue
            block[i] = count
            members[0] = i
            size = 1
            for b in range(a + 1, m):
                j = order[b]
                if block[j] >= 0 or not marks[i, j]:
                    continue
                joins = True
                for t in range(1, size):
                    if not marks[members[t], j]:
                        joins = False
                        break
                if joins:
                    members[size] = j
                    size += 1
                    block[j] = count
            count += 1
    return np.asarray(block)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _select(values: cython.double[::1], n: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.double:
    """Quickselect: the value that sorting would put at `place`; smaller values move before it, larger ones after it."""
    low: cython.Py_ssize_t = 0
    high = n - 1
    while low < high:
        pivot = values[place]
        i = low
        j = high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < place:
            low = i
        if place < i:
            high = j
    return values[place]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_of_largest(values: cython.double[::1], n: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.double:
    """Sum of the `count` largest of n values; moves them to the end, the smallest of them first."""
    total = 0.0
    if count:
        _select(values, n, n - count)
    for t in range(n - count, n):
        total += values[t]
    return total


@cython.final
@cython.cclass
class Polytope:
    """Weights of m items with sum s and at most 1 per block; `block` holds the block number of each item, from 0."""

    m: cython.Py_ssize_t
    s: cython.Py_ssize_t
    n_blocks: cython.Py_ssize_t
    block: cython.const[cython.longlong][::1]
    first: cython.double[::1]
    second: cython.double[::1]
    ordered: cython.double[::1]
    holder: cython.Py_ssize_t[::1]

    def __init__(self, block, s):
        self.m, self.s, self.n_blocks, self.block = len(block), s, block.max() + 1, block
        self.first, self.second, self.ordered = np.empty((3, self.n_blocks))
        self.holder = np.empty(self.n_blocks, dtype=np.intp)

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def point(self, potential: cython.double[::1], x: cython.double[::1]) -> cython.void:
        """Write to x the point with these potentials, which are shifted in place.

        Within a block, x_i is proportional to exp(potential). The log-odds of a block sum y are the log of the total of
        exp(potential) in the block, minus a common shift for which the y have sum s; bisection finds the shift.
        """
        top = self.first
        total = self.second
        low = HUGE_VAL
        high = -HUGE_VAL
        shift = 0.0
        for b in range(self.n_blocks):
            top[b] = -HUGE_VAL
            total[b] = 0.0
        for i in range(self.m):
            top[self.block[i]] = max(top[self.block[i]], potential[i])
        for i in range(self.m):
            total[self.block[i]] += exp(potential[i] - top[self.block[i]])
        for b in range(self.n_blocks):
            total[b] = log(total[b]) + top[b]
            low = min(low, total[b])
            high = max(high, total[b])
        low -= 30.0
        high += 30.0
        for _turn in range(50):
            shift = 0.5 * (low + high)
            y = 0.0
            for b in range(self.n_blocks):
                y += 1.0 / (1.0 + exp(shift - total[b]))
            if fabs(y - self.s) < 1e-7:
                break
            if y > self.s:
                low = shift
            else:
                high = shift
        for i in range(self.m):
            value = total[self.block[i]]
            x[i] = exp(potential[i] - value) / (1.0 + exp(shift - value))
            potential[i] -= shift

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def maximum(self, g: cython.const[cython.double][::1]) -> tuple[cython.double, cython.double]:
        """Largest sum of g over s items of different blocks, and the smallest g in that sum."""
        top = self.ordered
        for i in range(self.n_blocks):
            top[i] = -HUGE_VAL
        for i in range(self.m):
            top[self.block[i]] = max(top[self.block[i]], g[i])
        total = _sum_of_largest(top, self.n_blocks, self.s)
        return total, top[self.n_blocks - self.s]

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def inclusion_bounds(
        self,
        base: cython.const[cython.double][::1],
        g: cython.const[cython.double][:, ::1],
        conflict: cython.uchar[:, ::1],
        target: cython.double,
        bound: cython.double[::1],
    ) -> cython.Py_ssize_t:
        """Write the bound on the sets that include item j, for every j; mark pairs in conflict.

        ``g[j, i]`` is the coefficient of item i given j, and ``base[j]`` is the constant. To bound the sets with both j
        and i, item i replaces the weakest of the s - 1 others. If that bound is at most `target`, i and j conflict.
        Returns the number of conflicts found.
        """
        found: cython.Py_ssize_t = 0
        top = self.first
        for j in range(self.m):
            for i in range(self.n_blocks):
                top[i] = 0.0
            for i in range(self.m):
                if i != j and not conflict[j, i] and self.block[i] != self.block[j]:
                    top[self.block[i]] = max(top[self.block[i]], g[j, i])
            for i in range(self.n_blocks):
                self.ordered[i] = top[i]
            bound[j] = base[j] + _sum_of_largest(self.ordered, self.n_blocks, self.s - 1)
            if self.s < 2 or bound[j] <= target:
                continue
            weakest = self.ordered[self.n_blocks - self.s + 1]
            for i in range(self.m):
                if i == j or conflict[j, i]:
                    continue
                given_up = max(top[self.block[i]], weakest) if self.block[i] != self.block[j] else weakest
                if bound[j] + g[j, i] - given_up <= target:
                    conflict[j, i] = True
                    conflict[i, j] = True
                    found += 1
        return found

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def exclusion_bounds(
        self, g: cython.const[cython.double][::1], value: cython.double, bound: cython.double[::1]
    ) -> cython.void:
        """Write the bound on the sets without item j, for every j; `value` is the bound on all sets."""
        first = self.first
        second = self.second
        for b in range(self.n_blocks):
            first[b] = -HUGE_VAL
            second[b] = -HUGE_VAL
        for i in range(self.m):
            bound[i] = value
            b = self.block[i]
            if g[i] > first[b]:
                second[b] = first[b]
                first[b] = g[i]
                self.holder[b] = i
            elif g[i] > second[b]:
                second[b] = g[i]
        for b in range(self.n_blocks):
            self.ordered[b] = first[b]
        weakest = _select(self.ordered, self.n_blocks, self.n_blocks - self.s)
        spare = -HUGE_VAL
        for b in range(self.n_blocks - self.s):
            spare = max(spare, self.ordered[b])
        for b in range(self.n_blocks):
            if first[b] >= weakest:
                bound[self.holder[b]] = value - first[b] + max(second[b], spare)


@cython.final
@cython.cclass
class _Search:
    """Working memory of :func:`bound_and_probe`, and the best bound found so far.

    The linear bound at a point x has a constant, coefficients g, eigenvalues lam with a rest d, and W. Each array has
    two rows: row ``best`` belongs to the best bound, the other row to the current point.
    """

    m: cython.Py_ssize_t
    s: cython.Py_ssize_t
    best: cython.Py_ssize_t
    psi: cython.double
    C: cython.double[:, ::1]
    x: cython.double[:, ::1]
    g: cython.double[:, ::1]
    lam: cython.double[:, ::1]
    W: cython.double[:, :, ::1]
    count: cython.Py_ssize_t[::1]
    constant: cython.double[::1]
    d: cython.double[::1]
    half: cython.double[:, ::1]
    inner: cython.double[:, ::1]
    V: cython.double[:, ::1]
    values: cython.double[::1]
    support: cython.Py_ssize_t[::1]
    work: cython.double[::1]
    iwork: cython.int[::1]

    def __init__(self, C, s):
        m = len(C)
        self.m, self.s, self.best, self.C = m, s, 0, C.copy()
        self.x, self.g, self.lam = np.zeros((3, 2, m))
        self.W, (self.half, self.inner, self.V) = np.zeros((2, m, m)), np.zeros((3, m, m))
        self.count, self.constant, self.d = np.zeros(2, dtype=np.intp), np.zeros(2), np.ones(2)
        self.values, self.support = np.zeros(m), np.zeros(m, dtype=np.intp)
        # The workspace sizes that LAPACK requires.
        self.work, self.iwork = np.zeros(1 + 6 * m + 2 * m * m), np.zeros(3 + 5 * m, dtype=np.intc)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _eigh(self, m: cython.int, vectors: cython.bint) -> cython.void:
        """Ascending eigenvalues of the leading m x m block of `inner`; on request, its rows become the eigenvectors."""
        if cython.compiled:
            stride: cython.int = self.inner.shape[1]
            lwork: cython.int = self.work.shape[0]
            liwork: cython.int = self.iwork.shape[0]
            info: cython.int = 0
            dsyevd(
                b"V" if vectors else b"N",
                b"L",
                cython.address(m),
                cython.address(self.inner[0, 0]),
                cython.address(stride),
                cython.address(self.values[0]),
                cython.address(self.work[0]),
                cython.address(lwork),
                cython.address(self.iwork[0]),
                cython.address(liwork),
                cython.address(info),
            )
        else:
            self.values[:m], U = np.linalg.eigh(self.inner[:m, :m])
            if vectors:
                self.inner[:m, :m] = U.T

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _product(
        self,
        A: cython.double[:, ::1],
        B: cython.double[:, ::1],
        C: cython.double[:, ::1],
        columns: cython.int,
        inner: cython.int,
    ) -> cython.void:
        """C = A B^T for all m rows of A, the first `columns` rows of B, and the first `inner` entries of rows."""
        rows: cython.int = self.m
        if cython.compiled:
            one: cython.double = 1.0
            zero: cython.double = 0.0
            # BLAS is column-major, so it computes the transpose, B A^T. All matrices have rows of m entries.
            dgemm(
                b"T",
                b"N",
                cython.address(columns),
                cython.address(rows),
                cython.address(inner),
                cython.address(one),
                cython.address(B[0, 0]),
                cython.address(rows),
                cython.address(A[0, 0]),
                cython.address(rows),
                cython.address(zero),
                cython.address(C[0, 0]),
                cython.address(rows),
            )
        else:
            C[:, :columns] = A[:, :inner] @ B[:columns, :inner].T

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _split_off(self, share: cython.double) -> cython.void:
        """Subtract psi, a fraction of the smallest eigenvalue, from the diagonal of C."""
        self.inner[:] = self.C
        self._eigh(self.m, False)
        self.psi = share * max(0.0, self.values[0] - self.m * _EPS * self.values[self.m - 1])
        for i in range(self.m):
            self.C[i, i] -= self.psi

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _spread(self, row: cython.Py_ssize_t, no_weight: cython.double) -> cython.double:
        """Value of the spectral function at ``x[row]``; fills that row's constant, eigenvalues, rest, W and g."""
        m = self.m
        p: cython.Py_ssize_t = 0
        count: cython.Py_ssize_t = 0
        left: cython.double = 0.0
        taken = 0.0
        trace: cython.double = 0.0
        W: cython.double[:, ::1] = self.W[row]
        for i in range(m):
            if self.x[row, i] > no_weight:
                self.support[p] = i
                p += 1
                left += self.x[row, i] * self.C[i, i]
        for b in range(p):
            root = sqrt(self.x[row, self.support[b]])
            for i in range(m):
                self.half[i, b] = self.C[i, self.support[b]] * root
        for a in range(p):
            root = sqrt(self.x[row, self.support[a]])
            for b in range(p):
                self.inner[a, b] = self.half[self.support[a], b] * root
        self._eigh(p, True)
        mean = left / self.s
        while count < self.s - 1 and count < p and self.values[p - 1 - count] > mean * (1.0 + 1e-12):
            taken += self.values[p - 1 - count]
            count += 1
            mean = (left - taken) / (self.s - count)
        d: cython.double = max(mean, _EPS * left / self.s)
        for q in range(count):
            self.lam[row, q] = max(self.values[p - 1 - q], d)
            root = 1.0 / sqrt(self.lam[row, q])
            for b in range(p):
                self.V[q, b] = self.inner[p - 1 - q, b] * root
        if count:
            self._product(self.half, self.V, W, count, p)
        d += self.psi
        value: cython.double = (self.s - count) * log(d)
        constant: cython.double = self.psi * (self.s - count) / d
        for q in range(count):
            self.lam[row, q] += self.psi
            value += log(self.lam[row, q])
            constant += self.psi / self.lam[row, q]
        for i in range(m):
            trace += self.C[i, i]
            total: cython.double = self.C[i, i] / d
            for q in range(count):
                total += (1.0 / self.lam[row, q] - 1.0 / d) * W[i, q] * W[i, q]
            self.g[row, i] = total
        self.count[row] = count
        self.d[row] = d
        self.constant[row] = value + constant + 4.0 * m * _EPS * trace / d
        return value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _coefficients(self, base: cython.double[::1], G: cython.double[:, ::1]) -> cython.void:
        """Constants and coefficients of the best bound given item j, for every j."""
        row = self.best
        W: cython.double[:, ::1] = self.W[row]
        count = self.count[row]
        d = self.d[row]
        psi = self.psi
        for i in range(self.m):
            c: cython.double = self.C[i, i]
            h: cython.double = d * c
            for q in range(count):
                self.V[i, q] = W[i, q] * (1.0 / self.lam[row, q] - 1.0 / d)
                h += (self.lam[row, q] - d) * W[i, q] * W[i, q]
            base[i] = self.constant[row] - (self.s - 1) + log(c + psi) + log(c / h) - psi * self.g[row, i] / c
        if count:
            self._product(self.V, W, G, self.m, count)
        for j in range(self.m):
            c = self.C[j, j]
            for i in range(self.m):
                ratio: cython.double = self.C[i, j] / c
                given: cython.double = (
                    self.g[row, i] - 2.0 * ratio * (G[j, i] + self.C[i, j] / d) + ratio * ratio * self.g[row, j]
                )
                G[j, i] = max(given, 0.0) + psi / (psi + c) * ratio * self.C[i, j] / d


def bound_and_probe(C, s, block, potential, conflict, limits):
    """Factorisation bound, its weights, the bounds with and without each item, the number of new conflicts, the step.

    ``limits`` holds the target, the number of iterations, the accuracy, the first step, the largest change of a
    potential, its range, the largest weight that counts as zero, and the fraction of the smallest eigenvalue that
    becomes psi. Conflicts are marked in place.
    """
    target: cython.double = limits[0]
    max_iter: cython.Py_ssize_t = limits[1]
    accuracy: cython.double = limits[2]
    step: cython.double = limits[3]
    largest: cython.double = limits[4]
    span: cython.double = limits[5]
    no_weight: cython.double = limits[6]
    share: cython.double = limits[7]
    search: _Search = _Search(C, s)
    polytope: Polytope = Polytope(block, s)
    m = search.m
    a: cython.double[::1] = np.array(potential)
    kept_a: cython.double[::1] = np.array(potential)
    kept_g: cython.double[::1] = np.zeros(m)
    marks: cython.uchar[:, ::1] = conflict.view(np.uint8)
    with_item: cython.double[::1] = np.zeros(m)
    without_item: cython.double[::1] = np.zeros(m)
    base: cython.double[::1] = np.zeros(m)
    G: cython.double[:, ::1] = np.zeros((m, m))
    best = HUGE_VAL
    attained = -HUGE_VAL
    reached = -HUGE_VAL
    threshold = 0.0
    found: cython.Py_ssize_t = 0
    with cython.nogil:
        search._split_off(share)
        for iteration in range(max_iter):
            row = 1 - search.best
            polytope.point(a, search.x[row])
            v = search._spread(row, no_weight)
            total, smallest = polytope.maximum(search.g[row])
            attained = max(attained, v)
            if search.constant[row] - search.s + total < best:
                best = search.constant[row] - search.s + total
                search.best = row
            if best <= target or best - attained < 1e-7:
                break
            if iteration > 0 and best - attained < accuracy * (attained - target):
                break
            if v < reached:
                step *= 0.4
            else:
                step *= 1.4
                reached = v
                kept_a[:] = a
                kept_g[:] = search.g[row]
                threshold = smallest
            for i in range(m):
                change = min(max(step * (kept_g[i] - threshold), -largest), largest)
                a[i] = min(max(kept_a[i] + change, -span), span)
        if best > target:
            search._coefficients(base, G)
            found = polytope.inclusion_bounds(base, G, marks, target, with_item)
            polytope.exclusion_bounds(search.g[search.best], best, without_item)
    weights = np.array(search.x[search.best])
    if best <= target:
        coefficients = np.array(search.g[search.best])
        return best, weights, coefficients, coefficients, 0, step
    return best, weights, np.asarray(with_item), np.asarray(without_item), found, step
