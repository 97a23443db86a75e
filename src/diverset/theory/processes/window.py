r"""Boxes with or without edges, and summary statistics of the point patterns in them.

For a Poisson process the pair correlation is 1, :math:`K(r) = v_d r^d` and :math:`G(r) = 1 - e^{-\rho v_d r^d}`, with
:math:`v_d` the volume of the unit ball; repulsion lowers all three near 0. All estimators pool several patterns of one
process and correct for edges, which a torus does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import (
    as_generator,
    as_real,
    check_count,
    check_finite,
    check_fits_in_memory,
    check_positive,
    check_size,
)

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

__all__ = ["Box", "as_patterns", "ball_volume", "nearest_neighbour_g", "pair_correlation", "ripley_k", "ripley_l"]

Patterns = ArrayLike | Sequence[ArrayLike]


def ball_volume(radius: float, dim: int) -> float:
    """Volume of a ball."""
    from scipy.special import gamma

    return float(np.pi ** (dim / 2) / gamma(dim / 2 + 1) * radius**dim)


def lattice(axes: Iterable[ArrayLike]) -> Array:
    """All points whose coordinates are on the given axes, one row each, in C order."""
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return nodes.reshape(-1, nodes.shape[-1])


@dataclass(frozen=True)
class Box:
    r"""The box :math:`[0, a_1] \times \dots \times [0, a_d]`, with edges or closed to a torus.

    Parameters
    ----------
    sides : sequence of float
        Lengths :math:`a_1, \dots, a_d`.
    torus : bool
        Whether opposite faces are identified, so that distances are periodic and there is no edge.

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
        sides = np.atleast_1d(as_real(self.sides, name="sides"))
        if sides.ndim != 1 or len(sides) == 0:
            raise DiversetError(f"sides has shape {sides.shape}; give one length for each dimension, as in (1.0, 1.0)")
        checked = tuple(check_positive(a, name=f"sides[{i}]") for i, a in enumerate(sides))
        # Squares and products of lengths must be finite.
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
        """Draw `n` independent uniform points, of shape (n, dim)."""
        count = check_size(n, name="n")
        check_fits_in_memory(16 * count * self.dim, what=f"{count:,} points", remedy="lower the intensity")
        return np.asarray(as_generator(rng).random((count, self.dim)) * self._sides)

    def grid(self, per_side: int) -> tuple[FloatArray, float]:
        """Midpoints of a regular grid with `per_side` cells along each side, and the volume of a cell."""
        m = check_count(per_side, name="per_side")
        return lattice((np.arange(m) + 0.5) * a / m for a in self.sides), self.volume / m**self.dim

    def as_points(self, points: ArrayLike, *, name: str = "points") -> FloatArray:
        """`points` as a new (n, dim) array; raises for points outside. On a torus, far faces become near ones."""
        array = np.array(as_real(points, name=name))
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
        """Vectors from u to each point, the shortest ones on a torus. Positions are not checked."""
        difference: FloatArray = np.subtract(points, u)
        if difference.dtype != np.float64:
            difference = as_real(difference, name="points")
        if self.torus:
            difference -= self._sides * np.round(difference / self._sides)
        return difference

    def distances(self, u: ArrayLike, points: ArrayLike) -> FloatArray:
        """Distance from u to each point, of shape (n,). Positions are not checked."""
        step = self.displacements(u, points)
        return np.asarray(np.sqrt(np.einsum("...j,...j->...", step, step)))

    def tree(self, points: FloatArray) -> cKDTree:
        """Search tree over points, periodic on a torus."""
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


def _as_distances(r: ArrayLike, box: Box) -> FloatArray:
    distances = np.atleast_1d(as_real(r, name="r"))
    limit = 0.5 * min(box.sides)
    if distances.ndim != 1 or not len(distances) or distances.min() < 0.0 or (np.diff(distances) < 0.0).any():
        raise DiversetError("r must be a rising list of distances that are not negative")
    if distances.max() > limit * (1.0 + 1e-12):
        raise DiversetError(f"r goes up to {distances.max():g}; in a box with sides {box.sides} take at most {limit:g}")
    return distances


def _squared_intensity(patterns: list[FloatArray], box: Box) -> float:
    r"""Estimate of :math:`\rho^2` from the pooled patterns, unbiased for a Poisson process."""
    n = sum(len(X) for X in patterns)
    if n < 2:
        raise DiversetError(f"there are {n} points; two or more are needed")
    return float(n * (n - 1.0) / (len(patterns) * box.volume) ** 2)


def _pair_weights(X: FloatArray, reach: float, box: Box) -> tuple[FloatArray, FloatArray]:
    r"""Distances of the close pairs in ascending order, and their weights, the inverse volume of W and W + h in common.

    This is the translation correction: a pair with step h is observed in proportion to that volume.
    """
    i, j = box.close_pairs(X, reach)
    steps = np.abs(box.displacements(X[i], X[j]))
    distance = np.sqrt((steps**2).sum(axis=1))
    order = np.argsort(distance)
    overlap = box._sides if box.torus else box._sides - steps[order]
    return distance[order], np.broadcast_to(1.0 / np.prod(overlap, axis=-1), len(order))


def _cumulative(distances: FloatArray, weights: FloatArray, r: FloatArray) -> FloatArray:
    """Summed weights of the ascending `distances` up to each r."""
    total = np.concatenate([[0.0], np.cumsum(weights)])
    return np.asarray(total[np.searchsorted(distances, r, side="right")])


def ripley_k(patterns: Patterns, box: Box, r: ArrayLike) -> FloatArray:
    r"""Ripley's K: expected number of further points within r of a point, over the intensity ([Ripley1977]_).

    .. math::  \hat K(r) = \frac{1}{m \hat\rho^2} \sum_{x \ne y} \frac{1[|x - y| \le r]}{|W \cap (W + x - y)|}

    over m patterns in the window W, with :math:`\hat\rho^2 = n(n-1) / (m|W|)^2` for n points in all.

    Parameters
    ----------
    patterns : array_like of shape (n, dim), or sequence of them
        One pattern or several.
    box : Box
        Window of the patterns.
    r : array_like of shape (k,)
        Rising distances, up to half the shortest side.

    Examples
    --------
    Four points on a square lattice of a torus: each has two others at distance 0.5.

    >>> lattice = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]]
    >>> ripley_k(lattice, Box.unit(2, torus=True), [0.4, 0.5]).round(4)
    array([0.    , 0.6667])
    """
    given, distances = as_patterns(patterns, box), _as_distances(r, box)
    scale = 2.0 / (len(given) * _squared_intensity(given, box))
    pairs = [_pair_weights(X, float(distances[-1]), box) for X in given]
    total: FloatArray = np.sum([_cumulative(*pair, distances) for pair in pairs], axis=0)
    return scale * total


def ripley_l(patterns: Patterns, box: Box, r: ArrayLike) -> FloatArray:
    r"""Ripley's L, :math:`L(r) = (K(r) / v_d)^{1/d}`, which is r for a Poisson process.

    The parameters are those of :func:`ripley_k`.
    """
    return np.asarray((ripley_k(patterns, box, r) / ball_volume(1.0, box.dim)) ** (1.0 / box.dim))


def pair_correlation(patterns: Patterns, box: Box, r: ArrayLike, *, bandwidth: float | None = None) -> FloatArray:
    r"""Pair correlation g(r): density of pairs at distance r, relative to a Poisson process.

    .. math::  \hat g(r) = \frac{1}{m \hat\rho^2} \sum_{x \ne y}
               \frac{k_b(r - |x - y|)}{s_d |x - y|^{d-1}\, |W \cap (W + x - y)|},

    with :math:`s_d r^{d-1}` the surface of a ball and :math:`k_b` Epanechnikov's kernel of half-width b, rescaled where
    part of it lies below distance 0.

    Parameters
    ----------
    patterns, box, r
        As in :func:`ripley_k`; r is positive.
    bandwidth : float, optional
        b; by default :math:`0.15\,\hat\rho^{-1/d}`, a fraction of the typical distance between points.

    Examples
    --------
    >>> points = np.random.default_rng(0).random((20, 200, 2))
    >>> pair_correlation(points, Box.unit(2), [0.05, 0.1, 0.2]).round(1)
    array([1., 1., 1.])
    """
    given, distances = as_patterns(patterns, box), _as_distances(r, box)
    squared = _squared_intensity(given, box)
    width = 0.15 * squared ** (-0.5 / box.dim) if bandwidth is None else check_positive(bandwidth, name="bandwidth")
    surface = box.dim * ball_volume(1.0, box.dim)
    total = np.zeros(len(distances))
    for X in given:
        apart, weight = _pair_weights(X, float(distances[-1]) + width, box)
        apart, weight = apart[apart > 0.0], weight[apart > 0.0]
        weight = weight / (surface * apart ** (box.dim - 1))
        low, high = np.searchsorted(apart, distances - width), np.searchsorted(apart, distances + width)
        for k, (a, b) in enumerate(zip(low, high, strict=True)):
            z = (distances[k] - apart[a:b]) / width
            total[k] += float((0.75 / width * (1.0 - z**2)) @ weight[a:b])
    # Fraction of the smoothing kernel that lies above distance 0.
    z = np.clip(distances / width, None, 1.0)
    inside = 0.5 + 0.75 * (z - z**3 / 3.0)
    return np.asarray(2.0 / (len(given) * squared) * total / inside)


def nearest_neighbour_g(patterns: Patterns, box: Box, r: ArrayLike) -> FloatArray:
    r"""Distribution function of the distance to the nearest neighbour, :math:`G(r) = \Pr(\text{distance} \le r)`.

    In a box with edges this is Hanisch's estimator: a point counts if its neighbour is nearer than the edge, with the
    inverse volume of the box shrunk by that distance as weight. On a torus all points count equally.

    Parameters
    ----------
    patterns, box, r
        As in :func:`ripley_k`.

    Examples
    --------
    >>> lattice = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]]
    >>> nearest_neighbour_g(lattice, Box.unit(2, torus=True), [0.4, 0.5])
    array([0., 1.])
    """
    given, distances = [X for X in as_patterns(patterns, box) if len(X) > 1], _as_distances(r, box)
    nearest = np.concatenate([np.zeros(0), *(np.asarray(box.tree(X).query(X, k=2)[0])[:, 1] for X in given)])
    weights = np.ones(len(nearest))
    if not box.torus:
        X = np.concatenate([np.zeros((0, box.dim)), *given])
        shrunk = np.prod(np.maximum(box._sides - 2.0 * nearest[:, np.newaxis], 0.0), axis=1)
        counts = (nearest <= np.minimum(X, box._sides - X).min(axis=1)) & (shrunk > 0.0)
        weights = np.divide(1.0, shrunk, out=np.zeros(len(X)), where=counts)
    total = float(weights.sum())
    if total == 0.0:
        raise DiversetError("no point has a neighbour nearer than the edge of the box; give more points")
    order = np.argsort(nearest)
    return np.minimum(_cumulative(nearest[order], weights[order] / total, distances), 1.0)
