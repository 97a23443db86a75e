"""Simulated detector output around known poses: bumps that miss by a little, faint people, false alarms, noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from diverset._typing import FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import as_finite, check_nonnegative, check_positive
from diverset.poses.grid import PoseGrid
from diverset.poses.skeleton import wrapped

__all__ = ["DetectorNoise", "simulate_maps"]


@dataclass(frozen=True)
class DetectorNoise:
    """How a simulated detector errs; log-scores, and pixels.

    Parameters
    ----------
    floor : float
        Log-score where there is nothing; a part seen clearly has about 0.
    person_spread, part_spread : float
        Standard deviations of the log-height of bumps: common to a person's parts, and of each part by itself.
    miss_rate : float
        Part of the parts that are hardly seen, with `miss_depth` off their log-height.
    miss_depth : float
        See there.
    false_alarms : float
        Mean number of bumps per part where there is no such part, as high as those of people.
    width : float
        Standard deviation of a bump in position, in pixels.
    angle_width : float
        And in orientation.
    noise : float
        Standard deviation of smooth noise added to the log-scores.
    """

    floor: float = -8.0
    person_spread: float = 0.5
    part_spread: float = 0.5
    miss_rate: float = 0.1
    miss_depth: float = 3.0
    false_alarms: float = 2.0
    width: float = 8.0
    angle_width: float = 0.3
    noise: float = 0.5

    def __post_init__(self) -> None:
        # Spreads are of logarithms: beyond these, scores are beyond floats.
        for name in ("person_spread", "part_spread", "noise"):
            check_nonnegative(getattr(self, name), name=name, most=100.0)
        check_nonnegative(self.miss_rate, name="miss_rate", most=1.0)
        check_nonnegative(self.false_alarms, name="false_alarms", most=1e6)
        for name in ("width", "angle_width"):
            check_positive(getattr(self, name), name=name)
        if not (math.isfinite(self.floor) and math.isfinite(self.miss_depth)):
            raise DiversetError(f"floor is {self.floor} and miss_depth {self.miss_depth}; both must be finite")


def _bump(grid: PoseGrid, start: FloatArray, angle: float, noise: DetectorNoise) -> FloatArray:
    """A Gaussian of height 1 over positions and orientations."""
    with np.errstate(over="ignore"):  # far away is nothing
        y = np.exp(-0.5 * ((grid.y - start[1]) / noise.width) ** 2)
        x = np.exp(-0.5 * ((grid.x - start[0]) / noise.width) ** 2)
        t = np.exp(-0.5 * (wrapped(grid.orientations - angle) / noise.angle_width) ** 2)
    return np.asarray(y[:, None, None] * x[:, None] * t)


def simulate_maps(
    poses: Any,
    grid: PoseGrid,
    rng: RNGLike = None,
    *,
    errors: Any = None,
    noise: DetectorNoise | None = None,
) -> list[FloatArray]:
    """Log-score maps of a detector that was shown these poses.

    Parameters
    ----------
    poses : array_like of shape (n, n_parts, 2, 2)
        Both ends of each part of each person.
    grid : PoseGrid
        Of the maps.
    rng : int, Generator or None
        Seed or generator (SPEC 7).
    errors : array_like of shape (m, n_parts, 2, 2), optional
        By how much a real detector missed both ends of the parts of m people, of which each person gets one at random;
        no errors by default.
    noise : DetectorNoise, optional
        Everything else.

    Returns
    -------
    list of ndarray of shape (rows, columns, orientations)
        One per part.
    """
    given = np.asarray(poses, dtype=np.float64)
    if given.ndim != 4 or given.shape[2:] != (2, 2) or not np.isfinite(given).all():
        raise DiversetError(f"poses have shape {given.shape}; expected finite ends of shape (n, n_parts, 2, 2)")
    as_finite(given, name="poses", shape=(None, None, 2, 2))
    settings = DetectorNoise() if noise is None else noise
    generator = np.random.default_rng(rng)
    n, n_parts = given.shape[:2]
    if errors is not None:
        pool = np.asarray(errors, dtype=np.float64)
        given = given + pool[generator.integers(len(pool), size=n)]
    height = settings.person_spread * generator.standard_normal((n, 1))
    height = height + settings.part_spread * generator.standard_normal((n, n_parts))
    height = height - settings.miss_depth * (generator.random((n, n_parts)) < settings.miss_rate)
    along = given[:, :, 1] - given[:, :, 0]
    angle = np.arctan2(along[..., 1], along[..., 0])
    maps = []
    left, right, top, bottom = grid.box
    for r in range(n_parts):
        seen = np.full(grid.shape, np.exp(settings.floor))
        for p in range(n):
            seen += np.exp(height[p, r]) * _bump(grid, given[p, r, 0], float(angle[p, r]), settings)
        for _ in range(generator.poisson(settings.false_alarms)):
            start = generator.uniform([left, top], [right, bottom])
            size = np.exp(np.hypot(settings.person_spread, settings.part_spread) * generator.standard_normal())
            seen += size * _bump(grid, start, generator.uniform(0.0, 2.0 * np.pi), settings)
        field = gaussian_filter(generator.standard_normal(grid.shape), 1.0, mode=("nearest", "nearest", "wrap"))
        maps.append(np.log(seen) + settings.noise * field / field.std())
    return maps
