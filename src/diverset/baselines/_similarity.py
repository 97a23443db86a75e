"""Similarities of all items to a few, computed on demand: no n x n matrix unless the user brought one."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, KernelError
from diverset.kernels import median_heuristic, normalize_rows, rbf
from diverset.kernels._arrays import as_double, as_features, as_matrix, refuse_overflow
from diverset.numerics.linalg import EPS, block_length, log_det_psd, row_norms_squared
from diverset.numerics.validation import as_hermitian, check_finite, check_fits_in_memory, is_sparse, plain_array

if TYPE_CHECKING:
    from diverset.kernels._arrays import Features

__all__ = ["Similarities", "SimilarityLike", "read_similarities"]

#: What may be passed as ``similarity``.
SimilarityLike: TypeAlias = Literal["cosine", "rbf", "dot", "precomputed"] | Callable[[Any, Any], Any]

#: Rows whose entries lie within this range can be squared and summed without leaving that of float64.
_SAFE = (1e-140, 1e140)

#: Features that take no more than this in double precision are converted once, others whenever they are read.
_SMALL_BYTES = 1 << 25

#: Columns are asked for so many bytes at a time.
_BLOCK_BYTES = 1 << 24


class Similarities(abc.ABC):
    """Similarities of n items, by columns.

    Parameters
    ----------
    n : int
        Number of items.
    rank : int
        No set with more items than this has an invertible similarity matrix.
    rounding : float
        Error of an entry, relative to the similarity of an item to itself.
    unit : float
        What an item's similarity to itself typically is.
    """

    def __init__(self, n: int, *, rank: int, rounding: float = EPS, unit: float = 1.0) -> None:
        self.n = n
        self.rank = rank
        self.rounding = rounding
        self.unit = unit

    @abc.abstractmethod
    def to(self, items: IntArray) -> FloatArray:
        """Similarities of all items to `items`, in a fresh array of shape (n, len(items))."""

    def to_one(self, item: int) -> FloatArray:
        """Similarities of all items to one, of shape (n,)."""
        return self.to(np.array([item]))[:, 0]

    def blocks(self, items: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Go through `items`, a bounded number of columns at a time."""
        step = max(1, _BLOCK_BYTES // (8 * max(self.n, 1)))
        for start in range(0, len(items), step):
            some = items[start : start + step]
            yield some, self.to(some)

    def log_det(self, items: IntArray) -> float:
        """Log-determinant over `items`; -inf where they are dependent."""
        m = len(items)
        if m > self.rank:
            return -math.inf
        S = self._among(items)
        S = (S + S.T) / 2.0
        return log_det_psd(S, self.rounding * np.abs(np.diagonal(S)))

    @abc.abstractmethod
    def _among(self, items: IntArray) -> FloatArray:
        """Similarities among `items`."""


class _Products(Similarities):
    """Inner products of rows, of unit length for the cosine."""

    def __init__(self, features: Any, *, cosine: bool) -> None:
        n, d = features.shape
        super().__init__(n, rank=d, rounding=EPS * max(1.0, math.sqrt(d)))
        self._features = features
        self._cosine = cosine
        self._inverse_norms: FloatArray | None = None
        largest, squares = self._row_sizes()
        if cosine:
            self._normalize(largest, squares)
        else:
            self.unit = _typical(squares)

    def _row_sizes(self) -> tuple[FloatArray, FloatArray]:
        """Largest entry and squared length of each row, the latter perhaps infinite."""
        largest, squares = np.zeros(self.n), np.zeros(self.n)
        with np.errstate(over="ignore", under="ignore"):
            if is_sparse(self._features):
                row = np.repeat(np.arange(self.n), np.diff(self._features.indptr))
                np.maximum.at(largest, row, np.abs(self._features.data))
                np.add.at(squares, row, self._features.data**2)
                return largest, squares
            for rows in self._row_blocks():
                A = as_double(self._features[rows])
                largest[rows] = np.abs(A).max(axis=1, initial=0.0)
                squares[rows] = row_norms_squared(A)
        return largest, squares

    def _normalize(self, largest: FloatArray, squares: FloatArray) -> None:
        if (largest == 0.0).any():
            i = int(np.argmax(largest == 0.0))
            raise KernelError(
                f"row {i} of features is all zero and has no direction; drop the item, give every item a "
                'constant feature (with_constant_feature), or pass similarity="dot"'
            )
        if is_sparse(self._features) or largest.min(initial=1.0) < _SAFE[0] or largest.max(initial=1.0) > _SAFE[1]:
            self._features = normalize_rows(self._features)
        else:
            # A copy of the features, perhaps in twice their precision, is what this avoids.
            self._inverse_norms = 1.0 / np.sqrt(squares)

    def _row_blocks(self) -> Iterator[slice]:
        step = block_length(self._features.shape[1])
        return (slice(start, start + step) for start in range(0, self.n, step))

    def _rows(self, items: IntArray) -> FloatArray:
        rows = self._features[items]
        rows = np.asarray(as_double(rows.toarray() if is_sparse(rows) else rows), dtype=np.float64)
        return rows if self._inverse_norms is None else rows * self._inverse_norms[items, np.newaxis]

    def to(self, items: IntArray) -> FloatArray:
        right = self._rows(items).T
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if is_sparse(self._features) or self._features.dtype == np.float64:
                block = np.asarray(self._features @ right)
            else:
                block = np.empty((self.n, len(items)))
                for rows in self._row_blocks():
                    np.matmul(as_double(self._features[rows]), right, out=block[rows])
            if self._inverse_norms is not None:
                block *= self._inverse_norms[:, np.newaxis]
        if self._cosine:
            np.clip(block, -1.0, 1.0, out=block)
        else:
            refuse_overflow(block, "the inner product", "divide the features by a constant")
        return block

    def _among(self, items: IntArray) -> FloatArray:
        rows = self._rows(items)
        S: FloatArray = rows @ rows.T
        return S


class _Function(Similarities):
    """Similarities by a function of two groups of rows."""

    def __init__(self, features: Any, function: Callable[[Any, Any], Any]) -> None:
        super().__init__(features.shape[0], rank=features.shape[0], rounding=16.0 * EPS)
        self._features = features
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

    def to(self, items: IntArray) -> FloatArray:
        other = self._features[items]
        block = np.empty((self.n, len(items)))
        # Distances need a copy of the rows they are between; a block bounds it.
        step = block_length(max(self._features.shape[1], len(items)), _BLOCK_BYTES)
        for start in range(0, self.n, step):
            rows = slice(start, start + step)
            block[rows] = self._call(self._features[rows], other)
        return block

    def _among(self, items: IntArray) -> FloatArray:
        rows = self._features[items]
        return self._call(rows, rows)


class _Precomputed(Similarities):
    """A similarity matrix that the user brought."""

    def __init__(self, matrix: FloatArray, *, rounding: float) -> None:
        super().__init__(len(matrix), rank=len(matrix), rounding=rounding, unit=_typical(np.abs(np.diagonal(matrix))))
        self._matrix = matrix

    def to(self, items: IntArray) -> FloatArray:
        return self._matrix[:, items]

    def _among(self, items: IntArray) -> FloatArray:
        return self._matrix[np.ix_(items, items)]


def _typical(diagonal: FloatArray) -> float:
    """The median, or 0 where it is none."""
    unit = float(np.median(diagonal)) if len(diagonal) else 0.0
    return unit if math.isfinite(unit) else 0.0


def read_similarities(features: Features, similarity: SimilarityLike) -> Similarities:
    """Check features, or a matrix, and say how their similarities are found."""
    if callable(similarity):
        return _Function(_read_features(features), similarity)
    if similarity == "precomputed":
        return _read_precomputed(features)
    if similarity in ("cosine", "dot"):
        return _Products(_read_features(features), cosine=similarity == "cosine")
    if similarity == "rbf":
        X = _dense(_read_features(features))
        return _Function(X, partial(rbf, length_scale=_length_scale(X)))
    raise DiversetError(
        f'similarity is {similarity!r}; it must be "cosine", "rbf", "dot", "precomputed" or a function of two arrays'
    )


def _read_features(features: Any) -> Any:
    """Checked features: an array, in the precision it came in if it is large, or a private CSR matrix."""
    if is_sparse(features):
        return as_features(features, name="features", allow_sparse=True)
    X = as_matrix(features, name="features")
    check_finite(X, name="features")
    return as_double(X) if 8 * X.size <= _SMALL_BYTES or X.dtype.itemsize > 8 else X


def _read_precomputed(features: Any) -> Similarities:
    given = plain_array(features, name="features")
    if given.ndim == 2 and given.shape[0] != given.shape[1]:
        raise KernelError(
            f'features has shape {given.shape}; similarity="precomputed" needs a square matrix of similarities '
            '(features, one row per item, go with similarity="cosine")'
        )
    S = as_hermitian(given, name="features")
    if np.iscomplexobj(S):
        raise KernelError("features is complex; similarities are real numbers")
    return _Precomputed(S, rounding=float(np.finfo(given.dtype).eps) if given.dtype.kind == "f" else EPS)


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
    """The median distance; any length will do where there is none."""
    if len(X) < 2 or (np.array_equal(X[0], X[-1]) and bool((X == X[0]).all())):
        return 1.0
    return median_heuristic(X)
