"""Samplers, and how a model offers them.

A model lists the samplers that it can set up, each an :class:`Offer` with its cost; :func:`take` picks one, by name or
by cost. Preparing an offer does the work that draws share (eigenvectors, tables) and gives a :class:`Sampler`, which
the model caches, so that repeated calls of ``sample`` pay for it once.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.numerics.linalg import positions_outside

__all__ = ["METHODS", "GroupedSampler", "Offer", "OutsideSampler", "Sampler", "outside", "take"]

#: Names accepted by ``method``.
METHODS = (
    "auto",
    "sequential",
    "rejection",
    "spectral",
    "dual",
    "complement",
    "enumeration",
    "truncated",
    "mcmc",
)
#: Requirements of some methods, for error messages.
_NEEDS = {
    "sequential": "goes through the items one by one, and does not draw sets of a fixed size",
    "dual": "needs item rows, fewer features than items (DPP.from_features)",
    "enumeration": "lists all subsets, and is for models without a sampler of their own",
}


class Sampler(abc.ABC):
    """Draws ascending positions 0..n-1; all randomness comes from the generator passed in."""

    #: Name of the method.
    name: str = "own"
    #: Whether draws follow the law exactly, up to rounding.
    exact: bool = True

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several independent draws, the same as by repeated :meth:`draw`; compiled samplers make them in one loop."""
        return [self.draw(rng) for _ in range(size)]

    @property
    def chunk(self) -> int:
        """Draws per call of :meth:`draw_many`: enough to be efficient, few enough to be interrupted."""
        return 64

    @property
    def nbytes(self) -> int:
        """Bytes held by this sampler alone, as counted by the cache of a model."""
        return sum(int(getattr(value, "nbytes", 0)) for value in vars(self).values())


@dataclass(frozen=True, eq=False)
class Offer:
    """A sampler that a model can set up by `prepare`; `seconds` is the estimated time, set-up included.

    ``auto`` takes an offer that is not `exact` only if no exact one is offered.
    """

    name: str
    seconds: float
    prepare: Callable[[], Sampler]
    exact: bool = True


def take(offers: Sequence[Offer], method: str = "auto", k: int | None = None) -> Offer:
    """The offer with this name, or for ``"auto"`` the cheapest exact one."""
    if method == "auto":
        return min([offer for offer in offers if offer.exact] or offers, key=lambda offer: offer.seconds)
    for offer in offers:
        if offer.name == method:
            return offer
    if method not in METHODS:
        raise DiversetError(f"method is {method!r}; choose one of {', '.join(METHODS)}")
    need = _NEEDS.get(method, "does not serve this model")
    size = "" if k is None else f", here k = {k}"
    offered = ", ".join(("auto", *(offer.name for offer in offers)))
    raise DiversetError(f"method is {method!r}, which {need}{size}; this model offers {offered}")


class OutsideSampler(Sampler):
    """The items that the draws of another sampler leave out."""

    def __init__(self, base: Sampler, n: int, name: str) -> None:
        self.base, self.n, self.name = base, n, name
        self.exact = base.exact

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        return positions_outside(self.base.draw(rng), self.n)

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several draws, as the other sampler makes them."""
        return [positions_outside(draw, self.n) for draw in self.base.draw_many(size, rng)]

    @property
    def chunk(self) -> int:
        """That of the other sampler."""
        return self.base.chunk


def outside(base: Sampler, n: int, name: str) -> Sampler:
    """Sampler of the items that `base` leaves out; the complement of a complement is the original sampler."""
    return base.base if isinstance(base, OutsideSampler) else OutsideSampler(base, n, name)


class GroupedSampler(Sampler):
    """Draws of a mixture: labels with these `weights`, then all draws of a label by `sampler_of(label)` together."""

    def __init__(self, weights: FloatArray, sampler_of: Callable[[int], Sampler], name: str, exact: bool) -> None:
        self._weights = weights
        self._sampler_of = sampler_of
        self.name, self.exact = name, exact

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        return self.draw_many(1, rng)[0]

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several draws."""
        labels = rng.choice(len(self._weights), size=size, p=self._weights)
        draws: list[IntArray] = [labels] * size
        for label in np.unique(labels):
            where = np.flatnonzero(labels == label)
            for i, draw in zip(where, self._sampler_of(int(label)).draw_many(len(where), rng), strict=True):
                draws[i] = draw
        return draws
