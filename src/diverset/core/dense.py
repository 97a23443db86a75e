r"""DPPs held as a dense likelihood kernel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.representation import (
    Representation,
    half_solve,
    impossible,
    log_assignment_probability,
    open_positions,
    out_of_range,
)
from diverset.core.spectrum import Spectrum
from diverset.errors import KernelError
from diverset.numerics import symmetric
from diverset.numerics.graded import eigh_graded, is_graded
from diverset.numerics.linalg import (
    add_to_diagonal,
    cholesky_lower,
    hermitian_inverse,
    inverse_diagonal,
    log_det_from_cholesky,
    log_det_psd,
    positions_outside,
    routine,
    row_norms_squared,
    solve_lower,
)
from diverset.numerics.rounding import EPS, zero_eigenvalue, zero_pivot
from diverset.numerics.validation import check_fits_in_memory

if TYPE_CHECKING:
    from diverset.sampling.base import Offer, Sampler

__all__ = ["DenseKernel", "DenseLikelihood"]

#: Below this diagonal entry of L, 1 - [(L+I)^-1]_ii has lost a digit to cancellation.
_SMALL = 0.1
#: Above this diagonal entry of L, K from a Cholesky factorisation has lost two digits.
_LARGE = 100.0
#: Error in a probability above which a slower route is taken; ten times that for an eigenvalue that may be rounding.
_TOLERABLE = 1e-10


#: Relative error in a probability above which another representation is used.
_FELT = 1e-10


class DenseKernel(Representation):
    """Base class of dense representations: a kernel, read-only, and its eigendecomposition.

    `noise` is the absolute rounding error of each diagonal entry, by default one rounding unit of it. A conditioned
    kernel keeps the noise of the kernel it came from, so that an item which the conditioning made impossible is not
    taken for an item of very low quality.
    """

    _letter: str

    def __init__(self, kernel: Array, noise: FloatArray | None = None, spectrum: Spectrum | None = None) -> None:
        self.n = len(kernel)
        self._kernel = kernel
        self._kernel.flags.writeable = False
        self._noise = EPS * np.diagonal(kernel).real if noise is None else noise
        self._given_spectrum = spectrum

    @cached_property
    def _graded(self) -> bool:
        return is_graded(np.diagonal(self._kernel).real)

    @cached_property
    def _eigh(self) -> tuple[FloatArray, Array]:
        check_fits_in_memory(4 * self._kernel.nbytes, what=f"the eigenvectors of {self._letter}")
        if self._graded:
            return eigh_graded(self._kernel, self._noise)
        values, vectors = np.linalg.eigh(self._kernel)
        return values, vectors

    def eigenvector_rows(self, rows: IntArray) -> Array:
        """Rows of the eigenvectors with nonzero eigenvalue."""
        V = self._eigh[1]
        support = V[:, V.shape[1] - self.spectrum.rank :]
        return support if len(rows) == self.n else support[rows]

    def without_rounding(self, k: int) -> Representation:
        r"""The same representation, or its eigenpairs if rounding in its entries changes the law of sets of k items.

        Adding :math:`\delta` to an eigenvalue, zero or not, changes :math:`e_k` by about a factor of
        :math:`1 + a\delta` at most, with a the factor that makes k the expected size of the DPP of :math:`aL`.
        """
        finite = self.spectrum.support[: self.spectrum.rank - self.spectrum.n_certain]
        wanted = k - self.spectrum.n_certain
        if not 0 < wanted <= len(finite):
            return self
        log_factor = -float(finite[0]) if wanted == len(finite) else symmetric.tilt(finite, wanted)
        if log_factor + math.log(max(self._rounding, np.finfo(np.float64).tiny)) < math.log(_FELT):
            return self
        return self.keep("without rounding", lambda: self._by_eigenpairs)

    @cached_property
    def _rounding(self) -> float:
        """Rounding error of the trace: eigenvalues that count as zero, and the error of `eigh`."""
        values = self._eigh[0]
        dropped = float(np.abs(values[: self.n - self.spectrum.rank]).sum())
        return dropped if self._graded else dropped + EPS * self.n * float(values[-1])

    @property
    def _by_eigenpairs(self) -> Representation:
        """The same law, held by its eigenvectors."""
        from diverset.core.eigenpairs import from_eigenpairs

        return from_eigenpairs(Spectrum(self.spectrum.support.copy()), self.eigenvectors())


class DenseLikelihood(DenseKernel):
    r"""L-ensemble: :math:`\Pr(Y) = \det(L_Y)/\det(L+I)` ([KuleszaTaskar2012]_, section 2.2).

    The normaliser takes one Cholesky factorisation of L + I, marginals its inverse; the eigendecomposition is computed
    only for the spectrum.
    """

    _letter = "L"

    @property
    def _L(self) -> Array:
        return self._kernel

    @property
    def holds_likelihood(self) -> bool:
        """Always true."""
        return True

    @cached_property
    def _cholesky_if_definite(self) -> Array | None:
        """Lower factor of L + I, or None if rounding in a huge L hides the identity."""
        return cholesky_lower(add_to_diagonal(self._L.copy(), 1.0), overwrite=True)

    @property
    def _cholesky(self) -> Array:
        """Lower factor of L + I."""
        R = self._cholesky_if_definite
        if R is None:
            raise KernelError(
                f"L + I has no Cholesky factor in double precision: the largest diagonal entry of L is "
                f"{np.diagonal(self._L).real.max():.6g} and its rank is deficient; make the model by DPP(L), which "
                "holds such kernels by their eigenvectors"
            )
        return R

    @cached_property
    def _delicate(self) -> bool:
        r"""Whether rounding in L is visible next to the identity it is added to, so that eigenvectors are needed.

        With :math:`L + I = DSD`, S of unit diagonal, a Cholesky factorisation leaves (L+I)^-1 with errors near
        :math:`\epsilon \lVert S^{-1}\rVert`: negligible for moderate L and for L of full rank at any scale, but 1e-4
        for L near 1e12 of deficient rank. And if an eigenvalue may be rounding as a whole (a matrix in single
        precision, of deficient rank), only a factorisation with exact zeros gives consistent results.
        """
        level = zero_eigenvalue(self._noise, 0.0)
        if level < _TOLERABLE:
            return False
        R = self._cholesky_if_definite
        if R is None:
            return True
        root = np.sqrt(np.diagonal(self._L).real + 1.0)
        rcond, _ = routine("pocon", R)((R / root[:, None]).T, 1.0, uplo="U")
        if not rcond * _TOLERABLE > EPS:
            return True
        if level < 10.0 * _TOLERABLE:
            return False
        certain = add_to_diagonal(self._L.copy(), -2.0 * zero_pivot(self.n) * self._noise)
        return cholesky_lower(certain, overwrite=True) is None

    @property
    def needs_rows(self) -> bool:
        """Whether rows B with L = B B* would be more accurate than L."""
        return self._graded or self._delicate

    @cached_property
    def _complement_kernel(self) -> Array:
        """(L + I)^-1, the marginal kernel of the complement."""
        check_fits_in_memory(3 * self._L.nbytes, what="the inverse of L + I")
        return hermitian_inverse(self._cholesky)

    @property
    def _marginal_noise(self) -> FloatArray:
        """Rounding error of the diagonal of K: that of L, relative to L where it exceeds 1."""
        return np.asarray(self._noise / np.maximum(np.diagonal(self._L).real, 1.0))

    @cached_property
    def spectrum(self) -> Spectrum:
        """Eigenvalues of L; those within rounding of zero are zero."""
        if self._given_spectrum is not None:
            return self._given_spectrum
        if self.n == 0:
            return Spectrum(np.zeros(0))
        if self._graded:
            return Spectrum.from_likelihood(self._eigh[0], 0.0)
        lam = self._eigh[0] if "_eigh" in self._cache else np.linalg.eigvalsh(self._L)
        return Spectrum.from_likelihood(lam, zero_eigenvalue(self._noise, float(lam[-1])))

    @cached_property
    def rank(self) -> int:
        """Full if L less twice the zero limit is positive definite; else the rank of the spectrum."""
        if not self._knows_spectrum and not self._graded:
            top = float(np.abs(self._L).sum(axis=0).max(initial=0.0))
            lowered = add_to_diagonal(self._L.copy(), -2.0 * zero_eigenvalue(self._noise, top))
            if cholesky_lower(lowered, overwrite=True) is not None:
                return self.n
        return super().rank

    @cached_property
    def log_normalizer(self) -> float:
        """Log-determinant of L + I."""
        return log_det_from_cholesky(self._cholesky)

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of L."""
        return self._L[np.ix_(rows, columns)]

    def likelihood_diagonal(self) -> FloatArray:
        """Diagonal of L."""
        return np.diagonal(self._L).real

    def likelihood_noise(self, rows: IntArray) -> FloatArray:
        """The noise of L."""
        return self._noise[rows]

    @cached_property
    def size_bound(self) -> float:
        r""":math:`\sum_i L_{ii}/(1+L_{ii})`, without a factorisation."""
        diagonal = self.likelihood_diagonal()
        return float((diagonal / (1.0 + diagonal)).sum())

    def samplers(self, k: int | None, size: int) -> list[Offer]:
        """Includes a sequential sampler that needs no K."""
        from diverset.sampling.offers import of_likelihood_kernel

        return of_likelihood_kernel(self, k, size)

    def sequential_sampler(self) -> Sampler:
        """From the Cholesky factor of L + I, unless rounding hides the identity."""
        from diverset.sampling.sequential import CholeskySampler

        if self._delicate:
            return super().sequential_sampler()
        return CholeskySampler(self._cholesky, self.likelihood_diagonal())

    def _inclusion_from(self, exclusion: FloatArray, items: IntArray) -> FloatArray:
        r"""Diagonal of K at `items`, from that of I - K unless this would cancel.

        For small :math:`L_{ii}` it is :math:`L_{ii} - \lVert R^{-1} L_{\cdot i}\rVert^2`, by :math:`K = L -
        L(L+I)^{-1}L`.
        """
        inclusion = 1.0 - exclusion
        diagonal = np.diagonal(self._L).real[items]
        small = np.flatnonzero(diagonal < _SMALL)
        if len(small):
            X = solve_lower(self._cholesky, self._L[:, items[small]])
            inclusion[small] = np.maximum(diagonal[small] - row_norms_squared(X.T), 0.0)
        return inclusion

    @cached_property
    def _exclusion(self) -> FloatArray:
        if "_complement_kernel" in self._cache:
            return np.diagonal(self._complement_kernel).real.copy()
        return inverse_diagonal(self._cholesky)

    @cached_property
    def _inclusion(self) -> FloatArray:
        return self._inclusion_from(self._exclusion, np.arange(self.n))

    def inclusion(self) -> FloatArray:
        """Diagonal of K."""
        return self._inclusion

    def exclusion(self) -> FloatArray:
        """Diagonal of (L + I)^-1."""
        return self._exclusion

    def _both_kernels(self, items: IntArray) -> tuple[Array, Array]:
        """K and I - K at `items`, each accurate where it is small."""
        if "_complement_kernel" in self._cache or 4 * len(items) > self.n:
            Kc = self._complement_kernel[np.ix_(items, items)]
        else:
            unit = np.zeros((self.n, len(items)))
            unit[items, np.arange(len(items))] = 1.0
            X = solve_lower(self._cholesky, unit)
            Kc = X.conj().T @ X
        K = -Kc
        known = "_inclusion" in self._cache
        np.fill_diagonal(K, self._inclusion[items] if known else self._inclusion_from(np.diagonal(Kc).real, items))
        return K, Kc

    def marginal_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of K = I - (L+I)^-1."""
        items = np.union1d(rows, columns)
        K = self._both_kernels(items)[0]
        block: Array = K[np.ix_(np.searchsorted(items, rows), np.searchsorted(items, columns))]
        return block

    def log_prob(self, inside: IntArray) -> float:
        """Log of det(L_Y) / det(L + I)."""
        return min(self._log_det(inside) - self.log_normalizer, 0.0)

    def _log_det(self, inside: IntArray) -> float:
        """Log-determinant of L at these items; -inf if they are dependent or more than the rank."""
        return log_det_psd(self._L[np.ix_(inside, inside)], self._noise[inside], lambda: self.spectrum.rank)

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability of a partial assignment, from the blocks of K and I - K."""
        # Dependence among the included shows in L, where rounding is relative, before it shows in K.
        if self._log_det(inside) == -math.inf:
            return -math.inf
        items = np.concatenate([inside, outside])
        order = np.argsort(items)
        K, Kc = self._both_kernels(items[order])
        a, b = np.split(np.argsort(order), [len(inside)])
        noise = self._marginal_noise[inside], EPS * np.diagonal(Kc).real[b]
        return log_assignment_probability(K[np.ix_(a, a)], K[np.ix_(a, b)], Kc[np.ix_(b, b)], *noise)

    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        r"""Schur complement :math:`L_{\bar A} - L_{\bar A A} L_A^{-1} L_{A\bar A}`, without the excluded.

        Equal to the kernel of [KuleszaTaskar2012]_, equation (cond_incl_kernel), which inverts an n x n matrix
        twice; here only :math:`L_A` is factored, in :math:`O(n^2 |A|)`.
        """
        keep = open_positions(inside, outside, self.n)
        L = self._L[np.ix_(keep, keep)]
        noise = self._noise[keep]
        if len(inside):
            if self._log_det(inside) == -math.inf:
                raise impossible(inside, outside)
            X = half_solve(self._L[np.ix_(inside, inside)], self._L[np.ix_(inside, keep)])
            L = L - X.conj().T @ X
            # Items in the span of the included ones are left with rounding only: they cannot appear.
            gone = np.diagonal(L).real <= 2.0 * zero_pivot(len(inside) + 1) * noise
            L[gone] = 0.0
            L[:, gone] = 0.0
        return likelihood_of_matrix(L, noise)

    def restrict(self, keep: IntArray) -> Representation:
        r"""Kernel :math:`L_A - L_{AB}(L_B+I)^{-1}L_{BA}`, where B holds the items left out."""
        L = self._L[np.ix_(keep, keep)]
        drop = positions_outside(keep, self.n)
        if len(drop):
            X = half_solve(add_to_diagonal(self._L[np.ix_(drop, drop)], 1.0), self._L[np.ix_(drop, keep)])
            L = L - X.conj().T @ X
        return likelihood_of_matrix(L, self._noise[keep])

    def thin(self, rate: float) -> Representation:
        r"""Kernel :math:`\gamma L (I + (1-\gamma) L)^{-1}`: a marginal kernel of :math:`(1-\gamma)L`, rescaled."""
        spectrum = self.spectrum.thinned(rate) if self._knows_spectrum else None
        if rate == 1.0:
            return self
        top = float(np.diagonal(self._L).real.max(initial=0.0))
        if self._graded or top > _LARGE:
            return self._by_eigenpairs.thin(rate)
        scaled = DenseLikelihood((1.0 - rate) * self._L, (1.0 - rate) * self._noise)
        K = scaled._both_kernels(np.arange(self.n))[0]
        gain = rate / (1.0 - rate)
        return DenseLikelihood(gain * K, gain * (1.0 + top) * scaled._marginal_noise, spectrum)

    def scale(self, log_factor: float) -> Representation:
        """Kernel times exp(log_factor)."""
        if log_factor > 709.0:
            raise out_of_range(log_factor)
        factor = math.exp(log_factor)
        scaled = likelihood_of_matrix(factor * self._L, factor * self._noise)
        if isinstance(scaled, DenseLikelihood):
            if self._knows_spectrum:
                scaled._given_spectrum = self.spectrum.shifted(log_factor)
            if "_eigh" in self._cache:
                lam, V = self._eigh
                scaled._cache.keep("_eigh", lambda: (factor * lam, V))
        return scaled


def likelihood_of_matrix(L: Array, noise: FloatArray) -> Representation:
    """Dense or by eigenvectors, see :func:`diverset.core.eigenpairs.likelihood_of_matrix`."""
    from diverset.core import eigenpairs

    return eigenpairs.likelihood_of_matrix(L, noise)
