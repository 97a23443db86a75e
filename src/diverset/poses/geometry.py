"""Limbs as drawn: segments with round ends, and when two of them cover common ground."""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset._typing import FloatArray

__all__ = ["ends_of", "overlaps", "point_distances", "segment_distances"]


def ends_of(positions: Any, angles: Any, lengths: Any) -> FloatArray:
    """Both ends (x, y) of limbs, of shape (..., 2, 2), from reference points (..., 2), angles and lengths (...)."""
    start = np.asarray(positions, dtype=np.float64)
    direction = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.stack([start, start + np.asarray(lengths)[..., None] * direction], axis=-2)


def point_distances(points: FloatArray, segment: FloatArray) -> FloatArray:
    """Distances of points, (..., 2), from segments, (..., 2, 2)."""
    # By coordinates: reductions over an axis of length 2 would take most of the time.
    x, y = points[..., 0] - segment[..., 0, 0], points[..., 1] - segment[..., 0, 1]
    dx, dy = segment[..., 1, 0] - segment[..., 0, 0], segment[..., 1, 1] - segment[..., 0, 1]
    squared = dx * dx + dy * dy
    t = np.clip((x * dx + y * dy) / np.where(squared > 0.0, squared, 1.0), 0.0, 1.0)
    return np.asarray(np.hypot(x - t * dx, y - t * dy))


def _side(p: FloatArray, segment: FloatArray) -> FloatArray:
    """On which side of the line through a segment points lie: the sign of a cross product."""
    a, b = segment[..., 0, :], segment[..., 1, :]
    return np.asarray(
        (b[..., 0] - a[..., 0]) * (p[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (p[..., 0] - a[..., 0])
    )


def segment_distances(s: FloatArray, t: FloatArray) -> FloatArray:
    """Distances between segments of shape (..., 2, 2): 0 where they cross, else from an end to the other segment."""
    ends = [
        point_distances(s[..., 0, :], t),
        point_distances(s[..., 1, :], t),
        point_distances(t[..., 0, :], s),
        point_distances(t[..., 1, :], s),
    ]
    cross = (_side(s[..., 0, :], t) * _side(s[..., 1, :], t) < 0.0) & (
        _side(t[..., 0, :], s) * _side(t[..., 1, :], s) < 0.0
    )
    return np.where(cross, 0.0, np.minimum.reduce(ends))


def overlaps(s: FloatArray, radius_s: Any, t: FloatArray, radius_t: Any) -> Any:
    """Whether limbs with these axes, (..., 2, 2), and radii cover common points."""
    return segment_distances(s, t) < np.asarray(radius_s) + np.asarray(radius_t)
