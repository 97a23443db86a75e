"""Results of Markov chains, with their effective sample size and convergence diagnostics."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from diverset._typing import FloatArray, IntArray

__all__ = ["Chain", "ChainState"]


@dataclass(frozen=True, eq=False)
class ChainState:
    """Final sets of the chains: for each, the items (labels) in the order of its slots."""

    items: tuple[IntArray, ...]


@dataclass(frozen=True, eq=False)
class Chain:
    r"""Result of :func:`diverset.sampling.mcmc_chain`.

    Parameters
    ----------
    sets : list of ndarray of int64
        Labels, ascending; the sets of the first chain, then those of the second, and so on.
    log_weights : ndarray of shape (n_chains, size)
        :math:`\log\det L_Y` of each.
    acceptance_rate : float
        Share of the steps that moved, burn-in included.
    complete : bool
        False if ``max_seconds`` ran out first: the chains are then shorter than requested, possibly empty.
    state : ChainState
        Pass it as ``start`` to continue.
    """

    sets: list[IntArray]
    log_weights: FloatArray
    acceptance_rate: float
    complete: bool
    state: ChainState = field(repr=False)

    def __len__(self) -> int:
        return len(self.sets)

    def _statistics(self) -> list[FloatArray]:
        """Series that vary: log weights and sizes, of shape (n_chains, size)."""
        sizes = np.array([len(Y) for Y in self.sets], dtype=np.float64).reshape(self.log_weights.shape)
        return [x for x in (self.log_weights, sizes) if x.size and np.ptp(x) > 1e-9 * (1.0 + np.abs(x).max())]

    @property
    def effective_sample_size(self) -> float:
        r"""Number of independent draws worth the same: the smaller one of log weights and sizes; nan if neither varies.

        :math:`m/(1 + 2\sum_t \rho_t)` with m the number of states of all chains. Autocorrelations are summed in pairs
        as long as these are positive and decreasing ([Geyer1992]_); the variance between chains is included.
        """
        return min((_effective_size(x) for x in self._statistics()), default=math.nan)

    @property
    def r_hat(self) -> float:
        r"""Largest split :math:`\hat R` of log weights and sizes ([GelmanRubin1992]_): near 1 if chains agree.

        nan with a single chain, fewer than four states each, or if neither varies.
        """
        if len(self.log_weights) < 2 or self.log_weights.shape[1] < 4:
            return math.nan
        return max((_split_r_hat(x) for x in self._statistics()), default=math.nan)


def _spread(x: FloatArray) -> tuple[float, float]:
    """Mean variance within chains, and the pooled estimate that includes the variance between them."""
    m = x.shape[1]
    within = float(x.var(axis=1, ddof=1).mean())
    between = float(x.mean(axis=1).var(ddof=1)) if len(x) > 1 else 0.0
    return within, within * (m - 1) / m + between


def _split_r_hat(x: FloatArray) -> float:
    half = x.shape[1] // 2
    within, pooled = _spread(np.concatenate([x[:, :half], x[:, -half:]]))
    return math.sqrt(pooled / within) if within > 0.0 else math.inf


def _effective_size(x: FloatArray) -> float:
    chains, m = x.shape
    if m < 4:
        return float(x.size)
    within, pooled = _spread(x)
    centred = x - x.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=2 * m, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :m].mean(axis=0) / m
    rho = 1.0 - (within - covariance * m / (m - 1)) / pooled
    rho[0] = 1.0
    pairs = rho[: m - m % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    return min(
        float(x.size) / max(2.0 * float(pairs.sum()) - 1.0, 1.0 / x.size), float(chains * m * math.log10(m + 10))
    )
