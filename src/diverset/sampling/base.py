"""What a sampler is: set up once for a DPP or k-DPP in positions, then draw.

A sampler module offers ``prepare(representation, k)``, which does the work that draws share (eigenvectors, tables)
and returns a :class:`Sampler`; k is None for a DPP. Shared work is kept with the representation, which never
changes, so that it is paid once however often ``sample`` is called.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from diverset._typing import IntArray
from diverset.core.representation import Representation

__all__ = ["OwnSampler", "Sampler", "kept_with"]

T = TypeVar("T")


class Sampler(abc.ABC):
    """Draws ascending positions 0..n-1, all randomness from the generator passed in."""

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several independent draws; compiled samplers do them in one loop."""
        return [self.draw(rng) for _ in range(size)]

    @property
    def chunk(self) -> int:
        """Draws worth doing in one call of :meth:`draw_many`: enough to matter, few enough to be interrupted."""
        return 64


@runtime_checkable
class OwnSampler(Protocol):
    """A representation that is drawn from in its own way, such as one whose rows are on other machines."""

    def prepare_sampler(self, method: str, k: int | None) -> Sampler:
        """Sampler for a name from ``METHODS``; refuses those that it cannot serve."""


def kept_with(representation: Representation, key: object, build: Callable[[], T]) -> T:
    """``build()``, or what it gave before for this representation and key."""
    kept: dict[object, T] = representation.__dict__.setdefault("_kept_by_samplers", {})
    if key not in kept:
        kept[key] = build()
    return kept[key]
