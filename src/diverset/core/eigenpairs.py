r"""DPPs held by their eigenvectors: given so, or because the scales of their kernels differ too much.

Orthonormal columns V of shape (n, r) and the log-odds of their eigenvalues give every probability without a sum in
which a large number hides a small one. :func:`diverset.DPP.from_spectrum` uses this form. So do kernels and features
whose items differ so much in scale, or are so large next to a deficient rank, that a Cholesky factorisation
of :math:`I + L` or the Gram matrix :math:`C = B^*B` would lose digits. :func:`likelihood_of_matrix` and
:func:`likelihood_of_rows` find V by the graded factorisations of :mod:`diverset.numerics.graded`.

Limits: the rows :math:`V\sqrt\Lambda` are accurate to a rounding unit of the scale of each item. Eigenvalues that
differ by more than 1e30 *within one item* survive all operations except excluding items, after which the smaller ones
count as zero.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.dense import DenseLikelihood
from diverset.core.factor import RowFactor
from diverset.core.lowrank import LowRank, LowRankLikelihood
from diverset.core.lowrank_marginal import LowRankMarginal
from diverset.core.representation import Representation, impossible, open_positions
from diverset.core.spectrum import Spectrum
from diverset.numerics.graded import graded_rotation, graded_svd, pivoted_rows, row_space, without_rounding
from diverset.numerics.linalg import (
    add_to_diagonal,
    block_length,
    log_det_gram,
    log_det_psd,
    null_basis,
    positions_outside,
    routine,
    row_norms_squared,
    squared_modulus,
)
from diverset.numerics.rounding import EPS, zero_pivot
from diverset.numerics.validation import check_fits_in_memory

__all__ = [
    "EigenLikelihood",
    "EigenMarginal",
    "from_eigenpairs",
    "likelihood_of_matrix",
    "likelihood_of_rows",
    "marginal_of_rows",
]

#: Probability below which the complementary event is computed separately.
_CANCELS = 1e-3
#: Squared cosine above which the sine is computed separately.
_ALIGNED = 0.5
#: Smallest eigenvalue of L, scaled to unit diagonal, for which its entries give determinants to seven digits.
_HIDDEN = 1e-8


class _Eigenpairs(LowRank):
    """Base class of both forms: the base of the factor is V, its transform the roots of the eigenvalues."""

    _eigenpairs: Spectrum

    @property
    def spectrum(self) -> Spectrum:
        """The eigenvalues, as given."""
        return self._eigenpairs

    @property
    def log_normalizer(self) -> float:
        """From the eigenvalues."""
        return self._eigenpairs.log_normalizer

    @cached_property
    def _V(self) -> Array:
        """Eigenvectors of the nonzero eigenvalues."""
        base: Array = self.factor.base
        return base[:, base.shape[1] - self._eigenpairs.rank :]

    @cached_property
    def _marginal_roots(self) -> FloatArray:
        """Roots of the nonzero eigenvalues of K."""
        marginal = self._eigenpairs.marginal
        return np.sqrt(marginal[len(marginal) - self._eigenpairs.rank :])

    def eigenvector_rows(self, rows: IntArray) -> Array:
        """Rows of V."""
        return self._V if len(rows) == self.n else self._V[rows]

    def eigenvector_columns(self, columns: IntArray) -> Array:
        """Columns of V."""
        return self._V[:, columns]

    def _marginal_transform(self) -> FloatArray:
        return np.sqrt(self._eigenpairs.marginal)

    def log_marginals(self, sets: IntArray) -> FloatArray:
        """From the entries of K, many sets at a time."""
        return Representation.log_marginals(self, sets)

    def spectral_diagonal(self, weights: FloatArray) -> FloatArray:
        """Diagonal of V diag(w) V*, reading V in its memory order."""
        V = self._V
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

    def marginal_block(self, rows: IntArray, columns: IntArray) -> Array:
        """Entries of V diag(kappa) V*."""
        block: Array = self._marginal_rows(rows) @ self._marginal_rows(columns).conj().T
        return block

    def _marginal_rows(self, rows: IntArray) -> Array:
        """Rows G with K = G G*."""
        G: Array = self._V[rows] * self._marginal_roots
        return G

    @cached_property
    def _inclusion(self) -> FloatArray:
        return np.minimum(self.spectral_diagonal(self._marginal_roots**2), 1.0)

    def _sines(self, items: IntArray) -> tuple[Array, FloatArray]:
        r"""Left singular vectors U of :math:`V_H = U\cos\theta\,W^*`, these rows, and the sines, each accurate.

        A small sine is the norm of the *other* rows of V along a column of W.
        """
        U, cosine, Wh = np.linalg.svd(self._V[items], full_matrices=False)
        sine = np.sqrt(np.maximum(1.0 - cosine**2, 0.0))
        aligned = np.flatnonzero(cosine**2 > _ALIGNED)
        if len(aligned):
            others = self._V[positions_outside(items, self.n)] @ Wh[aligned].conj().T
            sine[aligned] = np.sqrt(row_norms_squared(others.T))
        return U, sine

    def _absent_rows(self, items: IntArray) -> Array:
        r"""Rows Z with :math:`ZZ^* = I - K` at a few `items`, by sums of squares only.

        :math:`I - K = V(I+\Lambda)^{-1}V^* + (I - VV^*)`, the last term being :math:`U\sin^2\theta\,U^*` in the span of
        U and the identity beyond it.
        """
        U, sine = self._sines(items)
        beyond = null_basis(U.conj().T)
        return np.hstack([self._V[items] * self._absent_roots, U * sine, beyond])

    @cached_property
    def _absent_roots(self) -> FloatArray:
        """Roots of one less the nonzero eigenvalues of K."""
        return np.exp(-0.5 * np.logaddexp(0.0, self._eigenpairs.support))

    @cached_property
    def _exclusion(self) -> FloatArray:
        exclusion = 1.0 - self._inclusion
        near = np.flatnonzero(exclusion < _CANCELS)
        if len(near):
            exclusion[near] = row_norms_squared(self._absent_rows(near))
        return exclusion

    def exclusion(self) -> FloatArray:
        """Diagonal of I - K, by sums of squares for nearly certain items."""
        return self._exclusion

    def thin(self, rate: float) -> Representation:
        """The same eigenvectors, eigenvalues of K times `rate`."""
        return from_eigenpairs(self._eigenpairs.thinned(rate), self.factor.base)

    def scale(self, log_factor: float) -> Representation:
        """The same eigenvectors, log-odds shifted."""
        return from_eigenpairs(self._eigenpairs.shifted(log_factor), self.factor.base)


class EigenLikelihood(_Eigenpairs, LowRankLikelihood):
    """L-ensemble given by its eigenpairs."""

    def __init__(self, spectrum: Spectrum, V: Array) -> None:
        roots = np.exp(0.5 * spectrum.log_odds)
        with np.errstate(over="ignore"):
            gram = roots * roots
        super().__init__(RowFactor(V, transform=roots), gram, EPS * float(gram.max(initial=0.0)))
        self._eigenpairs = spectrum

    @property
    def holds_likelihood(self) -> bool:
        """Whether the smallest eigenvalues are still visible in the entries of L next to the identity."""
        top = float(self._gram.max(initial=0.0))
        return EPS * top < 1e-12

    @cached_property
    def _log_scale(self) -> float:
        """Largest log-eigenvalue, factored out of determinants so that they neither over- nor underflow."""
        odds = self._eigenpairs.support
        return float(odds[-1]) if len(odds) else 0.0

    def _item_rows(self, rows: IntArray) -> tuple[Array, FloatArray]:
        """Rows of V sqrt(Lambda) divided by the largest root, and the scales of their columns."""
        scales = np.exp(0.5 * (self._eigenpairs.support - self._log_scale))
        B: Array = self._V[rows] * scales
        return B, scales

    @cached_property
    def rows_of_hidden(self) -> tuple[Array, float] | None:
        """Rows of V sqrt(Lambda), columns descending, if normalised rows nearly lie in a smaller space."""
        B, _ = self._item_rows(np.arange(self.n))
        norms = np.sqrt(row_norms_squared(B))
        unit = B / np.where(norms > 0.0, norms, 1.0)[:, None]
        if B.size == 0 or np.linalg.svd(unit, compute_uv=False)[-1] ** 2 > _HIDDEN:
            return None
        return np.ascontiguousarray(B[:, ::-1]), self._log_scale

    def _log_volume(self, inside: IntArray) -> float:
        """Log-determinant of L at these items."""
        B, scales = self._item_rows(inside)
        noise = EPS * np.sqrt(row_norms_squared(B))
        return log_det_gram(B, noise, scales) + len(inside) * self._log_scale

    def log_prob(self, inside: IntArray) -> float:
        """Log of the squared volume of the rows, less the normaliser."""
        return min(self._log_volume(inside) - self.log_normalizer, 0.0)

    def log_probs(self, sets: IntArray) -> FloatArray:
        """Many sets at a time if the rows separate all eigenvalues from rounding."""
        if self.holds_likelihood:
            return super().log_probs(sets)
        return np.array([self.log_prob(inside) for inside in sets], dtype=np.float64)

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability of a partial assignment, in time independent of n unless it excludes nearly certain items."""
        if self._log_volume(inside) == -math.inf:
            return -math.inf
        G = self._marginal_rows(inside)
        log_present = log_det_gram(G, np.zeros(len(G)), self._marginal_roots)
        if len(outside) == 0 or log_present == -math.inf:
            return log_present
        given = self._marginal_rows(outside) @ null_basis(G)
        small = given @ given.conj().T if len(outside) < given.shape[1] else given.conj().T @ given
        log_absent = log_det_psd(add_to_diagonal(np.ascontiguousarray(-small), 1.0), np.full(len(small), EPS))
        if log_absent > math.log(_CANCELS):
            return log_present + log_absent
        rest = self.condition(inside, outside[:0])
        if not isinstance(rest, EigenLikelihood):
            return log_present + rest.log_event_probability(outside[:0], _renumbered(outside, inside))
        Z = rest._absent_rows(_renumbered(outside, inside))
        return log_present + log_det_gram(Z, np.zeros(len(Z)))

    def condition(self, inside: IntArray, outside: IntArray) -> Representation:
        """Rows reflected so that those included fill the first coordinates, which are dropped."""
        keep = open_positions(inside, outside, self.n)
        if self._log_volume(inside) == -math.inf:
            raise impossible(inside, outside)
        rows, _ = self._item_rows(keep)
        noise = EPS * np.sqrt(row_norms_squared(rows))
        # The largest coordinate first: reflections then leave small coordinates their digits.
        rows = rows[:, ::-1]
        if len(inside):
            A = self._item_rows(inside)[0][:, ::-1].conj().T
            packed, _, tau, _, _ = routine("geqp3", A)(A)
            name = "unmqr" if np.iscomplexobj(A) else "ormqr"
            X = np.asfortranarray(rows.conj().T)
            X, _, _ = routine(name, A)("L", "C" if np.iscomplexobj(A) else "T", packed, tau, X, max(1, 64 * X.shape[1]))
            rows = np.ascontiguousarray(X[len(inside) :].conj().T)
            rows[np.sqrt(row_norms_squared(rows)) <= zero_pivot(len(inside) + 1) * 2.0 * noise] = 0.0
        if len(outside) or len(keep) < rows.shape[1]:
            return likelihood_of_rows(rows, noise).scale(self._log_scale)
        return _of_full_rank(rows).scale(self._log_scale)

    def restrict(self, keep: IntArray) -> Representation:
        """Rows of the marginal kernel."""
        if len(keep) == self.n:
            return self
        G = self._marginal_rows(keep)
        sigma, X = _of_row_space(G, EPS * np.sqrt(row_norms_squared(G)))
        # Log-odds by the probabilities of both outcomes: those of I - K are sums of squares, too.
        U, sine = self._sines(keep)
        absent = X.conj().T @ np.hstack([self._V[keep] * self._absent_roots, U * sine])
        return from_eigenpairs(*_from_outcomes(sigma**2, absent, X))


class EigenMarginal(_Eigenpairs, LowRankMarginal):
    """DPP given by its eigenpairs, some of them certain."""

    def __init__(self, spectrum: Spectrum, V: Array) -> None:
        kappa = spectrum.marginal
        super().__init__(RowFactor(V, transform=np.sqrt(kappa)), kappa, spectrum.n_certain)
        self._eigenpairs = spectrum


def _renumbered(items: IntArray, dropped: IntArray) -> IntArray:
    """Positions of `items` once `dropped` are gone."""
    return items - np.searchsorted(dropped, items)


def from_eigenpairs(spectrum: Spectrum, V: Array) -> EigenLikelihood | EigenMarginal:
    """The DPP with these eigenvalues and orthonormal columns V, n x m, kept as they are."""
    return EigenLikelihood(spectrum, V) if spectrum.n_certain == 0 else EigenMarginal(spectrum, V)


def _of_full_rank(rows: Array) -> EigenLikelihood:
    """L-ensemble of rows whose rank is the number of columns."""
    sigma, V = graded_svd(rows)
    positive = sigma > 0.0
    return EigenLikelihood(Spectrum(2.0 * np.log(sigma[positive])), V[:, positive])


def likelihood_of_rows(rows: Array, noise: FloatArray) -> EigenLikelihood:
    """L-ensemble with L = B B*, by eigenpairs; `noise` is the rounding error of each row, as a norm."""
    check_fits_in_memory(4 * rows.nbytes, what=f"the eigenvectors of {len(rows)} items")
    rows, noise = without_rounding(rows, noise)
    return _of_full_rank(rows @ row_space(rows, noise))


def likelihood_of_matrix(L: Array, noise: FloatArray) -> Representation:
    """L-ensemble of a matrix: dense, or by eigenpairs if rounding in L is visible next to the identity.

    `noise` is the rounding error of each diagonal entry.
    """
    dense = DenseLikelihood(L, noise)
    if not dense._delicate:
        return dense
    check_fits_in_memory(6 * L.nbytes, what="the eigenvectors of L")
    return _of_full_rank(pivoted_rows(L, noise))


def _of_row_space(rows: Array, noise: FloatArray) -> tuple[FloatArray, Array]:
    """Nonzero singular values, ascending, and left vectors of rows of any rank."""
    return graded_svd(rows @ row_space(rows, noise))


def _from_outcomes(present: FloatArray, absent: Array, X: Array) -> tuple[Spectrum, Array]:
    """Eigenpairs from eigenvalues of K, ascending, their eigenvectors X, and rows Z with :math:`X^*(I-K)X = ZZ^*`.

    Eigenvalues of K near 1, and their eigenvectors, are accurate in absolute terms only. Those of I - K replace them,
    to relative accuracy.
    """
    missing = row_norms_squared(absent)
    near = np.flatnonzero((present > 0.5) & (missing > 0.0))
    if len(near) > 1:
        sigma, W = graded_rotation(absent[near].conj().T)
        X = X.copy()
        X[:, near] = X[:, near] @ W
        missing[near] = sigma**2
    kappa = np.where(present > 0.5, 1.0 - missing, present / (present + missing))
    log_odds = np.full(len(present), np.inf)
    rest = missing > (4.0 * EPS * max(len(present), 4)) ** 2
    log_odds[rest] = np.log(kappa[rest]) - np.log(np.where(present > 0.5, missing, 1.0 - kappa)[rest])
    order = np.argsort(log_odds, kind="stable")
    return Spectrum(log_odds[order]), X[:, order]


def marginal_of_rows(rows: Array, noise: FloatArray, least: int) -> Representation:
    """DPP with K = G G*, by eigenpairs.

    `noise` is the rounding error of each row, as a norm, and `least` the known minimum size of a set.
    """
    sigma, V = _of_row_space(rows, noise)
    spectrum = Spectrum.from_marginal(sigma**2, zero=0.0, one=4.0 * EPS * max(len(sigma), 4))
    return from_eigenpairs(spectrum.with_certain(least), V)
