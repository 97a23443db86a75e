"""Loops of exact MAP: points of the polytope, cliques of conflicting items, probing of every item.

Real arrays in, real arrays out. :func:`bound_and_probe` is the twin, for real kernels, of
:func:`diverset.inference.bounds.factorization` followed by :func:`diverset.inference.probing.probe`. A *block* is a set
of items of which a solution holds at most one; items are in exactly one block each, most of them alone.

The module is compiled by Cython, with SciPy's BLAS and LAPACK, and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.libc.math import HUGE_VAL, exp, fabs, log, sqrt
    from cython.cimports.scipy.linalg.cython_blas import dgemm, dsyrk
    from cython.cimports.scipy.linalg.cython_lapack import dsyevd
else:
    from math import exp, fabs, log, sqrt
    from math import inf as HUGE_VAL

    from diverset import _uncompiled

    _uncompiled.warn_once()

__all__ = [
    "bound_and_probe",
    "clique_partition",
    "exclusion_bounds",
    "inclusion_bounds",
    "linear_maximum",
    "polytope_point",
    "schur_complement",
]

_EPS = cython.declare(cython.double, 2.220446049250313e-16)


# linear algebra ------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _eigh(
    a: cython.double[:, ::1],
    m: cython.int,
    values: cython.double[::1],
    vectors: cython.bint,
    work: cython.double[::1],
    iwork: cython.int[::1],
) -> cython.int:
    """Ascending eigenvalues of the leading m x m block of `a`, whose rows become the eigenvectors if wanted."""
    if cython.compiled:
        stride: cython.int = a.shape[1]
        lwork: cython.int = work.shape[0]
        liwork: cython.int = iwork.shape[0]
        info: cython.int = 0
        job: cython.char = b"V" if vectors else b"N"
        upper: cython.char = b"L"
        dsyevd(
            cython.address(job),
            cython.address(upper),
            cython.address(m),
            cython.address(a[0, 0]),
            cython.address(stride),
            cython.address(values[0]),
            cython.address(work[0]),
            cython.address(lwork),
            cython.address(iwork[0]),
            cython.address(liwork),
            cython.address(info),
        )
        return info
    else:
        values[:m], U = np.linalg.eigh(a[:m, :m])
        if vectors:
            a[:m, :m] = U.T
        return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _product(
    A: cython.double[:, ::1],
    B: cython.double[:, ::1],
    C: cython.double[:, ::1],
    rows: cython.int,
    columns: cython.int,
    inner: cython.int,
) -> cython.void:
    """C = A B^T for the leading blocks of these sizes."""
    if cython.compiled:
        transposed: cython.char = b"T"
        plain: cython.char = b"N"
        one: cython.double = 1.0
        zero: cython.double = 0.0
        stride_a: cython.int = A.shape[1]
        stride_b: cython.int = B.shape[1]
        stride_c: cython.int = C.shape[1]
        # BLAS reads rows as columns, so it computes the transpose, B A^T.
        dgemm(
            cython.address(transposed),
            cython.address(plain),
            cython.address(columns),
            cython.address(rows),
            cython.address(inner),
            cython.address(one),
            cython.address(B[0, 0]),
            cython.address(stride_b),
            cython.address(A[0, 0]),
            cython.address(stride_a),
            cython.address(zero),
            cython.address(C[0, 0]),
            cython.address(stride_c),
        )
    else:
        C[:rows, :columns] = A[:rows, :inner] @ B[:columns, :inner].T


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _subtract_gram(X: cython.double[:, ::1], A: cython.double[:, ::1], count: cython.int, m: cython.int) -> cython.void:
    """A -= X^T X, for the first `count` rows of X and the leading m x m block of A."""
    if cython.compiled:
        upper: cython.char = b"U"
        plain: cython.char = b"N"
        minus: cython.double = -1.0
        one: cython.double = 1.0
        stride_x: cython.int = X.shape[1]
        stride_a: cython.int = A.shape[1]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        dsyrk(
            cython.address(upper),
            cython.address(plain),
            cython.address(m),
            cython.address(count),
            cython.address(minus),
            cython.address(X[0, 0]),
            cython.address(stride_x),
            cython.address(one),
            cython.address(A[0, 0]),
            cython.address(stride_a),
        )
        for i in range(m):
            for j in range(i):
                A[j, i] = A[i, j]
    else:
        A[:m, :m] -= X[:count, :m].T @ X[:count, :m]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _select(values: cython.double[::1], n: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.double:
    """Quickselect: the value that sorting would put at `place`; smaller ones end up before it, larger ones after."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = n - 1
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    pivot: cython.double
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
    """Sum of the `count` largest of n values, which end up last, the smallest of them first."""
    total: cython.double = 0.0
    t: cython.Py_ssize_t
    if count == 0:
        return total
    _select(values, n, n - count)
    for t in range(n - count, n):
        total += values[t]
    return total


def schur_complement(
    C: cython.const[cython.double][:, ::1],
    floor: cython.const[cython.double][::1],
    inside: cython.const[cython.longlong][::1],
    free: cython.const[cython.longlong][::1],
):
    """Schur complement of the block `inside` on `free`, and that block's log-determinant; -inf if it is singular."""
    m: cython.Py_ssize_t = free.shape[0]
    k: cython.Py_ssize_t = inside.shape[0]
    A: cython.double[:, ::1] = np.empty((m, m))
    X: cython.double[:, ::1] = np.empty((k, m))
    R: cython.double[:, ::1] = np.empty((k, k))
    log_det: cython.double = 0.0
    value: cython.double
    t: cython.Py_ssize_t
    u: cython.Py_ssize_t
    r: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    j: cython.Py_ssize_t
    with cython.nogil:
        for t in range(k):
            j = inside[t]
            for u in range(t + 1):
                value = C[j, inside[u]]
                for r in range(u):
                    value -= R[t, r] * R[u, r]
                if u < t:
                    R[t, u] = value / R[u, u]
                elif value <= floor[j]:
                    log_det = -HUGE_VAL
                    break
                else:
                    R[t, t] = sqrt(value)
                    log_det += log(value)
            if log_det == -HUGE_VAL:
                break
            for b in range(m):
                X[t, b] = C[j, free[b]]
            for r in range(t):
                for b in range(m):
                    X[t, b] -= R[t, r] * X[r, b]
            for b in range(m):
                X[t, b] /= R[t, t]
        if log_det > -HUGE_VAL:
            for a in range(m):
                for b in range(m):
                    A[a, b] = C[free[a], free[b]]
            if k > 0 and m > 0:
                _subtract_gram(X, A, k, m)
    return np.asarray(A), log_det


# blocks --------------------------------------------------------------------------------------------------------------


def clique_partition(conflict, order: cython.const[cython.longlong][::1]):
    """Block of each item: cliques of the conflict graph, grown greedily in the given order."""
    m: cython.Py_ssize_t = order.shape[0]
    marks: cython.const[cython.uchar][:, ::1] = conflict.view(np.uint8)
    block: cython.longlong[::1] = np.full(m, -1, dtype=np.int64)
    members: cython.Py_ssize_t[::1] = np.empty(m, dtype=np.intp)
    count: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    t: cython.Py_ssize_t
    joins: cython.bint
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
def _polytope_point(
    potential: cython.double[::1],
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    s: cython.Py_ssize_t,
    top: cython.double[::1],
    total: cython.double[::1],
    x: cython.double[::1],
) -> cython.void:
    m: cython.Py_ssize_t = potential.shape[0]
    i: cython.Py_ssize_t
    b: cython.Py_ssize_t
    _turn: cython.Py_ssize_t
    y: cython.double
    low: cython.double = HUGE_VAL
    high: cython.double = -HUGE_VAL
    shift: cython.double = 0.0
    for b in range(n_blocks):
        top[b] = -HUGE_VAL
        total[b] = 0.0
    for i in range(m):
        top[block[i]] = max(top[block[i]], potential[i])
    for i in range(m):
        total[block[i]] += exp(potential[i] - top[block[i]])
    for b in range(n_blocks):
        total[b] = log(total[b]) + top[b]
        low = min(low, total[b])
        high = max(high, total[b])
    low -= 30.0
    high += 30.0
    for _turn in range(50):
        shift = 0.5 * (low + high)
        y = 0.0
        for b in range(n_blocks):
            y += 1.0 / (1.0 + exp(shift - total[b]))
        if fabs(y - s) < 1e-7:
            break
        if y > s:
            low = shift
        else:
            high = shift
    for i in range(m):
        b = block[i]
        x[i] = exp(potential[i] - total[b]) / (1.0 + exp(shift - total[b]))
        potential[i] -= shift


def polytope_point(
    potential: cython.double[::1],
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    s: cython.Py_ssize_t,
):
    """Point x of the polytope (block sums at most 1, total s) with these potentials; they are shifted in place.

    The x_i of a block are proportional to exp(potential), and the block sums y have log-odds equal to the log of
    their total, less a number common to all that makes the y add up to s: found by bisection.
    """
    x = np.empty(potential.shape[0])
    _polytope_point(potential, block, n_blocks, s, np.empty(n_blocks), np.empty(n_blocks), x)
    return x


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _linear_maximum(
    g: cython.const[cython.double][::1],
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    s: cython.Py_ssize_t,
    top: cython.double[::1],
) -> tuple[cython.double, cython.double]:
    i: cython.Py_ssize_t
    total: cython.double
    for i in range(n_blocks):
        top[i] = -HUGE_VAL
    for i in range(g.shape[0]):
        top[block[i]] = max(top[block[i]], g[i])
    total = _sum_of_largest(top, n_blocks, s)
    return total, top[n_blocks - s]


def linear_maximum(
    g: cython.const[cython.double][::1],
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    s: cython.Py_ssize_t,
):
    """Largest sum of g over s items of different blocks, and the smallest g in it."""
    return _linear_maximum(g, block, n_blocks, s, np.empty(n_blocks))


# probing -------------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _inclusion_bounds(
    base: cython.const[cython.double][::1],
    g: cython.const[cython.double][:, ::1],
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    s: cython.Py_ssize_t,
    conflict: cython.uchar[:, ::1],
    target: cython.double,
    top: cython.double[::1],
    ordered: cython.double[::1],
    bound: cython.double[::1],
) -> cython.Py_ssize_t:
    m: cython.Py_ssize_t = base.shape[0]
    found: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    weakest: cython.double
    given_up: cython.double
    for j in range(m):
        for i in range(n_blocks):
            top[i] = 0.0
        for i in range(m):
            if i != j and not conflict[j, i] and block[i] != block[j]:
                top[block[i]] = max(top[block[i]], g[j, i])
        for i in range(n_blocks):
            ordered[i] = top[i]
        bound[j] = base[j] + _sum_of_largest(ordered, n_blocks, s - 1)
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
    return found


def inclusion_bounds(
    base: cython.const[cython.double][::1],
    g: cython.const[cython.double][:, ::1],
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    s: cython.Py_ssize_t,
    conflict,
    target: cython.double,
):
    """Bound on the sets that include item j, for every j; pairs that cannot be together are marked in `conflict`.

    ``g[j, i]`` is the coefficient of item i once j is in, and ``base[j]`` the constant. With j in, a further item i
    takes the place of the weakest of the s - 1 others: where that bound is not above `target`, i and j conflict.
    Returns the bounds and the number of conflicts found.
    """
    bound = np.empty(base.shape[0])
    found = _inclusion_bounds(
        base, g, block, n_blocks, s, conflict.view(np.uint8), target, np.empty(n_blocks), np.empty(n_blocks), bound
    )
    return bound, found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exclusion_bounds(
    g: cython.const[cython.double][::1],
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    s: cython.Py_ssize_t,
    value: cython.double,
    first: cython.double[::1],
    second: cython.double[::1],
    ordered: cython.double[::1],
    holder: cython.Py_ssize_t[::1],
    bound: cython.double[::1],
) -> cython.void:
    m: cython.Py_ssize_t = g.shape[0]
    i: cython.Py_ssize_t
    b: cython.Py_ssize_t
    weakest: cython.double
    spare: cython.double = -HUGE_VAL
    for b in range(n_blocks):
        first[b] = -HUGE_VAL
        second[b] = -HUGE_VAL
        holder[b] = -1
    for i in range(m):
        bound[i] = value
        b = block[i]
        if g[i] > first[b]:
            second[b] = first[b]
            first[b] = g[i]
            holder[b] = i
        elif g[i] > second[b]:
            second[b] = g[i]
    for b in range(n_blocks):
        ordered[b] = first[b]
    weakest = _select(ordered, n_blocks, n_blocks - s)
    for b in range(n_blocks - s):
        spare = max(spare, ordered[b])
    for b in range(n_blocks):
        if first[b] >= weakest:
            bound[holder[b]] = value - first[b] + max(second[b], spare)


def exclusion_bounds(
    g: cython.const[cython.double][::1],
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    s: cython.Py_ssize_t,
    value: cython.double,
):
    """Bound on the sets without item j, for every j, where `value` is the bound on all."""
    bound = np.empty(g.shape[0])
    first, second, ordered = np.empty((3, n_blocks))
    _exclusion_bounds(g, block, n_blocks, s, value, first, second, ordered, np.empty(n_blocks, dtype=np.intp), bound)
    return bound


@cython.final
@cython.cclass
class _Search:
    """Working memory of :func:`bound_and_probe`, and the best bound found so far.

    The linear bound at a point x has a constant, coefficients g, eigenvalues lam with a rest d, and W. Of each there
    are two: row ``best`` holds those of the best bound, the other row those of the current point.
    """

    m: cython.Py_ssize_t
    best: cython.Py_ssize_t
    C: cython.double[:, ::1]
    x: cython.double[:, ::1]
    g: cython.double[:, ::1]
    lam: cython.double[:, ::1]
    W0: cython.double[:, ::1]
    W1: cython.double[:, ::1]
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

    def __init__(self, C):
        m = len(C)
        self.m, self.best = m, 0
        self.C = C.copy()
        self.x, self.g, self.lam = np.zeros((2, m)), np.zeros((2, m)), np.zeros((2, m))
        self.W0, self.W1, self.half, self.inner, self.V = np.zeros((5, m, m))
        self.count, self.constant, self.d = np.zeros(2, dtype=np.intp), np.zeros(2), np.ones(2)
        self.values, self.support = np.zeros(m), np.zeros(m, dtype=np.intp)
        # The sizes that LAPACK asks for.
        self.work, self.iwork = np.zeros(1 + 6 * m + 2 * m * m), np.zeros(3 + 5 * m, dtype=np.intc)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _split_off(self, share: cython.double) -> cython.double:
        """Subtract a share of the smallest eigenvalue from the diagonal of C; returns what was subtracted."""
        i: cython.Py_ssize_t
        m: cython.Py_ssize_t = self.m
        psi: cython.double
        self.inner[:] = self.C
        _eigh(self.inner, m, self.values, False, self.work, self.iwork)
        psi = share * max(0.0, self.values[0] - m * _EPS * self.values[m - 1])
        for i in range(m):
            self.C[i, i] -= psi
        return psi

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _spread(
        self, row: cython.Py_ssize_t, s: cython.Py_ssize_t, psi: cython.double, no_weight: cython.double
    ) -> cython.double:
        """Value of the spectral function at ``x[row]``; fills that row's constant, eigenvalues, rest, W and g."""
        m: cython.Py_ssize_t = self.m
        p: cython.Py_ssize_t = 0
        count: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        q: cython.Py_ssize_t
        left: cython.double = 0.0
        taken: cython.double = 0.0
        trace: cython.double = 0.0
        mean: cython.double
        d: cython.double
        root: cython.double
        value: cython.double
        constant: cython.double
        total: cython.double
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
        _eigh(self.inner, p, self.values, True, self.work, self.iwork)
        mean = left / s
        while count < s - 1 and count < p and self.values[p - 1 - count] > mean * (1.0 + 1e-12):
            taken += self.values[p - 1 - count]
            count += 1
            mean = (left - taken) / (s - count)
        d = max(mean, _EPS * left / s)
        for q in range(count):
            self.lam[row, q] = max(self.values[p - 1 - q], d)
            root = 1.0 / sqrt(self.lam[row, q])
            for b in range(p):
                self.V[q, b] = self.inner[p - 1 - q, b] * root
        if count:
            _product(self.half, self.V, self.W1 if row else self.W0, m, count, p)
        d += psi
        value = (s - count) * log(d)
        constant = psi * (s - count) / d
        for q in range(count):
            self.lam[row, q] += psi
            value += log(self.lam[row, q])
            constant += psi / self.lam[row, q]
        for i in range(m):
            trace += self.C[i, i]
            total = self.C[i, i] / d
            for q in range(count):
                root = self.W1[i, q] if row else self.W0[i, q]
                total += (1.0 / self.lam[row, q] - 1.0 / d) * root * root
            self.g[row, i] = total
        self.count[row] = count
        self.d[row] = d
        self.constant[row] = value + constant + 4.0 * m * _EPS * trace / d
        return value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _coefficients(
        self, s: cython.Py_ssize_t, psi: cython.double, base: cython.double[::1], G: cython.double[:, ::1]
    ) -> cython.void:
        """Constants and coefficients of the best bound once item j is in, for every j."""
        m: cython.Py_ssize_t = self.m
        row: cython.Py_ssize_t = self.best
        W: cython.double[:, ::1] = self.W1 if row else self.W0
        count: cython.Py_ssize_t = self.count[row]
        d: cython.double = self.d[row]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        q: cython.Py_ssize_t
        h: cython.double
        c: cython.double
        ratio: cython.double
        given: cython.double
        for i in range(m):
            c = self.C[i, i]
            h = d * c
            for q in range(count):
                self.V[i, q] = W[i, q] * (1.0 / self.lam[row, q] - 1.0 / d)
                h += (self.lam[row, q] - d) * W[i, q] * W[i, q]
            base[i] = self.constant[row] - (s - 1) + log(c + psi) + log(c / h) - psi * self.g[row, i] / c
        if count:
            _product(self.V, W, G, m, m, count)
        for j in range(m):
            c = self.C[j, j]
            for i in range(m):
                ratio = self.C[i, j] / c
                given = self.g[row, i] - 2.0 * ratio * (G[j, i] + self.C[i, j] / d) + ratio * ratio * self.g[row, j]
                G[j, i] = max(given, 0.0) + psi / (psi + c) * ratio * self.C[i, j] / d


def bound_and_probe(
    C,
    s: cython.Py_ssize_t,
    block: cython.const[cython.longlong][::1],
    n_blocks: cython.Py_ssize_t,
    potential,
    conflict,
    limits,
):
    """Factorisation bound, its weights, the bounds with and without each item, the conflicts found, the step reached.

    ``limits`` holds the target, the number of iterations, the accuracy, the first step, the largest change of a
    potential, its range, the weight that counts as none, and the part of the smallest eigenvalue to split off.
    Conflicts are marked in place.
    """
    target: cython.double = limits[0]
    max_iter: cython.Py_ssize_t = limits[1]
    accuracy: cython.double = limits[2]
    step: cython.double = limits[3]
    largest: cython.double = limits[4]
    span: cython.double = limits[5]
    no_weight: cython.double = limits[6]
    share: cython.double = limits[7]
    search: _Search = _Search(C)
    m: cython.Py_ssize_t = len(C)
    marks: cython.uchar[:, ::1] = conflict.view(np.uint8)
    a: cython.double[::1] = np.array(potential)
    kept_a: cython.double[::1] = np.array(potential)
    kept_g: cython.double[::1] = np.zeros(m)
    x: cython.double[::1] = np.zeros(m)
    g: cython.double[::1] = np.zeros(m)
    first: cython.double[::1] = np.zeros(n_blocks)
    second: cython.double[::1] = np.zeros(n_blocks)
    ordered: cython.double[::1] = np.zeros(n_blocks)
    holder: cython.Py_ssize_t[::1] = np.zeros(n_blocks, dtype=np.intp)
    with_item: cython.double[::1] = np.zeros(m)
    without_item: cython.double[::1] = np.zeros(m)
    base: cython.double[::1] = np.zeros(m)
    G: cython.double[:, ::1] = np.zeros((m, m))
    psi: cython.double
    v: cython.double
    total: cython.double
    smallest: cython.double
    change: cython.double
    best: cython.double = HUGE_VAL
    attained: cython.double = -HUGE_VAL
    reached: cython.double = -HUGE_VAL
    threshold: cython.double = 0.0
    found: cython.Py_ssize_t = 0
    iteration: cython.Py_ssize_t
    row: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        psi = search._split_off(share)
        for iteration in range(max_iter):
            row = 1 - search.best
            _polytope_point(a, block, n_blocks, s, first, second, x)
            search.x[row, :] = x
            v = search._spread(row, s, psi, no_weight)
            g[:] = search.g[row]
            total, smallest = _linear_maximum(g, block, n_blocks, s, ordered)
            attained = max(attained, v)
            if search.constant[row] - s + total < best:
                best = search.constant[row] - s + total
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
                kept_g[:] = g
                threshold = smallest
            for i in range(m):
                change = min(max(step * (kept_g[i] - threshold), -largest), largest)
                a[i] = min(max(kept_a[i] + change, -span), span)
        if best > target:
            search._coefficients(s, psi, base, G)
            g[:] = search.g[search.best]
            found = _inclusion_bounds(base, G, block, n_blocks, s, marks, target, first, ordered, with_item)
            _exclusion_bounds(g, block, n_blocks, s, best, first, second, ordered, holder, without_item)
    weights = np.array(search.x[search.best])
    if best <= target:
        coefficients = np.array(search.g[search.best])
        return best, weights, coefficients, coefficients, 0, step
    return best, weights, np.asarray(with_item), np.asarray(without_item), found, step
