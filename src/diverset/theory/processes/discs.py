r"""Length or area covered by balls of one radius: exact, for the area-interaction process.

In the plane the boundary of a union of discs is made of the arcs of each circle that no other disc covers. By Green's
theorem the area is :math:`\frac12 \oint (x\,dy - y\,dx)` along them; an arc of the circle around (a, b) from
:math:`\theta_0` to :math:`\theta_1` adds

.. math::  \tfrac{r}{2}\left(a (\sin\theta_1 - \sin\theta_0) - b (\cos\theta_1 - \cos\theta_0)
           + r (\theta_1 - \theta_0)\right).
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import FloatArray

__all__ = ["added_volume", "union_volume"]

_TURN = 2.0 * math.pi


def union_volume(centres: FloatArray, radius: float) -> float:
    """Length (one dimension) or area (two) of a union of balls of one radius. O(n^2 log n) for n discs."""
    if len(centres) == 0:
        return 0.0
    if centres.shape[1] == 1:
        gaps = np.diff(np.sort(centres[:, 0]))
        return float(np.minimum(gaps, 2.0 * radius).sum() + 2.0 * radius)
    distinct = np.unique(centres, axis=0)
    step = distinct[np.newaxis] - distinct[:, np.newaxis]
    distance = np.hypot(step[..., 0], step[..., 1])
    total = 0.0
    for i, (a, b) in enumerate(distinct.tolist()):
        near = (distance[i] < 2.0 * radius) & (distance[i] > 0.0)
        towards = np.arctan2(step[i, near, 1], step[i, near, 0])
        half = np.arccos(distance[i, near] / (2.0 * radius))
        for start, end in _exposed(towards - half, towards + half):
            sweep = a * (math.sin(end) - math.sin(start)) - b * (math.cos(end) - math.cos(start))
            total += 0.5 * radius * (sweep + radius * (end - start))
    return total


def _exposed(starts: FloatArray, ends: FloatArray) -> list[tuple[float, float]]:
    """Arcs of a circle that none of the covered arcs, each shorter than half a turn, reaches."""
    if len(starts) == 0:
        return [(0.0, _TURN)]
    shift = np.floor(starts / _TURN) * _TURN
    covered = [(float(a), float(b)) for a, b in zip(starts - shift, ends - shift, strict=True)]
    # What goes past the full turn covers the beginning too.
    covered += [(0.0, b - _TURN) for _, b in covered if b > _TURN]
    arcs: list[tuple[float, float]] = []
    reach = 0.0
    for a, b in sorted(covered):
        if a > reach:
            arcs.append((reach, a))
        reach = max(reach, b)
    if reach < _TURN:
        arcs.append((reach, _TURN))
    return arcs


def added_volume(steps: FloatArray, radius: float) -> float:
    """What a ball at the origin adds to the union of balls at `steps`, all with one radius."""
    near = steps[np.einsum("ij,ij->i", steps, steps) < (2.0 * radius) ** 2]
    if len(near) == 0:
        return 2.0 * radius if steps.shape[1] == 1 else math.pi * radius**2
    with_it = np.concatenate([near, np.zeros((1, steps.shape[1]))])
    return max(union_volume(with_it, radius) - union_volume(near, radius), 0.0)
