r"""DPPs of low rank: the dual representation, with probabilities in time independent of n.

With item rows B of shape (n, D), :math:`L = BB^*` is never formed; the dual kernel :math:`C = B^*B`, D x D,
has the same nonzero eigenvalues ([KuleszaTaskar2012]_, Proposition 3.1) and

.. math::  \det(L+I) = \det(C+I), \qquad K_{AB} = B_A (I+C)^{-1} B_B^*.

All operations stay in this form, as a small matrix multiplied onto the rows:

============================  ==================================================================
given A appears               :math:`B N`, N a basis of the vectors orthogonal to the rows of A
given A is absent             the other rows, :math:`C - B_A^* B_A`
restricted to A               :math:`B_A R^{-*}`, :math:`RR^* = I + C_{\bar A}`, the rows left out
thinned by :math:`\gamma`     :math:`\sqrt\gamma B R^{-*}`, :math:`RR^* = I + (1-\gamma) C`
============================  ==================================================================

Rows of a *marginal* kernel are in :mod:`diverset.core.lowrank_marginal`.

The eigenvalues of the Gram matrix C are accurate to a rounding unit of the largest. If a condition estimate shows that
a smaller one is not reliable, the rows are factored and the DPP is held by its eigenvectors, see
:mod:`diverset.core.eigenpairs`. Limits: features that are distributed, or have more than 5e7 entries, are always held
by C; and features that are nearly dependent, by less than 1e-7 of their norm and in all items alike, count as dependent
if C has norm below 1e4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.dense import DenseLikelihood
from diverset.core.factor import RowFactor
from diverset.core.representation import Representation, impossible, out_of_range
from diverset.core.spectrum import Spectrum
from diverset.errors import KernelError
from diverset.numerics.graded import without_rounding
from diverset.numerics.linalg import (
    add_to_diagonal,
    cholesky_lower,
    lifted_inverse_diagonal,
    log_det_from_cholesky,
    log_det_gram,
    null_basis,
    positions_outside,
    routine,
    solve_lower,
)
from diverset.numerics.rounding import EPS, SLACK

if TYPE_CHECKING:
    from diverset.sampling.base import Offer, Sampler

__all__ = ["CERTAIN", "FACTOR_LIMIT", "LowRank", "LowRankLikelihood", "adjoint_inverse"]

#: Largest norm of C from which rows are subtracted: beyond, the error would be visible next to the identity.
_DOWNDATE_LIMIT = 1e5
#: Smallest eigenvalue of C, relative to the largest, that the Gram matrix gives with enough digits.
CERTAIN = 1e-6
#: Rounding error of an eigenvalue that may be visible in a probability.
_FELT = 1e-11
#: Largest number of entries of rows that are factored where the Gram matrix is not accurate enough.
FACTOR_LIMIT = 50_000_000
#: Inclusion probability above which the probability of exclusion is computed separately.
_LIKELY = 0.9


def _lifted_cholesky(C: Array) -> Array:
    """Lower factor of I + C, scaled to unit diagonal first."""
    root = np.sqrt(np.maximum(np.diagonal(C).real, 0.0) + 1.0)
    unit = C / root[:, None] / root
    R = cholesky_lower(add_to_diagonal(unit, root**-2.0))
    if R is None:
        # Entries so far apart that rounding makes the matrix indefinite: the bound of that error is added.
        R = cholesky_lower(add_to_diagonal(unit, 8.0 * len(C) * EPS), overwrite=True)
    if R is None:
        raise KernelError(
            f"I + C has no Cholesky factor in double precision (largest diagonal entry of C: {root.max() ** 2:.6g}); "
            "divide the features by their largest norm, or collect distributed features with .compute()"
        )
    scaled: Array = root[:, None] * R
    return scaled


def adjoint_inverse(R: Array) -> Array:
    """R^-*, for lower triangular R."""
    return solve_lower(R, np.eye(len(R)), adjoint=True)


class LowRank(Representation):
    """Base class of low-rank forms: rows, their Gram matrix and its eigendecomposition.

    The Gram matrix is (width, width), or (width,) if it is diagonal; `noise` is the absolute rounding error of its
    eigenvalues, inherited from the Gram matrix it was derived from.
    """

    #: Eigenvalues, where the rows are eigenvectors, scaled; see :mod:`diverset.core.eigenpairs`.
    _eigenpairs: Spectrum | None = None

    def __init__(self, factor: RowFactor, gram: Array, noise: float) -> None:
        self.n = factor.n
        self.factor = factor
        self._gram = gram
        self._gram.flags.writeable = False
        self._noise = noise

    @cached_property
    def gram(self) -> Array:
        """Gram matrix of the rows."""
        return np.diag(self._gram) if self._gram.ndim == 1 else self._gram

    @cached_property
    def _eigh(self) -> tuple[FloatArray, Array]:
        """Ascending eigenvalues of the Gram matrix, and its eigenvectors."""
        values, vectors = np.linalg.eigh(self.gram)
        return values, vectors

    def _rest_gram(self, dropped: IntArray) -> Array:
        """Gram matrix of the rows not in `dropped`."""
        if len(dropped) == 0:
            return self.gram
        if self.gram.size and np.linalg.norm(self.gram, 2) > _DOWNDATE_LIMIT:
            return self.factor.without(dropped).gram()
        rows = self.factor.take(dropped)
        rest: Array = self.gram - rows.conj().T @ rows
        return rest

    def _hermitian(self, a: Array) -> Array:
        return np.asarray((a + a.conj().T) / 2.0)

    def eigenvector_rows(self, rows: IntArray) -> Array:
        r"""Rows of :math:`V = B \hat V \Lambda^{-1/2}` ([KuleszaTaskar2012]_, Proposition 3.1)."""
        V: Array = self.factor.take(rows) @ self.eigenvector_map
        return V

    @property
    def eigenvector_map(self) -> Array:
        """The small matrix that maps the rows of B to those of V: scaled dual eigenvectors."""
        values, vectors = self._eigh
        cut = len(values) - self.spectrum.rank
        scaled: Array = vectors[:, cut:] / np.sqrt(values[cut:])
        return scaled

    def spectrum_with_vectors(self) -> Spectrum:
        """The spectrum; dual eigenvectors are always computed with it."""
        return self.spectrum

    @property
    def eigen_width(self) -> int:
        """Number of features."""
        return int(self.factor.width)

    def samplers(self, k: int | None, size: int) -> list[Offer]:
        """Includes samplers that need no n x n matrix."""
        from diverset.sampling.offers import of_rows

        return of_rows(self, k, size)

    def sequential_sampler(self) -> Sampler:
        """From the rows, without K."""
        from diverset.sampling.sequential import RowSampler

        return RowSampler(self.factor, self._marginal_transform())

    def _marginal_transform(self) -> Array | None:
        """Matrix (or column scales) T such that the rows of the factor's base, times T, have Gram matrix K."""
        return self.factor.transform

    def eigenvector_columns(self, columns: IntArray) -> Array:
        """Some columns of V, block by block: O(n D m) for m of them."""
        scaled = self.factor.combined(self.eigenvector_map[:, columns])
        V = np.empty((self.n, len(columns)), dtype=np.result_type(self.gram, np.float64))
        for part, block in self.factor.blocks():
            V[part] = block @ scaled
        return V


class LowRankLikelihood(LowRank):
    r"""L-ensemble with :math:`L = BB^*`, B of shape (n, D): the dual representation (section 3.3)."""

    @classmethod
    def from_rows(cls, factor: RowFactor, noise: float = 0.0) -> LowRankLikelihood:
        """Dual kernel by one pass over the rows, or eigenpairs if it is not accurate enough.

        `noise` is the rounding error of the eigenvalues that the rows already carry.
        """
        gram = factor.gram()
        return cls(factor, gram, max(noise, cls._noise_of(factor, gram)))._settled()

    @staticmethod
    def _noise_of(factor: RowFactor, gram: Array) -> float:
        """Rounding error of the eigenvalues from that of features in less than double precision."""
        if factor.rounding == EPS or gram.size == 0:
            return 0.0
        return (SLACK * factor.rounding) ** 2 * float(np.trace(gram).real) / len(gram)

    def _settled(self) -> LowRankLikelihood:
        """The same form, if C determines every eigenvalue; else a more accurate one."""
        factor, gram, noise = self.factor, self.gram, self._noise
        width = len(gram)
        if width == 0:
            return self
        # 1-norms bound the largest eigenvalue from above, and the inverse of the smallest, up to the square root of D.
        norm = float(routine("lange", gram)("1", gram.T))
        level = max(norm, noise / EPS)
        R = cholesky_lower(gram)
        if R is not None:
            rcond, _ = routine("pocon", R)(R.T, norm, uplo="U")
            if rcond * norm > CERTAIN * level:
                return self
        if not self._can_be_factored:
            return self
        lam, W = self._eigh
        level = max(float(lam[-1]), noise / EPS)
        zero = lam <= width * EPS * level
        if (zero | (lam > CERTAIN * level)).all() and factor.vanishes_along(W[:, zero], level):
            if width * EPS * level < _FELT:
                return self
            # Next to large eigenvalues, rounding along the null space would be visible: it is dropped.
            return type(self)(factor.times(W[:, ~zero]), np.diag(lam[~zero]), noise)
        return self._factored()

    @property
    def _can_be_factored(self) -> bool:
        """Whether the rows are in memory, and not too many."""
        return self.factor.is_here and self.factor.n * self.factor.base.shape[1] <= FACTOR_LIMIT

    def _factored(self) -> LowRankLikelihood:
        """The same law, held by its eigenvectors."""
        from diverset.core.eigenpairs import likelihood_of_rows

        everything = np.arange(self.n)
        return likelihood_of_rows(self.factor.take(everything), self.factor.row_noise(everything))

    @cached_property
    def spectrum(self) -> Spectrum:
        """Nonzero eigenvalues of L: those of C."""
        width = len(self.gram)
        if width == 0:
            return Spectrum(np.zeros(0))
        lam = self._eigh[0]
        return Spectrum.from_likelihood(lam.copy(), width * max(EPS * float(lam[-1]), self._noise))

    @property
    def holds_likelihood(self) -> bool:
        """Always true: entries of L are products of rows."""
        return True

    @cached_property
    def _cholesky(self) -> Array:
        """Lower factor of I + C."""
        return _lifted_cholesky(self.gram)

    @cached_property
    def _marginal_map(self) -> Array:
        """R^-*: rows of B times this have Gram matrix K."""
        return adjoint_inverse(self._cholesky)

    @cached_property
    def log_normalizer(self) -> float:
        """Log-determinant of C + I."""
        return log_det_from_cholesky(self._cholesky)

    def _marginal_transform(self) -> Array | None:
        return self.factor.combined(self._marginal_map)

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of B B*."""
        block: Array = self.factor.take(rows) @ self.factor.take(columns).conj().T
        return block

    def likelihood_diagonal(self) -> FloatArray:
        """Squared norms of the rows of B."""
        return self.factor.norms_squared()

    def marginal_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of B (I+C)^-1 B*."""
        left = self.factor.take(rows) @ self._marginal_map
        right = self.factor.take(columns) @ self._marginal_map
        block: Array = left @ right.conj().T
        return block

    @cached_property
    def _inclusion(self) -> FloatArray:
        return np.minimum(self.factor.norms_squared(self._marginal_map, upper=True), 1.0)

    def inclusion(self) -> FloatArray:
        """Diagonal of K, a sum of squares per item."""
        return self._inclusion

    @cached_property
    def _exclusion(self) -> FloatArray:
        r"""Diagonal of I - K, for nearly certain items H that of :math:`(I + WW^*)^{-1}`.

        :math:`W = B_H R^{-*}` with :math:`RR^* = I + C_{\bar H}`: a kernel of these few items, given the other rows.
        """
        exclusion = 1.0 - self._inclusion
        if isinstance(exclusion, np.ndarray):  # not so of features in blocks
            likely = np.flatnonzero(exclusion < 1.0 - _LIKELY)
            if len(likely):
                W = solve_lower(self._lifted_without(likely), self.factor.take(likely).conj().T)
                exclusion[likely] = lifted_inverse_diagonal(W)
        return exclusion

    def _lifted_without(self, dropped: IntArray) -> Array:
        """Lower factor of I + C without some rows: from their Gram matrix or, if rounding hides the identity, by QR."""
        try:
            return _lifted_cholesky(self.factor.without(dropped).gram())
        except KernelError:
            if not self._can_be_factored:
                raise
        rows = self.factor.take(positions_outside(dropped, self.n))
        upper = np.linalg.qr(np.vstack([rows, np.eye(rows.shape[1])]))[1]
        return np.ascontiguousarray(upper.conj().T)

    def exclusion(self) -> FloatArray:
        """Diagonal of I - K, by sums of squares where an item is nearly certain."""
        return self._exclusion

    def log_prob(self, inside: IntArray) -> float:
        """Log of the squared volume of the rows, less the normaliser."""
        return min(log_det_gram(self.factor.take(inside), self.factor.row_noise(inside)) - self.log_normalizer, 0.0)

    def log_probs(self, sets: IntArray) -> FloatArray:
        """Squared volumes of many sets of rows at once, less the normaliser."""
        log_normalizer = self.log_normalizer
        return self.factor.log_volumes(sets, None, lambda Y: self.log_prob(Y) + log_normalizer) - log_normalizer

    def log_marginals(self, sets: IntArray) -> FloatArray:
        """Squared volumes of many sets of rows of K at once."""
        return self.factor.log_volumes(sets, self._marginal_map, lambda Y: self.log_event_probability(Y, Y[:0]))

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        r"""Log of :math:`\det(L_A)\det(I + N^* C_{\bar B} N)/\det(I + C)`, in time independent of n."""
        rows = self.factor.take(inside)
        log_volume = log_det_gram(rows, self.factor.row_noise(inside))
        if log_volume == -math.inf:
            return -math.inf
        if len(outside) == 0:
            return log_det_gram(rows @ self._marginal_map, np.zeros(len(rows)))
        if self._inherited_noise > _FELT and self._can_be_factored:
            # Next to large rows that the condition removes, rounding would be visible.
            return log_volume + self.condition(inside, outside).log_normalizer - self.log_normalizer
        N = null_basis(rows)
        rest = N.conj().T @ self._rest_gram(outside) @ N
        return log_volume + log_det_from_cholesky(_lifted_cholesky(rest)) - self.log_normalizer

    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        """Rows projected off those included; see the module docstring."""
        rows = self.factor.take(inside)
        if log_det_gram(rows, self.factor.row_noise(inside)) == -math.inf:
            raise impossible(inside, outside)
        N = null_basis(rows)
        factor = self.factor.without(np.concatenate([inside, outside]))
        rest = self._rest_gram(outside)
        if len(inside):
            factor = factor.times(N)
            rest = self._hermitian(N.conj().T @ rest @ N)
        return type(self)(factor, np.array(rest), self._inherited_noise)._densified_if_small()

    @property
    def _inherited_noise(self) -> float:
        """Rounding error of the eigenvalues of what is derived from this Gram matrix."""
        return max(self._noise, EPS * float(np.trace(self.gram).real))

    def _densified_if_small(self) -> Representation:
        """The dense form, if there are no more items than features."""
        if self.n > len(self.gram):
            return self._settled()
        everything = np.arange(self.n)
        rows, noise = without_rounding(self.factor.take(everything), self.factor.row_noise(everything))
        unit = self.factor.rounding
        dense = DenseLikelihood(rows @ rows.conj().T, max(EPS, SLACK * unit**2) * (noise / unit) ** 2)
        return self._factored() if dense.needs_rows else dense

    def restrict(self, keep: IntArray) -> Representation:
        r"""Rows :math:`B_A R^{-*}` with :math:`RR^* = I + C_{\bar A}`."""
        if self._inherited_noise > _FELT and self._can_be_factored:
            # Rows along large ones that are left out would keep rounding errors of the size of those.
            return self._factored().restrict(keep)
        M = adjoint_inverse(_lifted_cholesky(self._rest_gram(keep)))
        factor = self.factor.subset(keep).times(M)
        return LowRankLikelihood(factor, factor.gram(), 0.0)._densified_if_small()

    def thin(self, rate: float) -> Representation:
        r"""Rows :math:`\sqrt\gamma B R^{-*}` with :math:`RR^* = I + (1-\gamma)C`."""
        M = math.sqrt(rate) * adjoint_inverse(_lifted_cholesky((1.0 - rate) * self.gram))
        gram = self._hermitian(M.conj().T @ self.gram @ M)
        return type(self)(self.factor.times(M), gram, min(self._noise, EPS / max(1.0 - rate, EPS)))

    def scale(self, log_factor: float) -> Representation:
        """Rows times exp(log_factor / 2)."""
        if log_factor > 709.0:
            raise out_of_range(log_factor)
        factor = math.exp(log_factor)
        scaled = type(self)(self.factor.scaled(math.sqrt(factor)), factor * self.gram, factor * self._noise)
        return scaled._settled()
