r"""Weights between two neighbouring parts, as matrices that are multiplied and read by rows.

A pairwise factor without features enters message passing as a matrix W, one row per value of the part nearer to the
root, one column per value of the other. Messages towards the root are :math:`W X`, messages away from it
:math:`W^\top X`, and a walk from the root reads the row of its current value. W has three storage formats:

============  =========================  =======================================================================
dense         :math:`M M'` numbers       any factor
sparse        the allowed entries        transitions of a graph, windows around a value
separable     a few small matrices       :math:`W = A_1 \otimes A_2 \otimes \cdots`, such as Gaussians on a grid:
                                         products axis by axis, W itself never formed; one axis, such as an
                                         orientation, may govern the matrices of the others
============  =========================  =======================================================================
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.numerics.linalg import share_rows

__all__ = ["DensePair", "PairWeights", "Rows", "SeparablePair", "SparsePair", "UniformPair"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of W in compressed form: row i has ``columns`` and ``weights`` from offsets[i] to offsets[i + 1]."""

    offsets: IntArray
    columns: IntArray
    weights: FloatArray


class PairWeights(abc.ABC):
    """A nonnegative matrix W between the values of two parts."""

    shape: tuple[int, int]

    @abc.abstractmethod
    def apply(self, X: FloatArray) -> FloatArray:
        """W X, towards the root."""

    def apply_scaled(self, left: FloatArray, right: FloatArray, X: FloatArray) -> FloatArray:
        """The product diag(left) W diag(right) X."""
        Y = self.apply(right[:, None] * X)
        Y *= left[:, None]
        return Y

    @abc.abstractmethod
    def apply_transposed(self, X: FloatArray) -> FloatArray:
        """W^T X, away from the root."""

    @abc.abstractmethod
    def apply_max(self, x: FloatArray) -> FloatArray:
        """Entry i is the largest W[i, j] x[j]: the product of max-product message passing."""

    @abc.abstractmethod
    def rows(self, values: IntArray) -> Rows:
        """The rows of these values, possibly with repetitions."""


def _full_rows(W: FloatArray) -> Rows:
    n, m = W.shape
    return Rows(np.arange(n + 1) * m, np.tile(np.arange(m), n), W.reshape(-1))


class DensePair(PairWeights):
    """W as an array."""

    def __init__(self, W: FloatArray) -> None:
        self.W = W
        self.shape = (W.shape[0], W.shape[1])

    def apply(self, X: FloatArray) -> FloatArray:
        """W X. O(M M' c) for c columns."""
        return np.asarray(self.W @ X)

    def apply_transposed(self, X: FloatArray) -> FloatArray:
        """W^T X."""
        return np.asarray(self.W.T @ X)

    def apply_max(self, x: FloatArray) -> FloatArray:
        """Largest products."""
        return np.asarray((self.W * x).max(axis=1))

    def rows(self, values: IntArray) -> Rows:
        """Whole rows."""
        return _full_rows(self.W[values])


class SparsePair(PairWeights):
    """W in compressed sparse rows, as in ``scipy.sparse.csr_array``; entries not stored are forbidden."""

    def __init__(self, indptr: Array, indices: Array, data: FloatArray, shape: tuple[int, int]) -> None:
        self.indptr, self.indices, self.data, self.shape = indptr, indices, data, shape

    @property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def apply(self, X: FloatArray) -> FloatArray:
        """W X, O(entries c) for c columns."""
        if X.shape[1] < 8:
            return np.asarray(self._matrix @ X)
        return self.apply_scaled(np.ones(self.shape[0]), np.ones(self.shape[1]), X)

    def apply_scaled(self, left: FloatArray, right: FloatArray, X: FloatArray) -> FloatArray:
        """The same with scaled rows and columns; large products are split over threads by rows."""
        from diverset.structured._product_loops import multiply_rows

        X, right = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(right, dtype=np.float64)
        Y = np.empty((self.shape[0], X.shape[1]))

        def job(start: int, stop: int) -> None:
            multiply_rows(self.indptr, self.indices, self.data, X, left, right, Y, start, stop)

        share_rows(self.indptr, X.shape[1], job)
        return Y

    def apply_transposed(self, X: FloatArray) -> FloatArray:
        """W^T X, without a transposed copy of W."""
        return np.asarray(self._matrix.T @ X)

    def apply_max(self, x: FloatArray) -> FloatArray:
        """Largest products; 0 in a row without entries."""
        out = np.zeros(self.shape[0])
        filled = np.flatnonzero(np.diff(self.indptr))
        if len(filled):
            out[filled] = np.maximum.reduceat(self.data * x[self.indices], self.indptr[filled])
        return out

    def rows(self, values: IntArray) -> Rows:
        """The entries of these rows."""
        starts = self.indptr[values].astype(np.int64)
        lengths = self.indptr[values + 1] - starts
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Rows(offsets, self.indices[at].astype(np.int64), self.data[at])


class SeparablePair(PairWeights):
    r"""W = :math:`A_1 \otimes A_2 \otimes \cdots`, values numbered in C order over the grid of axes.

    One axis, `by`, may govern the others: their matrices are then stacks, one matrix for each coordinate along it,

    .. math::  W[y, y'] = A_b[y_b, y'_b] \prod_{a \ne b} A_a^{(y_b)}[y_a, y'_a],

    with :math:`y'_b` in place of :math:`y_b` above if `of_columns`.
    """

    def __init__(self, matrices: tuple[FloatArray, ...], by: int | None = None, *, of_columns: bool = False) -> None:
        self.matrices, self.by, self.of_columns = matrices, by, of_columns
        self._grid = tuple(A.shape[-2] for A in matrices), tuple(A.shape[-1] for A in matrices)
        self.shape = (int(np.prod(self._grid[0])), int(np.prod(self._grid[1])))

    def _order(self, governed_by_result: bool) -> list[int]:
        """Order of the products: the governing axis first if the result has its coordinate, else last."""
        if self.by is None:
            return list(range(len(self.matrices)))
        others = [a for a in range(len(self.matrices)) if a != self.by]
        return [self.by, *others] if governed_by_result else [*others, self.by]

    def _along_axes(self, matrices: list[FloatArray], X: FloatArray, governed_by_result: bool) -> FloatArray:
        """One small product along each axis of the grid."""
        columns = X.shape[1]
        Y = X.reshape(*(A.shape[-1] for A in matrices), columns)
        for axis in self._order(governed_by_result):
            A = matrices[axis]
            if A.ndim == 2:
                Y = np.moveaxis(np.tensordot(A, Y, axes=(1, axis)), 0, axis)
            else:
                assert self.by is not None
                moved = np.moveaxis(Y, (self.by, axis), (0, 1))
                flat = moved.reshape(*moved.shape[:2], -1)
                Y = np.moveaxis((A @ flat).reshape(len(A), A.shape[1], *moved.shape[2:]), (0, 1), (self.by, axis))
        return np.ascontiguousarray(Y).reshape(-1, columns)

    def apply(self, X: FloatArray) -> FloatArray:
        r"""W X. O(M c) times the sum of the lengths of the axes."""
        return self._along_axes(list(self.matrices), X, not self.of_columns)

    def apply_transposed(self, X: FloatArray) -> FloatArray:
        """W^T X."""
        return self._along_axes([A.swapaxes(-1, -2) for A in self.matrices], X, self.of_columns)

    def apply_max(self, x: FloatArray) -> FloatArray:
        """Largest products, axis by axis: the maximum distributes over the axes as the sum does."""
        y = x.reshape(self._grid[1])
        for axis in self._order(not self.of_columns):
            A = self.matrices[axis]
            if A.ndim == 2:
                moved = np.moveaxis(y, axis, -1)
                best = np.stack([(moved * row).max(axis=-1) for row in A], axis=-1)
                y = np.moveaxis(best, -1, axis)
            else:
                assert self.by is not None
                moved = np.moveaxis(y, (self.by, axis), (-2, -1))
                best = np.stack([(moved * A[:, i]).max(axis=-1) for i in range(A.shape[1])], axis=-1)
                y = np.moveaxis(best, (-2, -1), (self.by, axis))
        return np.ascontiguousarray(y).reshape(-1)

    def rows(self, values: IntArray) -> Rows:
        """Products of rows of the small matrices, at coordinates where these are nonzero."""
        index = np.stack(np.unravel_index(values, self._grid[0]), axis=1)
        columns, weights, offsets = [], [], [0]
        for at in index:
            kept, W = self._row(at)
            columns.append(np.ravel_multi_index(np.ix_(*kept), self._grid[1]).reshape(-1))
            weights.append(W.reshape(-1))
            offsets.append(offsets[-1] + W.size)
        if not columns:
            return Rows(np.array(offsets), np.zeros(0, dtype=np.int64), np.zeros(0))
        return Rows(np.array(offsets), np.concatenate(columns), np.concatenate(weights))

    def _row(self, at: IntArray) -> tuple[list[IntArray], FloatArray]:
        """Coordinates along each axis where the row of the value at `at` may be nonzero, and that row."""
        n_axes = len(self.matrices)
        W = np.ones((1,) * n_axes)
        kept: list[IntArray] = [np.zeros(0, dtype=np.int64)] * n_axes
        for axis in self._order(governed_by_result=True):
            A, i = self.matrices[axis], at[axis]
            shape = [1] * n_axes
            if A.ndim == 2 or not self.of_columns:
                row = A[i] if A.ndim == 2 else A[at[self.by], i]
                kept[axis] = np.flatnonzero(row)
                shape[axis] = len(kept[axis])
                W = W * row[kept[axis]].reshape(shape)
                continue
            assert self.by is not None
            table = A[kept[self.by], i]
            kept[axis] = np.flatnonzero(table.any(axis=0))
            table = table[:, kept[axis]]
            shape[self.by], shape[axis] = table.shape
            W = W * (table if self.by < axis else table.T).reshape(shape)
        return kept, W


class UniformPair(PairWeights):
    """W of ones, for a factor that joins two parts and prefers no values."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = (shape[0], shape[1])

    def apply(self, X: FloatArray) -> FloatArray:
        """The same sum for every value of the parent."""
        return np.tile(X.sum(axis=0), (self.shape[0], 1))

    def apply_transposed(self, X: FloatArray) -> FloatArray:
        """The same sum for every value of the child."""
        return np.tile(X.sum(axis=0), (self.shape[1], 1))

    def apply_max(self, x: FloatArray) -> FloatArray:
        """The same maximum for every value of the parent."""
        return np.full(self.shape[0], x.max())

    def rows(self, values: IntArray) -> Rows:
        """Whole rows of ones."""
        return _full_rows(np.ones((len(values), self.shape[1])))
