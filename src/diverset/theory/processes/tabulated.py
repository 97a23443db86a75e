"""A process on a few items, given by the weight of every subset: all questions answered by adding up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.distribution import SetDistribution
from diverset.errors import DiversetError, ImpossibleEventError
from diverset.sampling.base import Offer, Sampler, take
from diverset.sampling.generic import EnumerationSampler

__all__ = ["MAX_TABULATED", "TabulatedProcess", "members"]

#: Largest ground set whose subsets are listed.
MAX_TABULATED = 20


def members(n: int) -> BoolArray:
    """Which items each subset holds, of shape (2**n, n): bit i of the row's number says whether item i is in it."""
    if n > MAX_TABULATED:
        raise DiversetError(f"{n} items have 2**{n} subsets; at most {MAX_TABULATED} items can be listed")
    inside: BoolArray = (np.arange(2**n)[:, np.newaxis] >> np.arange(n)) & 1 == 1
    return inside


class TabulatedProcess(SetDistribution):
    r"""Random subset of n items with :math:`\Pr(Y = A) = w_A / \sum_B w_B`, for a table of weights.

    What the relatives of the DPP have instead of algorithms: their normalisers are hard to compute
    ([KuleszaTaskar2012]_, sections 2.5.2 and 2.5.3), so for a few items every subset is listed.

    Parameters
    ----------
    log_weights : array_like of shape (2**n,)
        Logarithms of the weights; bit i of the position says whether item i is in the set. At most 20 items.

    Notes
    -----
    Every answer takes :math:`O(2^n)`; draws are exact.

    Examples
    --------
    >>> pair = TabulatedProcess(np.log([1.0, 2.0, 3.0, 4.0]))
    >>> pair.inclusion_probabilities
    array([0.6, 0.7])
    >>> pair.condition(include=[1]).inclusion_probabilities.round(4)
    array([0.5714])
    """

    def __init__(self, log_weights: ArrayLike) -> None:
        table = np.array(log_weights, dtype=np.float64)
        n = max(len(table), 1).bit_length() - 1 if table.ndim == 1 else -1
        if n < 0 or len(table) != 2**n:
            raise DiversetError(f"log_weights has shape {table.shape}; give one for each of the 2**n subsets")
        wrong = np.isnan(table) | (table == np.inf)
        if wrong.any():
            i = int(wrong.argmax())
            raise DiversetError(f"log_weights[{i}] is {table[i]}; it must be finite, or -inf for an impossible set")
        self._set(np.arange(n, dtype=np.int64), table)

    def _set(self, items: IntArray, table: FloatArray) -> None:
        self._items = items
        self._items.flags.writeable = False
        top = float(table.max())
        if top == -np.inf:
            raise ImpossibleEventError("every set has weight 0, so there is no law")
        weights = np.exp(table - top)
        self.log_normalizer = top + math.log(float(weights.sum()))
        self._log_law = table - self.log_normalizer
        self._law: FloatArray = weights / weights.sum()
        self._law.flags.writeable = False

    @classmethod
    def from_weights(cls, weights: ArrayLike) -> TabulatedProcess:
        """Process with the given weights; refuses negative ones, up to rounding."""
        table = np.array(weights, dtype=np.float64)
        if table.size and np.isfinite(table).all() and table.min() < 0.0:
            worst = int(table.argmin())
            if table[worst] < -1e-12 * np.abs(table).max():
                items = [i for i in range(worst.bit_length()) if worst >> i & 1]
                raise DiversetError(f"the set {items} has weight {table[worst]:.6g}; weights must not be negative")
            table = np.maximum(table, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(np.log(table))

    def __repr__(self) -> str:
        return f"TabulatedProcess(n_items={self.n_items})"

    @property
    def law(self) -> FloatArray:
        """Probability of every subset, of shape (2**n,), numbered by its bits."""
        return self._law

    @cached_property
    def _members(self) -> BoolArray:
        return members(self.n_items)

    def _log_prob(self, inside: IntArray) -> float:
        return float(self._log_law[int((1 << inside).sum())])

    def _log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        fits = self._members[:, inside].all(axis=1) & ~self._members[:, outside].any(axis=1)
        total = float(self._law[fits].sum())
        return math.log(total) if total > 0.0 else -math.inf

    @property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to appear."""
        inside: FloatArray = self._law @ self._members
        return inside

    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        """Probabilities that two items appear together, of the given pairs or of all."""
        M = self._members.astype(np.float64)
        together: FloatArray = (M * self._law[:, np.newaxis]).T @ M
        if pairs is None:
            return together
        i, j = self._pairs(pairs)
        chosen: FloatArray = together[i, j]
        return chosen

    @property
    def size_distribution(self) -> FloatArray:
        """Probability of every size, from 0 to the number of items."""
        sizes = self._members.sum(axis=1)
        pmf: FloatArray = np.bincount(sizes, self._law, minlength=self.n_items + 1).astype(np.float64)
        return pmf

    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> TabulatedProcess:
        """Law of the remaining items, given that `include` appear and `exclude` do not; labels are kept."""
        inside, outside = self._assignment(include, exclude)
        fits = self._members[:, inside].all(axis=1) & ~self._members[:, outside].any(axis=1)
        if not self._law[fits].any():
            raise ImpossibleEventError("the event has probability 0, so nothing can be conditioned on it")
        left = np.setdiff1d(np.arange(self.n_items), np.concatenate([inside, outside]))
        # Rows that fit come in the order of the bits that are left.
        conditioned = TabulatedProcess.__new__(TabulatedProcess)
        conditioned._set(np.take(self._items, left), self._log_law[fits])
        return conditioned

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """Sampler from the table; there is no choice of method."""
        offer = take([Offer("enumeration", 0.0, lambda: EnumerationSampler(self._law))], method)
        return self._cache.recent(offer.name, offer.prepare)
