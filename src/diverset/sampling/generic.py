r"""Samplers for any :class:`SetDistribution`, by its probabilities alone.

A model without a sampler of its own offers

- ``enumeration``: all :math:`2^n` subsets are listed once, by ``_log_prob``. Exact, for few items;
- ``sequential``: items are decided one by one, item j with probability

  .. math::  \Pr(A + j \subseteq Y,\ B \cap Y = \emptyset) / \Pr(A \subseteq Y,\ B \cap Y = \emptyset),

  A those kept before it and B those left out. Exact, by n calls of ``_log_event_probability`` a draw;
- ``mcmc``: add, delete and exchange moves, by one call of ``_log_prob`` a step. Approximate. ``auto`` takes it only
  if ``_log_event_probability`` raises ``NotImplementedError`` and there are too many items to list all subsets.

The sampler's ``name`` and ``exact`` say which one it is.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.core.distribution import SetDistribution
from diverset.errors import DiversetError
from diverset.sampling.base import Offer, Sampler
from diverset.sampling.mcmc import default_steps

__all__ = ["ChainRuleSampler", "EnumerationSampler", "LogProbWalk", "listed", "offers"]

#: Largest number of items whose subsets ``auto`` lists, and ``enumeration`` accepts.
_FEW, _LISTED = 12, 20
#: Assumed seconds of one call of a model's method.
_CALL = 1e-5
#: Random sets tried to find one of positive probability.
_TRIES = 1000
_NONE = np.zeros(0, dtype=np.int64)


def offers(distribution: SetDistribution, size: int) -> list[Offer]:
    """Offers of any distribution."""
    n = distribution.n_items
    steps = default_steps(n, n // 2)
    found = [Offer("mcmc", size * steps * _CALL, lambda: LogProbWalk(distribution), exact=False)]
    if _answers(distribution):
        found.append(Offer("sequential", size * n * _CALL, lambda: ChainRuleSampler(distribution)))
    if n <= _LISTED:
        # For few items listing is always preferred: it needs log-probabilities only.
        seconds = 0.0 if n <= _FEW else 2.0**n * _CALL
        found.append(Offer("enumeration", seconds, lambda: listed(distribution)))
    return found


def _answers(distribution: SetDistribution) -> bool:
    """Whether this distribution gives probabilities of partial assignments."""
    try:
        distribution._log_event_probability(_NONE, _NONE)
    except NotImplementedError:
        return False
    return True


def _set_of(mask: int, n: int) -> IntArray:
    return np.array([i for i in range(n) if mask >> i & 1], dtype=np.int64)


def listed(distribution: SetDistribution) -> EnumerationSampler:
    """Sampler from the list of all subsets of a distribution."""
    n = distribution.n_items
    logs = np.array([distribution._log_prob(_set_of(mask, n)) for mask in range(2**n)])
    if not -math.inf < logs.max() < math.inf:
        name = type(distribution).__name__
        raise DiversetError(
            f"the largest log-probability that {name} gives to a set is {logs.max()}; it must be finite"
        )
    return EnumerationSampler(np.exp(logs - logs.max()))


class EnumerationSampler(Sampler):
    """Exact draws from a table of weights of all 2**n subsets; bit i of the position stands for item i."""

    name = "enumeration"

    def __init__(self, weights: FloatArray) -> None:
        self._n = len(weights).bit_length() - 1
        self._cumulative = np.cumsum(weights)

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        return self.draw_many(1, rng)[0]

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several draws."""
        levels = rng.random(size) * self._cumulative[-1]
        return [_set_of(mask, self._n) for mask in np.searchsorted(self._cumulative, levels, side="right").tolist()]

    @property
    def chunk(self) -> int:
        """Many: a draw takes one bisection."""
        return 1024


class ChainRuleSampler(Sampler):
    """Draws item by item, by conditional probabilities. Exact."""

    name = "sequential"

    def __init__(self, distribution: SetDistribution) -> None:
        self._distribution = distribution

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw, from n uniforms."""
        n, ask = self._distribution.n_items, self._distribution._log_event_probability
        inside, outside = _NONE, _NONE
        log_so_far = 0.0
        for j, u in enumerate(rng.random(n)):
            item = np.array([j], dtype=np.int64)
            log_both = ask(np.concatenate([inside, item]), outside)
            share = math.exp(min(log_both - log_so_far, 0.0))
            if u < share:
                inside, log_so_far = np.concatenate([inside, item]), log_both
            else:
                outside = np.concatenate([outside, item])
                log_so_far += math.log1p(-share)
        return inside

    @property
    def chunk(self) -> int:
        """Few: a draw takes n calls."""
        return 8


class LogProbWalk(Sampler):
    """Independent chains of add, delete and exchange moves by the log-probabilities of a model. Approximate.

    The moves are those of :mod:`diverset.sampling.mcmc`, with one move to add or delete: an item j is chosen uniformly,
    and leaves the set or enters it. Half of the steps exchange two items instead.
    """

    name = "mcmc"
    exact = False

    def __init__(self, distribution: SetDistribution, steps: int | None = None) -> None:
        self._distribution = distribution
        self._steps = default_steps(distribution.n_items, distribution.n_items // 2) if steps is None else steps

    @property
    def chunk(self) -> int:
        """One: a draw takes long."""
        return 1

    def _log_prob(self, inside: BoolArray) -> float:
        return self._distribution._log_prob(np.flatnonzero(inside).astype(np.int64, copy=False))

    def _start(self, rng: np.random.Generator) -> tuple[BoolArray, float]:
        """A set of positive probability: sizes by their law, items at random."""
        n, pmf = self._distribution.n_items, np.asarray(self._distribution.size_distribution, dtype=np.float64)
        for size in rng.choice(len(pmf), size=_TRIES, p=pmf / pmf.sum()):
            inside = np.zeros(n, dtype=bool)
            inside[rng.choice(n, size=int(size), replace=False)] = True
            log_prob = self._log_prob(inside)
            if log_prob > -math.inf:
                return inside, log_prob
        raise DiversetError(
            f"{_TRIES} random sets have probability 0, and a chain must start at one that has not; give "
            f"{type(self._distribution).__name__} a `sampler` method of its own"
        )

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        n = self._distribution.n_items
        inside, log_prob = self._start(rng)
        for which, leaves, enters, level in rng.random((self._steps if n else 0, 4)):
            proposed = inside.copy()
            if which < 0.5:
                proposed[int(enters * n)] ^= True
            else:
                members, others = np.flatnonzero(inside), np.flatnonzero(~inside)
                if not len(members) or not len(others):
                    continue
                proposed[members[int(leaves * len(members))]] = False
                proposed[others[int(enters * len(others))]] = True
            after = self._log_prob(proposed)
            if math.log1p(-level) < after - log_prob:
                inside, log_prob = proposed, after
        return np.flatnonzero(inside).astype(np.int64, copy=False)
