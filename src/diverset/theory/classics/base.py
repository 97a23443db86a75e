"""What every classic offers: the random object itself, the set of items it leaves, and the DPP of that set."""

from __future__ import annotations

import abc
from typing import Generic, TypeVar, overload

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.core import DPP, NonsymmetricDPP
from diverset.numerics.validation import check_size

__all__ = ["Classic"]

T = TypeVar("T")


class Classic(abc.ABC, Generic[T]):
    """A random object that leaves a random set of items, and the determinantal process that this set is.

    ``sample`` makes the object and reads the set off it, without any kernel; ``dpp.sample`` draws from the kernel,
    without any object. The two have the same law, which is the theorem; labels are the same.
    """

    @property
    @abc.abstractmethod
    def dpp(self) -> DPP | NonsymmetricDPP:
        """The determinantal process of the set, from its kernel."""

    @abc.abstractmethod
    def items_of(self, thing: T) -> IntArray:
        """Items that an object leaves, ascending."""

    @abc.abstractmethod
    def _make(self, rng: np.random.Generator) -> T:
        """One random object."""

    @overload
    def sample_objects(self, size: None = None, *, rng: RNGLike = None) -> T: ...
    @overload
    def sample_objects(self, size: int, *, rng: RNGLike = None) -> list[T]: ...
    def sample_objects(self, size: int | None = None, *, rng: RNGLike = None) -> T | list[T]:
        """Draw one object, or a list of `size` independent ones; nothing determinantal is used.

        Parameters
        ----------
        size : int, optional
            How many; a single one, not in a list, by default.
        rng : int, Generator or None
            Seed or generator.
        """
        generator = np.random.default_rng(rng)
        if size is None:
            return self._make(generator)
        return [self._make(generator) for _ in range(check_size(size, name="size"))]

    @overload
    def sample(self, size: None = None, *, rng: RNGLike = None) -> IntArray: ...
    @overload
    def sample(self, size: int, *, rng: RNGLike = None) -> list[IntArray]: ...
    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> IntArray | list[IntArray]:
        """Draw one set, or a list of `size` sets, by way of the object.

        Parameters
        ----------
        size, rng
            As in :meth:`sample_objects`; the same seed gives the sets of the same objects.

        Returns
        -------
        ndarray of int64, or list of them
            Labels as in ``dpp``, ascending.
        """
        if size is None:
            return self.items_of(self.sample_objects(rng=rng))
        return [self.items_of(thing) for thing in self.sample_objects(size, rng=rng)]
