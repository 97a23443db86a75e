"""Points, selections, poses and marginals of parts in the plane."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.errors import DiversetError
from diverset.plots._matplotlib import BASELINE, OTHERS, SELECTED, axes_for

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

__all__ = ["plot_clouds", "plot_part_marginals", "plot_points", "plot_poses", "plot_selection"]

#: Colours of the parts of a cloud: torso, head, right and left arm; of poses, one after the other.
PART_COLOURS = ("#e4572e", "#76b041", "#17bebb", "#ffc914")
POSE_COLOURS = ("#ff3b6b", "#35a7ff", "#ffe74c", "#6bf178", "#c287ff", "#ff9f1c", "#f7f7f7", "#00c9a7")


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
        Dots have areas that grow linearly with these; alike if left out.
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
        Of the poses, from the first on again when there are more.
    linewidth : float
        In points.

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
        Left, right, top and bottom edge in pixels, as of ``PoseGrid.box``.
    top : float, optional
        What is shown at full brightness; the largest entry by default. Give one for several pictures to compare.
    colours : sequence of colours
        Of the parts.

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
    """Draw where each part is likely to be, in a colour of its own: the more opaque, the more probable.

    Parameters
    ----------
    marginals : mapping or sequence of array_like
        For each part (named, if a mapping) its marginals: of shape (M,) for M places, or an image (height, width).
    positions : array_like of shape (M, 2), optional
        Where the places lie; needed for marginals of shape (M,).
    background : array_like, optional
        An image to draw below, in grey; with it the vertical axis points down.

    Returns
    -------
    list of Artist
        One for each part: a collection of dots, or an image.

    Notes
    -----
    Each part is scaled to its own largest marginal.
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
