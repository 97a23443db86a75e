r"""DPPs of low rank: the dual representation, in time that does not grow with n per question.

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

The second class holds rows G of the *marginal* kernel, :math:`K = GG^*`, and needs no L, so that K may have
eigenvalue 1: projection DPPs over many items.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import expit

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.dense import DenseLikelihood, DenseMarginal
from diverset.core.factor import RowFactor
from diverset.core.representation import (
    Representation,
    impossible,
    no_likelihood_kernel,
)
from diverset.core.spectrum import Spectrum
from diverset.numerics.linalg import (
    EPS,
    add_to_diagonal,
    block_length,
    cholesky_lower,
    log_det_from_cholesky,
    log_det_gram,
    log_det_psd,
    null_basis,
    solve_lower,
    squared_modulus,
)

if TYPE_CHECKING:
    from diverset.sampling.base import Offer, Sampler

__all__ = ["LowRankLikelihood", "LowRankMarginal", "from_eigenpairs"]

#: Above this norm of C, subtracting rows from it would leave more error than the identity it is added to.
_DOWNDATE_LIMIT = 1e5


def _lifted_cholesky(C: Array) -> Array:
    """Lower factor of I + C."""
    lifted = add_to_diagonal(np.array(C), 1.0)
    R = cholesky_lower(lifted)
    if R is None:
        # Entries so far apart that rounding alone leaves it indefinite: factored with a unit diagonal, which is raised
        # by as much as rounding can take from it.
        scale = np.sqrt(np.diagonal(lifted).real)
        unit = lifted / scale[:, None] / scale
        R = cholesky_lower(add_to_diagonal(unit, 8.0 * len(C) * EPS), overwrite=True)
        assert R is not None  # C is positive semidefinite up to rounding
        R = scale[:, None] * R
    return R


def _adjoint_inverse(R: Array) -> Array:
    """R^-*, for lower triangular R."""
    return solve_lower(R, np.eye(len(R)), adjoint=True)


class _LowRank(Representation):
    """What the two low-rank forms share: rows, their Gram matrix and its eigendecomposition.

    Parameters
    ----------
    factor : RowFactor
        The rows, of shape (n, width).
    gram : ndarray of shape (width, width), or (width,) for a diagonal one
        Their Gram matrix.
    noise : float
        Absolute rounding error of its eigenvalues, inherited from the Gram matrix it was derived from.
    eigenpairs : Spectrum, optional
        Given where the rows are orthonormal columns scaled: `factor.base` holds V, `gram` is diagonal.
    """

    def __init__(self, factor: RowFactor, gram: Array, noise: float, eigenpairs: Spectrum | None = None) -> None:
        self.n = factor.n
        self.factor = factor
        self._gram = gram
        self._gram.flags.writeable = False
        self._noise = noise
        self._eigenpairs = eigenpairs

    @cached_property
    def gram(self) -> Array:
        """Gram matrix of the rows."""
        return np.diag(self._gram) if self._gram.ndim == 1 else self._gram

    @cached_property
    def _eigh(self) -> tuple[FloatArray, Array]:
        """Ascending eigenvalues of the Gram matrix, and its eigenvectors."""
        values, vectors = np.linalg.eigh(self.gram)
        return values, vectors

    def _row_noise(self, rows: IntArray) -> FloatArray:
        noise: FloatArray = EPS * self.factor.row_noise(rows)
        return noise

    def _rest_gram(self, dropped: IntArray) -> Array:
        """Gram matrix of the rows not in `dropped`."""
        if len(dropped) == 0:
            return self.gram
        if np.linalg.norm(self.gram, 2) > _DOWNDATE_LIMIT:
            return self.factor.without(dropped).gram()
        rows = self.factor.take(dropped)
        rest: Array = self.gram - rows.conj().T @ rows
        return rest

    def _hermitian(self, a: Array) -> Array:
        return np.asarray((a + a.conj().T) / 2.0)

    def eigenvector_rows(self, rows: IntArray) -> Array:
        r"""Rows of :math:`V = B \hat V \Lambda^{-1/2}` ([KuleszaTaskar2012]_, Proposition 3.1)."""
        rank = self.spectrum.rank
        if self._eigenpairs is not None:
            base = self.factor.base if len(rows) == self.n else self.factor.base[rows]
            return np.asarray(base[:, base.shape[1] - rank :])
        V: Array = self.factor.take(rows) @ self.eigenvector_map
        return V

    @property
    def eigenvector_map(self) -> Array:
        """The small matrix that turns the rows of B into those of V: dual eigenvectors, scaled."""
        values, vectors = self._eigh
        cut = len(values) - self.spectrum.rank
        scaled: Array = vectors[:, cut:] / np.sqrt(values[cut:])
        return scaled

    def spectrum_with_vectors(self) -> Spectrum:
        """The spectrum: the dual eigenvectors always come with it."""
        return self.spectrum

    @property
    def eigen_width(self) -> int:
        """Number of features."""
        return int(self.factor.width)

    def samplers(self, k: int | None, size: int) -> list[Offer]:
        """Among others those that need no n x n matrix."""
        from diverset.sampling.offers import of_rows

        return of_rows(self, k, size)

    def sequential_sampler(self) -> Sampler:
        """From the rows, without K."""
        from diverset.sampling.sequential import RowSampler

        return RowSampler(self.factor, self._marginal_transform())

    def _marginal_transform(self) -> Array | None:
        """Matrix (or column scales) T such that the rows of the factor's base, times T, have Gram matrix K."""
        return self.factor.transform if self._eigenpairs is None else np.sqrt(self._eigenpairs.marginal)

    def spectral_diagonal(self, weights: FloatArray) -> FloatArray:
        """Diagonal of V diag(w) V*; eigenvectors that are at hand are read in the order they lie in memory."""
        if self._eigenpairs is None:
            return super().spectral_diagonal(weights)
        base = self.factor.base
        V = base[:, base.shape[1] - len(weights) :]
        diagonal = np.zeros(self.n)
        if abs(V.strides[0]) >= abs(V.strides[1]):
            step = block_length(V.shape[1])
            for start in range(0, self.n, step):
                diagonal[start : start + step] = squared_modulus(V[start : start + step]) @ weights
        else:
            step = block_length(self.n)
            for start in range(0, len(weights), step):
                part = slice(start, start + step)
                diagonal += squared_modulus(V[:, part]) @ weights[part]
        return diagonal

    def eigenvector_columns(self, columns: IntArray) -> Array:
        """Some columns of V, block by block: O(n D m) for m of them."""
        if self._eigenpairs is not None:
            return np.asarray(self.eigenvectors()[:, columns])
        scaled = self.factor.combined(self.eigenvector_map[:, columns])
        V = np.empty((self.n, len(columns)), dtype=np.result_type(self.gram, np.float64))
        for part, block in self.factor.blocks():
            V[part] = block @ scaled
        return V


class LowRankLikelihood(_LowRank):
    r"""L-ensemble with :math:`L = BB^*`, B of shape (n, D): the dual representation (section 3.3)."""

    @classmethod
    def from_rows(cls, factor: RowFactor) -> Self:
        """Dual kernel by one pass over the rows."""
        gram = factor.gram()
        top = float(np.linalg.norm(gram, 2)) if gram.size else 0.0
        return cls(factor, gram, EPS * top)

    @cached_property
    def spectrum(self) -> Spectrum:
        """Nonzero eigenvalues of L: those of C."""
        if self._eigenpairs is not None:
            return self._eigenpairs
        width = len(self.gram)
        if width == 0:
            return Spectrum(np.zeros(0))
        lam = self._eigh[0]
        return Spectrum.from_likelihood(lam.copy(), width * max(EPS * float(lam[-1]), self._noise))

    @property
    def holds_likelihood(self) -> bool:
        """Yes."""
        return True

    @cached_property
    def _cholesky(self) -> Array:
        """Lower factor of I + C."""
        return _lifted_cholesky(self.gram)

    @cached_property
    def _marginal_map(self) -> Array:
        """R^-*: rows of B times this have Gram matrix K."""
        return _adjoint_inverse(self._cholesky)

    @cached_property
    def log_normalizer(self) -> float:
        """Log-determinant of C + I."""
        # With a large C of deficient rank, rounding would show next to the identity; the spectrum knows its zeros.
        if self._eigenpairs is not None or EPS * float(np.trace(self.gram).real) > 1e-11:
            return self.spectrum.log_normalizer
        return log_det_from_cholesky(self._cholesky)

    def _marginal_transform(self) -> Array | None:
        if self._eigenpairs is not None:
            return super()._marginal_transform()
        if EPS * float(np.trace(self.gram).real) > 1e-11:
            # Next to a large dual kernel of deficient rank the identity is lost; its spectrum knows the zeros.
            return self.factor.combined(self.eigenvector_map * np.sqrt(expit(self.spectrum.support)))
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
        if self._eigenpairs is not None:
            return np.minimum(self.spectral_diagonal(expit(self._eigenpairs.support)), 1.0)
        return np.minimum(self.factor.norms_squared(self._marginal_map, upper=True), 1.0)

    def inclusion(self) -> FloatArray:
        """Diagonal of K, a sum of squares per item."""
        return self._inclusion

    def exclusion(self) -> FloatArray:
        """Diagonal of I - K."""
        return 1.0 - self._inclusion

    def log_prob(self, inside: IntArray) -> float:
        """Log of the squared volume of the rows, less the normaliser."""
        return log_det_gram(self.factor.take(inside), self._row_noise(inside)) - self.log_normalizer

    def log_probs(self, sets: IntArray) -> FloatArray:
        """Squared volumes of many sets of rows at once, less the normaliser."""
        log_normalizer = self.log_normalizer
        return self.factor.log_volumes(sets, None, lambda Y: self.log_prob(Y) + log_normalizer) - log_normalizer

    def log_marginals(self, sets: IntArray) -> FloatArray:
        """Squared volumes of many sets of rows of K at once."""
        return self.factor.log_volumes(sets, self._marginal_map, lambda Y: self.log_probability(Y, Y[:0]))

    def log_probability(self, inside: IntArray, outside: IntArray) -> float:
        r"""Log of :math:`\det(L_A)\det(I + N^* C_{\bar B} N)/\det(I + C)`, in time free of n."""
        rows = self.factor.take(inside)
        log_volume = log_det_gram(rows, self._row_noise(inside))
        if log_volume == -math.inf:
            return -math.inf
        if len(outside) == 0:
            return log_det_gram(rows @ self._marginal_map, np.zeros(len(rows)))
        N = null_basis(rows)
        rest = N.conj().T @ self._rest_gram(outside) @ N
        return log_volume + log_det_from_cholesky(_lifted_cholesky(rest)) - self.log_normalizer

    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        """Rows projected off those included; see the module docstring."""
        rows = self.factor.take(inside)
        if log_det_gram(rows, self._row_noise(inside)) == -math.inf:
            raise impossible(inside, outside)
        N = null_basis(rows)
        factor = self.factor.without(np.concatenate([inside, outside]))
        rest = self._rest_gram(outside)
        if len(inside):
            factor = factor.times(N)
            rest = self._hermitian(N.conj().T @ rest @ N)
        return type(self)(factor, np.array(rest), self._noise)._densified_if_small()

    def _densified_if_small(self) -> Representation:
        """The dense form, once there are no more items than features."""
        if self.n > len(self.gram):
            return self
        L = self.factor.outer()
        noise = EPS * self.factor.row_noise(np.arange(self.n)) ** 2
        return DenseLikelihood(L, np.maximum(noise, EPS * np.diagonal(L).real))

    def restrict(self, keep: IntArray) -> Representation:
        r"""Rows :math:`B_A R^{-*}` with :math:`RR^* = I + C_{\bar A}`."""
        M = _adjoint_inverse(_lifted_cholesky(self._rest_gram(keep)))
        factor = self.factor.subset(keep).times(M)
        return LowRankLikelihood(factor, factor.gram(), self._noise)._densified_if_small()

    def thin(self, rate: float) -> Representation:
        r"""Rows :math:`\sqrt\gamma B R^{-*}` with :math:`RR^* = I + (1-\gamma)C`."""
        if self._eigenpairs is not None:
            return from_eigenpairs(self._eigenpairs.thinned(rate), self.factor.base)
        M = math.sqrt(rate) * _adjoint_inverse(_lifted_cholesky((1.0 - rate) * self.gram))
        gram = self._hermitian(M.conj().T @ self.gram @ M)
        return type(self)(self.factor.times(M), gram, min(self._noise, EPS / max(1.0 - rate, EPS)))

    def scale(self, log_factor: float) -> Representation:
        """Rows times exp(log_factor / 2)."""
        if self._eigenpairs is not None:
            return from_eigenpairs(self._eigenpairs.shifted(log_factor), self.factor.base)
        factor = math.exp(log_factor)
        return type(self)(self.factor.scaled(math.sqrt(factor)), factor * self.gram, factor * self._noise)


class LowRankMarginal(_LowRank):
    r"""DPP with :math:`K = GG^*`, G of shape (n, D), :math:`G^*G \preceq I`; eigenvalue 1 allowed."""

    @cached_property
    def spectrum(self) -> Spectrum:
        """Nonzero eigenvalues of K: those of G*G."""
        if self._eigenpairs is not None:
            return self._eigenpairs
        width = len(self.gram)
        if width == 0:
            return Spectrum(np.zeros(0))
        return Spectrum.from_marginal(np.clip(self._eigh[0], 0.0, 1.0), width * EPS * 16.0)

    @cached_property
    def _complement_gram(self) -> Array:
        """I - G*G."""
        return add_to_diagonal(-self.gram, 1.0)

    @cached_property
    def log_normalizer(self) -> float:
        """Minus the log-probability of the empty set, det(I - G*G)."""
        if self._eigenpairs is not None:
            return self.spectrum.log_normalizer
        return -log_det_psd(self._complement_gram, np.full(len(self.gram), EPS))

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of G (I - G*G)^-1 G*."""
        R = cholesky_lower(self._complement_gram) if self.log_normalizer < math.inf else None
        if R is None:
            raise no_likelihood_kernel()
        M = _adjoint_inverse(R)
        block: Array = (self.factor.take(rows) @ M) @ (self.factor.take(columns) @ M).conj().T
        return block

    def marginal_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of G G*."""
        block: Array = self.factor.take(rows) @ self.factor.take(columns).conj().T
        return block

    @cached_property
    def _inclusion(self) -> FloatArray:
        return np.minimum(self.factor.norms_squared(), 1.0)

    def inclusion(self) -> FloatArray:
        """Squared norms of the rows."""
        return self._inclusion

    def exclusion(self) -> FloatArray:
        """One less the squared norms of the rows."""
        return 1.0 - self._inclusion

    def log_prob(self, inside: IntArray) -> float:
        r"""Log of :math:`\det(G_Y G_Y^*)\det(I - N^* G^*G N)`, in time free of n."""
        rows = self.factor.take(inside)
        log_volume = log_det_gram(rows, self._row_noise(inside))
        if log_volume == -math.inf:
            return -math.inf
        N = null_basis(rows)
        absent = add_to_diagonal(np.ascontiguousarray(-(N.conj().T @ self.gram @ N)), 1.0)
        return log_volume + log_det_psd(absent, np.full(len(absent), EPS))

    def log_marginals(self, sets: IntArray) -> FloatArray:
        """Squared volumes of many sets of rows at once."""
        return self.factor.log_volumes(sets, None, lambda Y: self.log_probability(Y, Y[:0]))

    def log_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability of a partial assignment, in time free of n."""
        rows = self.factor.take(inside)
        log_volume = log_det_gram(rows, self._row_noise(inside))
        if log_volume == -math.inf or len(outside) == 0:
            return log_volume
        given = self.factor.take(outside) @ null_basis(rows)
        # The smaller of the two Gram matrices of the excluded rows: both have the same determinant.
        small = given @ given.conj().T if len(outside) < given.shape[1] else given.conj().T @ given
        absent = add_to_diagonal(np.ascontiguousarray(-small), 1.0)
        return log_volume + log_det_psd(absent, np.full(len(absent), EPS))

    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        """Rows projected off those included, then stretched for those excluded."""
        if self.log_probability(inside, outside) == -math.inf:
            raise impossible(inside, outside)
        M = null_basis(self.factor.take(inside))
        if len(outside):
            given = self.factor.take(outside) @ M
            R = cholesky_lower(add_to_diagonal(np.ascontiguousarray(-(given.conj().T @ given)), 1.0))
            assert R is not None  # the event has positive probability
            M = M @ _adjoint_inverse(R)
        factor = self.factor.without(np.concatenate([inside, outside])).times(M)
        return LowRankMarginal(factor, factor.gram(), EPS)._densified_if_small()

    def _densified_if_small(self) -> Representation:
        """The dense form, once there are no more items than features."""
        if self.n > len(self.gram):
            return self
        K = self.factor.outer()
        noise = EPS * self.factor.row_noise(np.arange(self.n)) ** 2
        return DenseMarginal(K, np.maximum(noise, EPS * np.diagonal(K).real))

    def restrict(self, keep: IntArray) -> Representation:
        """Only these rows."""
        factor = self.factor.subset(keep)
        return LowRankMarginal(factor, factor.gram(), self._noise)._densified_if_small()

    def thin(self, rate: float) -> Representation:
        """Rows times the square root of `rate`."""
        if self._eigenpairs is not None:
            return from_eigenpairs(self._eigenpairs.thinned(rate), self.factor.base)
        return LowRankMarginal(self.factor.scaled(math.sqrt(rate)), rate * self.gram, self._noise)

    def scale(self, log_factor: float) -> Representation:
        """Rows in the eigenbasis, each eigenvalue's log-odds shifted by `log_factor`."""
        spectrum = self.spectrum.shifted(log_factor)
        if self._eigenpairs is not None:
            return from_eigenpairs(spectrum, self.factor.base)
        rank = spectrum.rank
        kappa, vectors = (part[..., len(self.gram) - rank :] for part in self._eigh)
        new = spectrum.marginal[len(self.gram) - rank :]
        return LowRankMarginal(self.factor.times(vectors * np.sqrt(new / kappa)), np.diag(new), EPS)


def from_eigenpairs(spectrum: Spectrum, V: Array) -> Representation:
    """The DPP with these eigenvalues and orthonormal columns V, n x m, kept as they are."""
    if spectrum.n_certain == 0:
        lam = spectrum.likelihood
        noise = EPS * float(lam.max(initial=0.0))
        return LowRankLikelihood(RowFactor(V, transform=np.sqrt(lam)), lam, noise, spectrum)
    kappa = spectrum.marginal
    return LowRankMarginal(RowFactor(V, transform=np.sqrt(kappa)), kappa, EPS, spectrum)
