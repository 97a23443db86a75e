r"""The spectrum of a DPP, held as log-odds.

If :math:`\lambda` are the eigenvalues of L and :math:`\kappa = \lambda/(1+\lambda)` those of K, then
:math:`\log\lambda = \log\kappa - \log(1-\kappa)` is the log-odds that the eigenvector takes part in a
draw ([KuleszaTaskar2012]_, Theorem 2.3). In this one number both ends are exact: ``-inf`` is an eigenvector
never chosen (:math:`\lambda = \kappa = 0`), ``+inf`` one always chosen (:math:`\kappa = 1`, no L exists).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diverset._typing import FloatArray
from diverset.core.cache import Frozen
from diverset.numerics import poisson_binomial
from diverset.numerics.symmetric import expit

__all__ = ["Spectrum"]


@dataclass(frozen=True, eq=False)
class Spectrum(Frozen):
    """Eigenvalues of a DPP's kernels as ascending log-odds: ``-inf`` for zero, ``+inf`` for an eigenvalue 1 of K.

    A low-rank representation may leave out eigenvalues that are zero by construction, so there are m <= n.
    """

    log_odds: FloatArray

    def __post_init__(self) -> None:
        self.log_odds.flags.writeable = False

    @classmethod
    def from_likelihood(cls, lam: FloatArray, floor: float) -> Spectrum:
        """From ascending eigenvalues of L; those not above `floor` are rounding, hence zero."""
        log_odds = np.full(len(lam), -np.inf)
        positive = lam > floor
        log_odds[positive] = np.log(lam[positive])
        return cls(log_odds)

    @classmethod
    def from_marginal(cls, kappa: FloatArray, *, zero: float, one: float) -> Spectrum:
        """From ascending eigenvalues of K; up to `zero` they are 0, within `one` of 1 they are 1."""
        log_odds = np.full(len(kappa), -np.inf)
        log_odds[kappa >= 1.0 - one] = np.inf
        inner = (kappa > zero) & (kappa < 1.0 - one)
        log_odds[inner] = np.log(kappa[inner]) - np.log1p(-kappa[inner])
        return cls(log_odds)

    def with_certain(self, least: int) -> Spectrum:
        """Spectrum with the `least` largest eigenvalues of K exactly one (rounding may have left less)."""
        if least <= self.n_certain:
            return self
        log_odds = np.array(self.log_odds)
        log_odds[len(log_odds) - least :] = np.inf
        return Spectrum(log_odds)

    @cached_property
    def rank(self) -> int:
        """Number of eigenvalues that are not zero: the largest size of a set."""
        return int(np.count_nonzero(self.log_odds > -np.inf))

    @cached_property
    def n_certain(self) -> int:
        """Number of eigenvalues of K equal to one: the smallest size of a set."""
        return int(np.count_nonzero(self.log_odds == np.inf))

    @property
    def support(self) -> FloatArray:
        """Log-odds of the nonzero eigenvalues: the last `rank` entries."""
        return self.log_odds[len(self.log_odds) - self.rank :]

    @property
    def likelihood(self) -> FloatArray:
        """Eigenvalues of L, ``inf`` where K has eigenvalue one."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_odds)

    @property
    def marginal(self) -> FloatArray:
        """Eigenvalues of K."""
        return np.asarray(expit(self.log_odds), dtype=np.float64)

    @property
    def log_normalizer(self) -> float:
        r""":math:`\log\det(L + I) = \sum_n \log(1+\lambda_n)`."""
        return float(np.logaddexp(0.0, self.log_odds).sum())

    @property
    def mean_size(self) -> float:
        """Expected size of a draw."""
        return poisson_binomial.mean(self.log_odds)

    @property
    def size_variance(self) -> float:
        """Variance of the size of a draw."""
        return poisson_binomial.variance(self.log_odds)

    def log_size_probability(self, k: int) -> float:
        r""":math:`\log\Pr(|Y| = k)`, without underflow."""
        return poisson_binomial.log_pmf(self.log_odds, k)

    def shifted(self, log_factor: float) -> Spectrum:
        """Spectrum of L times ``exp(log_factor)``."""
        return Spectrum(self.log_odds + log_factor)

    def thinned(self, rate: float) -> Spectrum:
        r"""Spectrum of K times `rate`: :math:`\lambda' = \gamma\lambda / (1 + (1-\gamma)\lambda)`."""
        if rate == 1.0:
            return self
        # 1/lambda' = 1/(gamma lambda) + (1-gamma)/gamma, all in logs so that lambda = inf is exact.
        log_rate = np.log(rate)
        return Spectrum(-np.logaddexp(-self.log_odds - log_rate, np.log1p(-rate) - log_rate))
