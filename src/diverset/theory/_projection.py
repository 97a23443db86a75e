"""Sequential draws from projections, and draws in number, for the classics and the processes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, RNGLike
from diverset.numerics.validation import as_generator, check_size

__all__ = ["ProjectionWalk", "draw_one_or_list"]


def draw_one_or_list(draw: Callable[[np.random.Generator], Any], size: int | None, rng: RNGLike) -> Any:
    """One draw if `size` is None, otherwise a list of `size` draws from one generator."""
    generator = as_generator(rng)
    if size is None:
        return draw(generator)
    return [draw(generator) for _ in range(check_size(size, name="size"))]


class ProjectionWalk:
    """Sequential draw of n points from a projection onto n functions ([HoughEtAl2006]_, Algorithm 18).

    The density of the next point is proportional to the squared length of its vector of function values after
    projecting out the vectors of the earlier points.
    """

    def __init__(self, n_points: int, dtype: Any = np.complex128) -> None:
        self._basis = np.zeros((n_points, n_points), dtype=dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def done(self) -> bool:
        """Whether all points are drawn."""
        return self._count == len(self._basis)

    def residuals(self, directions: Array) -> FloatArray:
        """Squared lengths, in [0, 1], that are left of unit vectors of shape (m, n_points)."""
        coordinates = directions @ self._basis[: self._count].conj().T
        squared = (coordinates.real**2 + coordinates.imag**2).sum(axis=1)
        return np.asarray(np.maximum(1.0 - squared, 0.0))

    def add(self, direction: Array) -> None:
        """Add a point by its vector, made orthogonal to the basis."""
        rest = direction
        for _ in range(2):  # a second pass removes the rounding errors of the first
            basis = self._basis[: self._count]
            rest = rest - (rest @ basis.conj().T) @ basis
        self._basis[self._count] = rest / np.linalg.norm(rest)
        self._count += 1
