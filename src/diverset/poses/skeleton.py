r"""Body parts and the springs between them: a pictorial structure ([FelzenszwalbHuttenlocher2005]_).

A part is a limb from its reference point, such as the shoulder, in some direction. A spring pulls the reference point
of a part to a place beside the part it hangs on, and its direction to an angle with that part's. Both turn with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError, LabelError
from diverset.numerics.validation import as_finite, check_positive

__all__ = ["Part", "Skeleton", "Spring", "wrapped"]


def wrapped(angle: Any) -> FloatArray:
    """Angles brought to the half-open range from -pi to pi."""
    return np.asarray((np.asarray(angle, dtype=np.float64) + np.pi) % (2.0 * np.pi) - np.pi)


@dataclass(frozen=True)
class Spring:
    r"""Gaussian pull of a part to a place and an angle in the frame of the part it hangs on:

    .. math::  q(y, y') = \exp\Big( -\frac{\|p' - p - R_\theta o\|^2}{2 s^2}
                                    - \frac{(\theta' - \theta - \alpha)^2}{2 \tau^2} \Big)

    for a parent at p with angle :math:`\theta` and a child at p' with angle :math:`\theta'`, differences of angles
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
    """  # noqa: D400

    offset: tuple[float, float]
    spread: float
    angle: float = 0.0
    angle_spread: float = math.inf

    def __post_init__(self) -> None:
        if len(self.offset) != 2 or not np.isfinite([*self.offset, self.angle]).all():
            raise DiversetError(f"a spring has offset {self.offset!r} and angle {self.angle!r}; they must be finite")
        check_positive(self.spread, name="spread")
        if not self.angle_spread > 0.0:
            raise DiversetError(f"angle_spread is {self.angle_spread!r}; it must be positive, or infinite")


@dataclass(frozen=True)
class Part:
    """A limb.

    Parameters
    ----------
    name : str
        Such as ``"head"``.
    length : float
        From the reference point to the other end, in pixels.
    radius : float
        Half of its thickness, in pixels.
    parent : str, optional
        Part it hangs on; None for the root.
    spring : Spring, optional
        What ties it there.
    direction : tuple of float, optional
        Usual angle in the image and its standard deviation, as for a torso that mostly points down.
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
    """Parts tied to a tree.

    Parameters
    ----------
    parts : sequence of Part
        The root first, and every part after the one it hangs on.

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
            raise LabelError(f"the names of the parts are {', '.join(self.names)}; each must be another")
        found = []
        for r, part in enumerate(self.parts):
            if (part.parent is None) != (r == 0):
                raise DiversetError(
                    f"part {part.name} has parent {part.parent!r}; the first part, and only it, has none"
                )
            if part.parent is not None and part.parent not in self.names[:r]:
                raise LabelError(f"part {part.name} hangs on {part.parent!r}, which is none of the parts before it")
            found.append(-1 if part.parent is None else self.names.index(part.parent))
        self.parents = tuple(found)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return f"Skeleton({', '.join(self.names)})"

    @property
    def lengths(self) -> FloatArray:
        """Of the parts."""
        return np.array([part.length for part in self.parts])

    @property
    def radii(self) -> FloatArray:
        """Of the parts."""
        return np.array([part.radius for part in self.parts])

    @classmethod
    def upper_body(cls, torso: float) -> Skeleton:
        """Torso from the neck down, head from the neck up, and upper arms, sized for a torso of so many pixels.

        The right arm is the one on the left of a picture of a person who faces the camera.
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

        Parameters
        ----------
        poses : array_like of shape (n, n_parts, 2, 2)
            Ends (x, y) of each part of n people, the reference point first; at one scale. NaN where not annotated.
        least_spread : float, optional
            Least standard deviation of a place, in pixels, for parts that are annotated at one and the same point; a
            fiftieth of the root's length by default. That of an angle is at least what this is across such a length.

        Notes
        -----
        Lengths are medians, offsets and angles means (angles around the circle), spreads standard deviations.
        """
        given = np.asarray(poses, dtype=np.float64)
        if given.ndim != 4 or given.shape[1:] != (len(self), 2, 2):
            raise DiversetError(
                f"poses have shape {given.shape}; expected (n, {len(self)}, 2, 2): both ends of each part"
            )
        as_finite(np.where(np.isnan(given), 0.0, given), name="poses", shape=given.shape)
        start, along = given[:, :, 0], given[:, :, 1] - given[:, :, 0]
        angle = np.arctan2(along[..., 1], along[..., 0])
        length = np.hypot(along[..., 0], along[..., 1])
        least = (
            self.parts[0].length / 50.0 if least_spread is None else check_positive(least_spread, name="least_spread")
        )
        least_angle = least / self.parts[0].length
        parts = []
        for r, part in enumerate(self.parts):
            known = ~np.isnan(length[:, r])
            spring, direction = part.spring, part.direction
            if self.parents[r] >= 0:
                s = self.parents[r]
                known &= ~np.isnan(length[:, s])
            if known.sum() < 2:
                raise DiversetError(
                    f"{int(known.sum())} poses show {part.name} and what it hangs on; at least 2 are needed"
                )
            if spring is not None:
                c, d = np.cos(angle[known, s]), np.sin(angle[known, s])
                step = start[known, r] - start[known, s]
                local = np.stack([c * step[:, 0] + d * step[:, 1], c * step[:, 1] - d * step[:, 0]], axis=1)
                turn, turn_spread = _circular(angle[known, r] - angle[known, s], least_angle)
                spread = max(math.sqrt(float(local.var(axis=0).mean())), least)
                spring = Spring((float(local[:, 0].mean()), float(local[:, 1].mean())), spread, turn, turn_spread)
            else:
                direction = _circular(angle[known, r], least_angle)
            size = float(np.median(length[known, r]))
            parts.append(Part(part.name, size, part.radius * size / part.length, part.parent, spring, direction))
        return Skeleton(parts)


def _circular(angles: FloatArray, least: float) -> tuple[float, float]:
    """Mean direction, and the root mean square distance from it around the circle, or `least`."""
    mean = float(np.angle(np.exp(1j * angles).mean()))
    return mean, max(math.sqrt(float((wrapped(angles - mean) ** 2).mean())), least)
