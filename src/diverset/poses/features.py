r"""Diversity features: how near a part is to each point of a coarse grid ([KuleszaTaskar2012]_, section 6.4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.numerics.validation import as_finite, check_count, check_positive
from diverset.poses.grid import PoseGrid

__all__ = ["location_features", "reference_points"]


def reference_points(grid: PoseGrid, shape: tuple[int, int] = (4, 8)) -> FloatArray:
    """Points (x, y) spaced evenly over the image, of shape (rows * columns, 2): centres of equal cells."""
    if len(shape) != 2:
        raise DiversetError(f"the reference grid is {shape!r}; give its rows and columns")
    rows, columns = (check_count(n, name="a side of the reference grid") for n in shape)
    left, right, top, bottom = grid.box
    x = left + (right - left) * (np.arange(columns) + 0.5) / columns
    y = top + (bottom - top) * (np.arange(rows) + 0.5) / rows
    return np.stack([i.ravel() for i in np.meshgrid(x, y)], axis=1)


def location_features(positions: Any, points: FloatArray, sigma: float) -> FloatArray:
    r"""Features of positions, one per reference point, of unit length:

    .. math::  \phi_l(p) \propto \exp\big( -\|p - x_l\|^2 / 2\sigma^2 \big).

    Parameters
    ----------
    positions : array_like of shape (n, 2)
        In pixels.
    points : ndarray of shape (D, 2)
        Reference points :math:`x_l`.
    sigma : float
        Width, in pixels: the larger, the more alike are parts at a given distance.

    Notes
    -----
    Unit length, so that a position between reference points counts as much as one on a point: where something is says
    what it is like, not how good it is. The nearest point has a positive feature for any `sigma`, however small.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0, 0.0], [10.0, 0.0]])
    >>> phi = location_features([[0.0, 0.0], [2.0, 0.0], [10.0, 0.0]], points, sigma=5.0)
    >>> (phi @ phi.T).round(3)[0]
    array([1.   , 0.988, 0.266])
    """  # noqa: D400
    p, x = as_finite(positions, name="positions", shape=(None, 2)), as_finite(points, name="points", shape=(None, 2))
    width = check_positive(sigma, name="sigma")
    if len(x) == 0:
        raise DiversetError("there are no reference points; give at least one")
    squared = ((p[:, None] - x) ** 2).sum(axis=2)
    # Relative to the nearest point: its own feature is 1 before normalising, and nothing underflows to a zero vector.
    with np.errstate(over="ignore"):
        phi = np.exp(-0.5 * ((squared - squared.min(axis=1, keepdims=True)) / width / width))
    return np.asarray(phi / np.linalg.norm(phi, axis=1, keepdims=True))
