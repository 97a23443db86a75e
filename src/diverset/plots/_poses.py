"""Pictures of poses: limbs, and part marginals as clouds, as in figure 22 of Kulesza and Taskar (2012)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.plots._matplotlib import new_axes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["plot_clouds", "plot_poses"]

#: Colours of the parts of a cloud: torso, head, right and left arm; of poses, one after the other.
PART_COLOURS = ("#e4572e", "#76b041", "#17bebb", "#ffc914")
POSE_COLOURS = ("#ff3b6b", "#35a7ff", "#ffe74c", "#6bf178", "#c287ff", "#ff9f1c", "#f7f7f7", "#00c9a7")


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
        ax = new_axes()
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
    ax : Axes, optional
        Where to draw.

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
    if ax is None:
        ax = new_axes()
    left, right, above, below = box
    image = _blend(given, float(given.max()) if top is None else top, colours)
    return [ax.imshow(image, extent=(left, right, below, above), interpolation="bilinear")]


def _blend(clouds: FloatArray, top: float, colours: Sequence[Any]) -> FloatArray:
    """Colours of the parts added up as light; the square root shows what is faint."""
    from matplotlib.colors import to_rgb

    light = np.sqrt(np.clip(clouds / top if top > 0.0 else clouds, 0.0, 1.0))
    tints = np.array([to_rgb(colour) for colour in colours[: len(clouds)]])
    return np.asarray(np.clip(np.einsum("pij,pc->ijc", light, tints), 0.0, 1.0))
