"""Where points live: a box, with edges or closed to a torus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import check_count, check_finite, check_fits_in_memory, check_positive, check_size

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

__all__ = ["Box", "as_patterns", "ball_volume"]


def ball_volume(radius: float, dim: int) -> float:
    """Volume of a ball."""
    from scipy.special import gamma

    return float(np.pi ** (dim / 2) / gamma(dim / 2 + 1) * radius**dim)


@dataclass(frozen=True)
class Box:
    r"""The box :math:`[0, a_1] \times \dots \times [0, a_d]`, with edges or with opposite faces glued.

    Parameters
    ----------
    sides : sequence of float
        Lengths :math:`a_1, \dots, a_d`.
    torus : bool
        Glue opposite faces: distances go the short way round, and there is no edge. By default there is one.

    Examples
    --------
    >>> Box((1.0, 1.0)).distances([0.05, 0.5], [[0.95, 0.5]]).round(6)
    array([0.9])
    >>> Box((1.0, 1.0), torus=True).distances([0.05, 0.5], [[0.95, 0.5]]).round(6)
    array([0.1])
    """

    sides: tuple[float, ...]
    torus: bool = False

    def __post_init__(self) -> None:
        sides = np.atleast_1d(np.asarray(self.sides, dtype=np.float64))
        if sides.ndim != 1 or len(sides) == 0:
            raise DiversetError(f"sides has shape {sides.shape}; give one length for each dimension, as in (1.0, 1.0)")
        checked = tuple(check_positive(a, name=f"sides[{i}]") for i, a in enumerate(sides))
        # Squares and products of lengths are taken everywhere.
        if not (1e-100 <= min(checked) and max(checked) <= 1e100):
            raise DiversetError(f"sides are {checked}; take another unit of length")
        object.__setattr__(self, "sides", checked)

    @classmethod
    def unit(cls, dim: int, *, torus: bool = False) -> Box:
        """The unit cube in `dim` dimensions."""
        return cls((1.0,) * check_count(dim, name="dim"), torus)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.sides)

    @property
    def volume(self) -> float:
        """Length, area or volume."""
        return float(np.prod(self.sides))

    @cached_property
    def _sides(self) -> FloatArray:
        return np.array(self.sides)

    def uniform(self, n: int, *, rng: RNGLike = None) -> FloatArray:
        """`n` independent uniform points, of shape (n, dim)."""
        count = check_size(n, name="n")
        check_fits_in_memory(16 * count * self.dim, what=f"{count:,} points", remedy="lower the intensity")
        points: FloatArray = np.random.default_rng(rng).random((count, self.dim)) * self._sides
        return points

    def grid(self, per_side: int) -> tuple[FloatArray, float]:
        """Midpoints of a regular grid with so many cells along each side, and the volume of a cell."""
        m = check_count(per_side, name="per_side")
        axes = [(np.arange(m) + 0.5) * a / m for a in self.sides]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.dim)
        return nodes, self.volume / m**self.dim

    def as_points(self, points: ArrayLike, *, name: str = "points") -> FloatArray:
        """`points` as a private (n, dim) array; refuses those outside. On a torus the far face is the near one."""
        array = np.array(points, dtype=np.float64)
        if array.size == 0:
            return np.zeros((0, self.dim))
        if array.ndim == 1 and self.dim == 1:
            array = array[:, np.newaxis]
        if array.ndim != 2 or array.shape[1] != self.dim:
            raise DiversetError(f"{name} has shape {array.shape}; expected one row of {self.dim} coordinates per point")
        check_finite(array, name=name)
        outside = ((array < 0.0) | (array > self._sides)).any(axis=1)
        if outside.any():
            i = int(outside.argmax())
            raise DiversetError(f"{name}[{i}] is {array[i].tolist()}, outside the box with sides {self.sides}")
        if self.torus:
            array[array == self._sides] = 0.0
        return array

    def displacements(self, u: ArrayLike, points: ArrayLike) -> FloatArray:
        """Vectors from u to each point, the short way round on a torus. Trusts its input."""
        difference = np.asarray(points, dtype=np.float64) - np.asarray(u, dtype=np.float64)
        if self.torus:
            difference -= self._sides * np.round(difference / self._sides)
        return difference

    def distances(self, u: ArrayLike, points: ArrayLike) -> FloatArray:
        """Distance from u to each point, of shape (n,). Trusts its input."""
        step = self.displacements(u, points)
        length: FloatArray = np.sqrt(np.einsum("...j,...j->...", step, step))
        return length

    def tree(self, points: FloatArray) -> cKDTree:
        """Search tree over points that knows about the torus."""
        from scipy.spatial import cKDTree

        return cKDTree(points, boxsize=self._sides if self.torus else None)

    def close_pairs(self, points: FloatArray, radius: float) -> tuple[IntArray, IntArray]:
        """Pairs i < j of points at distance at most `radius`."""
        if len(points) < 2:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        pairs = self.tree(points).query_pairs(radius, output_type="ndarray").astype(np.int64)
        return pairs[:, 0], pairs[:, 1]


def as_patterns(patterns: Any, box: Box) -> list[FloatArray]:
    """One point pattern, or several, as a list of (n, dim) arrays inside the box."""
    if isinstance(patterns, np.ndarray) and patterns.dtype != object:
        return [box.as_points(patterns)] if patterns.ndim < 3 else [box.as_points(X) for X in patterns]
    given: Sequence[Array] = list(patterns) if isinstance(patterns, Iterable) else [patterns]
    if given and np.ndim(given[0]) <= (0 if box.dim == 1 else 1):
        return [box.as_points(np.asarray(given))]
    return [box.as_points(X, name=f"patterns[{i}]") for i, X in enumerate(given)]
