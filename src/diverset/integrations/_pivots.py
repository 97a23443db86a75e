r"""Greedy conditional variance from a kernel function: the pivots of a fully pivoted Cholesky factorisation.

Step j picks the row with the largest variance given the rows picked before,

.. math::  p_j = \arg\max_i \; v_i, \qquad v = \mathrm{diag}\big(K - K_{\cdot P} K_{PP}^{-1} K_{P \cdot}\big),

which is greedy maximisation of :math:`\det K_{PP}`. The textbook algorithm updates all n rows in every step by a
matrix-vector product, which reads the whole factor from memory each time. However, variances only decrease, so an old
value is an upper bound. Here only a *pool* of rows is updated in every step. A row outside the pool enters it when its
old value exceeds every value inside. When the pool is full, all rows are updated together, by matrix products, and
a new pool is chosen. The pivots are those of the textbook algorithm.
"""

from __future__ import annotations

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import check_fits_in_memory
from diverset.sampling.kernel_function import ROUNDING, KernelFunction

__all__ = ["greedy_pivots"]

#: A new pool holds `_POOL_ENTRIES` entries of the factor, but at least `_POOL` rows. A pool holds at most
#: 1/`_LARGEST_PART` of all rows, or `_POOL` rows if that is more.
_POOL, _POOL_ENTRIES, _LARGEST_PART = 1024, 1 << 17, 32
#: Number of kernel entries evaluated in one call.
_ENTRIES = 1 << 18


class _Factor:
    """The factor after step `done`, with one column per row of the data; columns of the pool are always current."""

    def __init__(self, entries: KernelFunction, m: int) -> None:
        self.n = entries.n_items
        self.limit = min(max(_POOL, self.n // _LARGEST_PART), self.n)
        check_fits_in_memory(
            8 * (self.n + self.limit) * m,
            what=f"the factor of {self.n} rows for {m} points",
            remedy="ask for fewer points",
        )
        self.entries = entries
        self.variance = np.array(entries.diagonal(), dtype=np.float64)
        self.factor = np.empty((m, self.n))
        self.pool = np.empty(self.limit, dtype=np.int64)
        self.pool_factor = np.empty((m, self.limit))
        self.pool_variance = np.empty(self.limit)
        self.lower = np.zeros((m, m))  # the columns of the pivots, transposed: a lower triangular matrix
        self.pivots = np.zeros(m, dtype=np.int64)
        self.step = self.done = self.size = 0
        self.start_pool()

    def newer(self) -> tuple[FloatArray, FloatArray]:
        """Matrices that compute the factor's rows since step `done`, from the older rows and from covariances."""
        a, b = self.done, self.step
        # NumPy's solver: threads of SciPy's own BLAS library would compete with those of NumPy's for the cores.
        inverse = np.asarray(np.linalg.solve(self.lower[a:b, a:b], np.eye(b - a)), dtype=np.float64)
        return -inverse @ self.lower[a:b, :a], inverse

    def update(self) -> None:
        """Update all rows to the current step."""
        a, b = self.done, self.step
        from_older, from_covariance = self.newer()
        size = _ENTRIES // max(b - a, 1) + 1
        for start in range(0, self.n if b > a else 0, size):
            part = slice(start, min(start + size, self.n))
            new = np.matmul(from_older, self.factor[:a, part], out=self.factor[a:b, part])
            new += from_covariance @ self.entries.block(self.pivots[a:b], part)
            self.variance[part] -= np.einsum("ji,ji->i", new, new)
        np.maximum(self.variance, 0.0, out=self.variance)
        self.variance[self.pivots[:b]] = 0.0
        self.done = b

    def start_pool(self) -> None:
        """Make the rows with the largest variances the pool; ties go to the lowest index."""
        wanted = min(max(_POOL, _POOL_ENTRIES // (self.step + 1)), self.limit)
        chosen = np.zeros(self.n, dtype=bool)
        if self.n <= wanted:
            chosen[:] = True
        else:
            least = np.partition(self.variance, self.n - wanted)[self.n - wanted]
            np.greater(self.variance, least, out=chosen)
            chosen[np.flatnonzero(self.variance == least)[: wanted - np.count_nonzero(chosen)]] = True
        # Rows that stay in the pool are current there; copying the others from the factor takes longer.
        stay = np.flatnonzero(chosen[self.pool[: self.size]])
        self.outside, self.size = self.variance.copy(), len(stay)
        rows = self.pool[stay]
        self.pool[: self.size] = rows
        self.pool_factor[: self.step, : self.size] = self.pool_factor[: self.step, stay]
        self.pool_variance[: self.size] = self.variance[rows]
        self.outside[rows], chosen[rows] = -1.0, False
        self.enter(np.flatnonzero(chosen))

    def enter(self, rows: IntArray) -> None:
        """Add rows to the pool, and update them to the current step."""
        a, b = self.done, self.step
        where = slice(self.size, self.size + len(rows))
        self.pool[where] = rows
        self.pool_factor[:a, where] = self.factor[:a, rows]
        self.pool_variance[where] = self.variance[rows]
        if a < b:
            from_older, from_covariance = self.newer()
            new = from_covariance @ self.entries.block(self.pivots[a:b], rows)
            new += from_older @ self.pool_factor[:a, where]
            self.pool_factor[a:b, where] = new
            self.pool_variance[where] = np.maximum(self.variance[rows] - np.einsum("ji,ji->i", new, new), 0.0)
        self.outside[rows] = -1.0
        self.size += len(rows)

    def best(self) -> int:
        """Place in the pool of the row with the largest variance of all."""
        while True:
            largest = np.flatnonzero(self.pool_variance[: self.size] == self.pool_variance[: self.size].max())
            i = int(largest[self.pool[largest].argmin()])
            if self.outside.max() <= self.pool_variance[i]:
                return i
            above = np.flatnonzero(self.outside > self.pool_variance[i])
            if self.size + len(above) <= self.limit:
                self.enter(above)
            else:
                self.update()
                self.start_pool()

    def take(self, i: int) -> None:
        """Make row i of the pool the next pivot."""
        j, pool, variance = self.step, self.pool[: self.size], self.pool_variance[: self.size]
        root = float(np.sqrt(variance[i]))
        self.pivots[j] = pool[i]
        self.lower[j, :j] = self.pool_factor[:j, i]
        self.lower[j, j] = root
        new = self.entries.block(pool[i : i + 1], pool)[0] - self.lower[j, :j] @ self.pool_factor[:j, : self.size]
        new /= root
        self.pool_factor[j, : self.size] = new
        np.maximum(variance - new**2, 0.0, out=variance)
        variance[i] = 0.0
        self.step = j + 1


def greedy_pivots(entries: KernelFunction, m: int) -> tuple[IntArray, FloatArray]:
    """Up to m rows in the order of greedy conditional variance, and the variance of every row given these rows.

    Fewer rows are returned if the others have no variance left beyond rounding error. The kernel is evaluated slightly
    more than n m times, the memory is 8 n m bytes, and matrix products take about :math:`nm^2` operations.
    """
    factor = _Factor(entries, m)
    rounding = ROUNDING * EPS * float(factor.variance.max(initial=0.0))
    while factor.step < m:
        i = factor.best()
        if not factor.pool_variance[i] > rounding:
            break
        factor.take(i)
    factor.update()
    return factor.pivots[: factor.step].copy(), factor.variance
