r"""The low-rank form of a nonsymmetric kernel: tall rows and a small matrix between them.

:math:`L = VV^T + B(D - D^T)B^T` ([GartrellEtAl2021]_) is :math:`FMF^T` with :math:`F = (V, B)` and M the block diagonal
of the identity and :math:`D - D^T`. Its marginal kernel, and every kernel that conditioning leaves, is
:math:`F \Omega F^T` with the same rows, so that no n x n matrix is needed for any question about some items.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from diverset._typing import FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.nonsymmetric_forms import RARE, DenseForm, Form, log_det_of_set, numerical_rank
from diverset.core.representation import no_likelihood_kernel
from diverset.numerics.accretive import (
    Resolvent,
    congruence,
    log_det_general,
    range_factor,
    resolvent,
    rounding_of,
    size_law,
)
from diverset.numerics.graded import graded_qr
from diverset.numerics.linalg import add_to_diagonal, block_length, gram, positions_outside, product
from diverset.numerics.validation import check_fits_in_memory

__all__ = ["LowRankForm", "factored_form"]

#: Smallest eigenvalue of the scaled Gram matrix of a tall factor for which no QR factorisation is needed.
_WELL_CONDITIONED = 1e-4

#: Entries up to which a factor is always orthonormalised by QR.
_SMALL = 1 << 18


def gram_if_tall(rows: FloatArray) -> FloatArray | None:
    """Gram matrix of a factor that is too large for a QR factorisation at first; else None."""
    if rows.size <= _SMALL:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return rows.T @ rows


def factored_form(rows: FloatArray, core: FloatArray, G: FloatArray | None = None) -> Form:
    """The process with L = F M F^T, for accretive M: by its factors if F is tall, else by the matrix.

    G is :func:`gram_if_tall` of the rows, if known. With as many columns as items the factors save nothing, and
    orthonormal coordinates would only add rounding to L.
    """
    if len(rows) <= rows.shape[1]:
        return DenseForm(congruence(rows, core))
    return LowRankForm.from_core(rows, core, G)


class LowRankForm(Form):
    r"""Tall rows F of shape (n, r) with :math:`K = F \Omega F^T` and, from :meth:`from_core`, :math:`L = F M F^T`.

    No n x n matrix is formed. A block of K takes :math:`O(r)` per entry and :math:`O(r^2)` per row.
    """

    def __init__(
        self,
        rows: FloatArray,
        marginal_core: FloatArray,
        *,
        rank: int,
        factor: tuple[FloatArray, FloatArray] | None = None,
        root: FloatArray | None = None,
        inner: Resolvent | None = None,
    ) -> None:
        self.rows, self.marginal_core = rows, marginal_core
        self.n = len(rows)
        self.rank = min(rank, self.n)
        self.factor = factor  # rows and core of L, as they were given
        self.root = root  # upper R with orthonormal F R^-1; None where F, or an F of more rows, is orthonormal
        self._inner = inner  # the marginal kernels in orthonormal coordinates of the span of the rows

    @classmethod
    def from_core(cls, rows: FloatArray, core: FloatArray, G: FloatArray | None = None) -> LowRankForm:
        """The process with :math:`L = F M F^T`, for accretive M; G is :math:`F^TF`, if known.

        With :math:`F = QR`, Q orthonormal, the marginal kernel is :math:`Q K_M Q^T` for the kernel :math:`K_M` of
        :math:`RMR^T`, of size r only. For a tall, well-conditioned F, R is the Cholesky factor of its Gram matrix, one
        pass of :math:`nr^2` operations. Otherwise a QR factorisation, its rows sorted by size and its columns pivoted,
        keeps the digits of rows that differ in scale ([CoxHigham1998]_).
        """
        G = gram_if_tall(rows) if G is None else G
        root = None if G is None else _gram_root(G)
        if root is not None:
            Q, R, M = rows, root, core
        else:
            # A singular core, as of an odd number of skew-symmetric columns, would leave rounding errors in L.
            Z, M = range_factor(core) or (None, core)
            Q, R = graded_qr(rows if Z is None else rows @ Z)
        inside = congruence(R, M)
        inner = resolvent(inside)
        marginal = inner.K if root is None else _between(inner.K, root)
        rank = inner.rank
        if rank is None:
            rank = numerical_rank(inside, rounding_of(len(inside))) if len(inside) else 0
        return cls(Q, marginal, rank=rank, factor=(rows, core), root=root, inner=inner)

    def orthonormal_core(self) -> FloatArray:
        """Likelihood kernel in orthonormal coordinates of the span of the rows, of size r."""
        rows, core = self._likelihood
        R = self.rows.T @ rows if self.root is None else self.root
        return R @ core @ R.T

    @property
    def _likelihood(self) -> tuple[FloatArray, FloatArray]:
        if self.factor is None:
            raise no_likelihood_kernel()
        return self.factor

    @property
    def holds_likelihood(self) -> bool:
        """Whether L is known."""
        return self.factor is not None

    @cached_property
    def _small(self) -> FloatArray:
        r"""A matrix of size r with the nonzero spectrum of K: :math:`F^TF\Omega`."""
        return self._inner.K if self._inner is not None else (self.rows.T @ self.rows) @ self.marginal_core

    @cached_property
    def log_normalizer(self) -> float:
        """Log-determinant of L + I; ``inf`` where K has eigenvalue 1."""
        if self._inner is not None:
            return self._inner.log_det
        return -log_det_general(add_to_diagonal(-self._small, 1.0))

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of L."""
        if self.factor is None:
            return super().likelihood_block(rows, columns)
        F, core = self.factor
        return product(product(F[rows], core), F[columns], transpose=True)

    def marginal_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of K."""
        check_fits_in_memory(16 * len(rows) * len(columns), what="the marginal kernel")
        return product(product(self.rows[rows], self.marginal_core), self.rows[columns], transpose=True)

    def outside_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of I - K."""
        return np.asarray((rows[:, None] == columns) - self.marginal_block(rows, columns), dtype=np.float64)

    def marginal_diagonal(self) -> FloatArray:
        """Diagonal of K, block by block."""
        found = np.empty(self.n)
        step = block_length(self.rows.shape[1])
        for first in range(0, self.n, step):
            F = self.rows[first : first + step]
            found[first : first + step] = np.einsum("ij,ij->i", product(F, self.marginal_core), F)
        return found

    def marginal_entries(self, i: IntArray, j: IntArray) -> FloatArray:
        """Some entries of K."""
        found = np.empty(len(i))
        step = block_length(self.rows.shape[1])
        for first in range(0, len(i), step):
            F, G = self.rows[i[first : first + step]], self.rows[j[first : first + step]]
            found[first : first + step] = np.einsum("ij,ij->i", product(F, self.marginal_core), G)
        return found

    def log_prob(self, inside: IntArray) -> float:
        """Log-probability of exactly this set."""
        if len(inside) > self.rank:
            return -math.inf
        if self.factor is None:
            return self.log_event_probability(inside, positions_outside(inside, self.n))
        L = congruence(self.factor[0][inside], self.factor[1])
        return min(log_det_of_set(L, lambda: self.rank, self.rows.shape[1]) - self.log_normalizer, 0.0)

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability that all of `inside` and none of `outside` appear."""
        if len(inside) > self.rank:
            return -math.inf
        if len(outside) <= self.rows.shape[1]:
            return super().log_event_probability(inside, outside)
        found = log_det_general(self.marginal_block(inside, inside))
        if found > -math.inf:
            rest = add_to_diagonal(-gram(self.rows[outside]) @ self._core_including(inside), 1.0)
            found += log_det_general(rest)
        if self.holds_likelihood and found < RARE:
            found = self._rare(inside, outside)
        return min(found, 0.0)

    def size_moments(self) -> tuple[float, float]:
        """Traces of K and of K (I - K)."""
        K = self._small
        Kc = add_to_diagonal(-K, 1.0) if self._inner is None else self._inner.Kc
        return float(np.trace(K)), float(np.einsum("ij,ji->", K, Kc))

    def size_law(self) -> FloatArray:
        """Probability of every size, 0 to the rank."""
        pmf = size_law(self._small)
        pmf = np.pad(pmf, (0, max(self.rank + 1 - len(pmf), 0)))[: self.rank + 1]
        law: FloatArray = pmf / pmf.sum()
        return law

    def _core_including(self, inside: IntArray) -> FloatArray:
        r""":math:`\Omega - \Omega F_A^T K_A^{-1} F_A \Omega`."""
        if len(inside) == 0:
            return self.marginal_core
        F = self.rows[inside]
        right = F @ self.marginal_core
        return self.marginal_core - (self.marginal_core @ F.T) @ np.linalg.solve(right @ F.T, right)

    def excluding(self, outside: IntArray) -> Form:
        r"""Without these rows; if there is no L, the core becomes :math:`\Omega (I - F_B^TF_B\Omega)^{-1}`."""
        if self.factor is not None:
            return factored_form(np.delete(self.factor[0], outside, axis=0), self.factor[1])
        rows = np.delete(self.rows, outside, axis=0)
        inner = add_to_diagonal(-gram(self.rows[outside]) @ self.marginal_core, 1.0)
        core = np.ascontiguousarray(np.linalg.solve(inner.T, self.marginal_core.T).T)
        return LowRankForm(rows, core, rank=self.rank)

    def including(self, inside: IntArray) -> Form:
        """A Schur complement of K, of the same form."""
        base = self._marginal_form()
        core = np.ascontiguousarray(base._core_including(inside))
        return LowRankForm(np.delete(base.rows, inside, axis=0), core, rank=self.rank - len(inside))

    def _marginal_form(self) -> LowRankForm:
        """The same process by orthonormal rows, so that the Gram matrix of some of them is at most I."""
        if self.root is None or self._inner is None:
            return self
        rows = np.ascontiguousarray(scipy.linalg.solve_triangular(self.root, self.rows.T, trans="T").T)
        return LowRankForm(rows, self._inner.K, rank=self.rank, inner=self._inner)

    def restricted(self, keep: IntArray) -> Form:
        """Some of the rows."""
        base = self._marginal_form()
        return LowRankForm(base.rows[keep], base.marginal_core, rank=self.rank)


def _between(a: FloatArray, R: FloatArray) -> FloatArray:
    """R^-1 a R^-T for an upper triangular R."""
    return np.ascontiguousarray(np.linalg.solve(R, np.linalg.solve(R, a).T).T)


def _gram_root(G: FloatArray) -> FloatArray | None:
    """Upper R with :math:`G = R^TR`, if the Gram matrix G is of columns far from dependent; else None."""
    scale = np.sqrt(np.diagonal(G))
    if not scale.all() or not np.isfinite(scale).all():
        return None
    S = G / scale[:, None] / scale
    if float(np.linalg.eigvalsh(S)[0]) < _WELL_CONDITIONED:
        return None
    return np.asarray(np.linalg.cholesky(S).T * scale, dtype=np.float64)
