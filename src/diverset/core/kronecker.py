r"""Kernels that are Kronecker products: a large ground set from small matrices.

Items of :math:`L = L_1 \otimes L_2 \otimes \dots` are tuples, one index for each factor, and
:math:`L_{ij} = \prod_f (L_f)_{i_f j_f}` ([MarietSra2016]_). Eigenvalues are products of those of the factors and
eigenvectors Kronecker products of theirs, so that nothing of size n x n is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.dpp import DPP
from diverset.core.representation import Representation, log_assignment_probability
from diverset.core.spectrum import Spectrum
from diverset.errors import DiversetError
from diverset.numerics.linalg import EPS, log_det_psd, positions_outside, squared_modulus
from diverset.numerics.symmetric import expit
from diverset.numerics.validation import check_fits_in_memory

if TYPE_CHECKING:
    from diverset.sampling.base import Offer

__all__ = ["KroneckerKernel", "kronecker_dpp"]


def kronecker_dpp(*kernels: ArrayLike) -> DPP:
    r"""DPP with the likelihood kernel :math:`L_1 \otimes L_2 \otimes \dots`, never formed.

    Parameters
    ----------
    *kernels : array_like of shape (n_f, n_f)
        Positive semidefinite factors, at least one, as for :class:`diverset.DPP`.

    Returns
    -------
    DPP
        Over :math:`n = \prod_f n_f` items. Item i stands for the tuple ``np.unravel_index(i, (n_1, n_2, ...))``.

    Notes
    -----
    Set-up takes :math:`O(\sum_f n_f^3 + n \log n)`, all inclusion probabilities :math:`O(n \sum_f n_f)`, a marginal of
    m items :math:`O(m^2n)`, a draw of m items :math:`O(nm^2)`. ``sample`` has the spectral method only, and forms only
    the eigenvectors of the draw ([MarietSra2016]_). ``condition`` and ``restrict`` make an n x n kernel.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> colours, sizes = np.eye(3) + 0.5, 0.1 * (np.eye(40) + 1.0)
    >>> dpp = dv.core.kronecker_dpp(colours, sizes)
    >>> dpp.n_items, round(dpp.expected_size, 3)
    (120, 17.41)
    >>> np.unravel_index(dpp.sample(rng=0), (3, 40))[0]
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    if not kernels:
        raise DiversetError("no kernels are given; a Kronecker product needs at least one factor")
    return DPP._wrap(KroneckerKernel.of([DPP(L)._representation for L in kernels]))


class KroneckerKernel(Representation):
    """Eigenvectors as Kronecker products of those of the factors, and any spectrum over them.

    `order` gives the place of each nonzero eigenvalue in the grid of the factors' eigenvectors. L is the product of
    `factors` times ``exp(log_factor)``; these are None if L is known by its spectrum only.
    """

    def __init__(
        self,
        vectors: Sequence[Array],
        spectrum: Spectrum,
        order: IntArray,
        factors: Sequence[Array] | None,
        log_factor: float = 0.0,
    ) -> None:
        self.vectors, self._spectrum, self.order = tuple(vectors), spectrum, order
        self.factors, self.log_factor = None if factors is None else tuple(factors), log_factor
        self.shape = tuple(len(U) for U in self.vectors)
        self.grid = tuple(int(U.shape[1]) for U in self.vectors)
        self.n = math.prod(self.shape)

    @classmethod
    def of(cls, factors: Sequence[Representation]) -> KroneckerKernel:
        """The product of likelihood kernels."""
        logs = np.zeros(1)
        for factor in factors:
            logs = (logs[:, None] + factor.spectrum.support).reshape(-1)
        order = np.argsort(logs, kind="stable").astype(np.int64)
        n = math.prod(factor.n for factor in factors)
        spectrum = Spectrum(np.concatenate([np.full(n - len(logs), -np.inf), logs[order]]))
        kernels = [factor.likelihood_block(np.arange(factor.n), np.arange(factor.n)) for factor in factors]
        return cls([factor.eigenvectors() for factor in factors], spectrum, order, kernels)

    @property
    def spectrum(self) -> Spectrum:
        """Eigenvalues of the product."""
        return self._spectrum

    @property
    def log_normalizer(self) -> float:
        """Log-determinant of L + I."""
        return self._spectrum.log_normalizer

    @property
    def holds_likelihood(self) -> bool:
        """Whether entries of L are products of entries of the factors."""
        return self.factors is not None

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of L."""
        if self.factors is None:
            return self.spectral_block(rows, columns, np.exp(self._spectrum.support))
        block: Array = np.full((len(rows), len(columns)), math.exp(self.log_factor))
        at = zip(np.unravel_index(rows, self.shape), np.unravel_index(columns, self.shape), strict=True)
        for L, (i, j) in zip(self.factors, at, strict=True):
            block = block * L[np.ix_(i, j)]
        return block

    def likelihood_diagonal(self) -> FloatArray:
        """Diagonal of L."""
        return self.spectral_diagonal(np.exp(self._spectrum.support))

    def eigenvector_rows(self, rows: IntArray) -> Array:
        """Rows of all eigenvectors, in the order of the spectrum's support."""
        check_fits_in_memory(24 * len(rows) * len(self.order), what=f"{len(rows)} rows of the eigenvectors")
        found: Array = np.ones((len(rows), 1))
        for U, i in zip(self.vectors, np.unravel_index(rows, self.shape), strict=True):
            found = (found[:, :, None] * U[i][:, None, :]).reshape(len(rows), found.shape[1] * U.shape[1])
        return found[:, self.order]

    def eigenvector_columns(self, columns: IntArray) -> Array:
        """Some eigenvectors, each the Kronecker product of one of every factor."""
        check_fits_in_memory(24 * self.n * len(columns), what=f"{len(columns)} eigenvectors of {self.n} items")
        found: Array = np.ones((1, len(columns)))
        for U, c in zip(self.vectors, np.unravel_index(self.order[columns], self.grid), strict=True):
            found = (found[:, None, :] * U[:, c]).reshape(found.shape[0] * len(U), len(columns))
        return found

    def spectral_diagonal(self, weights: FloatArray) -> FloatArray:
        """Diagonal of V diag(w) V*, one factor at a time."""
        grid = np.zeros(math.prod(self.grid))
        grid[self.order] = weights
        found = grid.reshape(self.grid)
        for U in self.vectors:
            # The first axis is summed and becomes the last: after all factors they are in order again.
            found = np.tensordot(found, squared_modulus(U), axes=(0, 1))
        return found.reshape(-1)

    @cached_property
    def _marginal_weights(self) -> FloatArray:
        return np.asarray(expit(self._spectrum.support))

    @cached_property
    def _outside_weights(self) -> FloatArray:
        return np.asarray(expit(-self._spectrum.support))

    def marginal_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of K."""
        return self.spectral_block(rows, columns, self._marginal_weights)

    def _outside_block(self, rows: IntArray) -> Array:
        """Entries of I - K: of the eigenvectors without cancellation, and of the null space."""
        block = self.spectral_block(rows, rows, self._outside_weights)
        if len(self.order) < self.n:
            block = block + np.eye(len(rows)) - self.spectral_block(rows, rows, np.ones(len(self.order)))
        return block

    def inclusion(self) -> FloatArray:
        """Diagonal of K."""
        return np.clip(self.spectral_diagonal(self._marginal_weights), 0.0, 1.0)

    def exclusion(self) -> FloatArray:
        """Diagonal of I - K."""
        found = self.spectral_diagonal(self._outside_weights)
        if len(self.order) < self.n:
            found = found + np.maximum(1.0 - self.spectral_diagonal(np.ones(len(self.order))), 0.0)
        return np.clip(found, 0.0, 1.0)

    def log_prob(self, inside: IntArray) -> float:
        """Log-probability that the set is exactly `inside`."""
        if len(inside) > self._spectrum.rank:
            return -math.inf
        block = self.likelihood_block(inside, inside)
        noise = len(self.shape) * EPS * np.diagonal(block).real
        return min(log_det_psd(block, noise) - self.log_normalizer, 0.0)

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability that all of `inside` and none of `outside` appear."""
        if len(inside) > self._spectrum.rank:
            return -math.inf
        K_A, K_AB = self.marginal_block(inside, inside), self.marginal_block(inside, outside)
        noise = EPS * np.diagonal(K_A).real
        found = log_assignment_probability(K_A, K_AB, self._outside_block(outside), noise, np.full(len(outside), EPS))
        return min(found, 0.0)

    def _dense(self, keep: IntArray) -> Representation:
        """The L-ensemble of some items by its dense kernel."""
        check_fits_in_memory(
            24 * len(keep) ** 2,
            what=f"the likelihood kernel of {len(keep)} items",
            remedy="conditioning and restriction leave no Kronecker product; ask for probabilities instead",
        )
        return DPP(self.likelihood_block(keep, keep))._representation

    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        """Law of the others, by the dense kernel."""
        keep = positions_outside(outside, self.n)
        rest = self._dense(keep)
        inside = np.searchsorted(keep, inside)
        return rest.condition(inside, outside[:0]) if len(inside) else rest

    def restrict(self, keep: IntArray) -> Representation:
        """Law of the intersection, by the dense kernel."""
        return self._dense(np.arange(self.n)).restrict(keep)

    def thin(self, rate: float) -> Representation:
        """The same eigenvectors, eigenvalues of K times `rate`."""
        return KroneckerKernel(self.vectors, self._spectrum.thinned(rate), self.order, None)

    def scale(self, log_factor: float) -> Representation:
        """The same eigenvectors, eigenvalues of L times ``exp(log_factor)``."""
        shifted = self._spectrum.shifted(log_factor)
        return KroneckerKernel(self.vectors, shifted, self.order, self.factors, self.log_factor + log_factor)

    def spectrum_with_vectors(self) -> Spectrum:
        """The spectrum; eigenvectors are formed on demand."""
        return self.spectrum

    def samplers(self, k: int | None, size: int) -> list[Offer]:
        """The spectral sampler, which forms only the eigenvectors of a draw."""
        from diverset.sampling.base import Offer
        from diverset.sampling.spectral import SpectralSampler

        return [Offer("spectral", 0.0, lambda: SpectralSampler(self, k))]
