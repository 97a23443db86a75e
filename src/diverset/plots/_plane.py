"""Points, selections, labels, poses and marginals of parts in the plane; and the only door to Matplotlib."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

SELECTED, BASELINE, OTHERS = "#c8102e", "#1f4e8c", "0.72"
#: Colours of the parts of a cloud: torso, head, right and left arm; of poses, one after the other.
PART_COLOURS = ("#e4572e", "#76b041", "#17bebb", "#ffc914")
POSE_COLOURS = ("#ff3b6b", "#35a7ff", "#ffe74c", "#6bf178", "#c287ff", "#ff9f1c", "#f7f7f7", "#00c9a7")
# Offsets tried in turn, in units of the distance: right and left read best, then above and below.
_DIRECTIONS = [(1, 0), (-1, 0), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7), (-0.7, -0.7), (0, 1), (0, -1)]
_MARGIN = 5.0  # distance in points between a label and the marks it avoids
_LEADER_FROM = 16.0  # distance in points from which a line joins the label to its point


def require_matplotlib() -> None:
    """Raise `MissingExtraError`, which names the install command, if Matplotlib is absent."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError('pictures need Matplotlib: pip install "diverset[plots]"') from error


def axes_for(ax: "Axes | None") -> "Axes":
    """The axes of the caller, or those of a new pyplot figure."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


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
    from matplotlib.transforms import Bbox

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
        best: tuple[float, tuple[float, float], Bbox] | None = None
        for offset in candidates:
            # The nearest edge or corner of the text lies at the anchor plus the offset.
            left, bottom = anchor + np.multiply(offset, pixels_per_point) - (1.0 - np.sign(offset)) / 2.0 * size
            box = Bbox.from_bounds(left, bottom, *size)
            cost = _cost(box, taken, obstacles, frame, margin=_MARGIN * pixels_per_point)
            if best is None or cost < best[0]:
                best = (cost, offset, box)
            if cost == 0.0:
                break
        assert best is not None
        _, (dx, dy), box = best
        taken.append(box)
        note.set_horizontalalignment("left" if dx > 0 else "right" if dx < 0 else "center")
        note.set_verticalalignment("bottom" if dy > 0 else "top" if dy < 0 else "center_baseline")
        note.set_position((dx, dy))
        if np.hypot(dx, dy) > _LEADER_FROM:
            leader = {"arrowstyle": "-", "color": "0.4", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
            ax.annotate("", (x, y), xytext=(0.9 * dx, 0.9 * dy), textcoords="offset points", arrowprops=leader)
        annotations.append(note)
    return annotations


def _cost(box: "Bbox", taken: "list[Bbox]", obstacles: FloatArray, frame: "Bbox", margin: float) -> float:
    """Zero for a free place; otherwise larger the more the text hides, above all of other texts."""
    shared = [box.intersection(box, other) for other in taken]
    overlap = sum(each.width * each.height for each in shared if each is not None)
    outside = max(0.0, frame.x0 - box.x0, frame.y0 - box.y0, box.x1 - frame.x1, box.y1 - frame.y1)
    return float(10.0 * overlap + 1000.0 * outside + 50.0 * box.padded(margin).count_contains(obstacles))


def plot_points(
    points: ArrayLike,
    *,
    sides: tuple[float, ...] = (1.0, 1.0),
    radius: float | None = None,
    title: str = "",
    ax: "Axes | None" = None,
    **scatter: Any,
) -> "PathCollection":
    """Draw a point pattern in its window.

    Parameters
    ----------
    points : array_like of shape (n, 2)
        The points.
    sides : tuple of float
        Sides of the window, which starts at the origin: ``box.sides``.
    radius : float, optional
        Draw a disc of this radius around each point, to show a hard core or what is covered.
    title : str
        Above the panel.
    **scatter
        Passed to :meth:`matplotlib.axes.Axes.scatter`.

    Returns
    -------
    PathCollection
        The dots.
    """
    X = np.asarray(points, dtype=np.float64)
    X = X.reshape(0, 2) if X.size == 0 else X
    if X.ndim != 2 or X.shape[1] != 2 or len(sides) != 2:
        raise DiversetError(
            f"points has shape {X.shape} and sides {len(sides)} entries; a pattern is drawn in the plane"
        )
    ax = axes_for(ax)
    from matplotlib.collections import EllipseCollection
    from matplotlib.patches import Rectangle

    window = Rectangle((0.0, 0.0), sides[0], sides[1], facecolor="none", edgecolor="0.5", linewidth=0.8, clip_on=False)
    ax.add_patch(window)
    if radius is not None and len(X):
        width = np.full(len(X), 2.0 * radius)
        discs = EllipseCollection(
            width, width, np.zeros(len(X)), units="xy", offsets=X, offset_transform=ax.transData, facecolor="#9cc3e6"
        )
        discs.set(alpha=0.55, edgecolor="none")
        discs.set_clip_path(window)
        ax.add_collection(discs)
    style: dict[str, Any] = {"s": 9, "color": "black", "linewidths": 0, "zorder": 3, "clip_on": False} | scatter
    dots = ax.scatter(X[:, 0], X[:, 1], **style)
    ax.set(xlim=(0.0, sides[0]), ylim=(0.0, sides[1]), aspect="equal", title=title)
    ax.axis("off")
    return dots


def plot_selection(
    positions: ArrayLike,
    selected: ArrayLike,
    *,
    baseline: ArrayLike = (),
    weights: ArrayLike | None = None,
    largest_weight: float | None = None,
    selected_label: str = "selected",
    baseline_label: str = "baseline",
    ax: "Axes | None" = None,
) -> "list[Artist]":
    """Draw points, those selected, and optionally those selected by another method.

    Parameters
    ----------
    positions : array_like of shape (n, 2)
        Where the items lie.
    selected : array_like of int
        Rows of `positions`, drawn as filled discs.
    baseline : array_like of int, optional
        Rows drawn as hollow rings, so that an item in both sets shows both marks.
    weights : array_like of shape (n,), optional
        The area of a dot grows linearly with its weight; without weights all dots are alike.
    largest_weight : float, optional
        Weight of the largest dot, to share a scale between axes; the largest of `weights` if left out.
    selected_label, baseline_label : str
        Names in the legend.

    Returns
    -------
    list of Artist
        The dots of all points, the rings of the baseline if there is one, and the discs of the selection; labelled,
        with no legend yet.
    """
    points = np.asarray(positions, dtype=np.float64)
    picks = np.asarray(selected, dtype=np.int64)
    rivals = np.asarray(baseline, dtype=np.int64)
    ax = axes_for(ax)
    area = np.full(len(points), 10.0)
    if weights is not None:
        share = np.asarray(weights, dtype=np.float64)
        area = 5.0 + 160.0 * share / (share.max() if largest_weight is None else largest_weight)
    x, y = points[:, 0], points[:, 1]
    drawn: list[Artist] = [ax.scatter(x, y, s=area.tolist(), color=OTHERS, linewidths=0, zorder=2)]
    if rivals.size:
        ring: dict[str, Any] = {"facecolors": "none", "edgecolors": BASELINE, "linewidths": 1.6}
        drawn.append(ax.scatter(x[rivals], y[rivals], s=110, zorder=4, label=baseline_label, **ring))
    drawn.append(ax.scatter(x[picks], y[picks], s=42, color=SELECTED, linewidths=0, zorder=5, label=selected_label))
    return drawn


def plot_poses(
    poses: ArrayLike, *, ax: "Axes | None" = None, colours: Sequence[Any] = POSE_COLOURS, linewidth: float = 2.0
) -> "list[Artist]":
    """Draw the limbs of poses, a colour for each pose, a dot at each reference point.

    Parameters
    ----------
    poses : array_like of shape (k, n_parts, 2, 2)
        Both ends (x, y) of every part, as ``PoseModel.ends`` gives them.
    ax : Axes, optional
        Where to draw, such as over the image; a new figure, y pointing down, by default.
    colours : sequence of colours
        One for each pose; they repeat if there are more poses.
    linewidth : float
        Width of the limbs in points.

    Returns
    -------
    list of Artist
        The limbs and the dots of one pose after the other.
    """
    limbs = np.asarray(poses, dtype=np.float64)
    if limbs.ndim != 4 or limbs.shape[2:] != (2, 2):
        raise DiversetError(f"poses have shape {limbs.shape}; expected (k, n_parts, 2, 2), both ends of every part")
    if ax is None:
        ax = axes_for(None)
        ax.set_aspect("equal")
        ax.invert_yaxis()
    drawn: list[Artist] = []
    for k, pose in enumerate(limbs):
        colour = colours[k % len(colours)]
        for limb in pose:
            # A dark edge, so that any colour shows on any picture.
            ax.plot(*limb.T, color="black", linewidth=linewidth + 1.5, solid_capstyle="round")
        for limb in pose:
            drawn += ax.plot(*limb.T, color=colour, linewidth=linewidth, solid_capstyle="round")
        dot: Any = {"color": colour, "markeredgecolor": "black", "markersize": linewidth + 1.5, "linestyle": "none"}
        drawn += ax.plot(*pose[:, 0].T, "o", **dot)
    return drawn


def plot_clouds(
    clouds: ArrayLike,
    box: Sequence[float],
    *,
    top: float | None = None,
    colours: Sequence[Any] = PART_COLOURS,
    ax: "Axes | None" = None,
) -> "list[Artist]":
    """Draw part marginals as clouds, a colour for each part, the brighter the more probable.

    Parameters
    ----------
    clouds : array_like of shape (n_parts, rows, columns)
        As ``PoseModel.clouds`` gives them.
    box : sequence of float
        Left, right, top and bottom edge in pixels, such as ``PoseGrid.box``.
    top : float, optional
        Marginal shown at full brightness; the largest entry by default. Give the same value to compare pictures.
    colours : sequence of colours
        One for each part.

    Returns
    -------
    list of Artist
        The image.
    """
    given = np.asarray(clouds, dtype=np.float64)
    if given.ndim != 3 or len(given) > len(colours):
        raise DiversetError(
            f"clouds have shape {given.shape}; expected (n_parts, rows, columns), {len(colours)} at most"
        )
    ax = axes_for(ax)
    from matplotlib.colors import to_rgb

    left, right, above, below = box
    brightest = float(given.max()) if top is None else top
    # The square root shows faint marginals; the colours of the parts are added up as light.
    light = np.sqrt(np.clip(given / brightest if brightest > 0.0 else given, 0.0, 1.0))
    tints = np.array([to_rgb(colour) for colour in colours[: len(given)]])
    image = np.clip(np.einsum("pij,pc->ijc", light, tints), 0.0, 1.0)
    return [ax.imshow(image, extent=(left, right, below, above), interpolation="bilinear")]


def plot_part_marginals(
    marginals: Mapping[str, ArrayLike] | Sequence[ArrayLike],
    positions: ArrayLike | None = None,
    *,
    background: ArrayLike | None = None,
    ax: "Axes | None" = None,
) -> "list[Artist]":
    """Draw where each part is likely to be, in a colour of its own: opaque at its most probable place.

    Parameters
    ----------
    marginals : mapping or sequence of array_like
        For each part (named, if a mapping) its marginals: of shape (M,) for M places, or an image (height, width). Each
        part is scaled to its own largest marginal.
    positions : array_like of shape (M, 2), optional
        Where the places lie; needed for marginals of shape (M,).
    background : array_like, optional
        An image to draw below, in grey; with it the vertical axis points down.

    Returns
    -------
    list of Artist
        One for each part: a collection of dots, or an image.
    """
    named = dict(marginals) if isinstance(marginals, Mapping) else {str(i): p for i, p in enumerate(marginals)}
    ax = axes_for(ax)
    from matplotlib.colors import to_rgb

    if background is not None:
        ax.imshow(np.asarray(background), cmap="gray", alpha=0.7)
    drawn: list[Artist] = []
    places = None if positions is None else np.asarray(positions, dtype=np.float64)
    for number, (name, values) in enumerate(named.items()):
        p = np.asarray(values, dtype=np.float64)
        opacity = p / (float(p.max(initial=0.0)) or 1.0)
        colour = to_rgb(f"C{number % 10}")
        if p.ndim == 2:
            image = np.concatenate([np.broadcast_to(colour, (*p.shape, 3)), opacity[..., np.newaxis]], axis=2)
            drawn.append(ax.imshow(image))
            ax.plot([], [], "s", color=colour, label=name)
            continue
        if places is None or places.shape != (len(p), 2):
            shape = None if places is None else places.shape
            raise DiversetError(
                f"part {name!r} has {len(p)} marginals, and positions has shape {shape}; give a row for each"
            )
        # Probable places are drawn last, on top.
        order = np.argsort(opacity)
        rgba: Any = np.column_stack([np.broadcast_to(colour, (len(p), 3)), opacity])[order]
        drawn.append(ax.scatter(places[order, 0], places[order, 1], s=26, c=rgba, linewidths=0))
        ax.scatter([], [], s=26, color=colour, label=name)
    ax.set_aspect("equal")
    if isinstance(marginals, Mapping):
        ax.legend(frameon=bool(ax.images), fontsize=8)  # a frame makes it readable on an image
    return drawn
