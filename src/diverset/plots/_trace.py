"""Pictures of a draw step by step, as in figure 8 of Kulesza and Taskar (2012)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.errors import DiversetError
from diverset.plots._matplotlib import require_matplotlib
from diverset.plots._selection import SELECTED
from diverset.sampling.trace import SamplingTrace

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["plot_trace_line", "plot_trace_plane"]


def plot_trace_line(
    trace: SamplingTrace,
    positions: ArrayLike,
    *,
    steps: Sequence[int] | None = None,
    axes: "Sequence[Axes] | None" = None,
) -> "list[Artist]":
    """Draw the law of the next pick along a line, one panel per step, with earlier picks marked.

    Parameters
    ----------
    trace : SamplingTrace
        From :func:`diverset.sampling_trace`.
    positions : array_like of shape (n_items,)
        Where each item lies, in the order of ``trace.items``.
    steps : sequence of int, optional
        Which picks to show; the first six by default.
    axes : sequence of Axes, optional
        One for each step; a new figure by default.

    Returns
    -------
    list of Artist
        Of each panel the law, and the marks of earlier picks.
    """
    x = np.asarray(positions, dtype=np.float64)
    if x.shape != trace.items.shape:
        raise DiversetError(f"positions has shape {x.shape}; one number for each of {len(trace.items)} items")
    shown, panels = _panels(trace, steps, axes, width=2.4, height=2.2)
    order = np.argsort(x)
    top = max((trace.probabilities[t].max() for t in shown), default=1.0)
    drawn: list[Artist] = []
    for t, ax in zip(shown, panels, strict=True):
        drawn += ax.plot(x[order], trace.probabilities[t][order], color="0.2", linewidth=1.5)
        ax.fill_between(x[order], trace.probabilities[t][order], color="0.85")
        before = x[np.searchsorted(trace.items, trace.picks[:t])]
        drawn += ax.plot(before, np.zeros(t), "o", color=SELECTED, markersize=6, clip_on=False, zorder=3)
        low, high = float(x.min()), float(x.max())
        ax.set(title=_title(t), xlabel="position", yticks=[], ylim=(0.0, 1.08 * top), xlim=(low, high))
        ax.set_xticks([low, high])
    if panels:
        panels[0].set_ylabel("probability")
    return drawn


def plot_trace_plane(
    trace: SamplingTrace,
    positions: ArrayLike,
    *,
    steps: Sequence[int] | None = None,
    axes: "Sequence[Axes] | None" = None,
) -> "list[Artist]":
    """Draw the law of the next pick in the plane, one panel per step: lighter is more probable, picks are marked.

    Parameters
    ----------
    trace : SamplingTrace
        From :func:`diverset.sampling_trace`.
    positions : array_like of shape (n_items, 2)
        Where each item lies; a regular grid is drawn as an image, other points as dots.
    steps, axes
        As in :func:`plot_trace_line`.

    Returns
    -------
    list of Artist
        Of each panel the law, and the marks of earlier picks.
    """
    xy = np.asarray(positions, dtype=np.float64)
    if xy.shape != (len(trace.items), 2):
        raise DiversetError(f"positions has shape {xy.shape}; two numbers for each of {len(trace.items)} items")
    shown, panels = _panels(trace, steps, axes, width=2.2, height=2.5)
    columns, rows = np.unique(xy[:, 0]), np.unique(xy[:, 1])
    grid = len(columns) * len(rows) == len(xy)
    drawn: list[Artist] = []
    for t, ax in zip(shown, panels, strict=True):
        law = trace.probabilities[t]
        if grid:
            image = np.zeros((len(rows), len(columns)))
            image[np.searchsorted(rows, xy[:, 1]), np.searchsorted(columns, xy[:, 0])] = law
            mesh = ax.pcolormesh(columns, rows, image, cmap="gray", vmin=0.0, shading="nearest", rasterized=True)
            drawn.append(mesh)
        else:
            drawn.append(ax.scatter(xy[:, 0], xy[:, 1], c=law, s=12, cmap="gray", vmin=0.0))
            ax.set_facecolor("0.15")
        before = xy[np.searchsorted(trace.items, trace.picks[:t])]
        mark: Any = {"color": SELECTED, "markeredgecolor": "white", "markersize": 6, "clip_on": False}
        drawn += ax.plot(before[:, 0], before[:, 1], "o", **mark)
        ax.set(title=_title(t), xticks=[], yticks=[], aspect="equal")
    return drawn


def _title(t: int) -> str:
    return "before the first pick" if t == 0 else f"after {t} pick{'s' * (t > 1)}"


def _panels(
    trace: SamplingTrace, steps: Sequence[int] | None, axes: "Sequence[Axes] | None", *, width: float, height: float
) -> "tuple[list[int], list[Axes]]":
    """Which steps to show, and an axes for each."""
    shown = list(range(min(len(trace), 6))) if steps is None else [int(t) for t in steps]
    for t in shown:
        if not 0 <= t < len(trace):
            raise DiversetError(f"step {t} does not exist; the draw has picks 0 to {len(trace) - 1}")
    if axes is None:
        require_matplotlib()
        import matplotlib.pyplot as plt

        _, grid = plt.subplots(
            1, max(len(shown), 1), figsize=(width * max(len(shown), 1), height), squeeze=False, layout="constrained"
        )
        return shown, list(grid[0][: len(shown)])
    if len(axes) != len(shown):
        raise DiversetError(f"{len(axes)} axes for {len(shown)} steps; give one each")
    return shown, list(axes)
