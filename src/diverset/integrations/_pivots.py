r"""Greedy conditional variance from a kernel function: the pivots of a fully pivoted Cholesky factorisation.

Step j takes the row with the largest variance given the rows taken before,

.. math::  p_j = \arg\max_i \; v_i, \qquad v = \mathrm{diag}\big(K - K_{\cdot P} K_{PP}^{-1} K_{P \cdot}\big),

which is the greedy search for the largest :math:`\det K_{PP}`. The textbook algorithm updates all n rows in every step
by a matrix-vector product, which reads the whole factor from memory each time. Variances only fall, however, so an old
value is an upper bound. Here only a *pool* of rows with the largest old values is kept up to date; a row outside enters
the pool when its old value exceeds every value inside, and all rows are brought up to date together, by matrix
products, when the pool has grown too large. The pivots are those of the textbook algorithm.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from diverset._typing import FloatArray, IntArray
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import check_fits_in_memory
from diverset.sampling.kernel_function import ROUNDING, KernelEntries

__all__ = ["greedy_pivots"]

#: Rows in a new pool; the pool at most, as a part of all rows; rows brought up to date in one product.
_POOL, _LARGEST_PART, _ROWS = 512, 16, 4096


class _Factor:
    """The factor, a column for each row of the data: as of step `done`, and for the pool as of the present step."""

    def __init__(self, entries: KernelEntries, m: int) -> None:
        self.n = entries.n_items
        self.limit = max(_POOL, self.n // _LARGEST_PART)
        width = min(2 * self.limit, self.n)
        check_fits_in_memory(
            8 * (self.n + width) * m, what=f"the factor of {self.n} rows for {m} points", remedy="ask for fewer points"
        )
        self.entries = entries
        self.variance = np.array(entries.diagonal(), dtype=np.float64)
        self.factor = np.empty((m, self.n))
        self.pool_factor = np.empty((m, width))
        self.pool_variance = np.empty(width)
        self.lower = np.zeros((m, m))  # the columns of the pivots, transposed: a lower triangular matrix
        self.pivots = np.zeros(m, dtype=np.int64)
        self.step = self.done = 0
        self.start_pool()

    def newer(self, rows: IntArray, where: IntArray | slice) -> FloatArray:
        """The factor for some rows in the steps since `done`; `where` is the same rows, perhaps as a slice."""
        a, b = self.done, self.step
        left = self.entries.block(self.pivots[a:b], rows) - self.lower[a:b, :a] @ self.factor[:a, where]
        return np.asarray(solve_triangular(self.lower[a:b, a:b], left, lower=True, check_finite=False))

    def bring_up_to_date(self) -> None:
        """All rows, as of the present step."""
        for start in range(0, self.n, _ROWS):
            part = slice(start, min(start + _ROWS, self.n))
            new = self.newer(np.arange(part.start, part.stop), part)
            self.factor[self.done : self.step, part] = new
            self.variance[part] -= np.einsum("ji,ji->i", new, new)
        self.variance[self.pivots[: self.step]] = 0.0
        np.maximum(self.variance, 0.0, out=self.variance)
        self.done = self.step

    def start_pool(self) -> None:
        """A small pool of the rows with the largest variances; the others wait in order."""
        self.order = np.argsort(-self.variance, kind="stable")
        self.size = 0
        self.enlarge_pool(min(_POOL, self.n))

    def enlarge_pool(self, size: int) -> None:
        """Let the next rows in the order enter the pool, up to date."""
        more, where = self.order[self.size : size], slice(self.size, size)
        self.pool_factor[: self.done, where] = self.factor[: self.done, more]
        self.pool_variance[where] = self.variance[more]
        if self.step > self.done:
            new = self.newer(more, more)
            self.pool_factor[self.done : self.step, where] = new
            self.pool_variance[where] = np.maximum(self.variance[more] - np.einsum("ji,ji->i", new, new), 0.0)
        self.size = size

    def best(self) -> int:
        """Place in the pool of the row with the largest variance of all."""
        while True:
            i = int(self.pool_variance[: self.size].argmax())
            if self.size == self.n or self.pool_variance[i] >= self.variance[self.order[self.size]]:
                return i
            if self.size > self.limit:
                self.bring_up_to_date()
                self.start_pool()
            else:
                self.enlarge_pool(min(2 * self.size, self.n))

    def take(self, i: int) -> None:
        """Make row i of the pool the next pivot."""
        j, pool, variance = self.step, self.order[: self.size], self.pool_variance[: self.size]
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


def greedy_pivots(entries: KernelEntries, m: int) -> tuple[IntArray, FloatArray]:
    """Rows in the order of greedy conditional variance, and the variance that they leave in each row.

    Parameters
    ----------
    entries : KernelEntries
        The kernel.
    m : int
        How many rows; fewer come back where the others have no variance left beyond rounding.

    Returns
    -------
    pivots : ndarray of int64 of shape (m,) or less
        Rows, in the order they were taken.
    variance : ndarray of shape (n,)
        Conditional variance of every row, given the pivots.

    Notes
    -----
    The kernel is evaluated n m times and a little more, 8 n m bytes are kept, and the rest is about :math:`nm^2`
    operations in matrix products.
    """
    factor = _Factor(entries, m)
    rounding = ROUNDING * EPS * float(factor.variance.max(initial=0.0))
    while factor.step < m:
        i = factor.best()
        if not factor.pool_variance[i] > rounding:
            break
        factor.take(i)
    if factor.step > factor.done:
        factor.bring_up_to_date()
    return factor.pivots[: factor.step].copy(), factor.variance
