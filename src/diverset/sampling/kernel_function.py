r"""Kernels given as functions: entries on demand, and a low-rank factor from a few columns.

:class:`KernelFunction` is a likelihood kernel given by data and a similarity, for ground sets whose n x n matrix does
not fit. :func:`partial_cholesky` factors any kernel that can be read entry by entry,

.. math::  L = F F^* + E, \qquad E \succeq 0, \qquad e_i = E_{ii},

with F of shape (n, r) made from r of its columns: the pivoted Cholesky factorisation, stopped early. The error is
bounded by the diagonal of E alone, since :math:`|E_{ij}| \le \sqrt{e_i e_j}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.representation import Representation
from diverset.errors import KernelError, NoLikelihoodKernelError
from diverset.numerics.linalg import EPS, block_length, cholesky_lower, routine, row_norms_squared, solve_lower
from diverset.numerics.validation import (
    LARGEST,
    as_quality,
    as_real_or_complex,
    check_finite,
    check_fits_in_memory,
    check_rows,
    is_sparse,
)

__all__ = [
    "Columns",
    "KernelEntries",
    "KernelFunction",
    "PartialCholesky",
    "orthonormalised",
    "partial_cholesky",
    "read_entries",
]

#: Number of items on which a similarity is checked at first.
_SAMPLE = 12
#: Items per block of similarities from which a diagonal is read.
_DIAGONAL_BLOCK = 128
#: Pivots taken together, at least and at most.
_BLOCK = (16, 64)
#: Within a block, pivots this much smaller than the largest wait for a later block.
_PIVOT_RATIO = 0.05
#: Rounding left in a residual diagonal, in units of EPS times the diagonal itself.
ROUNDING = 32.0


class KernelEntries(Protocol):
    """A likelihood kernel that can be read in blocks, at positions that are not checked."""

    @property
    def n_items(self) -> int:
        """Number of items."""

    def block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of L."""

    def diagonal(self) -> FloatArray:
        """Diagonal of L."""


class KernelFunction:
    r"""Likelihood kernel :math:`L_{ij} = q_i\, s(x_i, x_j)\, q_j`, evaluated on demand.

    Parameters
    ----------
    X : array_like or scipy.sparse of shape (n_items, n_features)
        One item per row. Referenced, not copied, so do not change it afterwards.
    similarity : callable
        ``similarity(A, B)`` returns the (len(A), len(B)) array of similarities of the rows of A with those of B: real,
        symmetric, positive semidefinite. ``functools.partial(diverset.kernels.rbf, length_scale=0.3)`` is one.
    quality : array_like of shape (n_items,), optional
        Nonnegative factor per item, 1 by default.
    diagonal : float or callable, optional
        The similarity of an item with itself: a number, or ``diagonal(A)`` of shape (len(A),). By default it is read
        off blocks of the similarity, which costs 128 evaluations per item.

    Notes
    -----
    The similarity is tried on a dozen items: shape, finite entries, symmetry, eigenvalues. Nothing short of forming
    the matrix proves it positive semidefinite.

    Examples
    --------
    >>> import functools, numpy as np, diverset as dv
    >>> X = np.random.default_rng(0).random((1_000_000, 2))
    >>> rbf = functools.partial(dv.kernels.rbf, length_scale=0.2)
    >>> L = KernelFunction(X, rbf, diagonal=1.0)
    >>> L.n_items, L.block([0, 7], [7]).round(4)
    (1000000, array([[0.804],
           [1.   ]]))
    """

    def __init__(
        self,
        X: Any,
        similarity: Callable[[Any, Any], ArrayLike],
        quality: ArrayLike | None = None,
        *,
        diagonal: float | Callable[[Any], ArrayLike] | None = None,
    ) -> None:
        if not callable(similarity):
            raise KernelError(
                f"similarity is a {type(similarity).__name__}; pass a function of two arrays of rows, such as "
                "functools.partial(diverset.kernels.rbf, length_scale=0.3)"
            )
        self._X = X.tocsr() if is_sparse(X) else as_real_or_complex(X, name="X", ndim=2)
        self._n = int(self._X.shape[0])
        self._similarity = similarity
        self._quality = None if quality is None else as_quality(quality, self._n)
        if self._quality is not None and self._quality.max(initial=0.0) > LARGEST:
            raise KernelError(f"quality goes up to {self._quality.max():.6g}, too large to be squared; divide it")
        self._given_diagonal = diagonal
        self._diagonal: FloatArray | None = None
        self._try_out()

    def __repr__(self) -> str:
        return f"KernelFunction(n_items={self._n}, {self._X.shape[1]} features)"

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self._n

    def _evaluate(self, rows: IntArray, columns: IntArray | slice) -> FloatArray:
        """Similarities, with checks of their shape, type and finiteness."""
        A, B = self._X[rows], self._X[columns]
        S = np.asarray(self._similarity(A, B))
        if S.shape != (A.shape[0], B.shape[0]):
            raise KernelError(
                f"similarity returned shape {S.shape} for {A.shape[0]} and {B.shape[0]} rows; expected "
                f"({A.shape[0]}, {B.shape[0]})"
            )
        if S.dtype.kind not in "biuf":
            raise KernelError(f"similarity returned {S.dtype} values; they must be real numbers")
        S = S.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = bool(np.isfinite(S.sum())) or bool(np.isfinite(S).all())
        if not finite:
            i, j = (int(x) for x in np.argwhere(~np.isfinite(S))[0])
            other = np.arange(self._n)[columns][j]
            raise KernelError(f"similarity of items {rows[i]} and {other} is {S[i, j]}; it must be finite")
        return S

    def _try_out(self) -> None:
        if self._n == 0:
            return
        sample = np.unique(np.linspace(0, self._n - 1, _SAMPLE).astype(np.int64))
        S = self._evaluate(sample, sample)
        scale = float(np.abs(S).max())
        gap = np.abs(S - S.T)
        if gap.max() > math.sqrt(EPS) * scale:
            i, j = (int(x) for x in np.unravel_index(int(gap.argmax()), gap.shape))
            raise KernelError(
                f"similarity is not symmetric: it is {S[i, j]:.6g} for items {sample[i]} and {sample[j]}, "
                f"{S[j, i]:.6g} the other way round; pass a symmetric function of its two arguments"
            )
        smallest = float(np.linalg.eigvalsh((S + S.T) / 2.0)[0])
        if smallest < -math.sqrt(EPS) * scale:
            raise KernelError(
                f"the similarities of items {sample.tolist()} have smallest eigenvalue {smallest:.6g}; a similarity "
                "must be positive semidefinite (kernels.rbf, matern, dot and cosine are)"
            )
        if self._given_diagonal is not None:
            given = self._self_similarity(sample)
            gap = np.abs(given - np.diagonal(S))
            if gap.max() > math.sqrt(EPS) * scale:
                i = int(gap.argmax())
                raise KernelError(
                    f"diagonal is {given[i]:.6g} for item {sample[i]}, but its similarity with itself is "
                    f"{S[i, i]:.6g}; leave diagonal out if it is not known"
                )

    def block(self, rows: ArrayLike, columns: ArrayLike | slice) -> FloatArray:
        """Entries of L, of shape (len(rows), len(columns)). A slice of columns avoids a copy of their rows of X."""
        i = check_rows(rows, self._n, name="rows")
        j = columns if isinstance(columns, slice) else check_rows(columns, self._n, name="columns")
        L = self._evaluate(i, j)
        if self._quality is not None:
            L = self._quality[i][:, None] * L * self._quality[j]
        return L

    def _self_similarity(self, rows: IntArray) -> FloatArray:
        given = self._given_diagonal
        if given is None:
            return np.diagonal(self._evaluate(rows, rows)).copy()
        values = np.asarray(given(self._X[rows]) if callable(given) else np.full(len(rows), given), dtype=np.float64)
        if values.shape != (len(rows),):
            raise KernelError(f"diagonal returned shape {values.shape} for {len(rows)} rows; expected ({len(rows)},)")
        return values

    def diagonal(self) -> FloatArray:
        """Diagonal of L, of shape (n_items,); evaluated once."""
        if self._diagonal is None:
            step = _DIAGONAL_BLOCK if self._given_diagonal is None else max(self._n, 1)
            diagonal = np.empty(self._n)
            for start in range(0, self._n, step):
                part = np.arange(start, min(start + step, self._n))
                diagonal[part] = self._self_similarity(part)
            check_finite(diagonal, name="the diagonal of the similarity")
            if self._n and diagonal.min() < 0.0:
                i = int(diagonal.argmin())
                raise KernelError(
                    f"the similarity of item {i} with itself is {diagonal[i]:.6g}; it must not be negative"
                )
            if self._quality is not None:
                diagonal *= self._quality**2
            diagonal.flags.writeable = False
            self._diagonal = diagonal
        return self._diagonal


class _RepresentedEntries:
    """The likelihood kernel of a representation, read in blocks."""

    def __init__(self, representation: Representation) -> None:
        self._representation = representation
        self._dense: Array | None = None
        if not representation.holds_likelihood and representation.log_normalizer == math.inf:
            raise NoLikelihoodKernelError(
                "this method walks on det(L_Y), and the DPP has no likelihood kernel L (its marginal kernel K has an "
                "eigenvalue 1); draw with an exact method instead: 'auto', 'spectral' or 'sequential'"
            )
        if not representation.holds_likelihood:
            # Computing a block of L would take a factorisation each time, so L is formed once.
            check_fits_in_memory(16 * representation.n**2, what="the likelihood kernel L")
            everything = np.arange(representation.n)
            self._dense = representation.keep(
                "likelihood", lambda: representation.likelihood_block(everything, everything)
            )

    @property
    def n_items(self) -> int:
        return self._representation.n

    def block(self, rows: IntArray, columns: IntArray) -> Array:
        if self._dense is not None:
            return self._dense[np.ix_(rows, columns)]
        return self._representation.likelihood_block(rows, columns)

    def diagonal(self) -> FloatArray:
        if self._dense is not None:
            return np.diagonal(self._dense).real
        return self._representation.likelihood_diagonal()


def read_entries(source: Representation | KernelEntries) -> KernelEntries:
    """Entries of the kernel of `source`; raises an error for a DPP that has no L."""
    return _RepresentedEntries(source) if isinstance(source, Representation) else source


@dataclass(frozen=True, eq=False)
class PartialCholesky:
    """The factor F, (n, r), that :func:`partial_cholesky` found."""

    columns: Columns
    #: Diagonal of L - F F*, nonnegative, and the error of each entry.
    residual: FloatArray
    rounding: FloatArray
    #: Items whose columns were used, in order.
    pivots: IntArray
    #: Whether the residual is only rounding.
    complete: bool

    @property
    def rank(self) -> int:
        """Number of columns of F."""
        return len(self.pivots)

    @property
    def bound(self) -> FloatArray:
        r"""Numbers with :math:`|(L - FF^*)_{ij}| \le \sqrt{e_i e_j}`, rounding included."""
        return self.residual + self.rounding


def partial_cholesky(
    entries: KernelEntries, stop: Callable[[PartialCholesky], bool], *, max_rank: int | None = None
) -> PartialCholesky:
    """Factor :math:`L = FF^* + E` from a few columns of L, block by block, until `stop` is true or `max_rank` reached.

    A block of 16 to 64 pivots is chosen among four times as many candidates, drawn with probability proportional to the
    residual [ChenEpperlyTroppWebber2025]_, by greedy elimination among the candidates, so that pivots near each other
    do not enter together. All rows are then updated by matrix products: n r kernel evaluations and about :math:`n r^2`
    operations for rank r. The candidates come from a fixed seed, so the factor is a function of the kernel.
    """
    n = entries.n_items
    rng = np.random.default_rng(0)
    diagonal = np.array(entries.diagonal(), dtype=np.float64)
    rounding = ROUNDING * EPS * diagonal
    residual = np.maximum(diagonal, 0.0)
    limit = n if max_rank is None else min(max_rank, n)
    F = Columns(n)
    pivots = np.zeros(0, dtype=np.int64)
    while True:
        r = len(pivots)
        cumulative = np.cumsum(np.where(residual > rounding, residual, 0.0))
        complete = n == 0 or cumulative[-1] <= 0.0
        found = PartialCholesky(F, residual, rounding, pivots, complete)
        if complete or r >= limit or stop(found):
            return found
        width = min(max(_BLOCK[0], min(r // 4, _BLOCK[1])), limit - r)
        drawn = np.searchsorted(cumulative, rng.random(4 * width) * cumulative[-1], side="right")
        candidates = np.unique(drawn[drawn < n])
        known = F.take(candidates)
        R, chosen = _greedy_factor(entries.block(candidates, candidates) - known @ known.conj().T, width)
        P = candidates[chosen]
        known = known[chosen].conj().T
        inverse = solve_lower(R, np.eye(len(P))).conj().T
        F.make_room(len(P), R.dtype)
        step = block_length(r + 2 * len(P), 1 << 24)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            left = entries.block(np.arange(part.start, part.stop), P)
            new = (left - F.times(part, known)) @ inverse
            F.write(part, new)
            residual[part] -= row_norms_squared(new)
        F.width += len(P)
        residual[P] = 0.0
        np.maximum(residual, 0.0, out=residual)
        pivots = np.concatenate([pivots, P])


class Columns:
    """A tall matrix that grows to the right, in panels of columns, so that growing copies nothing."""

    panel_width = 256

    def __init__(self, n: int) -> None:
        self.n = n
        self.width = 0
        self.panels: list[Array] = []
        self._gram: Array = np.zeros((0, 0))

    def make_room(self, width: int, dtype: Any) -> None:
        """Panels for `width` more columns."""
        while len(self.panels) * self.panel_width < self.width + width:
            check_fits_in_memory(
                8 * self.n * self.panel_width,
                what=f"a factor of {self.n} rows and {self.width + width} columns",
                remedy="a smaller max_rank, or method='mcmc'",
            )
            self.panels.append(np.empty((self.n, self.panel_width), dtype=dtype))

    def _pieces(self) -> Iterator[tuple[int, int, Array]]:
        for i, panel in enumerate(self.panels):
            start = i * self.panel_width
            stop = min(start + self.panel_width, self.width)
            if stop > start:
                yield start, stop, panel[:, : stop - start]

    def take(self, rows: IntArray) -> Array:
        """Some rows."""
        return np.concatenate([np.zeros((len(rows), 0)), *(piece[rows] for _, _, piece in self._pieces())], axis=1)

    def times(self, rows: slice, matrix: Array) -> Array | float:
        """Some rows times `matrix`."""
        return sum(piece[rows] @ matrix[start:stop] for start, stop, piece in self._pieces())

    def write(self, rows: slice, new: Array) -> None:
        """Set some rows of the columns after `width`."""
        done = 0
        while done < new.shape[1]:
            i, at = divmod(self.width + done, self.panel_width)
            m = min(new.shape[1] - done, self.panel_width - at)
            self.panels[i][rows, at : at + m] = new[:, done : done + m]
            done += m

    def gram(self) -> Array:
        """Inner products of the columns; those known from an earlier call are reused."""
        known = len(self._gram)
        G = np.empty((self.width, self.width), dtype=np.result_type(*self.panels[:1], np.float64))
        G[:known, :known] = self._gram
        for a, b, left in self._pieces():
            if b <= known:
                continue
            first = max(a, known)
            for c, d, right in self._pieces():
                if c <= a:
                    G[first:b, c:d] = left[:, first - a :].conj().T @ right
                    G[c:d, first:b] = G[first:b, c:d].conj().T
        self._gram = G
        return G

    def product(self, matrix: Array) -> Array:
        """All rows times `matrix`, as one array."""
        product = np.empty((self.n, matrix.shape[1]), dtype=np.result_type(matrix, *self.panels[:1]))
        step = block_length(self.width + matrix.shape[1], 1 << 24)
        for start in range(0, self.n, step):
            part = slice(start, min(start + step, self.n))
            product[part] = self.times(part, matrix)
        return product


def _greedy_factor(S: Array, width: int) -> tuple[Array, IntArray]:
    """Lower factor of up to `width` rows of S, chosen greedily by the largest pivot, and their indices."""
    tolerance = _PIVOT_RATIO * float(np.diagonal(S).real.max())
    factor, order, rank, _ = routine("pstrf", S)(S, lower=1, tol=tolerance)
    m = max(1, min(int(rank), width))
    return np.tril(factor[:m, :m]), order[:m].astype(np.int64) - 1


def orthonormalised(V: Array) -> Array:
    r"""Nearly orthonormal columns made orthonormal in place; the span of the last j columns stays, for every j.

    Eigenvectors :math:`F w_i/\sigma_i` err by rounding times :math:`\sigma_{\max}^2/\sigma_i^2`, along those of larger
    eigenvalues, to their right. One Cholesky factor of the Gram matrix, which is near the identity, corrects them.
    """
    G = (V.conj().T @ V)[::-1, ::-1]
    R = cholesky_lower(np.ascontiguousarray(G))
    if R is None:
        V[...] = np.linalg.qr(V[:, ::-1])[0][:, ::-1]
        return V
    inverse = solve_lower(R, np.eye(len(R))).conj().T[::-1, ::-1]
    step = block_length(2 * V.shape[1], 1 << 24)
    for start in range(0, len(V), step):
        V[start : start + step] = V[start : start + step] @ inverse
    return V
