r"""DPPs held as a dense marginal kernel."""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.dense import DenseKernel
from diverset.core.representation import (
    half_solve,
    impossible,
    log_assignment_probability,
    no_likelihood_kernel,
    open_positions,
)
from diverset.core.spectrum import Spectrum
from diverset.numerics.linalg import (
    add_to_diagonal,
    cholesky_lower,
    log_det_psd,
    positions_outside,
    routine,
    solve_lower,
)
from diverset.numerics.rounding import EPS, zero_eigenvalue, zero_pivot

__all__ = ["DenseMarginal"]

#: Up to this condition number of I - K, L = K (I-K)^-1 is accurate enough.
_WELL_CONDITIONED = 1e4


class DenseMarginal(DenseKernel):
    r"""DPP with marginal kernel K: :math:`\Pr(A \subseteq Y) = \det(K_A)`, eigenvalue 1 allowed.

    A marginal costs one determinant. ``log_prob`` uses L if the eigenvalues of K are well below 1, and otherwise the
    mixed determinant of the interface, in :math:`O(n^3)`.
    """

    _letter = "K"

    @property
    def _K(self) -> Array:
        return self._kernel

    @cached_property
    def _complement_kernel(self) -> Array:
        """I - K."""
        return add_to_diagonal(-self._K, 1.0)

    @cached_property
    def _unit(self) -> float:
        """Rounding error of the entries of I - K."""
        return max(EPS, float(self._noise.max(initial=0.0)))

    @cached_property
    def spectrum(self) -> Spectrum:
        """Eigenvalues of K; those within rounding of 0 or 1 are 0 or 1."""
        if self._given_spectrum is not None:
            return self._given_spectrum
        if self.n == 0:
            return Spectrum(np.zeros(0))
        one = 3.0 * self.n * EPS + zero_eigenvalue(self._noise, 1.0)
        if self._graded:
            return Spectrum.from_marginal(self._eigh[0], zero=0.0, one=one)
        kappa = self._eigh[0] if "_eigh" in self._cache else np.linalg.eigvalsh(self._K)
        return Spectrum.from_marginal(kappa, zero=zero_eigenvalue(self._noise, float(kappa[-1])), one=one)

    @cached_property
    def log_normalizer(self) -> float:
        """Minus the log-probability of the empty set, det(I - K)."""
        return -log_det_psd(self._complement_kernel, np.full(self.n, self._unit))

    @cached_property
    def _likelihood_kernel(self) -> Array:
        """L = K (I-K)^-1."""
        R = cholesky_lower(self._complement_kernel) if self.log_normalizer < math.inf else None
        if R is None:
            raise no_likelihood_kernel()
        # K (I-K)^-1 = K + K (I-K)^-1 K: a sum of positive semidefinite terms.
        X = solve_lower(R, self._K)
        L: Array = self._K + X.conj().T @ X
        return L

    @cached_property
    def holds_likelihood(self) -> bool:
        """Whether the eigenvalues of K are well below 1, by a condition estimate of I - K."""
        R = cholesky_lower(self._complement_kernel)
        if R is None or self.log_normalizer == math.inf:
            return False
        if self.n == 0:
            return True
        rcond, _ = routine("pocon", R)(R.T, routine("lange", R)("1", self._complement_kernel.T), uplo="U")
        return bool(rcond * _WELL_CONDITIONED > 1.0)

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of L = K (I-K)^-1."""
        return self._likelihood_kernel[np.ix_(rows, columns)]

    def marginal_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of K."""
        return self._K[np.ix_(rows, columns)]

    def inclusion(self) -> FloatArray:
        """Diagonal of K."""
        return np.asarray(np.clip(np.diagonal(self._K).real, 0.0, 1.0), dtype=np.float64)

    def exclusion(self) -> FloatArray:
        """Diagonal of I - K."""
        return 1.0 - self.inclusion()

    @property
    def size_bound(self) -> float:
        """Trace of K."""
        return float(self.inclusion().sum())

    def log_prob(self, inside: IntArray) -> float:
        """Log-probability of exactly this set."""
        if self.holds_likelihood:
            L = self._likelihood_kernel[np.ix_(inside, inside)]
            noise = _WELL_CONDITIONED * self._noise[inside]
            noise = np.minimum(noise, EPS * np.diagonal(L).real)
            return log_det_psd(L, noise, lambda: self.spectrum.rank) - self.log_normalizer
        return self.log_event_probability(inside, positions_outside(inside, self.n))

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability of a partial assignment, from the blocks of K and I - K."""
        K_AA = self._K[np.ix_(inside, inside)]
        if log_det_psd(K_AA, self._noise[inside], lambda: self.spectrum.rank) == -math.inf:
            return -math.inf
        K_AB, Kc_BB = self._K[np.ix_(inside, outside)], self._complement_kernel[np.ix_(outside, outside)]
        return log_assignment_probability(K_AA, K_AB, Kc_BB, self._noise[inside], np.full(len(outside), self._unit))

    def condition(self, inside: IntArray, outside: IntArray) -> DenseMarginal:
        r"""Law of the other items, by two Schur complements.

        The included items A give :math:`K - K_{\cdot A}K_A^{-1}K_{A\cdot}`; the excluded items B then give
        :math:`K + K_{\cdot B}(I-K_B)^{-1}K_{B\cdot}`.
        """
        if self.log_event_probability(inside, outside) == -math.inf:
            raise impossible(inside, outside)
        keep = open_positions(inside, outside, self.n)
        items = np.concatenate([outside, keep])
        K = self._K[np.ix_(items, items)]
        if len(inside):
            X = half_solve(self._K[np.ix_(inside, inside)], self._K[np.ix_(inside, items)])
            K = K - X.conj().T @ X
        b = len(outside)
        if b:
            X = half_solve(add_to_diagonal(-K[:b, :b], 1.0), K[:b, b:])
            K = K[b:, b:] + X.conj().T @ X
        # The diagonal of an item in the span of the included items is rounding error only: the item cannot appear.
        gone = np.diagonal(K).real <= 2.0 * zero_pivot(len(inside) + 1) * self._noise[keep]
        K = np.array(K)
        K[gone] = 0.0
        K[:, gone] = 0.0
        return DenseMarginal(K, np.maximum(self._noise[keep], EPS * np.diagonal(K).real))

    def restrict(self, keep: IntArray) -> DenseMarginal:
        """Marginal kernel K_A."""
        return DenseMarginal(self._K[np.ix_(keep, keep)], self._noise[keep])

    def thin(self, rate: float) -> DenseMarginal:
        """Marginal kernel times `rate`."""
        spectrum = self.spectrum.thinned(rate) if self._knows_spectrum else None
        return DenseMarginal(rate * self._K, rate * self._noise, spectrum)

    def scale(self, log_factor: float) -> DenseMarginal:
        """Marginal kernel whose eigenvalues have their log-odds shifted by `log_factor`."""
        spectrum = self.spectrum.shifted(log_factor)
        V = self.eigenvectors()
        root = np.sqrt(spectrum.marginal[self.n - spectrum.rank :])
        K = (V * root) @ (V * root).conj().T
        return DenseMarginal(K, spectrum=spectrum)
