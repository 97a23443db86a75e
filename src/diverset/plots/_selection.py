"""A selection among points in the plane."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.plots._matplotlib import new_axes, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["plot_selection"]

SELECTED = "#c8102e"
BASELINE = "#1f4e8c"
OTHERS = "0.72"


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
    ax : Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    list of Artist
        The dots of all points, the rings of the baseline if there is one, and the discs of the selection; labelled,
        with no legend yet.
    """
    require_matplotlib()
    points = np.asarray(positions, dtype=np.float64)
    picks = np.asarray(selected, dtype=np.int64)
    rivals = np.asarray(baseline, dtype=np.int64)
    if ax is None:
        ax = new_axes()
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
