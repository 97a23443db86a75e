r"""DPPs of low rank, held by rows G of the marginal kernel, :math:`K = GG^*`.

They need no likelihood kernel, so that K may have eigenvalue 1: projection DPPs over many items.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.factor import RowFactor
from diverset.core.lowrank import CERTAIN, FACTOR_LIMIT, LowRank, adjoint_inverse
from diverset.core.representation import Representation, impossible, no_likelihood_kernel
from diverset.core.spectrum import Spectrum
from diverset.numerics.linalg import add_to_diagonal, cholesky_lower, log_det_gram, log_det_psd, null_basis
from diverset.numerics.rounding import EPS

__all__ = ["LowRankMarginal"]


class LowRankMarginal(LowRank):
    r"""DPP with :math:`K = GG^*`, G of shape (n, D), :math:`G^*G \preceq I`; eigenvalue 1 allowed.

    `least` is the known minimum size of a set: this number of eigenvalues is set to one, whatever their rounding.
    """

    def __init__(self, factor: RowFactor, gram: Array, least: int) -> None:
        super().__init__(factor, gram, EPS)
        self._least = least

    @cached_property
    def spectrum(self) -> Spectrum:
        """Nonzero eigenvalues of K: those of G*G."""
        width = len(self.gram)
        if width == 0:
            return Spectrum(np.zeros(0))
        kappa = self._eigh[0]
        one = 16.0 * width * EPS
        return Spectrum.from_marginal(kappa, zero=one * float(kappa[-1]), one=one).with_certain(self._least)

    @cached_property
    def _complement_gram(self) -> Array:
        """I - G*G."""
        return add_to_diagonal(-self.gram, 1.0)

    @cached_property
    def log_normalizer(self) -> float:
        """Minus the log-probability of the empty set, det(I - G*G)."""
        return -log_det_psd(self._complement_gram, np.full(len(self.gram), EPS))

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of G (I - G*G)^-1 G*."""
        R = cholesky_lower(self._complement_gram) if self.log_normalizer < math.inf else None
        if R is None:
            raise no_likelihood_kernel()
        M = adjoint_inverse(R)
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
        r"""Log of :math:`\det(G_Y G_Y^*)\det(I - N^* G^*G N)`, in time independent of n."""
        if not self.spectrum.n_certain <= len(inside) <= self.spectrum.rank:
            return -math.inf
        rows = self.factor.take(inside)
        log_volume = log_det_gram(rows, self.factor.row_noise(inside))
        if log_volume == -math.inf:
            return -math.inf
        N = null_basis(rows)
        absent = add_to_diagonal(np.ascontiguousarray(-(N.conj().T @ self.gram @ N)), 1.0)
        return log_volume + log_det_psd(absent, np.full(len(absent), EPS))

    def log_marginals(self, sets: IntArray) -> FloatArray:
        """Squared volumes of many sets of rows at once."""
        return self.factor.log_volumes(sets, None, lambda Y: self.log_event_probability(Y, Y[:0]))

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability of a partial assignment, in time independent of n."""
        if self.n - len(outside) < self._least:
            return -math.inf
        rows = self.factor.take(inside)
        log_volume = log_det_gram(rows, self.factor.row_noise(inside))
        if log_volume == -math.inf or len(outside) == 0:
            return log_volume
        given = self.factor.take(outside) @ null_basis(rows)
        # The smaller of the two Gram matrices of the excluded rows: both have the same determinant.
        small = given @ given.conj().T if len(outside) < given.shape[1] else given.conj().T @ given
        absent = add_to_diagonal(np.ascontiguousarray(-small), 1.0)
        return log_volume + log_det_psd(absent, np.full(len(absent), EPS))

    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        """Rows projected off those included, then stretched for those excluded."""
        if self.log_event_probability(inside, outside) == -math.inf:
            raise impossible(inside, outside)
        M = null_basis(self.factor.take(inside))
        if len(outside):
            given = self.factor.take(outside) @ M
            R = cholesky_lower(add_to_diagonal(np.ascontiguousarray(-(given.conj().T @ given)), 1.0))
            if R is None:
                raise impossible(inside, outside)
            M = M @ adjoint_inverse(R)
        factor = self.factor.without(np.concatenate([inside, outside])).times(M)
        return LowRankMarginal(factor, factor.gram(), max(self._least - len(inside), 0))._settled()

    def _settled(self) -> Representation:
        """The same form, if G*G determines every eigenvalue and items outnumber features; else the eigenpairs."""
        values = self._eigh[0]
        certain = len(values) == 0 or values[0] > CERTAIN * values[-1]
        if (certain and self.n > len(values)) or self.factor.n * self.factor.base.shape[1] > FACTOR_LIMIT:
            return self
        from diverset.core.eigenpairs import marginal_of_rows

        everything = np.arange(self.n)
        return marginal_of_rows(self.factor.take(everything), self.factor.row_noise(everything), self._least)

    def restrict(self, keep: IntArray) -> Representation:
        """Only these rows."""
        factor = self.factor.subset(keep)
        least = max(self._least - (self.n - len(keep)), 0)
        return LowRankMarginal(factor, factor.gram(), least)._settled()

    def thin(self, rate: float) -> Representation:
        """Rows times the square root of `rate`."""
        return LowRankMarginal(self.factor.scaled(math.sqrt(rate)), rate * self.gram, self._least if rate == 1.0 else 0)

    def scale(self, log_factor: float) -> Representation:
        """Rows in the eigenbasis, each eigenvalue's log-odds shifted by `log_factor`."""
        spectrum = self.spectrum.shifted(log_factor)
        rank = spectrum.rank
        kappa, vectors = (part[..., len(self.gram) - rank :] for part in self._eigh)
        new = spectrum.marginal[len(self.gram) - rank :]
        return LowRankMarginal(self.factor.times(vectors * np.sqrt(new / kappa)), np.diag(new), self._least)
