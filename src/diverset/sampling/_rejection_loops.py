"""Loops of the rejection sampler: alias tables, and whole batches of draws.

Arrays and a NumPy generator in, arrays out. The loops take the numbers of ``rng.random()``.

Real and complex eigenvectors share the source: every number is one or two doubles, its *parts*.

The module is compiled by Cython and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

from diverset.sampling.eigenvector_law import TABLE, TILTED

if cython.compiled:
    from cython.cimports.diverset.numerics.kernels import choose_kernels, kernels, prefetch
    from cython.cimports.diverset.numerics.uniforms import Bits, lock_of, open_generator, uniform
    from cython.cimports.libc.math import hypot, sqrt

    choose_kernels()
else:
    from math import hypot, sqrt

    from diverset import _uncompiled
    from diverset.numerics import kernels
    from diverset.numerics.uniforms import Bits, lock_of, open_generator, uniform

    _uncompiled.warn_once()

__all__ = ["fill_alias_tables", "run", "walk_table"]


def fill_alias_tables(
    weights: cython.const[cython.double][:, ::1],
    threshold: cython.double[:, ::1],
    alias: cython.int[:, ::1],
):
    """Alias table of every row of ``weights``, each adding up to its length, into ``threshold`` and ``alias``.

    One sweep with two pointers: the next light cell (below 1) is filled up by the current heavy one. When that falls
    below 1 itself, the next heavy one takes over.
    """
    rows: cython.Py_ssize_t = weights.shape[0]
    n: cython.Py_ssize_t = weights.shape[1]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    light: cython.Py_ssize_t
    heavy: cython.Py_ssize_t
    following: cython.Py_ssize_t
    left: cython.double
    with cython.nogil:
        for j in range(rows):
            for i in range(n):
                threshold[j, i] = 1.0
                alias[j, i] = i
            light = 0
            while light < n and weights[j, light] >= 1.0:
                light += 1
            heavy = 0
            while heavy < n and weights[j, heavy] < 1.0:
                heavy += 1
            # If rounding leaves cells of one kind only, they weigh 1 up to rounding: the value set above.
            if heavy == n:
                continue
            left = weights[j, heavy]
            while light < n:
                threshold[j, light] = weights[j, light]
                alias[j, light] = heavy
                left -= 1.0 - weights[j, light]
                light += 1
                while light < n and weights[j, light] >= 1.0:
                    light += 1
                while left < 1.0:
                    following = heavy + 1
                    while following < n and weights[j, following] < 1.0:
                        following += 1
                    if following == n:
                        light = n
                        break
                    threshold[j, heavy] = left
                    alias[j, heavy] = following
                    left = weights[j, following] - (1.0 - left)
                    heavy = following


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk(
    bits: Bits,
    success: cython.const[cython.double][::1],
    failure: cython.const[cython.double][::1],
    table: cython.const[cython.double][:, ::1],
    wanted: cython.Py_ssize_t,
    J: cython.Py_ssize_t[::1],
) -> cython.Py_ssize_t:
    """Walk back through the prefix table and write the chosen eigenvectors to ``J``, ascending; return ``wanted``."""
    n: cython.Py_ssize_t = success.shape[0]
    left: cython.Py_ssize_t = wanted
    with_n: cython.double
    without_n: cython.double
    while 0 < left < n:
        n -= 1
        with_n = success[n] * table[n, left - 1]
        without_n = failure[n] * table[n, left]
        # Where one of the two has no weight the other is certain, whatever rounding does to the uniform number.
        if uniform(bits) * (with_n + without_n) < with_n or without_n == 0.0:
            left -= 1
            J[left] = n
    # The walk ends with none left to choose, or with all of the remaining eigenvectors.
    while left > 0:
        left -= 1
        J[left] = left
    return wanted


def walk_table(rng, success, failure, table, wanted: cython.Py_ssize_t):
    """Ascending indices of the eigenvectors that one walk through the prefix table chooses."""
    chosen = np.empty(wanted, dtype=np.intp)
    J: cython.Py_ssize_t[::1] = chosen
    with lock_of(rng):
        _walk(open_generator(rng), success, failure, table, wanted, J)
    return chosen.astype(np.int64, copy=False)


@cython.final
@cython.cclass
class _Draws:
    """A batch of draws: their shared tables, working memory and items.

    Rows of working memory are as long as the largest draw so far needs. A draw of m items uses the first m numbers.
    Rows of ``W`` are conjugate basis vectors of the remaining space.
    """

    bits: Bits
    n: cython.Py_ssize_t
    parts: cython.Py_ssize_t  # doubles of a number
    V: cython.const[cython.double][:, ::1]
    threshold: cython.const[cython.double][:, ::1]
    alias: cython.const[cython.int][:, ::1]
    # phase one, the fields of an EigenvectorLaw
    by_table: cython.bint
    until_wanted: cython.bint
    success: cython.const[cython.double][::1]
    failure: cython.const[cython.double][::1]
    n_certain: cython.Py_ssize_t
    wanted: cython.Py_ssize_t
    table: cython.const[cython.double][:, ::1]
    J: cython.Py_ssize_t[::1]  # the eigenvectors of a draw
    # a block of proposals
    patience: cython.double
    column: cython.Py_ssize_t[::1]
    candidate: cython.Py_ssize_t[::1]
    coin: cython.double[::1]
    level: cython.double[::1]
    norm: cython.double[::1]
    tau: cython.double[::1]
    # working memory
    width: cython.Py_ssize_t  # numbers in a row
    X: cython.double[:, ::1]  # rows of V proposed
    Y: cython.double[:, ::1]  # their coordinates against W
    H: cython.double[:, ::1]  # reflections
    W: cython.double[:, ::1]
    residual: cython.double[::1]
    items: cython.Py_ssize_t[::1]  # of all draws so far, one after the other
    start: cython.Py_ssize_t  # where the current draw starts

    def __init__(self, V, threshold, alias, law, block, patience, capacity):
        method, self.success, self.failure, self.n_certain, self.wanted, self.table = law
        self.by_table = method == TABLE
        self.until_wanted = method == TILTED
        self.n = V.shape[0]
        self.parts = 2 if V.dtype.kind == "c" else 1
        self.V = V.view(np.float64)
        self.threshold = threshold
        self.alias = alias
        self.J = np.empty(V.shape[1] + 1, dtype=np.intp)
        self.patience = patience
        self.column = np.empty(block, dtype=np.intp)
        self.candidate = np.empty(block, dtype=np.intp)
        self.coin = np.empty(block)
        self.level = np.empty(block)
        self.norm = np.empty(block)
        self.tau = np.empty(block)
        self.residual = np.empty(V.shape[0])
        self.items = np.empty(max(capacity, 1), dtype=np.intp)
        self.start = 0
        self.width = 0

    def make_room(self, m: cython.Py_ssize_t):
        """Enough memory for a draw of m items, and more for draws after it."""
        if m > self.width:
            self.width = max(m, 3 * self.width // 2)
            block = self.column.shape[0]
            self.X = np.zeros((block, self.parts * self.width))
            self.Y = np.zeros((block, self.parts * self.width))
            self.H = np.zeros((block, self.parts * (self.width + 3)))
            self.W = np.zeros((self.width + 3, self.parts * self.width))
        if self.start + m > self.items.shape[0]:
            longer = np.empty(2 * (self.start + m), dtype=np.intp)
            longer[: self.start] = self.items[: self.start]
            self.items = longer

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def has_room(self, m: cython.Py_ssize_t) -> cython.bint:
        """Whether memory is enough for a draw of m items."""
        return m <= self.width and self.start + m <= self.items.shape[0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose_eigenvectors(self) -> cython.Py_ssize_t:
        """Phase one: write the chosen eigenvectors to J and return their number."""
        f: cython.Py_ssize_t = self.success.shape[0]
        m: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        if self.by_table:
            m = _walk(self.bits, self.success, self.failure, self.table, self.wanted, self.J)
        else:
            while True:
                m = 0
                for i in range(f):
                    self.J[m] = i
                    if uniform(self.bits) < self.success[i]:
                        m += 1
                if not self.until_wanted or m == self.wanted:
                    break
        for i in range(self.n_certain):
            self.J[m] = f + i
            m += 1
        return m

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def propose(self, m: cython.Py_ssize_t, block: cython.Py_ssize_t) -> cython.void:
        """A block of proposals: an item each, and the level that its residual must exceed, relative to its norm."""
        c: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for c in range(block):
            i = int(uniform(self.bits) * m)
            self.column[c] = self.J[i]
            self.candidate[c] = int(uniform(self.bits) * self.n)
            self.coin[c] = uniform(self.bits)
            self.level[c] = uniform(self.bits)
        # In a separate loop, so that the memory accesses overlap.
        for c in range(block):
            i = self.candidate[c]
            j = self.column[c]
            i = i if self.coin[c] < self.threshold[j, i] else self.alias[j, i]
            self.candidate[c] = i
            if cython.compiled:
                prefetch(cython.address(self.V[i, 0]), 8 * self.V.shape[1])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def gather(self, i: cython.Py_ssize_t, m: cython.Py_ssize_t, c: cython.Py_ssize_t) -> cython.void:
        """Item i's row of the chosen eigenvectors, into row c of X, and its squared norm."""
        k: cython.Py_ssize_t
        if self.parts == 1:
            for k in range(m):
                self.X[c, k] = self.V[i, self.J[k]]
        else:
            for k in range(m):
                self.X[c, 2 * k] = self.V[i, 2 * self.J[k]]
                self.X[c, 2 * k + 1] = self.V[i, 2 * self.J[k] + 1]
        if cython.compiled:
            self.norm[c] = kernels.dot(cython.address(self.X[c, 0]), cython.address(self.X[c, 0]), self.parts * m)
        else:
            self.norm[c] = kernels.dot(self.X[c], self.X[c], self.parts * m)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def compress(self, s: cython.Py_ssize_t, m: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.void:
        """Coordinates of the first rows of X against the first s rows of W, into Y; rows of X are padded to four."""
        if cython.compiled:
            if self.parts == 1:
                kernels.compress(
                    cython.address(self.W[0, 0]),
                    s,
                    cython.address(self.X[0, 0]),
                    count,
                    cython.address(self.Y[0, 0]),
                    m,
                    self.width,
                )
            else:
                kernels.compress_complex(
                    cython.address(self.W[0, 0]),
                    s,
                    cython.address(self.X[0, 0]),
                    count,
                    cython.address(self.Y[0, 0]),
                    m,
                    self.width,
                )
        else:
            kernels.compress(self.W, s, self.X, count, self.Y, m, self.parts)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def residual_of(self, c: cython.Py_ssize_t, s: cython.Py_ssize_t) -> cython.double:
        """Squared norm of the first s coordinates of a proposal."""
        if cython.compiled:
            return kernels.dot(cython.address(self.Y[c, 0]), cython.address(self.Y[c, 0]), self.parts * s)
        else:
            return kernels.dot(self.Y[c], self.Y[c], self.parts * s)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def make_reflection(
        self, c: cython.Py_ssize_t, s: cython.Py_ssize_t, length: cython.double, e: cython.Py_ssize_t
    ) -> cython.void:
        """Reflection I - tau h h* that takes the coordinates of a proposal, of this length, to the last axis.

        It is put at place e of H and tau, padded with zeros.
        """
        end: cython.Py_ssize_t = self.parts * s
        last: cython.double
        k: cython.Py_ssize_t
        for k in range(end):
            self.H[e, k] = self.Y[c, k]
        for k in range(end, end + 3 * self.parts):
            self.H[e, k] = 0.0
        if self.parts == 1:
            last = abs(self.Y[c, s - 1])
        else:
            last = hypot(self.Y[c, end - 2], self.Y[c, end - 1])
        if last > 0.0:
            for k in range(end - self.parts, end):
                self.H[e, k] += self.Y[c, k] * (length / last)
        else:
            self.H[e, end - self.parts] += length
        self.tau[e] = 1.0 / (length * (length + last))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def reflect_coordinates(
        self, e: cython.Py_ssize_t, s: cython.Py_ssize_t, first: cython.Py_ssize_t, count: cython.Py_ssize_t
    ) -> cython.void:
        """Apply reflection e to the coordinates of proposals first..count-1."""
        if first >= count:
            return
        if cython.compiled:
            if self.parts == 1:
                kernels.reflect_rows(
                    cython.address(self.H[e, 0]),
                    self.tau[e],
                    s,
                    cython.address(self.Y[first, 0]),
                    count - first,
                    self.width,
                )
            else:
                kernels.reflect_rows_complex(
                    cython.address(self.H[e, 0]),
                    self.tau[e],
                    s,
                    cython.address(self.Y[first, 0]),
                    count - first,
                    self.width,
                )
        else:
            kernels.reflect_rows(self.H[e], self.tau[e], s, self.Y[first:count], self.parts)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def reflect_basis(self, s: cython.Py_ssize_t, m: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.void:
        """Apply `count` reflections to the s rows of W, each of which drops the last row."""
        if count == 0:
            return
        if cython.compiled:
            if self.parts == 1:
                kernels.reflect(
                    cython.address(self.H[0, 0]),
                    cython.address(self.tau[0]),
                    count,
                    s,
                    cython.address(self.W[0, 0]),
                    m,
                    self.width,
                )
            else:
                kernels.reflect_complex(
                    cython.address(self.H[0, 0]),
                    cython.address(self.tau[0]),
                    count,
                    s,
                    cython.address(self.W[0, 0]),
                    m,
                    self.width,
                )
        else:
            kernels.reflect(self.H, self.tau, count, s, self.W, m, self.parts)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_drawn(self, i: cython.Py_ssize_t, t: cython.Py_ssize_t) -> cython.bint:
        """Whether i is one of the first t items of the draw."""
        found: cython.bint = False
        a: cython.Py_ssize_t
        for a in range(self.start, self.start + t):
            found |= self.items[a] == i
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pick_exactly(self, m: cython.Py_ssize_t, s: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """One item by its residual, from a pass over all of them."""
        i: cython.Py_ssize_t
        chosen: cython.Py_ssize_t = 0
        total: cython.double = 0.0
        reached: cython.double = 0.0
        level: cython.double
        for i in range(self.n):
            self.residual[i] = 0.0
            if not self.is_drawn(i, m - s):
                self.gather(i, m, 0)
                self.compress(s, m, 1)
                self.residual[i] = self.residual_of(0, s)
            total += self.residual[i]
        level = uniform(self.bits) * total
        # The last item with any weight takes what rounding leaves over.
        for i in range(self.n):
            if self.residual[i] > 0.0:
                chosen = i
                reached += self.residual[i]
                if reached > level:
                    break
        return chosen

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def draw_items(self, m: cython.Py_ssize_t, block: cython.Py_ssize_t) -> cython.void:
        """Phase two: m items of the elementary DPP of the columns J, in the order of acceptance."""
        t: cython.Py_ssize_t = 0  # items drawn before this block
        s: cython.Py_ssize_t  # items to come
        accepted: cython.Py_ssize_t  # in this block
        failures: cython.Py_ssize_t = 0
        count: cython.Py_ssize_t
        a: cython.Py_ssize_t
        c: cython.Py_ssize_t
        residual: cython.double
        for a in range(m + 3):
            for c in range(self.parts * m):
                self.W[a, c] = 0.0
            if a < m:
                self.W[a, self.parts * a] = 1.0
        while t < m:
            count = block
            if failures * (m - t) > self.patience * m:
                self.candidate[0] = self.pick_exactly(m, m - t)
                self.level[0] = 0.0
                count = 1
            else:
                self.propose(m, block)
            for c in range(count):
                self.gather(self.candidate[c], m, c)
            self.compress(m - t, m, count)
            accepted = 0
            for c in range(count):
                s = m - t - accepted
                residual = self.residual_of(c, s)
                if residual <= self.level[c] * self.norm[c] or self.is_drawn(self.candidate[c], t + accepted):
                    failures += 1
                    continue
                self.items[self.start + t + accepted] = self.candidate[c]
                failures = 0
                self.make_reflection(c, s, sqrt(residual), accepted)
                self.reflect_coordinates(accepted, s, c + 1, count)
                accepted += 1
                if s == 1:
                    break
            if t + accepted < m:
                self.reflect_basis(m - t, m, accepted)
            t += accepted

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sort_items(self, m: cython.Py_ssize_t) -> cython.void:
        """Ascending, in place: by insertion, since draws are short."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        item: cython.Py_ssize_t
        for i in range(self.start + 1, self.start + m):
            item = self.items[i]
            j = i
            while j > self.start and self.items[j - 1] > item:
                self.items[j] = self.items[j - 1]
                j -= 1
            self.items[j] = item


def run(rng, size: cython.Py_ssize_t, V, threshold, alias, law, blocks, patience, capacity):
    """A batch of draws: all their items, each draw ascending, and where each draw starts and ends.

    ``law`` holds the fields of an ``EigenvectorLaw``, in their order; ``blocks`` the proposals made at a time for small
    m, for large m, and the m from which it is large; ``capacity`` is the number of items to expect.
    """
    short_block: cython.Py_ssize_t
    long_block: cython.Py_ssize_t
    long_from: cython.Py_ssize_t
    short_block, long_block, long_from = blocks
    draws: _Draws = _Draws(V, threshold, alias, law, max(short_block, long_block), patience, capacity)
    offsets: cython.Py_ssize_t[::1] = np.zeros(size + 1, dtype=np.intp)
    d: cython.Py_ssize_t
    m: cython.Py_ssize_t
    with lock_of(rng):
        draws.bits = open_generator(rng)
        with cython.nogil:
            for d in range(size):
                m = draws.choose_eigenvectors()
                if not draws.has_room(m):
                    with cython.gil:
                        draws.make_room(m)
                if m > 0:
                    draws.draw_items(m, long_block if m >= long_from else short_block)
                    draws.sort_items(m)
                draws.start += m
                offsets[d + 1] = draws.start
    items = np.asarray(draws.items)[: draws.start]
    return items.astype(np.int64, copy=False), np.asarray(offsets).astype(np.int64, copy=False)
