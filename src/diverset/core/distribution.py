"""The interface of all distributions over sets, with the checks of labels.

A distribution is over subsets of ``items``, an ascending array of labels. New ones are labelled 0..n-1;
conditioning and restriction keep the labels of the remaining items, so results never need renumbering.
Methods take and return labels; everything below this layer works in positions.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.core.cache import Model
from diverset.core.sets import read_indicator, read_sets
from diverset.errors import ImpossibleEventError, LabelError
from diverset.numerics.validation import find_positions

if TYPE_CHECKING:
    from diverset.core.information import Estimate
    from diverset.sampling.base import Sampler

__all__ = ["SetDistribution"]

_NONE = np.zeros(0, dtype=np.int64)


class SetDistribution(Model, abc.ABC):
    """A probability distribution over subsets of a finite ground set."""

    _items: IntArray | range

    @property
    def items(self) -> IntArray:
        """Labels of the ground set, ascending, of shape (n_items,)."""
        return np.arange(len(self._items), dtype=np.int64) if isinstance(self._items, range) else self._items

    @property
    def n_items(self) -> int:
        """Number of items in the ground set."""
        return len(self._items)

    def _labels(self, positions: IntArray) -> IntArray:
        """Labels of some positions; `_items` is a range from 0 if there are too many items to list."""
        return positions if isinstance(self._items, range) else self._items[positions]

    def _positions(self, labels: Iterable[int], name: str = "the set") -> IntArray:
        return find_positions(labels, self._items, name=name)

    def _assignment(self, include: Iterable[int], exclude: Iterable[int]) -> tuple[IntArray, IntArray]:
        inside, outside = self._positions(include, "include"), self._positions(exclude, "exclude")
        both = np.intersect1d(inside, outside)
        if len(both):
            raise LabelError(f"item {self._items[both[0]]} is in both include and exclude")
        return inside, outside

    def _impossible(self, inside: IntArray, outside: IntArray, where: str = "") -> ImpossibleEventError:
        """The error for conditioning on an event of probability zero."""
        included, excluded = self._labels(inside).tolist(), self._labels(outside).tolist()
        return ImpossibleEventError(
            f"cannot condition on including {included} and excluding {excluded}: its probability is 0{where}"
        )

    def _pairs(self, pairs: Any) -> tuple[IntArray, IntArray]:
        array = np.asarray(pairs)
        if array.ndim != 2 or array.shape[1] != 2:
            raise LabelError(f"pairs has shape {array.shape}; pass a list of (i, j) pairs of items")
        flat = np.unique(array)
        positions = self._positions(flat, "pairs")
        i, j = positions[np.searchsorted(flat, array)].T
        if (i == j).any():
            raise LabelError(f"pairs names item {self._items[i[i == j][0]]} with itself; a pair is two items")
        return i, j

    def _evaluate(
        self, Y: Any, one: Callable[[IntArray], float], many: Callable[[IntArray], FloatArray]
    ) -> float | FloatArray:
        """``one(positions)`` of a single set, or ``many`` of each group of a batch (:mod:`diverset.core.sets`)."""
        inside = read_indicator(Y, self.n_items)
        if inside is not None:
            return one(inside)
        batch = read_sets(Y, self._items)
        if batch is None:
            return one(self._positions(Y))
        values = np.empty(batch.count)
        for places, sets in batch.groups:
            values[places] = many(sets)
        return values

    @overload
    def log_prob(self, Y: Iterable[int]) -> float: ...
    @overload
    def log_prob(self, Y: Sequence[Iterable[int]]) -> FloatArray: ...
    def log_prob(self, Y: Iterable[int] | Sequence[Iterable[int]]) -> float | FloatArray:
        """Log-probability that the random set is exactly `Y`; ``-inf`` where it is impossible.

        Parameters
        ----------
        Y : iterable of int, or sequence of them
            Items of one set, or a batch: a sequence of sets, or a boolean matrix of shape (m, n_items). An empty list
            is the empty set, ``[[]]`` a batch of one.

        Returns
        -------
        float, or ndarray of shape (m,) for a batch
        """
        return self._evaluate(Y, self._log_prob, self._log_probs)

    @abc.abstractmethod
    def _log_prob(self, inside: IntArray) -> float: ...

    def _log_probs(self, sets: IntArray) -> FloatArray:
        """Log-probabilities of sets of one size, given as rows of ascending positions."""
        return np.array([self._log_prob(inside) for inside in sets], dtype=np.float64)

    @abc.abstractmethod
    def _log_event_probability(self, inside: IntArray, outside: IntArray) -> float: ...

    @overload
    def marginal(self, A: Iterable[int]) -> float: ...
    @overload
    def marginal(self, A: Sequence[Iterable[int]]) -> FloatArray: ...
    def marginal(self, A: Iterable[int] | Sequence[Iterable[int]]) -> float | FloatArray:
        """Probability that all of `A` appear; of each set of a batch, as in :meth:`log_prob`."""
        return self._evaluate(
            A,
            lambda inside: math.exp(self._log_event_probability(inside, _NONE)),
            lambda sets: np.exp(self._log_marginals(sets)),
        )

    def _log_marginals(self, sets: IntArray) -> FloatArray:
        """Log-probabilities that sets of one size appear, given as rows of ascending positions."""
        return np.array([self._log_event_probability(inside, _NONE) for inside in sets], dtype=np.float64)

    def probability(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> float:
        """Probability that all of `include` and none of `exclude` appear: any partial assignment."""
        return math.exp(self.log_event_probability(include, exclude))

    def log_event_probability(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> float:
        """Logarithm of :meth:`probability`, for events too rare for a float."""
        return self._log_event_probability(*self._assignment(include, exclude))

    @property
    @abc.abstractmethod
    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to appear, of shape (n_items,), in the order of `items`."""

    @abc.abstractmethod
    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        """Probabilities that two items appear together.

        Parameters
        ----------
        pairs : sequence of (item, item), optional
            Which pairs; all of them by default.

        Returns
        -------
        ndarray
            Of shape (len(pairs),); or (n_items, n_items) for all, with the inclusion probabilities on the
            diagonal.
        """

    @property
    @abc.abstractmethod
    def size_distribution(self) -> FloatArray:
        """Probability of every size, from 0 to the largest possible."""

    @property
    def expected_size(self) -> float:
        """Mean number of items in a draw."""
        pmf = self.size_distribution
        return float(pmf @ np.arange(len(pmf)))

    @property
    def size_variance(self) -> float:
        """Variance of the number of items in a draw."""
        pmf = self.size_distribution
        return float(pmf @ (np.arange(len(pmf)) - self.expected_size) ** 2)

    @abc.abstractmethod
    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> SetDistribution:
        """Law of the remaining items, given that `include` appear and `exclude` do not."""

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """The sampler that `size` draws use, set up: its ``name``, and whether it is ``exact``.

        A subclass with a faster sampler overrides this. By default, all subsets are listed if there are few items,
        else sets are drawn item by item, by conditional probabilities; both are exact. ``method="mcmc"`` walks on
        ``log_prob``, which is approximate; it is the default only if events have no probability (see
        ``diverset.sampling.generic``).

        Parameters
        ----------
        size : int
            Number of draws in one call, on which the choice of ``"auto"`` depends.
        method : str
            As in :meth:`sample`.

        Returns
        -------
        Sampler
            Its ``draw(rng)`` gives positions in ``items``.
        """
        from diverset.sampling.base import take
        from diverset.sampling.generic import offers

        offer = take(offers(self, size), method)
        return self._cache.recent(offer.name, offer.prepare)

    @overload
    def sample(
        self,
        size: None = None,
        *,
        rng: RNGLike = None,
        method: str = "auto",
        n_jobs: int | None = None,
        output: Literal["sets"] = "sets",
    ) -> IntArray: ...
    @overload
    def sample(
        self,
        size: int,
        *,
        rng: RNGLike = None,
        method: str = "auto",
        n_jobs: int | None = None,
        output: Literal["sets"] = "sets",
    ) -> list[IntArray]: ...
    @overload
    def sample(
        self,
        size: int | None = None,
        *,
        rng: RNGLike = None,
        method: str = "auto",
        n_jobs: int | None = None,
        output: Literal["indicator"],
    ) -> BoolArray: ...
    def sample(
        self,
        size: int | None = None,
        *,
        rng: RNGLike = None,
        method: str = "auto",
        n_jobs: int | None = None,
        output: str = "sets",
    ) -> IntArray | BoolArray | list[IntArray]:
        """Draw one set, or a list of `size` independent sets.

        Parameters
        ----------
        size : int, optional
            Number of sets; by default a single one, not in a list.
        rng : int, Generator or None
            Seed or generator (SPEC 7). The draws are a function of its state: the same state gives the same draws,
            and ``sample(1)[0]`` is ``sample()``.
        method : str
            ``"auto"``, the cheapest exact sampler for this model and `size`, or a name from
            :mod:`diverset.sampling`.
        n_jobs : int, optional
            Threads to use for a list of sets; the draws do not depend on it.
        output : {"sets", "indicator"}
            Labels, or a boolean matrix with one column per item, in the order of ``items``.

        Returns
        -------
        ndarray of int64, or list of them
            Labels, ascending; with ``output="indicator"`` a boolean array of shape (n_items,) or (size, n_items).
        """
        from diverset.sampling import sample

        return sample(self, size, rng=rng, method=method, n_jobs=n_jobs, output=output)

    def stream(self, size: int | None = None, *, rng: RNGLike = None, method: str = "auto") -> Iterator[IntArray]:
        """Iterate over independent draws without storing all of them.

        Parameters
        ----------
        size : int, optional
            Number of draws; endless by default. For the same size and seed the draws are those of :meth:`sample`.
        rng, method
            As in :meth:`sample`.

        Yields
        ------
        ndarray of int64
            Labels, ascending.
        """
        from diverset.sampling import stream

        return stream(self, size, rng=rng, method=method)

    def entropy(self, *, n_samples: int = 10_000, rng: RNGLike = None) -> Estimate:
        r"""Shannon entropy :math:`-\sum_Y \Pr(Y)\log\Pr(Y)`, in nats; see :func:`diverset.entropy`."""
        from diverset.core.information import entropy

        return entropy(self, n_samples=n_samples, rng=rng)
