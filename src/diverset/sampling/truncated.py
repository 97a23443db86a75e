r"""Truncation to the top of the spectrum: approximate, with a bound on the error in total variation.

Let A be a kernel below L, :math:`0 \preceq A \preceq L`; leaving out eigenvectors gives one, and so does a partial
Cholesky factorisation, :math:`A = FF^*`. Then :math:`\det A_Y \le \det L_Y` for every set Y, so that

.. math::  \Pr\nolimits_A(Y) \le c \Pr\nolimits_L(Y), \qquad c = \frac{\det(I + L)}{\det(I + A)},

and the distance in total variation, the sum of the positive parts of :math:`\Pr_A(Y) - \Pr_L(Y)`, is at most
:math:`\sum_Y (1 - 1/c) \Pr_A(Y)`, that is

.. math::  1 - \frac{\det(I + A)}{\det(I + L)} = 1 - \prod_{n\ \text{dropped}} \frac{1}{1 + \lambda_n}

(the product if A keeps eigenvectors of L). It is the probability that a draw of L uses an eigenvector that was
dropped, so the two can be drawn together and differ no more often. For k-DPPs, by the same argument, the bound is
:math:`1 - e_k(A)/e_k(L)`.

**Without the spectrum.** For :math:`E = L - A` of trace :math:`\tau`,

.. math::

    \frac{\det(I + L)}{\det(I + A)} = \det\!\left(I + (I+A)^{-1/2} E (I+A)^{-1/2}\right) \le e^\tau, \qquad
    e_k(A + E) \le \sum_{s=0}^k e_{k-s}(A)\, e_s(E) \le \sum_{s=0}^k \frac{\tau^s}{s!}\, e_{k-s}(A).

The first inequality for :math:`e_k` holds because the eigenvalues of A + E, with zeros, majorise those of A and E taken
together, and :math:`e_k` is Schur-concave; the second is Maclaurin's. So for a large dense kernel or a kernel
function, whose eigenvectors would cost too much, A comes from a partial Cholesky factor, in :math:`O(nr^2)`, without
its own small eigenvalues, and the bound holds with the trace of the residual.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core.eigenpairs import from_eigenpairs
from diverset.core.representation import Representation
from diverset.core.spectrum import Spectrum
from diverset.errors import DiversetError, SizeError
from diverset.numerics import symmetric
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import check_count, check_positive, check_size
from diverset.sampling import rejection
from diverset.sampling.base import Sampler
from diverset.sampling.intermediate import log_size_weights
from diverset.sampling.kernel_function import (
    KernelEntries,
    PartialCholesky,
    orthonormalised,
    partial_cholesky,
    read_entries,
)

__all__ = ["TruncatedSampler", "truncation_bound"]

#: Dense kernels up to this size are eigendecomposed.
_SMALL = 1500


def truncation_bound(log_odds: FloatArray, rank: int, k: int | None = None) -> float:
    r"""Bound on the total variation when only the `rank` largest eigenvalues are kept.

    :math:`1 - \prod 1/(1+\lambda_n)` over the dropped ones, or for a k-DPP :math:`1 - e_k(kept)/e_k(all)`, from
    ascending log eigenvalues of L.

    Examples
    --------
    >>> import numpy as np
    >>> log_lam = np.log([0.1, 1.0, 2.0])
    >>> round(truncation_bound(log_lam, 2), 6), round(truncation_bound(log_lam, 2, k=2), 6)
    (0.090909, 0.130435)
    """
    cut = len(log_odds) - rank
    if k is None:
        return -math.expm1(-float(np.logaddexp(0.0, log_odds[:cut]).sum()))
    certain = int(np.count_nonzero(log_odds == np.inf))
    if certain > min(rank, k):
        return 1.0
    finite = log_odds[: len(log_odds) - certain]
    kept = symmetric.log_elementary_symmetric(finite[cut:], k - certain)
    # A rounding error in a log polynomial is no error of the law.
    return max(-math.expm1(kept - symmetric.log_elementary_symmetric(finite, k - certain)), 0.0)


def _smallest_rank(log_odds: FloatArray, k: int | None, tolerance: float) -> int:
    """Fewest eigenvalues whose bound is within the tolerance, by bisection."""
    low, high = (0 if k is None else k) - 1, len(log_odds)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if truncation_bound(log_odds, middle, k) <= tolerance else (middle, high)
    return high


class TruncatedSampler(Sampler):
    """Draws of the DPP or k-DPP of a kernel of low rank just below L. Approximate, with a bound on the error.

    If the spectrum is known or cheap (features, up to 1500 dense items) its top eigenvectors are kept, otherwise a
    partial Cholesky factor; see the module docstring. ``rank`` eigenvectors are kept, by default as many as `tolerance`
    requires, and ``total_variation_bound`` bounds the distance between the law of the draws and the law of L.
    """

    name = "truncated"
    exact = False

    def __init__(
        self,
        source: Representation | KernelEntries,
        k: int | None = None,
        *,
        rank: int | None = None,
        tolerance: float = 1e-3,
    ) -> None:
        self._k = None if k is None else check_size(k)
        self._tolerance = check_positive(tolerance, name="tolerance")
        wanted = None if rank is None else check_count(rank, name="rank")
        if wanted is not None and self._k is not None and wanted < self._k:
            raise SizeError(f"rank is {wanted}, but sets of k = {self._k} items need as many eigenvectors")
        if isinstance(source, Representation) and not _prefers_factor(source):
            low_rank, bound = self._from_spectrum(source, wanted)
        else:
            low_rank, bound = self._from_factor(read_entries(source), wanted)
        self.rank = low_rank.spectrum.rank
        self.total_variation_bound = bound
        self._low_rank = low_rank
        self._sampler = rejection.prepare(low_rank, self._k)

    def _from_spectrum(self, source: Representation, wanted: int | None) -> tuple[Representation, float]:
        log_odds = source.spectrum.support
        self._check_size(len(log_odds))
        rank = _smallest_rank(log_odds, self._k, self._tolerance) if wanted is None else min(wanted, len(log_odds))
        certain = source.spectrum.n_certain
        if certain > rank:
            raise DiversetError(
                f"rank is {rank}, but K has {certain} eigenvalues 1, whose eigenvectors are in every draw; keep at "
                f"least {certain}"
            )
        V = np.ascontiguousarray(source.eigenvectors()[:, len(log_odds) - rank :])
        kept = Spectrum(log_odds[len(log_odds) - rank :].copy())
        return from_eigenpairs(kept, V), truncation_bound(log_odds, rank, self._k)

    def _from_factor(self, entries: KernelEntries, wanted: int | None) -> tuple[Representation, float]:
        # The factor needs more columns than the best subspace would; its own small eigenvalues are dropped again.
        limit = entries.n_items if wanted is None else 2 * wanted + 32
        looked_at = 0

        def stop(found: PartialCholesky) -> bool:
            nonlocal looked_at
            if wanted is not None or found.rank < max(self._k or 1, 1.1 * looked_at):
                return False
            trace = float(found.bound.sum())
            if self._k is None:
                return 1.0 - math.exp(-trace) <= self._tolerance / 2.0
            looked_at = found.rank
            return _factor_bound(np.linalg.eigvalsh(found.columns.gram()), 0, trace, self._k) <= self._tolerance / 2.0

        found = partial_cholesky(entries, stop, max_rank=limit)
        lam, W = np.linalg.eigh(found.columns.gram())
        trace = float(found.bound.sum())
        zero = int(np.count_nonzero(lam <= EPS * lam.max(initial=0.0)))
        self._check_size(found.rank - zero if found.complete else entries.n_items)
        if wanted is not None:
            cut = max(zero, len(lam) - wanted)
        else:
            cut, high = zero, len(lam) - (self._k or 0) + 1
            while high - cut > 1:
                middle = (cut + high) // 2
                fits = _factor_bound(lam, middle, trace, self._k) <= self._tolerance
                cut, high = (middle, high) if fits else (cut, middle)
        V = orthonormalised(found.columns.product(W[:, cut:] / np.sqrt(lam[cut:])))
        bound = _factor_bound(lam, cut, trace, self._k)
        return from_eigenpairs(Spectrum.from_likelihood(lam[cut:], 0.0), V), bound

    def _check_size(self, rank: int) -> None:
        if self._k is not None and self._k > rank:
            raise SizeError(f"k is {self._k}, but the kernel has rank {rank}: its sets have 0 to {rank} items")

    @property
    def nbytes(self) -> int:
        """Bytes held, including the eigenvectors kept and their tables."""
        return super().nbytes + 20 * self._low_rank.n * self.rank

    @property
    def chunk(self) -> int:
        """That of the sampler it draws with."""
        return self._sampler.chunk

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        return self._sampler.draw(rng)

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several draws."""
        return self._sampler.draw_many(size, rng)


def _prefers_factor(source: Representation) -> bool:
    """Whether eigenvectors are too expensive: a large dense kernel L."""
    return source.holds_likelihood and source.eigen_width == source.n > _SMALL


def _factor_bound(lam: FloatArray, cut: int, trace: float, k: int | None) -> float:
    """Bound when the factor's eigenvalues `lam` are kept from `cut` on, and L has `trace` beyond the factor."""
    dropped = trace + float(np.maximum(lam[:cut], 0.0).sum())
    if k is None:
        # Exact for the dropped eigenvalues of the factor, by trace for the residual of the factor.
        return -math.expm1(-trace - float(np.log1p(np.maximum(lam[:cut], 0.0)).sum()))
    with np.errstate(divide="ignore"):
        log_w = log_size_weights(np.log(np.maximum(lam[cut:], 0.0)), k, dropped)
    if log_w[0] == -math.inf:
        return 1.0
    return -math.expm1(float(log_w[0] - np.logaddexp.reduce(log_w)))
