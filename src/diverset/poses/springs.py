r"""Springs as factors: products of Gaussians along rows, columns and orientations.

For one orientation of the parent a spring is a Gaussian in rows times one in columns times one in the child's
orientation, each about a place that turns with the parent. Held so, a factor between two parts of M = HWT values takes
:math:`T(H^2 + W^2 + T)` numbers instead of :math:`M^2`, and a message passes in :math:`O(M(H + W + T))`.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import FloatArray
from diverset.numerics.validation import check_positive
from diverset.poses.grid import PoseGrid
from diverset.poses.skeleton import Part, Spring, wrapped
from diverset.structured import Separable

__all__ = ["direction_prior", "spring_factor"]


def _gaussian(distance: FloatArray, spread: float, reach: float) -> FloatArray:
    """Gaussian of a distance; 0 beyond `reach` standard deviations."""
    with np.errstate(over="ignore"):  # far beyond reach is beyond it
        z = distance / spread
        return np.where(np.abs(z) <= reach, np.exp(-0.5 * z * z), 0.0)


def spring_factor(spring: Spring, grid: PoseGrid, *, beta: float = 1.0, reach: float = 5.0) -> Separable:
    r"""Factor between a part (first) and one that a spring ties to it, to the power :math:`\beta`.

    Parameters
    ----------
    spring : Spring
        See there for the formula.
    grid : PoseGrid
        Of both parts.
    beta : float
        Sharpness: standard deviations are divided by its root.
    reach : float
        Standard deviations (before `beta`) beyond which a row, column or orientation is forbidden, so that draws weigh
        a window of candidates, not all; at least one step of the grid is allowed, however stiff the spring.
        Infinite for no limit.
    """
    root = math.sqrt(check_positive(beta, name="beta"))
    limit = check_positive(reach, name="reach") if reach != math.inf else math.inf
    along, across = spring.offset
    c, s = np.cos(grid.orientations), np.sin(grid.orientations)
    shift_x, shift_y = along * c - across * s, along * s + across * c

    def axis(places: FloatArray, shift: FloatArray) -> FloatArray:
        distance = places - places[:, None] - shift[:, None, None]
        return _gaussian(distance, spring.spread / root, max(limit, grid.step / spring.spread) * root)

    turn = wrapped(grid.orientations - grid.orientations[:, None] - spring.angle)
    if math.isinf(spring.angle_spread):
        turned = np.ones_like(turn)
    else:
        unit = 2.0 * np.pi / grid.n_orientations
        turned = _gaussian(turn, spring.angle_spread / root, max(limit, unit / spring.angle_spread) * root)
    return Separable([axis(grid.y, shift_y), axis(grid.x, shift_x), turned], by=2)


def direction_prior(part: Part, grid: PoseGrid) -> FloatArray:
    """Log-quality of each orientation of a part by its usual direction; 0 where it has none."""
    if part.direction is None:
        return np.zeros(grid.n_orientations)
    mean, spread = part.direction
    return np.asarray(-0.5 * (wrapped(grid.orientations - mean) / spread) ** 2)
