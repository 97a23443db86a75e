"""Test data with known poses: drawn scenes, a part detector for their pixels, and simulated detector output."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.fft
from scipy.ndimage import gaussian_filter

from diverset._typing import FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import (
    as_finite,
    as_generator,
    check_count,
    check_nonnegative,
    check_positive,
    check_size,
)
from diverset.poses.grid import PoseGrid
from diverset.poses.skeleton import Skeleton, angles_of, ends_of, point_distances, wrapped

__all__ = ["DetectorNoise", "LimbDetector", "Scene", "draw_pose", "draw_scene", "simulate_maps"]

#: Grey of the background, and standard deviations of its texture and of the pixel noise.
_BACKGROUND, _TEXTURE, _NOISE = 0.3, 0.05, 0.08
#: Range of the contrast between people and background.
_CONTRAST = (0.12, 0.5)
#: Standard deviation of the logarithm of a person's size.
_SIZES = 0.06


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture and the poses of the people in it.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        Grey values, about 0 to 1.
    poses : ndarray of shape (n, n_parts, 2, 2)
        Both ends of each part of each person; people in front come last.
    """

    image: FloatArray
    poses: FloatArray


def draw_pose(
    skeleton: Skeleton, position: tuple[float, float], rng: RNGLike = None, *, size: float = 1.0
) -> FloatArray:
    """Draw a pose from the springs: ends of the parts, (n_parts, 2, 2), of a person whose root is at `position`."""
    generator = as_generator(rng)
    place, size = as_finite(position, name="position", shape=(2,)), check_positive(size, name="size")
    starts = np.zeros((len(skeleton), 2))
    angles = np.zeros(len(skeleton))
    for r, part in enumerate(skeleton.parts):
        if part.spring is None:
            starts[r] = place
            mean, spread = (0.0, np.inf) if part.direction is None else part.direction
        else:
            s = skeleton.parents[r]
            pull = part.spring.spread * generator.standard_normal(2)
            starts[r] = starts[s] + size * (np.array(part.spring.place(angles[s])) + pull)
            mean, spread = angles[s] + part.spring.angle, part.spring.angle_spread
        free = not np.isfinite(spread)
        angles[r] = generator.uniform(0.0, 2.0 * np.pi) if free else mean + spread * generator.standard_normal()
    return ends_of(starts, angles, size * skeleton.lengths)


def _paint(image: FloatArray, limb: FloatArray, radius: float, grey: float) -> None:
    """Draw a limb with round ends and an antialiased edge over the picture, in place."""
    height, width = image.shape
    low = np.clip(np.floor(limb.min(axis=0) - radius - 1), 0, [width, height]).astype(int)
    high = np.clip(np.ceil(limb.max(axis=0) + radius + 2), 0, [width, height]).astype(int)
    x, y = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]))
    window = image[low[1] : high[1], low[0] : high[0]]
    distance = point_distances(np.stack([x, y], axis=-1).astype(np.float64), limb)
    cover = np.clip(radius + 0.5 - distance, 0.0, 1.0)
    window += cover * (grey - window)


def _places(count: int, width: int, height: int, unit: float, rng: np.random.Generator) -> FloatArray:
    """Positions of necks side by side, some closer than an arm's length, so that people overlap."""
    gaps = rng.uniform(0.45, 1.6, size=count - 1) * unit
    gaps *= min(1.0, (width - 1.2 * unit) / max(gaps.sum(), unit))
    room = max(width - 1.2 * unit - gaps.sum(), 0.0)
    x = 0.6 * unit + rng.uniform(0.0, room) + np.concatenate([[0.0], np.cumsum(gaps)])
    y = 0.5 * height - 0.3 * unit + rng.uniform(-0.4, 0.4) * unit + 0.3 * unit * rng.standard_normal(count)
    return np.stack([x, y], axis=1)


def draw_scene(
    skeleton: Skeleton,
    rng: RNGLike = None,
    *,
    size: tuple[int, int] = (270, 360),
    n_people: int | None = None,
    n_clutter: int = 10,
    n_occluders: int = 2,
) -> Scene:
    """Draw a picture of several people, who may occlude each other, among clutter.

    Parameters
    ----------
    skeleton : Skeleton
        Sizes and springs of the people.
    rng : int, Generator or None
        Seed or generator.
    size : tuple of int
        Height and width of the picture.
    n_people : int, optional
        Number of people; by default three to five, at random.
    n_clutter : int
        Number of bars behind the people.
    n_occluders : int
        Number of bars in front of the people.

    Examples
    --------
    >>> scene = draw_scene(Skeleton.upper_body(60.0), rng=0, n_people=3)
    >>> scene.image.shape, scene.poses.shape
    ((270, 360), (3, 4, 2, 2))
    """
    generator = as_generator(rng)
    count = int(generator.integers(3, 6)) if n_people is None else check_count(n_people, name="n_people")
    if len(size) != 2:
        raise DiversetError(f"size is {size!r}; give the height and the width of the picture")
    height, width = (check_count(side, name="a side of the picture") for side in size)
    n_clutter, n_occluders = check_size(n_clutter, name="n_clutter"), check_size(n_occluders, name="n_occluders")
    unit = float(skeleton.lengths[0])
    texture = gaussian_filter(generator.standard_normal(size), 12.0)
    image = _BACKGROUND + _TEXTURE * texture / texture.std()

    def bar(contrast: tuple[float, float], radii: tuple[float, float]) -> None:
        start = generator.uniform([0, 0], [width, height])
        limb = ends_of(start, generator.uniform(0.0, 2.0 * np.pi), generator.uniform(0.1, 1.2) * unit)
        _paint(image, limb, generator.uniform(*radii) * unit, _BACKGROUND + generator.uniform(*contrast))

    for _ in range(n_clutter):
        bar((-0.15, 0.35), (0.06, 0.2))
    poses = []
    for place in _places(count, width, height, unit, generator)[generator.permutation(count)]:
        scale = float(np.exp(_SIZES * generator.standard_normal()))
        pose = draw_pose(skeleton, (float(place[0]), float(place[1])), generator, size=scale)
        contrast = generator.uniform(*_CONTRAST)
        # Arms hang behind the torso, the head is in front of it.
        order = sorted(range(len(skeleton)), key=lambda r: (skeleton.names[r] == "head", r == 0))
        for r in order:
            shade = contrast * generator.uniform(0.8, 1.2)
            _paint(image, pose[r], scale * skeleton.parts[r].radius, _BACKGROUND + shade)
        poses.append(pose)
    for _ in range(n_occluders):
        bar((-0.15, 0.1), (0.05, 0.12))
    image = image + _NOISE * generator.standard_normal(size)
    return Scene(image, np.array(poses))


#: Width in pixels of the rim that a limb is compared with.
_RIM = 4.0
#: Random values per picture that stand for places without the part, in the calibration.
_NEGATIVES = 2_000
#: Intervals of responses in the calibration.
_INTERVALS = 10


def limb_template(angle: float, length: float, radius: float) -> tuple[FloatArray, FloatArray]:
    """Masks, of shape (2n + 1, 2n + 1) around the reference point, of a limb and of the rims along its two sides."""
    reach = int(np.ceil(length + radius + _RIM)) + 1
    x, y = np.meshgrid(np.arange(-reach, reach + 1.0), np.arange(-reach, reach + 1.0))
    limb = ends_of([0.0, 0.0], angle, length)
    distance = point_distances(np.stack([x, y], axis=-1), limb)
    along = x * np.cos(angle) + y * np.sin(angle)
    rim = (distance > radius + 1.0) & (distance <= radius + 1.0 + _RIM) & (along >= 0.0) & (along <= length)
    return (distance <= radius).astype(np.float64), rim.astype(np.float64)


@dataclass(frozen=True, eq=False)
class LimbDetector:
    r"""Matched filters for the parts of a skeleton, with a calibration to log-odds.

    The response at a position and orientation is the correlation of the pixels of limb and rim with a mask that is 1 on
    the limb and 0 on the rim:

    .. math::  \frac{\sqrt{w(1 - w)}\,(m_1 - m_0)}{s},

    where :math:`m_1` and :math:`m_0` are the mean greys of limb and rim, s is the standard deviation over both, and w
    is the limb's share of the pixels. The response does not depend on the brightness or contrast of the picture.
    Filters are applied by fast Fourier transforms: :math:`O(T n \log n)` per part size for n pixels.

    Parameters
    ----------
    skeleton : Skeleton
        Sizes of the parts. Parts of equal size share a filter, so left and right arms look alike.
    calibration : tuple of pairs of ndarray, optional
        For each part ascending responses and their log-odds, interpolated linearly and constant beyond the ends;
        :meth:`calibrated` estimates them.
    """

    skeleton: Skeleton
    calibration: tuple[tuple[FloatArray, FloatArray], ...] | None = None

    def responses(self, image: FloatArray, grid: PoseGrid) -> list[FloatArray]:
        """Correlations at every value of every part: arrays of the grid's shape."""
        sizes = [(part.length, part.radius) for part in self.skeleton.parts]
        found = {size: _filtered(image, grid, *size) for size in set(sizes)}
        return [found[size] for size in sizes]

    def calibrated(self, scenes: Iterable[Scene], grid: PoseGrid, *, rng: RNGLike = None) -> LimbDetector:
        r"""Return the detector with log-odds estimated from scenes with known poses.

        The log-odds of a response are :math:`\log f_1 - \log f_0`, from its densities at annotated and random values.
        Densities are histograms over ten intervals with equally many annotated values. The log-odds are then made
        nondecreasing in the response.
        """
        generator = as_generator(rng)
        present: list[list[FloatArray]] = [[] for _ in self.skeleton.parts]
        absent: list[list[FloatArray]] = [[] for _ in self.skeleton.parts]
        for scene in scenes:
            values = grid.nearest(scene.poses[:, :, 0], angles_of(scene.poses))
            for r, maps in enumerate(self.responses(scene.image, grid)):
                present[r].append(maps.reshape(-1)[values[:, r]])
                absent[r].append(generator.choice(maps.reshape(-1), _NEGATIVES))
        if not present[0]:
            raise DiversetError("no scene was given to calibrate the detector with")
        curves = [_log_odds(np.concatenate(p), np.concatenate(a)) for p, a in zip(present, absent, strict=True)]
        return LimbDetector(self.skeleton, tuple(curves))

    def log_scores(self, image: FloatArray, grid: PoseGrid) -> list[FloatArray]:
        """Log-odds of every part at every value, in the form that :class:`PoseModel` takes."""
        if self.calibration is None:
            raise DiversetError("the detector is not calibrated; calibrated(scenes, grid) returns one that is")
        curves = zip(self.calibration, self.responses(image, grid), strict=True)
        return [np.interp(maps, *curve) for curve, maps in curves]


@lru_cache(maxsize=8)
def _spectra(
    length: float, radius: float, n_orientations: int, shape: tuple[int, int]
) -> list[tuple[float, float, Any, Any]]:
    """For each orientation, the numbers of pixels of limb and rim, and the conjugate spectra of both masks."""
    found = []
    for t in range(n_orientations):
        limb, rim = limb_template(2.0 * np.pi * t / n_orientations, length, radius)
        # Single precision is enough: responses have at most three significant digits.
        masks = [np.conj(scipy.fft.rfft2(mask.astype(np.float32), shape)) for mask in (limb, rim)]
        found.append((float(limb.sum()), float(rim.sum()), masks[0], masks[1]))
    return found


def _filtered(image: FloatArray, grid: PoseGrid, length: float, radius: float) -> FloatArray:
    """Correlations between a limb of this size and the picture, at every position and orientation of the grid."""
    image = as_finite(image, name="image", shape=(None, None))
    if image.size == 0:
        raise DiversetError(f"the image has shape {image.shape}; it is empty")
    rows = np.clip(np.rint(grid.y).astype(int), 0, image.shape[0] - 1)[:, None]
    columns = np.clip(np.rint(grid.x).astype(int), 0, image.shape[1] - 1)
    reach = len(limb_template(0.0, length, radius)[0]) // 2
    # The border is repeated outwards. Subtracting the mean avoids cancellation in the variances below.
    padded = np.pad(image - image.mean(), reach, mode="edge").astype(np.float32)
    height, width = (scipy.fft.next_fast_len(n, real=True) for n in padded.shape)
    grey, square = (scipy.fft.rfft2(x, (height, width)) for x in (padded, padded**2))

    def sums(spectrum: Any) -> FloatArray:
        # The padding and the position of the reference point within a mask shift the picture by the same amount.
        return np.asarray(scipy.fft.irfft2(spectrum, (height, width))[rows, columns], dtype=np.float64)

    maps = np.zeros(grid.shape)
    for t, (n1, n0, limb, rim) in enumerate(_spectra(length, radius, grid.n_orientations, (height, width))):
        inside, beside = sums(grey * limb), sums(grey * rim)
        mean = (inside + beside) / (n1 + n0)
        variance = sums(square * (limb + rim)) / (n1 + n0) - mean**2
        share = n1 / (n1 + n0)
        contrast = np.sqrt(share * (1.0 - share)) * (inside / n1 - beside / n0)
        maps[:, :, t] = contrast / np.sqrt(np.maximum(variance, 1e-9))
    return maps


def _log_odds(present: FloatArray, absent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Responses and their log-odds, over intervals between quantiles of `present` and one interval below them."""
    cuts = np.quantile(present, np.linspace(0.0, 1.0, _INTERVALS + 1))
    n1, n0 = (np.histogram(x, np.concatenate([[-np.inf], cuts[:-1], [np.inf]]))[0] for x in (present, absent))
    # Half a count is added, so that an empty interval has finite odds.
    odds = np.log((n1 + 0.5) / len(present)) - np.log((n0 + 0.5) / len(absent))
    middle = np.concatenate([[2.0 * cuts[0] - cuts[1]], 0.5 * (cuts[:-1] + cuts[1:])])
    return middle, np.maximum.accumulate(odds)


@dataclass(frozen=True)
class DetectorNoise:
    """Errors of a simulated detector, in log-scores and pixels.

    Parameters
    ----------
    floor : float
        Log-score of the background; a clearly seen part has about 0.
    person_spread, part_spread : float
        Standard deviations of the log-height of bumps: shared by a person's parts, and independent for each part.
    miss_rate : float
        Probability that a part is missed, so that its log-height is lower by `miss_depth`.
    miss_depth : float
        Loss of log-height of a missed part.
    false_alarms : float
        Mean number of false bumps per part, of the same heights as true ones.
    width, angle_width : float
        Standard deviations of a bump in position, in pixels, and in orientation.
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
        # Spreads are of logarithms: larger ones would make scores overflow.
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
    with np.errstate(over="ignore"):  # an infinite distance gives 0
        y = np.exp(-0.5 * ((grid.y - start[1]) / noise.width) ** 2)
        x = np.exp(-0.5 * ((grid.x - start[0]) / noise.width) ** 2)
        t = np.exp(-0.5 * (wrapped(grid.orientations - angle) / noise.angle_width) ** 2)
    return np.asarray(y[:, None, None] * x[:, None] * t)


def simulate_maps(
    poses: Any, grid: PoseGrid, rng: RNGLike = None, *, errors: Any = None, noise: DetectorNoise | None = None
) -> list[FloatArray]:
    """Simulate the log-score maps of a detector for known poses: one array of the grid's shape per part.

    Parameters
    ----------
    poses : array_like of shape (n, n_parts, 2, 2)
        Both ends of each part of each person.
    grid : PoseGrid
        Grid of the maps.
    rng : int, Generator or None
        Seed or generator.
    errors : array_like of shape (m, n_parts, 2, 2), optional
        Errors of a real detector at both ends of the parts of m people. Each person gets the errors of one of them, at
        random; none by default.
    noise : DetectorNoise, optional
        Heights of bumps, misses, false alarms and noise.
    """
    given = as_finite(poses, name="poses", shape=("n", "n_parts", 2, 2))
    settings = DetectorNoise() if noise is None else noise
    generator = as_generator(rng)
    n, n_parts = given.shape[:2]
    if errors is not None:
        pool = as_finite(errors, name="errors", shape=("m", n_parts, 2, 2))
        given = given + pool[generator.integers(len(pool), size=n)]
    height = settings.person_spread * generator.standard_normal((n, 1))
    height = height + settings.part_spread * generator.standard_normal((n, n_parts))
    height = height - settings.miss_depth * (generator.random((n, n_parts)) < settings.miss_rate)
    angle = angles_of(given)
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
