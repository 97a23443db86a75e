r"""Storage of learned kernels, as a matrix or as factors.

Both forms provide, for many sets at once, the determinants of small blocks of L, the normaliser, and entries of
:math:`K = L(L+I)^{-1}`.

====================  ===========================================================  ==============
form                  likelihood kernel                                            normaliser
====================  ===========================================================  ==============
:class:`Dense`        L                                                            O(n^3)
:class:`LowRank`      :math:`VV^T`, or :math:`VV^T + BCB^T` ([GartrellEtAl2021]_)  O(n D^2)
====================  ===========================================================  ==============
"""

from __future__ import annotations

import abc
import math
from functools import cached_property

import numpy as np
import scipy.linalg

from diverset._typing import FloatArray, IntArray
from diverset.core import DPP, NonsymmetricDPP
from diverset.core.distribution import SetDistribution
from diverset.errors import ImpossibleEventError
from diverset.learn.baskets import Baskets
from diverset.numerics.linalg import add_to_diagonal

__all__ = ["Dense", "KernelForm", "LowRank"]

#: A set is impossible if the determinant of its marginal block, relative to the product of its diagonal, is below this.
_IMPOSSIBLE = 1e-13


class KernelForm(abc.ABC):
    """A kernel over items 0..n-1."""

    n: int
    largest: int  # larger sets have probability 0

    @property
    @abc.abstractmethod
    def log_normalizer(self) -> float:
        """Log-determinant of L + I."""

    @abc.abstractmethod
    def blocks(self, rows: IntArray) -> FloatArray:
        """Blocks of L for sets of one size: (n_sets, m, m) for rows of shape (n_sets, m)."""

    @property
    @abc.abstractmethod
    def marginal_diagonal(self) -> FloatArray:
        """Diagonal of K."""

    @abc.abstractmethod
    def marginal_columns(self, items: IntArray) -> FloatArray:
        """Columns of K, of shape (n, m)."""

    def marginal_rows(self, items: IntArray) -> FloatArray:
        """Rows of K, of shape (m, n). This default is for a symmetric K."""
        return self.marginal_columns(items).T

    @abc.abstractmethod
    def distribution(self) -> SetDistribution:
        """The distribution with this kernel."""

    def log_probs(self, baskets: Baskets) -> FloatArray:
        """Log-probability of each basket."""
        found = np.full(len(baskets), -math.inf)
        for numbers, rows in baskets.by_size():
            if rows.shape[1] == 0:
                found[numbers] = 0.0
            elif rows.shape[1] <= self.largest:
                sign, log_det = np.linalg.slogdet(self.blocks(rows))
                found[numbers] = np.where(sign > 0.0, log_det, -math.inf)
        return np.asarray(found - self.log_normalizer)

    def next_item_scores(self, basket: IntArray) -> FloatArray:
        r"""Probabilities :math:`\Pr(i \in Y \mid A \subseteq Y)` of all items, 1 for those of A.

        .. math::  K_{ii} - K_{iA} K_A^{-1} K_{Ai},

        in :math:`O(nm(m + D))` for m items in A, after the marginal factors have been computed.
        """
        if len(basket) == 0:
            return self.marginal_diagonal.copy()
        columns = self.marginal_columns(basket)
        inner = columns[basket]
        sign, log_det = np.linalg.slogdet(inner)
        scale = np.log(np.maximum(np.diagonal(inner), np.finfo(float).tiny)).sum()
        if len(basket) > self.largest or sign <= 0.0 or log_det - scale < math.log(_IMPOSSIBLE) * len(basket):
            raise ImpossibleEventError(f"the items {basket.tolist()} have probability 0 to appear together")
        # Rows times the inverse, by solving with the transpose.
        given = np.linalg.solve(inner.T, columns.T)
        scores = self.marginal_diagonal - np.einsum("mi,mi->i", given, self.marginal_rows(basket))
        scores[basket] = 1.0
        return np.asarray(np.clip(scores, 0.0, 1.0))


class Dense(KernelForm):
    """L itself, symmetric positive semidefinite."""

    def __init__(self, L: FloatArray) -> None:
        self.L = L
        self.n = self.largest = len(L)

    @cached_property
    def _dpp(self) -> DPP:
        return DPP(self.L)

    @property
    def log_normalizer(self) -> float:
        """Log-determinant of L + I."""
        return self._dpp.log_normalizer

    def blocks(self, rows: IntArray) -> FloatArray:
        """Blocks of L."""
        return self.L[rows[:, :, None], rows[:, None, :]]

    @property
    def marginal_diagonal(self) -> FloatArray:
        """Diagonal of K."""
        return np.diagonal(self._dpp.K)

    def marginal_columns(self, items: IntArray) -> FloatArray:
        """Columns of K."""
        return self._dpp.K[:, items]

    def distribution(self) -> DPP:
        """The DPP."""
        return self._dpp


class LowRank(KernelForm):
    r""":math:`L = VV^T + BCB^T` with C skew-symmetric, or :math:`VV^T` alone.

    With :math:`Z = (V, B)` the marginal kernel is :math:`K = ZWZ^T`. By the Woodbury identity
    :math:`W = X(I + Z^TZX)^{-1}`, X the block diagonal of the identity and C.
    """

    def __init__(self, V: FloatArray, B: FloatArray | None = None, C: FloatArray | None = None) -> None:
        self.V = V
        self.B = np.zeros((len(V), 0)) if B is None else B
        self.C = np.zeros((0, 0)) if C is None else C
        self.n = len(V)
        # A skew-symmetric matrix has even rank.
        self.largest = min(self.n, V.shape[1] + 2 * (self.B.shape[1] // 2))
        self.Z = np.hstack([V, self.B])
        self.X = np.asarray(scipy.linalg.block_diag(np.eye(V.shape[1]), self.C), dtype=np.float64)

    @cached_property
    def gram(self) -> FloatArray:
        """Inner products of the factors."""
        return np.asarray(self.Z.T @ self.Z)

    @cached_property
    def _lifted(self) -> FloatArray:
        return add_to_diagonal(self.gram @ self.X, 1.0)

    @cached_property
    def W(self) -> FloatArray:
        """The matrix between the factors in K."""
        return np.asarray(np.linalg.solve(self._lifted.T, self.X.T).T)

    @cached_property
    def log_normalizer(self) -> float:
        """Log-determinant of I + Z^T Z X."""
        return float(np.linalg.slogdet(self._lifted)[1])

    def blocks(self, rows: IntArray) -> FloatArray:
        """Blocks of L."""
        X, Y = self.V[rows], self.B[rows]
        return np.asarray(X @ X.transpose(0, 2, 1) + (Y @ self.C) @ Y.transpose(0, 2, 1))

    @cached_property
    def _left(self) -> FloatArray:
        return np.asarray(self.Z @ self.W)

    @cached_property
    def marginal_diagonal(self) -> FloatArray:
        """Diagonal of K."""
        return np.asarray(np.einsum("ij,ij->i", self._left, self.Z))

    def marginal_columns(self, items: IntArray) -> FloatArray:
        """Columns of K."""
        return np.asarray(self._left @ self.Z[items].T)

    def marginal_rows(self, items: IntArray) -> FloatArray:
        """Rows of K."""
        return np.asarray(self._left[items] @ self.Z.T)

    def distribution(self) -> SetDistribution:
        """The DPP, in dual form if V has fewer columns than rows, or the nonsymmetric DPP in low-rank form."""
        if self.B.shape[1] == 0:
            return DPP.from_features(self.V)
        return NonsymmetricDPP.from_low_rank(self.V, self.B, self.C / 2.0)
