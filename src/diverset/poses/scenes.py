"""Scenes with several stick figures: drawn pixel by pixel, with clutter behind and in front, and known poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from diverset._typing import FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import as_finite, check_count, check_positive, check_size
from diverset.poses.geometry import ends_of, point_distances
from diverset.poses.skeleton import Skeleton

__all__ = ["Scene", "draw_pose", "draw_scene"]

#: Grey of the background, and the standard deviation of its texture and of the noise of single pixels.
_BACKGROUND, _TEXTURE, _NOISE = 0.3, 0.05, 0.08
#: Contrast of people to the background, from the faintest to the clearest.
_CONTRAST = (0.12, 0.5)
#: Standard deviation of a person's size, as a ratio.
_SIZES = 0.06


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture and who is in it.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        Grey values, about 0 to 1.
    poses : ndarray of shape (n, n_parts, 2, 2)
        Both ends of each part of each person, those in front last.
    """

    image: FloatArray
    poses: FloatArray


def draw_pose(
    skeleton: Skeleton, position: tuple[float, float], rng: RNGLike = None, *, size: float = 1.0
) -> FloatArray:
    """Ends of the parts, (n_parts, 2, 2), of a person whose root is at this position: one draw from the springs."""
    generator = np.random.default_rng(rng)
    place, size = as_finite(position, name="position", shape=(2,)), check_positive(size, name="size")
    starts = np.zeros((len(skeleton), 2))
    angles = np.zeros(len(skeleton))
    for r, part in enumerate(skeleton.parts):
        if part.spring is None:
            starts[r] = place
            mean, spread = (0.0, np.inf) if part.direction is None else part.direction
        else:
            s = skeleton.parents[r]
            c, d = np.cos(angles[s]), np.sin(angles[s])
            along, across = part.spring.offset
            pull = part.spring.spread * generator.standard_normal(2)
            starts[r] = starts[s] + size * (np.array([along * c - across * d, along * d + across * c]) + pull)
            mean, spread = angles[s] + part.spring.angle, part.spring.angle_spread
        free = not np.isfinite(spread)
        angles[r] = generator.uniform(0.0, 2.0 * np.pi) if free else mean + spread * generator.standard_normal()
    return ends_of(starts, angles, size * skeleton.lengths)


def _paint(image: FloatArray, limb: FloatArray, radius: float, grey: float) -> None:
    """Draw a limb with round ends over the picture, in place; its edge is smooth over a pixel."""
    height, width = image.shape
    low = np.clip(np.floor(limb.min(axis=0) - radius - 1), 0, [width, height]).astype(int)
    high = np.clip(np.ceil(limb.max(axis=0) + radius + 2), 0, [width, height]).astype(int)
    x, y = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]))
    window = image[low[1] : high[1], low[0] : high[0]]
    distance = point_distances(np.stack([x, y], axis=-1).astype(np.float64), limb)
    cover = np.clip(radius + 0.5 - distance, 0.0, 1.0)
    window += cover * (grey - window)


def _places(count: int, width: int, height: int, unit: float, rng: np.random.Generator) -> FloatArray:
    """Positions of necks: side by side, some closer than an arm's length, so that people overlap."""
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
    """Draw several people, who may hide parts of each other, among clutter.

    Parameters
    ----------
    skeleton : Skeleton
        Sizes and springs of the people.
    rng : int, Generator or None
        Seed or generator (SPEC 7).
    size : tuple of int
        Height and width of the picture.
    n_people : int, optional
        Three to five by default, at random.
    n_clutter : int
        Bars and blobs behind the people, of any direction and grey.
    n_occluders : int
        Bars in front of them.

    Examples
    --------
    >>> scene = draw_scene(Skeleton.upper_body(60.0), rng=0, n_people=3)
    >>> scene.image.shape, scene.poses.shape
    ((270, 360), (3, 4, 2, 2))
    """
    generator = np.random.default_rng(rng)
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
