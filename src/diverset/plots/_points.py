"""Point patterns in the plane."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.errors import DiversetError
from diverset.plots._matplotlib import new_axes, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

__all__ = ["plot_points"]


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
    ax : Axes, optional
        Where; new ones by default.
    **scatter
        Passed to :meth:`matplotlib.axes.Axes.scatter`.

    Returns
    -------
    PathCollection
        The dots.
    """
    require_matplotlib()
    from matplotlib.collections import EllipseCollection
    from matplotlib.patches import Rectangle

    X = np.asarray(points, dtype=np.float64)
    X = X.reshape(0, 2) if X.size == 0 else X
    if X.ndim != 2 or X.shape[1] != 2 or len(sides) != 2:
        raise DiversetError(
            f"points has shape {X.shape} and sides {len(sides)} entries; a pattern is drawn in the plane"
        )
    ax = new_axes() if ax is None else ax
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
