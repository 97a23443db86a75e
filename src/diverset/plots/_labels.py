"""Text beside points, placed so that no two texts overlap."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

__all__ = ["place_labels"]

# Offsets tried in turn, in units of the distance: right and left read best, then above and below.
_DIRECTIONS = [(1, 0), (-1, 0), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7), (-0.7, -0.7), (0, 1), (0, -1)]
_MARGIN = 5.0  # distance in points between a label and the marks it avoids
_LEADER_FROM = 16.0  # distance in points from which a line joins the label to its point


def place_labels(
    ax: "Axes",
    positions: ArrayLike,
    labels: Iterable[str],
    *,
    avoid: ArrayLike = (),
    beside: "Iterable[Annotation]" = (),
    distances: Iterable[float] = (9, 12, 16, 22, 30, 40, 52),
    **text: Any,
) -> "list[Annotation]":
    """Write each label beside its point, where it overlaps no other label and no given point.

    Labels are placed in the given order, each at the nearest free place among eight directions and a few distances. A
    label without a free place goes where it hides least. Call this last: the limits and the size of the axes must be
    final.

    Parameters
    ----------
    ax : Axes
        Where to write.
    positions : array_like of shape (n, 2)
        The points, in data coordinates.
    labels : iterable of str
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
    from matplotlib.patheffects import withStroke

    points = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
    obstacles = ax.transData.transform(np.vstack([points, np.asarray(avoid, dtype=np.float64).reshape(-1, 2)]))
    pixels_per_point = ax.figure.dpi / 72.0
    frame = ax.get_window_extent()
    candidates = [(r * dx, r * dy) for r in distances for dx, dy in _DIRECTIONS]
    taken = [note.get_window_extent() for note in beside]
    annotations = []
    halo = [withStroke(linewidth=2.5, foreground="white", alpha=0.8)]
    for (x, y), label in zip(points.tolist(), labels, strict=True):
        note = ax.annotate(label, (x, y), xytext=(0, 0), textcoords="offset points", path_effects=halo, **text)
        size, anchor = note.get_window_extent().size, ax.transData.transform((x, y))
        best: tuple[float, int, Bbox] | None = None
        for rank, offset in enumerate(candidates):
            box = _text_box(anchor, np.multiply(offset, pixels_per_point), size)
            cost = _cost(box, taken, obstacles, frame, margin=_MARGIN * pixels_per_point)
            if best is None or cost < best[0]:
                best = (cost, rank, box)
            if cost == 0.0:
                break
        assert best is not None
        _, rank, box = best
        taken.append(box)
        dx, dy = candidates[rank]
        note.set_horizontalalignment("left" if dx > 0 else "right" if dx < 0 else "center")
        note.set_verticalalignment("bottom" if dy > 0 else "top" if dy < 0 else "center_baseline")
        note.set_position((dx, dy))
        if np.hypot(dx, dy) > _LEADER_FROM:
            leader = {"arrowstyle": "-", "color": "0.4", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
            ax.annotate("", (x, y), xytext=(0.9 * dx, 0.9 * dy), textcoords="offset points", arrowprops=leader)
        annotations.append(note)
    return annotations


def _text_box(anchor: FloatArray, offset: FloatArray, size: tuple[float, float]) -> "Bbox":
    """Box of a text whose nearest edge or corner lies at ``anchor + offset``, in pixels."""
    from matplotlib.transforms import Bbox

    left, bottom = anchor + offset - (1.0 - np.sign(offset)) / 2.0 * np.array(size)
    return Bbox.from_bounds(left, bottom, *size)


def _cost(box: "Bbox", taken: "list[Bbox]", obstacles: FloatArray, frame: "Bbox", margin: float) -> float:
    """Zero for a free place; otherwise larger the more the text hides, above all of other texts."""
    shared = [box.intersection(box, other) for other in taken]
    overlap = sum(each.width * each.height for each in shared if each is not None)
    outside = max(0.0, frame.x0 - box.x0, frame.y0 - box.y0, box.x1 - frame.x1, box.y1 - frame.y1)
    return float(10.0 * overlap + 1000.0 * outside + 50.0 * box.padded(margin).count_contains(obstacles))
