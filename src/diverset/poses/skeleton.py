r"""Body parts, the springs between them, and the geometry of limbs: a pictorial structure.

A part is a limb that starts at its reference point, such as the shoulder, and points in some direction. A spring pulls
the reference point of a part to a place beside its parent part, and its direction to an angle with the parent's
direction; both turn with the parent ([FelzenszwalbHuttenlocher2005]_).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError, LabelError
from diverset.numerics.validation import as_finite, as_real, check_positive
from diverset.poses.grid import PoseGrid
from diverset.structured import Separable

__all__ = ["Part", "Skeleton", "Spring", "spring_factor"]


def ends_of(positions: Any, angles: Any, lengths: Any) -> FloatArray:
    """Both ends (x, y) of limbs, of shape (..., 2, 2), from reference points (..., 2), angles and lengths (...)."""
    start = np.asarray(positions, dtype=np.float64)
    direction = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.stack([start, start + np.asarray(lengths)[..., None] * direction], axis=-2)


def angles_of(ends: FloatArray) -> FloatArray:
    """Directions of limbs given by their ends, (..., 2, 2)."""
    along = ends[..., 1, :] - ends[..., 0, :]
    return np.asarray(np.arctan2(along[..., 1], along[..., 0]))


def point_distances(points: FloatArray, segment: FloatArray) -> FloatArray:
    """Distances of points, (..., 2), from segments, (..., 2, 2)."""
    # By coordinates: reductions over an axis of length 2 would take most of the time.
    x, y = points[..., 0] - segment[..., 0, 0], points[..., 1] - segment[..., 0, 1]
    dx, dy = segment[..., 1, 0] - segment[..., 0, 0], segment[..., 1, 1] - segment[..., 0, 1]
    squared = dx * dx + dy * dy
    t = np.clip((x * dx + y * dy) / np.where(squared > 0.0, squared, 1.0), 0.0, 1.0)
    return np.asarray(np.hypot(x - t * dx, y - t * dy))


def _separates(s: FloatArray, t: FloatArray) -> Any:
    """Whether the line through segment t has the ends of segment s on different sides, by cross products."""
    a, along = t[..., 0, :], t[..., 1, :] - t[..., 0, :]
    first, second = (
        along[..., 0] * (p[..., 1] - a[..., 1]) - along[..., 1] * (p[..., 0] - a[..., 0])
        for p in (s[..., 0, :], s[..., 1, :])
    )
    return first * second < 0.0


def segment_distances(s: FloatArray, t: FloatArray) -> FloatArray:
    """Distances between segments of shape (..., 2, 2): 0 where they cross, else from an end to the other segment."""
    ends = [point_distances(p[..., e, :], q) for p, q in ((s, t), (t, s)) for e in (0, 1)]
    return np.where(_separates(s, t) & _separates(t, s), 0.0, np.minimum.reduce(ends))


def wrapped(angle: Any) -> FloatArray:
    """Angles reduced to the half-open range from -pi to pi."""
    return np.asarray((np.asarray(angle, dtype=np.float64) + np.pi) % (2.0 * np.pi) - np.pi)


@dataclass(frozen=True)
class Spring:
    r"""Gaussian pull of a part to a place and an angle in the frame of its parent part.

    .. math::  q(y, y') = \exp\Big( -\frac{\|p' - p - R_\theta o\|^2}{2 s^2}
                                    - \frac{(\theta' - \theta - \alpha)^2}{2 \tau^2} \Big)

    for a parent at p with angle :math:`\theta` and a child at p' with angle :math:`\theta'`. Differences of angles are
    taken around the circle.

    Parameters
    ----------
    offset : tuple of float
        Place o of the child's reference point, in pixels: along the parent's direction, and across it, a quarter turn
        further (for a parent that points down: to the left).
    spread : float
        Standard deviation s of that place in either direction, in pixels.
    angle : float
        Angle :math:`\alpha` from the parent's direction to the child's.
    angle_spread : float
        Standard deviation :math:`\tau` of that angle; infinite for a joint that turns freely.
    """

    offset: tuple[float, float]
    spread: float
    angle: float = 0.0
    angle_spread: float = math.inf

    def __post_init__(self) -> None:
        if not np.isfinite([*as_real(self.offset, name="offset", shape=(2,)), self.angle]).all():
            raise DiversetError(f"a spring has offset {self.offset!r} and angle {self.angle!r}; they must be finite")
        check_positive(self.spread, name="spread")
        if not self.angle_spread > 0.0:
            raise DiversetError(f"angle_spread is {self.angle_spread!r}; it must be positive, or infinite")

    def place(self, angle: Any) -> tuple[Any, Any]:
        """The offset (x, y) in the image, for a parent at this angle."""
        (along, across), c, s = self.offset, np.cos(angle), np.sin(angle)
        return along * c - across * s, along * s + across * c


@dataclass(frozen=True)
class Part:
    """A limb of a skeleton.

    Parameters
    ----------
    name : str
        Unique within the skeleton, such as ``"head"``.
    length : float
        From the reference point to the other end, in pixels.
    radius : float
        Half of its thickness, in pixels.
    parent : str, optional
        Part that this part is attached to; None for the root.
    spring : Spring, optional
        Spring between the part and its parent.
    direction : tuple of float, optional
        Usual angle in the image and its standard deviation, for example for a torso that mostly points down.
    """

    name: str
    length: float
    radius: float
    parent: str | None = None
    spring: Spring | None = None
    direction: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_positive(self.length, name=f"length of {self.name}")
        check_positive(self.radius, name=f"radius of {self.name}")
        if (self.parent is None) != (self.spring is None):
            raise DiversetError(f"part {self.name} needs both a parent and a spring, or neither")
        if self.direction is not None:
            check_positive(self.direction[1], name=f"standard deviation of the direction of {self.name}")


class Skeleton:
    """Parts joined to a tree by springs.

    Parameters
    ----------
    parts : sequence of Part
        The root first, and every part after its parent.

    Examples
    --------
    >>> body = Skeleton.upper_body(60.0)
    >>> body.names
    ('torso', 'head', 'right arm', 'left arm')
    >>> body.parents
    (-1, 0, 0, 0)
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        if not self.parts or not all(isinstance(part, Part) for part in self.parts):
            raise DiversetError("a skeleton is made of one Part or more")
        self.names = tuple(part.name for part in self.parts)
        if len(set(self.names)) < len(self.names):
            raise LabelError(f"the names of the parts are {', '.join(self.names)}; each name must be unique")
        for r, part in enumerate(self.parts):
            if (part.parent is None) != (r == 0):
                raise DiversetError(
                    f"part {part.name} has parent {part.parent!r}; only the first part, the root, has none"
                )
            if part.parent is not None and part.parent not in self.names[:r]:
                raise LabelError(f"part {part.name} hangs on {part.parent!r}, which is none of the parts before it")
        #: Number of the parent of each part, -1 for the root; lengths and radii of the parts.
        self.parents = tuple(-1 if part.parent is None else self.names.index(part.parent) for part in self.parts)
        self.lengths: FloatArray = np.array([part.length for part in self.parts])
        self.radii: FloatArray = np.array([part.radius for part in self.parts])

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return f"Skeleton({', '.join(self.names)})"

    @classmethod
    def upper_body(cls, torso: float) -> Skeleton:
        """Torso from the neck down, head from the neck up, and upper arms, for a torso length in pixels.

        The right arm is on the left side of a picture of a person who faces the camera.
        """
        u = check_positive(torso, name="torso")

        def arm(name: str, side: float) -> Part:
            spring = Spring((0.08 * u, side * 0.27 * u), 0.08 * u, side * 0.35, 0.6)
            return Part(name, 0.5 * u, 0.09 * u, "torso", spring)

        return cls(
            [
                Part("torso", u, 0.2 * u, direction=(0.5 * np.pi, 0.3)),
                Part("head", 0.45 * u, 0.15 * u, "torso", Spring((-0.02 * u, 0.0), 0.05 * u, np.pi, 0.3)),
                arm("right arm", 1.0),
                arm("left arm", -1.0),
            ]
        )

    def fitted(self, poses: Any, *, least_spread: float | None = None) -> Skeleton:
        """The same parts with lengths, springs and the root's direction from annotated poses.

        Lengths are medians, offsets and angles means (angles around the circle), spreads standard deviations.

        Parameters
        ----------
        poses : array_like of shape (n, n_parts, 2, 2)
            Ends (x, y) of each part of n people, the reference point first, all at one scale; NaN where a part is not
            annotated.
        least_spread : float, optional
            Lower bound of the standard deviation of a place, in pixels; by default a fiftieth of the root's length.
            The bound for angles is `least_spread` divided by the root's length.
        """
        given = as_real(poses, name="poses", shape=(None, len(self), 2, 2))
        as_finite(np.where(np.isnan(given), 0.0, given), name="poses")
        start, angle = given[:, :, 0], angles_of(given)
        length = np.linalg.norm(given[:, :, 1] - start, axis=2)
        root = self.parts[0].length
        least = root / 50.0 if least_spread is None else check_positive(least_spread, name="least_spread")
        parts = []
        for r, (part, s) in enumerate(zip(self.parts, self.parents, strict=True)):
            known = ~np.isnan(length[:, r] + (0.0 if s < 0 else length[:, s]))
            spring, direction = part.spring, part.direction
            if known.sum() < 2:
                raise DiversetError(f"{int(known.sum())} poses show {part.name} and its parent; at least 2 are needed")
            if spring is None:
                direction = _circular(angle[known, r], least / root)
            else:
                c, d = np.cos(angle[known, s]), np.sin(angle[known, s])
                x, y = (start[known, r] - start[known, s]).T
                local = np.stack([c * x + d * y, c * y - d * x], axis=1)
                spread = max(math.sqrt(float(local.var(axis=0).mean())), least)
                turn = _circular(angle[known, r] - angle[known, s], least / root)
                spring = Spring((float(local[:, 0].mean()), float(local[:, 1].mean())), spread, *turn)
            size = float(np.median(length[known, r]))
            parts.append(Part(part.name, size, part.radius * size / part.length, part.parent, spring, direction))
        return Skeleton(parts)


def _circular(angles: FloatArray, least: float) -> tuple[float, float]:
    """Mean direction, and the root mean square distance from it around the circle, at least `least`."""
    mean = float(np.angle(np.exp(1j * angles).mean()))
    return mean, max(math.sqrt(float((wrapped(angles - mean) ** 2).mean())), least)


def _gaussian(distance: FloatArray, spread: float, reach: float) -> FloatArray:
    """Gaussian of a distance; 0 beyond `reach` standard deviations."""
    with np.errstate(over="ignore"):  # an infinite z is beyond reach
        z = distance / spread
        return np.where(np.abs(z) <= reach, np.exp(-0.5 * z * z), 0.0)


def spring_factor(spring: Spring, grid: PoseGrid, *, beta: float = 1.0, reach: float = 5.0) -> Separable:
    r"""Factor between a part (first) and the child that a spring joins to it, to the power :math:`\beta`.

    For each orientation of the parent, the factor is a product of Gaussians along rows, columns and orientations. For
    M = HWT values it takes :math:`T(H^2 + W^2 + T)` numbers instead of :math:`M^2`, and a message
    :math:`O(M(H + W + T))`.

    Parameters
    ----------
    spring : Spring
        The spring; its class gives the formula.
    grid : PoseGrid
        Grid of both parts.
    beta : float
        Sharpness: standard deviations are divided by its square root.
    reach : float
        Standard deviations (before `beta`) beyond which a row, column or orientation is forbidden, so that draws weigh
        a window of candidates only. At least one step of the grid is always allowed. Infinite for no limit.
    """
    root = math.sqrt(check_positive(beta, name="beta"))
    limit = check_positive(reach, name="reach") if reach != math.inf else math.inf
    shift_x, shift_y = spring.place(grid.orientations)

    def axis(places: FloatArray, shift: FloatArray) -> FloatArray:
        distance = places - places[:, None] - shift[:, None, None]
        return _gaussian(distance, spring.spread / root, max(limit, grid.step / spring.spread) * root)

    turned = np.ones((grid.n_orientations,) * 2)
    if math.isfinite(spring.angle_spread):
        turn = wrapped(grid.orientations - grid.orientations[:, None] - spring.angle)
        unit = 2.0 * np.pi / grid.n_orientations
        turned = _gaussian(turn, spring.angle_spread / root, max(limit, unit / spring.angle_spread) * root)
    return Separable([axis(grid.y, shift_y), axis(grid.x, shift_x), turned], by=2)
