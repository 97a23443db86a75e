"""What a sampler is, and how a model offers one.

A model answers "which samplers can you offer, at what cost" by a list of :class:`Offer`; :func:`take` picks one of
them, by name or by cost. Preparing an offer does the work that draws share (eigenvectors, tables) and gives a
:class:`Sampler`. The model keeps it in its cache, so that it is paid for once however often ``sample`` is called.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from diverset._typing import IntArray
from diverset.errors import DiversetError
from diverset.numerics.linalg import positions_outside

__all__ = ["METHODS", "Offer", "OutsideSampler", "Sampler", "outside", "take"]

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
#: What a method needs that a model may lack.
_NEEDS = {
    "sequential": "goes through the items one by one, and does not draw sets of a fixed size",
    "dual": "needs item rows, fewer features than items (DPP.from_features)",
    "enumeration": "lists all subsets, and is for models without a sampler of their own",
}


class Sampler(abc.ABC):
    """Draws ascending positions 0..n-1, all randomness from the generator passed in."""

    #: The method that this sampler is.
    name: str = "own"
    #: Whether draws follow the law exactly, up to rounding.
    exact: bool = True

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several independent draws; compiled samplers make them in one loop. One draw equals :meth:`draw`."""
        return [self.draw(rng) for _ in range(size)]

    @property
    def chunk(self) -> int:
        """Draws worth doing in one call of :meth:`draw_many`: enough to matter, few enough to be interrupted."""
        return 64

    @property
    def nbytes(self) -> int:
        """Bytes that this sampler keeps for itself, by which the cache of a model counts it."""
        return sum(int(getattr(value, "nbytes", 0)) for value in vars(self).values())


@dataclass(frozen=True, eq=False)
class Offer:
    """A sampler that a model can set up.

    Parameters
    ----------
    name : str
        Its method, from ``METHODS``.
    seconds : float
        Estimated time for the draws that were asked about, set-up included.
    prepare : callable
        Sets it up.
    exact : bool
        Whether its law is exact; ``auto`` takes no other sampler while an exact one is offered.
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
    """What the draws of another sampler leave out."""

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
        """As the other sampler."""
        return self.base.chunk


def outside(base: Sampler, n: int, name: str) -> Sampler:
    """Sampler of what `base` leaves out; leaving out twice is no work."""
    return base.base if isinstance(base, OutsideSampler) else OutsideSampler(base, n, name)
