"""Similarities of items in one of three forms, each with its own greedy engine.

==================  ==============================================  ============================================
form                holds                                           serves
==================  ==============================================  ============================================
:class:`Rows`       rows of features, dense or sparse               "cosine" and "dot"; no n x n matrix
:class:`Matrix`     the n x n matrix                                "precomputed"
:class:`Function`   rows and a function of two arrays of rows       "rbf" and callables; the matrix on demand
==================  ==============================================  ============================================

The form for dask arrays is in :mod:`diverset.distributed.greedy`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.errors import DiversetError, KernelError
from diverset.inference import _row_loops
from diverset.inference.engine import Limits, Picks, greedy_dense, independent_items
from diverset.inference.inputs import Items
from diverset.inference.rows import greedy_rows, greedy_sparse, squared_norms
from diverset.numerics._loops import all_finite
from diverset.numerics.linalg import EPS, block_length, log_det_gram, log_det_psd, row_norms_squared, solve_lower
from diverset.numerics.validation import (
    as_hermitian,
    check_finite,
    check_fits_in_memory,
    check_positive_semidefinite,
    is_sparse,
    plain_array,
)

if TYPE_CHECKING:
    from diverset.core import DPP

__all__ = ["Function", "Matrix", "Rows", "Similarity", "SimilarityLike", "read_similarity"]

#: Type of the argument ``similarity``. A callable takes two arrays of rows and returns one number per pair.
SimilarityLike: TypeAlias = str | Callable[[Any, Any], Any]

#: Columns are computed in blocks of about this many bytes.
_BLOCK_BYTES = 1 << 24
#: Squared norms outside this range may be inaccurate because of overflow or underflow.
_SAFE = (1e-280, 1e280)


class Similarity(abc.ABC):
    """Similarities of n items.

    No set of more than `rank` items has an invertible similarity matrix. `rounding` is the error of an entry, relative
    to the similarity of an item to itself. `unit` is a typical value of that self-similarity.
    """

    #: Methods of :func:`diverset.select` that this form offers.
    methods: tuple[str, ...] = ("greedy", "local-search", "exact", "sample")
    #: Whether :meth:`columns` is available.
    has_columns = True
    #: Mask of the items without a direction, which are unlike every other item; None if there are none.
    lone: BoolArray | None = None

    def __init__(self, n: int, *, rank: int, rounding: float = EPS, unit: float = 1.0) -> None:
        self.n = n
        self.rank = rank
        self.rounding = rounding
        self.unit = unit

    def columns(self, items: IntArray) -> FloatArray:
        """Similarities of all items to `items`, in a new array of shape (n, len(items)); not for dask arrays."""
        raise DiversetError("features are a dask array; pass features.compute() to compare all items with some")

    def column(self, item: int) -> FloatArray:
        """Similarities of all items to one, of shape (n,)."""
        return self.columns(np.array([item]))[:, 0]

    def blocks(self, items: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Iterate over `items` in blocks of bounded size; yields the items of a block and their columns."""
        step = max(1, _BLOCK_BYTES // (8 * max(self.n, 1)))
        for start in range(0, len(items), step):
            some = items[start : start + step]
            yield some, self.columns(some)

    @abc.abstractmethod
    def among(self, items: IntArray) -> FloatArray:
        """Similarities among `items`."""

    def log_det(self, items: IntArray) -> float:
        """Log-determinant over `items`; -inf where they are dependent."""
        if len(items) > self.rank:
            return -math.inf
        S = self.among(items)
        S = (S + S.T) / 2.0
        return log_det_psd(S, self.rounding * np.abs(np.diagonal(S)))

    def pivots(self, items: IntArray) -> FloatArray:
        """What each item adds to the determinant beside those before it; 0 for an item that depends on them."""
        S = np.array(self.among(items), dtype=np.float64)
        found = np.zeros(len(S))
        floor = 64.0 * max(len(S), 1) * self.rounding * np.abs(np.diagonal(S))
        for t in range(len(S)):
            if S[t, t] > floor[t]:
                found[t] = S[t, t]
                S[t + 1 :] -= np.outer(S[t + 1 :, t] / S[t, t], S[t])
        return found

    @abc.abstractmethod
    def greedy(self, k: int, bonus: FloatArray, weight: float, limits: Limits, given: IntArray) -> Picks:
        """Up to k picks, each of the largest ``bonus + weight * log(residual)`` given earlier picks and `given`."""

    @abc.abstractmethod
    def dpp(self, quality: FloatArray) -> DPP:
        """The DPP of the kernel ``quality[i] * S[i, j] * quality[j]``."""


class Rows(Similarity):
    """Inner products of the vectors ``sqrt(factor[i]) * X[i]``, whose squared lengths are `scale`.

    X is dense, or a CSR matrix, which stays sparse. For the cosine, each row is divided by its length. A row of zeros
    has no direction, and under the cosine such an item is unlike every other: its similarity is 1 to itself and 0 to
    the rest.
    """

    def __init__(self, X: Any, *, cosine: bool) -> None:
        if is_sparse(X):
            from diverset.kernels._arrays import as_features

            X = as_features(X, name="features", allow_sparse=True)
        else:
            X = np.ascontiguousarray(X)
        norms = squared_norms(X)
        if not all_finite(norms) or (cosine and len(norms) and not _SAFE[0] < norms.min()):
            X, norms = _safe_rows(X, norms, cosine)
        n, D = X.shape
        self.X, self.is_cosine, self.is_sparse = X, cosine, is_sparse(X)
        self.factor, self.scale = np.ones(n), norms
        if cosine:
            # Set the lengths to exactly 1, so that equal items have exactly equal keys.
            self.factor, self.scale = np.divide(1.0, norms, out=np.zeros(n), where=norms > 0.0), np.ones(n)
            if n and norms.min() == 0.0:
                self.lone = norms == 0.0
        rank = D if self.lone is None else D + int(self.lone.sum())
        unit = 1.0 if cosine else _typical(norms)
        super().__init__(n, rank=rank, rounding=EPS * max(1.0, math.sqrt(D)), unit=unit)

    def vectors(self, items: IntArray) -> FloatArray:
        """Vectors of a few items, as dense rows; of sparse ones, only the features that are nonzero in any of them."""
        rows = self.X[items]
        if self.is_sparse:
            rows = rows[:, np.unique(rows.indices)].toarray()
        vectors: FloatArray = np.sqrt(self.factor[items])[:, None] * rows.astype(np.float64)
        return vectors

    def _without_lone(self, items: IntArray) -> IntArray:
        return items if self.lone is None else items[~self.lone[items]]

    def log_det(self, items: IntArray) -> float:
        """Log-determinant over `items`; -inf where they are dependent."""
        rows = self.vectors(self._without_lone(items))  # lone items multiply the determinant by 1
        return log_det_gram(rows, EPS * np.sqrt(row_norms_squared(rows)))

    def columns(self, items: IntArray) -> FloatArray:
        """Similarities of all items to `items`."""
        if self.is_sparse:
            block = np.asarray((self.X @ self.X[items].T).toarray(), dtype=np.float64) * np.sqrt(self.factor[items])
        else:
            block, right = np.empty((self.n, len(items))), self.vectors(items).T
            step = max(1, self.n) if self.X.dtype == np.float64 else block_length(self.X.shape[1])
            for start in range(0, self.n, step):
                part = self.X[start : start + step].astype(np.float64, copy=False)
                np.matmul(part, right, out=block[start : start + step])
        if self.is_cosine:
            block *= np.sqrt(self.factor)[:, None]
            np.clip(block, -1.0, 1.0, out=block)
            block[items, np.arange(len(items))] = 1.0
        return block

    def column(self, item: int) -> FloatArray:
        """Similarities of all items to one."""
        if self.is_sparse:
            return super().column(item)
        column = np.empty(self.n)
        row = math.sqrt(self.factor[item]) * self.X[item].astype(np.float64)
        _row_loops.row_products(self.X, row, column)
        if self.is_cosine:
            column *= np.sqrt(self.factor)
            np.clip(column, -1.0, 1.0, out=column)
            column[item] = 1.0
        return column

    def among(self, items: IntArray) -> FloatArray:
        """Similarities among `items`."""
        if self.is_sparse:  # the product of sparse matrices, where the vectors of many items would be large
            root = np.sqrt(self.factor[items])
            S = (self.X[items] @ self.X[items].T).toarray() * root[:, None] * root
        else:
            rows = self.vectors(items)
            S = rows @ rows.T
        if self.is_cosine:
            np.fill_diagonal(S, 1.0)
        return np.asarray(S, dtype=np.float64)

    def pivots(self, items: IntArray) -> FloatArray:
        """What each item adds to the determinant beside those before it; 0 for an item that depends on them."""
        rows = self.vectors(items)
        if self.lone is not None:
            rows = np.hstack([rows, np.diag(self.lone[items].astype(np.float64))])
        R = np.linalg.qr(rows.T, mode="r")
        found = np.zeros(len(items))
        found[: len(R)] = np.diagonal(R)[: len(items)] ** 2
        return np.where(found > 64.0 * self.X.shape[1] * EPS * self.scale[items], found, 0.0)

    def greedy(self, k: int, bonus: FloatArray, weight: float, limits: Limits, given: IntArray) -> Picks:
        """Up to k greedy picks beside `given`."""
        items: dict[str, Any] = {"scale": self.scale, "factor": self.factor, "bonus": bonus, "weight": weight}
        if self.is_sparse:
            return greedy_sparse(self.X, k, **items, limits=limits, given=given)
        shown, lone = self._without_lone(given), self.rank - self.X.shape[1]
        vectors = self.vectors(shown) if len(shown) else None
        return greedy_rows(self.X, min(k, self.n), **items, limits=limits, given=vectors, lone=lone)

    def dpp(self, quality: FloatArray) -> DPP:
        """The DPP of the similarity with these weights."""
        from diverset.core import DPP

        if self.lone is None and not self.is_sparse:
            return DPP.from_features(self.X, quality=quality * np.sqrt(self.factor))
        check_fits_in_memory(24 * self.n**2, what=f"the similarity of {self.n} items")
        return DPP.from_quality_diversity(quality, self.among(np.arange(self.n)))


class Matrix(Similarity):
    """A matrix of similarities. Log-determinants require it to be positive semidefinite; the baselines do not."""

    def __init__(self, S: Array, *, given: Any, rounding: float = EPS) -> None:
        unit = _typical(np.abs(np.diagonal(S)).astype(np.float64))
        super().__init__(len(S), rank=len(S), rounding=rounding, unit=unit)
        self.S = S
        self._given = given

    def columns(self, items: IntArray) -> FloatArray:
        """Similarities of all items to `items`."""
        block: FloatArray = self.S[:, items]
        return block

    def among(self, items: IntArray) -> FloatArray:
        """Similarities among `items`."""
        block: FloatArray = self.S[np.ix_(items, items)]
        return block

    @cached_property
    def kernel(self) -> Array:
        """The matrix, checked to be positive semidefinite."""
        check_positive_semidefinite(
            self.S,
            name="similarity",
            given=self._given,
            remedy="a similarity must be positive semidefinite (diverset.kernels.nearest_psd repairs one)",
        )
        return self.S

    def greedy(self, k: int, bonus: FloatArray, weight: float, limits: Limits, given: IntArray) -> Picks:
        """Up to k greedy picks beside `given`."""
        k = min(k, self.n)
        picks = greedy_dense(self.kernel, k, bonus=bonus, weight=weight, limits=limits, given=given)
        if len(picks.positions) == k or picks.rank_spent is None:
            return picks
        done = picks.positions
        rows = self._coordinates(np.concatenate([given, done]))
        more = greedy_rows(
            rows, k - len(done), scale=row_norms_squared(rows), factor=np.ones(self.n), bonus=bonus, weight=weight,
            limits=limits.after(done), given=rows[np.concatenate([given, done])],
        )  # fmt: skip
        # If there are no more picks, the caps or the budget ended the picking, not the rank.
        spent = picks.rank_spent if len(more.positions) else None
        return Picks(np.concatenate([done, more.positions]), np.concatenate([picks.gains, more.gains]), spent)

    def _coordinates(self, chosen: IntArray) -> FloatArray:
        """Cholesky coordinates of all items in the independent ones of the chosen, on which every item depends."""
        basis, R = independent_items(self.S, chosen)
        root = np.sqrt(np.diagonal(self.S)[basis])[:, None]
        return np.ascontiguousarray(solve_lower(R, self.S[basis] / root).T)

    def dpp(self, quality: FloatArray) -> DPP:
        """The DPP of the similarity with these weights."""
        from diverset.core import DPP

        return DPP.from_quality_diversity(quality, self.kernel)


class Function(Similarity):
    """Similarities by a function of two arrays of rows; columns are computed on demand."""

    def __init__(self, X: Any, function: Callable[[Any, Any], Any]) -> None:
        super().__init__(X.shape[0], rank=X.shape[0], rounding=16.0 * EPS)
        self._X = X
        self._function = function

    def _call(self, A: Any, B: Any) -> FloatArray:
        block = plain_array(self._function(A, B), name="similarity(A, B)")
        if is_sparse(block):
            block = block.toarray()
        _check_block(block, A.shape[0], B.shape[0])
        if block.dtype.kind == "f":
            self.rounding = max(self.rounding, float(np.finfo(block.dtype).eps))
        check_finite(block, name="similarity(A, B)")
        return np.array(block, dtype=np.float64)

    def columns(self, items: IntArray) -> FloatArray:
        """Similarities of all items to `items`."""
        other = self._X[items]
        block = np.empty((self.n, len(items)))
        # The function may copy its rows to compute distances; blocks bound the size of the copy.
        step = block_length(max(self._X.shape[1], len(items)), _BLOCK_BYTES)
        for start in range(0, self.n, step):
            rows = slice(start, start + step)
            block[rows] = self._call(self._X[rows], other)
        return block

    def among(self, items: IntArray) -> FloatArray:
        """Similarities among `items`."""
        rows = self._X[items]
        return self._call(rows, rows)

    @cached_property
    def matrix(self) -> Matrix:
        """All similarities."""
        check_fits_in_memory(24 * self.n**2, what=f"the similarity of {self.n} items")
        given = self._function(self._X, self._X)
        S = as_hermitian(given, name="similarity(features, features)")
        _check_block(S, self.n, self.n)
        return Matrix(S, given=given)

    def greedy(self, k: int, bonus: FloatArray, weight: float, limits: Limits, given: IntArray) -> Picks:
        """Up to k greedy picks beside `given`."""
        return self.matrix.greedy(k, bonus, weight, limits, given)

    def dpp(self, quality: FloatArray) -> DPP:
        """The DPP of the similarity with these weights."""
        return self.matrix.dpp(quality)


def read_similarity(items: Items, similarity: Any) -> Similarity:
    """Check features or a matrix of similarities, and return them in the form that suits them."""
    X = items.features
    if isinstance(similarity, str):
        if similarity in ("cosine", "dot"):
            return Rows(X, cosine=similarity == "cosine")
        if similarity == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise KernelError(
                    f'features has shape {X.shape}; similarity="precomputed" needs a square matrix of similarities '
                    '(features, one row per item, go with similarity="cosine")'
                )
            return Matrix(as_hermitian(X, name="features"), given=X, rounding=float(np.finfo(X.dtype).eps))
        if similarity == "rbf":
            from diverset.kernels import median_heuristic, rbf

            if is_sparse(X):
                what, remedy = (
                    "the dense form of features, which distances need,",
                    '"cosine" and "dot" keep them sparse',
                )
                check_fits_in_memory(8 * X.shape[0] * X.shape[1], what=what, remedy=f"similarity={remedy}")
                X = X.toarray()
            check_finite(X, name="features")
            equal = len(X) < 2 or (np.array_equal(X[0], X[-1]) and bool((X == X[0]).all()))
            return Function(X, partial(rbf, length_scale=1.0 if equal else median_heuristic(X)))
    elif callable(similarity):
        if not is_sparse(X):
            check_finite(X, name="features")
        return Function(X, similarity)
    raise DiversetError(
        f'similarity is {similarity!r}; choose "cosine", "rbf", "dot" or "precomputed", or pass a function of two '
        "groups of rows"
    )


def _check_block(block: Array, m: int, n: int) -> None:
    if block.shape != (m, n) or block.dtype.kind not in "biuf":
        raise DiversetError(
            f"similarity(A, B) returned {block.dtype} of shape {block.shape} for {m} and {n} rows; it must return one "
            "real number for each pair of rows"
        )


def _safe_rows(X: Any, norms: FloatArray, cosine: bool) -> tuple[Any, FloatArray]:
    """Rows whose squared norms neither overflow nor underflow: divided by their largest entry, under the cosine."""
    odd = np.flatnonzero(~(norms < _SAFE[1]) | (norms < _SAFE[0]))
    rows = X[odd]
    if not is_sparse(X) and not np.isfinite(rows).all():  # sparse entries are checked on reading
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise KernelError(f"features[{odd[i]}, {j}] is {rows[i, j]}; every entry must be finite")
    if not cosine:
        i = int((~np.isfinite(norms)).argmax())
        raise KernelError(f"features[{i}] has a norm beyond the range of floats; divide the features by a constant")
    largest = abs(rows).max(axis=1).toarray().ravel() if is_sparse(X) else np.abs(rows).max(axis=1, initial=0.0)
    if largest.any():
        factor = np.ones(len(norms))
        factor[odd] = np.where(largest > 0.0, largest, 1.0)
        if is_sparse(X):
            X.data /= np.repeat(factor, np.diff(X.indptr))
        else:
            X = np.array(X)
            X[odd] /= factor[odd, None]
        norms = squared_norms(X)
    return X, norms


def _typical(diagonal: FloatArray) -> float:
    """The median, or 0 if it does not exist or is not finite."""
    unit = float(np.median(diagonal)) if len(diagonal) else 0.0
    return unit if math.isfinite(unit) else 0.0
