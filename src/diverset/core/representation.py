r"""Representations of a DPP: one interface, five ways to hold a kernel.

A :class:`Representation` computes, in positions 0..n-1 and without checking its arguments, the few
quantities from which :class:`diverset.DPP` builds everything else. There are five:

==================  =======================================  ===========================================
class               holds                                    used by
==================  =======================================  ===========================================
``DenseLikelihood`` L, n x n                                 ``DPP(L)``
``DenseMarginal``   K, n x n, eigenvalue 1 allowed           ``DPP.from_marginal(K)``
``LowRankLikelihood`` rows B, n x D, with :math:`L = BB^*`   ``DPP.from_features`` (the dual, section 3.3)
``LowRankMarginal`` rows G, n x D, with :math:`K = GG^*`     spectra with an eigenvalue 1, n large
``Complement``      another representation                   ``complement()`` of any of them
==================  =======================================  ===========================================

Each is closed under conditioning, restriction, thinning and scaling, by the formula that is stable for
it, so that a conditioned DPP is as accurate as a new one.

The interface has two matrices, :math:`K` and :math:`\bar K = I - K`, the marginal kernels of the process
and of its complement, because neither gives the other accurately when it is small: with L scaled by 1e12 the
diagonal of :math:`\bar K` is near 1e-12, and computing it as ``1 - K`` would leave four digits. With both,
every partial assignment has a formula in which nothing cancels,

.. math::

    \Pr(A \subseteq Y,\ B \cap Y = \emptyset)
        = \det(K_A)\,\det\!\left(\bar K_B + K_{BA} K_A^{-1} K_{AB}\right),

a restatement of [KuleszaTaskar2012]_, equation (altlike1), for the rows and columns in :math:`A \cup B`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core.cache import Model
from diverset.core.spectrum import Spectrum
from diverset.errors import ImpossibleEventError, KernelError, NoLikelihoodKernelError
from diverset.numerics.linalg import (
    BLOCK,
    block_length,
    cholesky_lower,
    log_det_psd,
    log_dets,
    positions_outside,
    solve_lower,
    squared_modulus,
)
from diverset.numerics.validation import check_fits_in_memory

if TYPE_CHECKING:
    from diverset.sampling.base import Offer, Sampler

__all__ = [
    "Representation",
    "half_solve",
    "impossible",
    "log_assignment_probability",
    "no_likelihood_kernel",
    "open_positions",
    "out_of_range",
]


T = TypeVar("T")

#: Largest number of items in a batch of sets for which their kernel is formed: 32 MB.
_MANY = 2048
#: Relative rounding error up to which a diagonal entry is reliable.
_CLEAR = 1e-8


class Representation(Model, abc.ABC):
    """A DPP over positions 0..n-1. Immutable; arguments are trusted, ascending int64 positions."""

    n: int
    _given_spectrum: Spectrum | None = None

    @property
    @abc.abstractmethod
    def spectrum(self) -> Spectrum:
        """Eigenvalues, computed on first use."""

    @property
    def _knows_spectrum(self) -> bool:
        """Whether the eigenvalues were given or have been computed."""
        return self._given_spectrum is not None or "spectrum" in self._cache

    def spectrum_with_vectors(self) -> Spectrum:
        """The spectrum, for a caller that also needs eigenvectors: both come from one factorisation."""
        if not self._knows_spectrum:
            self.eigenvectors()
        return self.spectrum

    @property
    def rank(self) -> int:
        """Number of nonzero eigenvalues."""
        return self.spectrum_with_vectors().rank

    def without_rounding(self, k: int) -> Representation:
        """The same law for sets of k items, without the eigenvalues that count as zero.

        The entries of a kernel still contain those eigenvalues, and the spectrum does not. The probabilities of the
        sets of one size add up to one only if both agree.
        """
        return self

    @property
    @abc.abstractmethod
    def log_normalizer(self) -> float:
        r""":math:`\log\det(L+I) = -\log\Pr(Y = \emptyset)`; ``inf`` where K has eigenvalue one."""

    @abc.abstractmethod
    def likelihood_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of L; raises :class:`NoLikelihoodKernelError` where there is none."""

    def likelihood_diagonal(self) -> FloatArray:
        """Diagonal of L."""
        everything = np.arange(self.n)
        return np.diagonal(self.likelihood_block(everything, everything)).real

    @abc.abstractmethod
    def marginal_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of K."""

    @abc.abstractmethod
    def inclusion(self) -> FloatArray:
        """Diagonal of K."""

    @abc.abstractmethod
    def exclusion(self) -> FloatArray:
        """Diagonal of I - K, without cancellation."""

    @abc.abstractmethod
    def log_prob(self, inside: IntArray) -> float:
        """Log-probability that the set is exactly `inside`."""

    @abc.abstractmethod
    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability that all of `inside` and none of `outside` appear."""

    def log_probs(self, sets: IntArray) -> FloatArray:
        """:meth:`log_prob` of sets of one size, (m, k); many at a time if L is known."""
        items = np.unique(sets)
        if not self.holds_likelihood or len(items) > _MANY or sets.shape[1] == 0:
            return np.array([self.log_prob(inside) for inside in sets], dtype=np.float64)
        L = self.likelihood_block(items, items)
        clear = np.diagonal(L).real * _CLEAR >= self.likelihood_noise(items)
        log_normalizer = self.log_normalizer
        return _by_blocks(L, items, clear, sets, lambda Y: self.log_prob(Y) + log_normalizer) - log_normalizer

    def log_marginals(self, sets: IntArray) -> FloatArray:
        """Log-probabilities that the sets appear, (m, k), many at a time."""
        items = np.unique(sets)

        def careful(inside: IntArray) -> float:
            return self.log_event_probability(inside, np.zeros(0, dtype=np.int64))

        if len(items) > _MANY or sets.shape[1] == 0:
            return np.array([careful(inside) for inside in sets], dtype=np.float64)
        K = self.marginal_block(items, items)
        return _by_blocks(K, items, np.diagonal(K).real > _CLEAR, sets, careful)

    def likelihood_noise(self, rows: IntArray) -> FloatArray:
        """Absolute rounding error of the diagonal of L at `rows`, if larger than relative rounding."""
        return np.zeros(len(rows))

    @abc.abstractmethod
    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        """Law of the other positions, in their order, given that `inside` appear and `outside` do not."""

    @abc.abstractmethod
    def restrict(self, keep: IntArray) -> Representation:
        """Law of the set's intersection with `keep`."""

    @abc.abstractmethod
    def thin(self, rate: float) -> Representation:
        """Each item of a draw kept independently with probability `rate` in (0, 1]: K times `rate`."""

    @abc.abstractmethod
    def scale(self, log_factor: float) -> Representation:
        """L times ``exp(log_factor)``; eigenvalues of K equal to 0 or 1 stay."""

    @abc.abstractmethod
    def eigenvector_rows(self, rows: IntArray) -> Array:
        """Rows of V, the eigenvectors of the spectrum's support: shape (len(rows), rank)."""

    def spectral_block(self, rows: IntArray, columns: IntArray, weights: FloatArray) -> Array:
        r"""Entries of :math:`V\,\mathrm{diag}(w)\,V^*`, for `weights` on the support."""
        left = self.eigenvector_rows(rows) * weights
        result: Array = left @ self.eigenvector_rows(columns).conj().T
        return result

    def spectral_diagonal(self, weights: FloatArray) -> FloatArray:
        r"""Diagonal of :math:`V\,\mathrm{diag}(w)\,V^*`, a block of rows at a time."""
        diagonal = np.empty(self.n)
        step = block_length(len(weights))
        for start in range(0, self.n, step):
            V = self.eigenvector_rows(np.arange(start, min(start + step, self.n)))
            diagonal[start : start + step] = squared_modulus(V) @ weights
        return diagonal

    def complement(self) -> Representation:
        """Law of the items that do not appear: marginal kernel I - K."""
        from diverset.core.complement import Complement

        return Complement(self)

    def keep(self, key: str, build: Callable[[], T]) -> T:
        """The cached result of ``build()``."""
        return self._cache.keep(key, build)

    @property
    def rows_of_hidden(self) -> tuple[Array, float] | None:
        r"""Rows B with :math:`L = e^s BB^*`, and s, if the entries of L hide eigenvalues visible in B; else None."""
        return None

    # sampling --------------------------------------------------------------------------------------------

    def samplers(self, k: int | None, size: int) -> list[Offer]:
        """Samplers for `size` draws of the DPP (k None) or k-DPP, each with its estimated cost."""
        from diverset.sampling.offers import of_marginal_kernel

        return of_marginal_kernel(self, k, size)

    def sampler(self, k: int | None, size: int = 1, method: str = "auto") -> Sampler:
        """The sampler for `size` draws, by name or by cost, set up once and kept."""
        from diverset.sampling.base import take

        kept: Sampler | None = self._cache.recall((method, k))
        if kept is not None:
            return kept
        offer = take(self.samplers(k, size), method, k)
        return self._cache.recent((offer.name, k), offer.prepare)

    @property
    def eigen_width(self) -> int:
        """Order of the eigenproblem: n, or fewer features than items."""
        return self.n

    @property
    def size_bound(self) -> float:
        """Upper bound on the expected size, without a costly factorisation."""
        return self.spectrum.mean_size

    def sequential_sampler(self) -> Sampler:
        """Sampler that goes through the items one by one, from K."""
        from diverset.sampling.sequential import MarginalSampler

        check_fits_in_memory(16 * self.n**2, what="the marginal kernel")
        everything = np.arange(self.n)
        return MarginalSampler(self.marginal_block(everything, everything))

    def left_out(self) -> Representation:
        """Law of the items left out, by its own eigenvectors: for draws of nearly all items."""
        from diverset.core.complement import by_eigenvectors

        return self.keep("left out", lambda: by_eigenvectors(self))

    def eigenvectors(self) -> Array:
        """V, of shape (n, rank): orthonormal columns in the order of the spectrum's support."""
        return self.eigenvector_rows(np.arange(self.n))

    def eigenvector_columns(self, columns: IntArray) -> Array:
        """Some columns of V, of shape (n, len(columns)); low-rank forms compute only these."""
        V: Array = self.eigenvectors()[:, columns]
        return V

    @property
    def holds_likelihood(self) -> bool:
        """Whether L is known to full accuracy (not derived from a K that may have eigenvalues near 1)."""
        return False


def _by_blocks(
    kernel: Array, items: IntArray, clear: BoolArray, sets: IntArray, careful: Callable[[IntArray], float]
) -> FloatArray:
    """Log-determinants of the kernel of `items` at the sets; unreliable ones are computed by `careful`."""
    values, at = np.empty(len(sets)), np.searchsorted(items, sets)
    for start in range(0, len(sets), BLOCK):
        part = slice(start, start + BLOCK)
        S = at[part]
        values[part], safe = log_dets(kernel[S[:, :, None], S[:, None, :]])
        for i in np.flatnonzero(~(safe & clear[S].all(axis=1))):
            values[start + i] = careful(sets[start + i])
    return values


def impossible(inside: IntArray, outside: IntArray) -> ImpossibleEventError:
    """The error for conditioning on an event of probability zero, in positions."""
    return ImpossibleEventError(f"including {inside.tolist()} and excluding {outside.tolist()} has probability 0")


def out_of_range(log_factor: float) -> KernelError:
    """The error for scaling a kernel beyond the largest float."""
    return KernelError(f"the kernel times exp({log_factor:.6g}) leaves the range of floats; ask for a smaller size")


def no_likelihood_kernel() -> NoLikelihoodKernelError:
    """The error for L of a DPP that is not an L-ensemble."""
    return NoLikelihoodKernelError(
        "this DPP has no likelihood kernel L: its marginal kernel K has an eigenvalue 1, so the empty set has "
        "probability 0; use K, log_prob and the marginals, which all exist"
    )


def log_assignment_probability(
    K_AA: Array, K_AB: Array, Kc_BB: Array, noise_A: FloatArray, noise_B: FloatArray
) -> float:
    r"""Log of :math:`\det(K_A)\det(\bar K_B + K_{BA}K_A^{-1}K_{AB})`; see the module docstring.

    `noise_A` and `noise_B` are the rounding errors of the diagonals of `K_AA` and `Kc_BB`.
    """
    log_det_A = log_det_psd(K_AA, noise_A)
    if log_det_A == -math.inf or len(Kc_BB) == 0:
        return log_det_A
    given_A = Kc_BB
    if len(K_AA):
        X = half_solve(K_AA, K_AB)
        given_A = Kc_BB + X.conj().T @ X
    return log_det_A + log_det_psd(given_A, noise_B)


def half_solve(a: Array, b: Array) -> Array:
    r""":math:`R^{-1}B` with :math:`A = RR^*`; raises `ImpossibleEventError` if A is singular up to rounding."""
    root = np.sqrt(np.maximum(np.diagonal(a).real, np.finfo(np.float64).tiny))
    R = cholesky_lower(a / root[:, None] / root, overwrite=True)
    if R is None:
        raise ImpossibleEventError(
            f"the event is too close to impossible for double precision: {len(a)} items are dependent up to rounding; "
            "name fewer items, or drop near-duplicates"
        )
    return solve_lower(R, b / root[:, None])


def open_positions(inside: IntArray, outside: IntArray, n: int) -> IntArray:
    """Positions that a partial assignment leaves open."""
    return positions_outside(np.concatenate([inside, outside]), n)
