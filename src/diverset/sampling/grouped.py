"""Draws of mixtures: first a label (a size or a component) for each draw, then all draws of one label together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.sampling.base import Sampler

__all__ = ["GroupedSampler"]


class GroupedSampler(Sampler):
    """Draws of a mixture: labels with these `weights`, and for each label the sampler `sampler_of(label)`."""

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
