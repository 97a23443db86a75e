"""Similarities of items in one of four forms, each with its own greedy engine.

==================  ==============================================  ============================================
form                holds                                           serves
==================  ==============================================  ============================================
:class:`Rows`       rows of features                                "cosine" and "dot"; no n x n matrix
:class:`SparseRows` a CSR matrix                                    the same for sparse features
:class:`Matrix`     the n x n matrix                                "precomputed"
:class:`Function`   rows and a function of two arrays of rows       "rbf" and callables; the matrix on demand
==================  ==============================================  ============================================

The form for dask arrays is in :mod:`diverset.distributed.select`.
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
from diverset.numerics.linalg import (
    EPS,
    block_length,
    log_det_gram,
    log_det_psd,
    row_norms_squared,
    solve_lower,
)
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

__all__ = ["Function", "Matrix", "Rows", "Similarity", "SimilarityLike", "SparseRows", "read_similarity"]

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

    @abc.abstractmethod
    def columns(self, items: IntArray) -> FloatArray:
        """Similarities of all items to `items`, in a new array of shape (n, len(items))."""

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


class _Vectors(Similarity):
    """Inner products of the vectors ``sqrt(factor[i]) * X[i]``, whose squared lengths are `scale`.

    A row of zeros has no direction. Under the cosine such an item is unlike every other: its similarity is 1 to itself
    and 0 to the rest.
    """

    def __init__(self, X: Any, norms: FloatArray, *, cosine: bool) -> None:
        n, D = X.shape
        self.X, self.is_cosine = X, cosine
        self.factor, self.scale = np.ones(n), norms
        if cosine:
            # Set the lengths to exactly 1, so that equal items have exactly equal keys.
            self.factor, self.scale = np.divide(1.0, norms, out=np.zeros(n), where=norms > 0.0), np.ones(n)
            if n and norms.min() == 0.0:
                self.lone = norms == 0.0
        rank = D if self.lone is None else D + int(self.lone.sum())
        unit = 1.0 if cosine else _typical(norms)
        super().__init__(n, rank=rank, rounding=EPS * max(1.0, math.sqrt(D)), unit=unit)

    @abc.abstractmethod
    def vectors(self, items: IntArray) -> FloatArray:
        """Vectors of a few items, as dense rows."""

    def _without_lone(self, items: IntArray) -> IntArray:
        return items if self.lone is None else items[~self.lone[items]]

    def log_det(self, items: IntArray) -> float:
        """Log-determinant over `items`; -inf where they are dependent."""
        rows = self.vectors(self._without_lone(items))  # lone items multiply the determinant by 1
        return log_det_gram(rows, EPS * np.sqrt(row_norms_squared(rows)))

    @abc.abstractmethod
    def _products(self, rows: IntArray | None, items: IntArray) -> FloatArray:
        """Inner products of the vectors of some items, or of all, with those of `items`."""

    def columns(self, items: IntArray) -> FloatArray:
        """Similarities of all items to `items`."""
        block = self._products(None, items)
        if self.is_cosine:
            np.clip(block, -1.0, 1.0, out=block)
            block[items, np.arange(len(items))] = 1.0
        return block

    def among(self, items: IntArray) -> FloatArray:
        """Similarities among `items`."""
        S = self._products(items, items)
        if self.is_cosine:
            np.fill_diagonal(S, 1.0)
        return S

    def dpp(self, quality: FloatArray) -> DPP:
        """The DPP of the similarity with these weights."""
        from diverset.core import DPP

        check_fits_in_memory(24 * self.n**2, what=f"the similarity of {self.n} items")
        return DPP.from_quality_diversity(quality, self.among(np.arange(self.n)))


class Rows(_Vectors):
    """Inner products of dense rows; for the cosine, each row is divided by its length."""

    def __init__(self, X: Array, *, cosine: bool) -> None:
        X = np.ascontiguousarray(X)
        norms = squared_norms(X)
        if not all_finite(norms) or (cosine and len(X) and not _SAFE[0] < norms.min()):
            X, norms = _safe_rows(X, norms, cosine)
        super().__init__(X, norms, cosine=cosine)

    def vectors(self, items: IntArray) -> FloatArray:
        """Vectors of a few items, as dense rows."""
        rows: FloatArray = np.sqrt(self.factor[items])[:, None] * self.X[items].astype(np.float64)
        return rows

    def _products(self, rows: IntArray | None, items: IntArray) -> FloatArray:
        right = self.vectors(items).T
        if rows is not None:
            S: FloatArray = self.vectors(rows) @ right
            return S
        block = np.empty((self.n, len(items)))
        step = max(1, self.n) if self.X.dtype == np.float64 else block_length(self.X.shape[1])
        for start in range(0, self.n, step):
            part = self.X[start : start + step].astype(np.float64, copy=False)
            np.matmul(part, right, out=block[start : start + step])
        return np.multiply(block, np.sqrt(self.factor)[:, None], out=block) if self.is_cosine else block

    def column(self, item: int) -> FloatArray:
        """Similarities of all items to one."""
        column = np.empty(self.n)
        row = math.sqrt(self.factor[item]) * self.X[item].astype(np.float64)
        _row_loops.row_products(self.X, row, column)
        if self.is_cosine:
            column *= np.sqrt(self.factor)
            np.clip(column, -1.0, 1.0, out=column)
            column[item] = 1.0
        return column

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
        shown = self._without_lone(given)
        return greedy_rows(
            self.X, min(k, self.n), scale=self.scale, factor=self.factor, bonus=bonus, weight=weight, limits=limits,
            given=self.vectors(shown) if len(shown) else None, lone=self.rank - self.X.shape[1],
        )  # fmt: skip

    def dpp(self, quality: FloatArray) -> DPP:
        """The DPP of the similarity with these weights."""
        from diverset.core import DPP

        if self.lone is not None:
            return super().dpp(quality)
        return DPP.from_features(self.X, quality=quality * np.sqrt(self.factor))


class SparseRows(_Vectors):
    """Inner products of the rows of a CSR matrix, which stays sparse."""

    def __init__(self, X: Any, *, cosine: bool) -> None:
        from diverset.kernels._arrays import as_features

        X = as_features(X, name="features", allow_sparse=True)
        n = X.shape[0]
        with np.errstate(over="ignore", under="ignore"):
            norms = squared_norms(X)
            if n and not (_SAFE[0] < norms.min() and norms.max() < _SAFE[1]) and cosine:
                largest = np.zeros(n)
                np.maximum.at(largest, np.repeat(np.arange(n), np.diff(X.indptr)), np.abs(X.data))
                X.data /= np.repeat(np.where(largest > 0.0, largest, 1.0), np.diff(X.indptr))
                norms = squared_norms(X)
        if not all_finite(norms):
            raise _beyond_range(int(np.flatnonzero(~np.isfinite(norms))[0]))
        super().__init__(X, norms, cosine=cosine)

    def vectors(self, items: IntArray) -> FloatArray:
        """Vectors of a few items, as dense rows."""
        rows = self.X[items]
        used = np.unique(rows.indices)  # features that are nonzero in any of the rows
        return np.sqrt(self.factor[items])[:, None] * np.asarray(rows[:, used].toarray(), dtype=np.float64)

    def _products(self, rows: IntArray | None, items: IntArray) -> FloatArray:
        left, factor = (self.X, self.factor) if rows is None else (self.X[rows], self.factor[rows])
        block = np.asarray((left @ self.X[items].T).toarray(), dtype=np.float64)
        return block * np.sqrt(factor)[:, None] * np.sqrt(self.factor[items])

    def greedy(self, k: int, bonus: FloatArray, weight: float, limits: Limits, given: IntArray) -> Picks:
        """Up to k greedy picks beside `given`."""
        return greedy_sparse(
            self.X, k, scale=self.scale, factor=self.factor, bonus=bonus, weight=weight, limits=limits, given=given
        )


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
        """Rows whose inner products are the similarities, if every item depends on the chosen items.

        The rows are the Cholesky coordinates of all items with respect to the independent items among the chosen.
        """
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
        if block.shape != (A.shape[0], B.shape[0]) or block.dtype.kind not in "biuf":
            raise DiversetError(
                f"similarity(A, B) returned {block.dtype} of shape {block.shape} for {A.shape[0]} and {B.shape[0]} "
                "rows; it must return one real number for each pair of rows"
            )
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
        if len(S) != self.n or np.iscomplexobj(S):
            raise DiversetError(
                f"similarity(A, B) returned {S.dtype} of shape {S.shape} for {self.n} and {self.n} rows; it must "
                "return one real number for each pair of rows"
            )
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
            return (SparseRows if is_sparse(X) else Rows)(X, cosine=similarity == "cosine")
        if similarity == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise KernelError(
                    f'features has shape {X.shape}; similarity="precomputed" needs a square matrix of similarities '
                    '(features, one row per item, go with similarity="cosine")'
                )
            return Matrix(as_hermitian(X, name="features"), given=X, rounding=float(np.finfo(X.dtype).eps))
        if similarity == "rbf":
            X = _dense(X)
            check_finite(X, name="features")
            from diverset.kernels import rbf

            return Function(X, partial(rbf, length_scale=_length_scale(X)))
    elif callable(similarity):
        if not is_sparse(X):
            check_finite(X, name="features")
        return Function(X, similarity)
    raise DiversetError(
        f'similarity is {similarity!r}; choose "cosine", "rbf", "dot" or "precomputed", or pass a function of two '
        "groups of rows"
    )


def _safe_rows(X: Array, norms: FloatArray, cosine: bool) -> tuple[Array, FloatArray]:
    """Rows whose squared norms neither overflow nor underflow; raises an error for entries that are not finite.

    Under the cosine, a row may be divided by its largest entry. Otherwise a row that is too long raises an error.
    """
    odd = np.flatnonzero(~(norms < _SAFE[1]) | (norms < _SAFE[0]))
    for i in odd.tolist():
        if not np.isfinite(X[i]).all():
            j = int(np.flatnonzero(~np.isfinite(X[i]))[0])
            raise KernelError(f"features[{i}, {j}] is {X[i, j]}; every entry must be finite")
    if not cosine:
        raise _beyond_range(int(odd[0]))
    largest = np.abs(X[odd]).max(axis=1, initial=0.0)
    if largest.any():
        X = np.array(X)
        X[odd] /= np.where(largest > 0.0, largest, 1.0)[:, None]
        norms = squared_norms(X)
    return X, norms


def _beyond_range(i: int) -> KernelError:
    return KernelError(f"features[{i}] has a norm beyond the range of floats; divide the features by a constant")


def _typical(diagonal: FloatArray) -> float:
    """The median, or 0 if it does not exist or is not finite."""
    unit = float(np.median(diagonal)) if len(diagonal) else 0.0
    return unit if math.isfinite(unit) else 0.0


def _dense(X: Any) -> Any:
    if not is_sparse(X):
        return X
    check_fits_in_memory(
        8 * X.shape[0] * X.shape[1],
        what="the dense form of features, which distances need,",
        remedy='similarity="cosine" and "dot" keep them sparse',
    )
    return X.toarray()


def _length_scale(X: Any) -> float:
    """The median distance of two rows; 1 if all rows are equal."""
    from diverset.kernels import median_heuristic

    if len(X) < 2 or (np.array_equal(X[0], X[-1]) and bool((X == X[0]).all())):
        return 1.0
    return median_heuristic(X)
