"""Text beside points, placed so that no two texts overlap."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = ["place_labels"]

# Offsets tried in turn, in units of the distance: right and left read best, then above and below.
_DIRECTIONS = [(1, 0), (-1, 0), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7), (-0.7, -0.7), (0, 1), (0, -1)]
_MARGIN = 5.0  # distance in points between a label and the marks it avoids
_LEADER_FROM = 16.0  # distance in points from which a line joins the label to its point


def place_labels(
    ax: "Axes",
    positions: ArrayLike,
    labels: Sequence[str],
    *,
    avoid: ArrayLike = (),
    beside: "Iterable[Annotation]" = (),
    distances: Iterable[float] = (9, 12, 16, 22, 30, 40, 52),
    **text: Any,
) -> "list[Annotation]":
    """Write each label beside its point, where it overlaps no other label and no given point.

    Labels are placed in the given order, each at the nearest free place among eight directions and a
    few distances; one with no free place goes where it hides least. Call this last: the limits and the
    size of the axes must be final.

    Parameters
    ----------
    ax : Axes
        Where to write.
    positions : array_like of shape (n, 2)
        The points, in data coordinates.
    labels : sequence of str
        Their texts.
    avoid : array_like of shape (m, 2), optional
        Points that labels should not cover; the labelled points are always avoided.
    beside : iterable of Annotation, optional
        Labels placed earlier, to keep clear of.
    distances : iterable of float, optional
        Distances to try, in points, nearest first.
    **text
        Passed to :meth:`matplotlib.axes.Axes.annotate`.

    Returns
    -------
    annotations : list of Annotation
        In the order of the labels.
    """
    points = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
    obstacles = np.vstack([points, np.asarray(avoid, dtype=np.float64).reshape(-1, 2)])
    obstacles = ax.transData.transform(obstacles)
    pixels_per_point = ax.figure.dpi / 72.0
    frame = _box(ax.get_window_extent().extents)
    candidates = [(r * dx, r * dy) for r in distances for dx, dy in _DIRECTIONS]
    taken = [_box(note.get_window_extent().extents) for note in beside]
    annotations = []
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.5, foreground="white", alpha=0.8)]
    for (x, y), label in zip(points.tolist(), labels, strict=True):
        note = ax.annotate(label, (x, y), xytext=(0, 0), textcoords="offset points", path_effects=halo, **text)
        width, height = note.get_window_extent().size
        anchor = ax.transData.transform((x, y))
        best: tuple[float, int, FloatArray] | None = None
        for rank, offset in enumerate(candidates):
            box = _text_box(anchor, np.multiply(offset, pixels_per_point), width, height)
            cost = _cost(box, taken, obstacles, frame, margin=_MARGIN * pixels_per_point)
            if best is None or cost < best[0]:
                best = (cost, rank, box)
            if cost == 0.0:
                break
        assert best is not None
        _, rank, box = best
        taken.append(box)
        dx, dy = candidates[rank]
        note.set_horizontalalignment("left" if dx > 1e-9 else "right" if dx < -1e-9 else "center")
        note.set_verticalalignment("bottom" if dy > 1e-9 else "top" if dy < -1e-9 else "center_baseline")
        note.set_position((dx, dy))
        if np.hypot(dx, dy) > _LEADER_FROM:
            ax.annotate(
                "",
                (x, y),
                xytext=(0.9 * dx, 0.9 * dy),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": "0.4", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4},
            )
        annotations.append(note)
    return annotations


def _box(extents: ArrayLike) -> FloatArray:
    """Left, bottom, right, top."""
    return np.asarray(extents, dtype=np.float64)


def _text_box(anchor: FloatArray, offset: FloatArray, width: float, height: float) -> FloatArray:
    """Box of a text whose nearest edge or corner lies at ``anchor + offset``, in pixels."""
    x, y = anchor + offset
    left = x if offset[0] > 1e-9 else x - width if offset[0] < -1e-9 else x - width / 2
    bottom = y if offset[1] > 1e-9 else y - height if offset[1] < -1e-9 else y - height / 2
    return _box([left, bottom, left + width, bottom + height])


def _cost(box: FloatArray, taken: list[FloatArray], obstacles: FloatArray, frame: FloatArray, margin: float) -> float:
    """Zero for a free place; else larger the more it hides, texts counting most."""
    overlap = sum(_overlap(box, other) for other in taken)
    outside = max(0.0, frame[0] - box[0], frame[1] - box[1], box[2] - frame[2], box[3] - frame[3])
    inside = (
        (obstacles[:, 0] > box[0] - margin)
        & (obstacles[:, 0] < box[2] + margin)
        & (obstacles[:, 1] > box[1] - margin)
        & (obstacles[:, 1] < box[3] + margin)
    )
    return float(10.0 * overlap + 1000.0 * outside + 50.0 * inside.sum())


def _overlap(a: FloatArray, b: FloatArray) -> float:
    """Area shared by two boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return float(max(0.0, width) * max(0.0, height))
