"""The complement of a DPP, computed from the DPP itself.

If Y is a DPP with marginal kernel K then the items that do not appear form a DPP with marginal kernel
:math:`I - K` ([KuleszaTaskar2012]_, section 2.3). Every probability is one of Y, so nothing is computed
anew, and the complement of a low-rank DPP stays as cheap as the DPP.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.dense_marginal import DenseMarginal
from diverset.core.eigenpairs import from_eigenpairs
from diverset.core.representation import Representation, no_likelihood_kernel
from diverset.core.spectrum import Spectrum
from diverset.numerics.linalg import orthonormal_columns, positions_outside
from diverset.numerics.validation import check_fits_in_memory

if TYPE_CHECKING:
    from diverset.sampling.base import Offer, Sampler

__all__ = ["Complement", "by_eigenvectors"]


class Complement(Representation):
    """Law of the items left out by `base`."""

    def __init__(self, base: Representation) -> None:
        self.n = base.n
        self.base = base

    @cached_property
    def spectrum(self) -> Spectrum:
        """Log-odds of the base with their sign changed; its zero eigenvalues are certain here."""
        log_odds = self.base.spectrum.log_odds
        hidden = np.full(self.n - len(log_odds), np.inf)
        return Spectrum(np.concatenate([-log_odds[::-1], hidden]))

    def spectrum_with_vectors(self) -> Spectrum:
        """The spectrum; computes the eigenvectors of the base along with it."""
        self.base.spectrum_with_vectors()
        return self.spectrum

    def without_rounding(self, k: int) -> Representation:
        """Complement of the base without rounding."""
        base = self.base.without_rounding(self.n - k)
        return self if base is self.base else base.complement()

    @cached_property
    def log_normalizer(self) -> float:
        """Minus the log-probability that the base takes every item."""
        return -self.base.log_prob(np.arange(self.n))

    @cached_property
    def _dense(self) -> DenseMarginal:
        """The same law as a dense marginal kernel, for operations that the base lacks."""
        check_fits_in_memory(8 * self.n * self.n, what="the marginal kernel of the complement")
        everything = np.arange(self.n)
        return DenseMarginal(self.marginal_block(everything, everything), spectrum=self.spectrum)

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of the inverse of the base's L, or of K^-1 - I where the base has no L."""
        if self.log_normalizer == math.inf:
            raise no_likelihood_kernel()
        if not self.base.holds_likelihood:
            return self._dense.likelihood_block(rows, columns)
        everything = np.arange(self.n)
        inverse = np.linalg.inv(self.base.likelihood_block(everything, everything))
        inverse = (inverse + inverse.conj().T) / 2.0
        return inverse[np.ix_(rows, columns)]

    def marginal_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of I - K, the diagonal without cancellation."""
        K = self.base.marginal_block(rows, columns)
        diagonal = np.where(rows[:, None] == columns, self.base.exclusion()[rows][:, None], 0.0)
        block: Array = np.where(rows[:, None] == columns, diagonal, -K)
        return block

    def inclusion(self) -> FloatArray:
        """The base's exclusion probabilities."""
        return self.base.exclusion()

    def exclusion(self) -> FloatArray:
        """The base's inclusion probabilities."""
        return self.base.inclusion()

    def log_prob(self, inside: IntArray) -> float:
        """Log-probability that the base takes exactly the other items."""
        return self.base.log_prob(positions_outside(inside, self.n))

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """That of the base with the two roles exchanged."""
        return self.base.log_event_probability(outside, inside)

    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        """Complement of the base conditioned the other way round."""
        return self.base.condition(outside, inside).complement()

    def restrict(self, keep: IntArray) -> Representation:
        """Complement, within `keep`, of the restricted base."""
        return self.base.restrict(keep).complement()

    def thin(self, rate: float) -> Representation:
        """Marginal kernel `rate` (I - K), which is full: dense."""
        return self if rate == 1.0 else self._dense.thin(rate)

    def scale(self, log_factor: float) -> Representation:
        """Complement of the base scaled the other way."""
        return self.base.scale(-log_factor).complement()

    def complement(self) -> Representation:
        """The base."""
        return self.base

    def samplers(self, k: int | None, size: int) -> list[Offer]:
        """Those of the base, whose draws are complemented."""
        from diverset.sampling.offers import of_complement

        return of_complement(self, k, size)

    def sequential_sampler(self) -> Sampler:
        """That of the base, complemented."""
        from diverset.sampling.base import outside

        return outside(self.base.sequential_sampler(), self.n, "sequential")

    def eigenvector_rows(self, rows: IntArray) -> Array:
        """Rows of a full eigenbasis: dense, since the base need not hold its null space."""
        return self._dense.eigenvector_rows(rows)

    def _on_base(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Weight c of the certain eigenvectors, and c - w for those of the base's support.

        With W the eigenvectors hidden in the base's null space, V w V* = c I - V_base (c - w) V_base*, if all of W have
        one weight, c.
        """
        n_certain = self.spectrum.n_certain
        certain = weights[len(weights) - n_certain :]
        # They are equal for a DPP, and equal up to rounding for the factors of its pair probabilities.
        c = float(certain.mean()) if n_certain else 0.0
        base = self.base.spectrum
        # Base eigenvectors that are certain there never appear here: weight 0.
        w = np.concatenate([weights[: len(weights) - n_certain][::-1], np.zeros(base.n_certain)])
        return c, c - w

    def spectral_block(self, rows: IntArray, columns: IntArray, weights: FloatArray) -> Array:
        """By the base: c I - V (c - w) V*."""
        c, w = self._on_base(weights)
        block: Array = c * (rows[:, None] == columns) - self.base.spectral_block(rows, columns, w)
        return block

    def spectral_diagonal(self, weights: FloatArray) -> FloatArray:
        """By the base: c - diag(V (c - w) V*)."""
        c, w = self._on_base(weights)
        return c - self.base.spectral_diagonal(w)


def by_eigenvectors(base: Representation) -> Representation:
    """The complement of `base` by its own n eigenvectors: those of the base, in reverse order."""
    check_fits_in_memory(32 * base.n**2, what=f"the eigenvectors of {base.n} items", remedy='use method="auto"')
    V = orthonormal_columns(base.eigenvectors())
    if V.shape[1] < base.n:
        # The null space of the base, all of which is certain here.
        null = np.linalg.qr(V, mode="complete")[0][:, V.shape[1] :]
        V = np.concatenate([null, V], axis=1)
    return from_eigenpairs(Complement(base).spectrum, V[:, ::-1])
