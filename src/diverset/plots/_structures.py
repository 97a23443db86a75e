"""Structures and sequences: factor graphs, threads along time, and draws step by step."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.errors import DiversetError
from diverset.plots._matplotlib import SELECTED, axes_for, require_matplotlib
from diverset.sampling.trace import SamplingTrace
from diverset.structured.graph import FactorGraph

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["plot_factor_graph", "plot_timelines", "plot_trace_line", "plot_trace_plane"]


def plot_factor_graph(graph: FactorGraph, *, ax: "Axes | None" = None) -> "list[Artist]":
    """Draw the parts of a graph in a row as circles, with their factors as squares (figure 18 of the monograph).

    Factors of one part stand above it; others sit between their parts, or below where parts lie between.

    Parameters
    ----------
    graph : FactorGraph
        What to draw.

    Returns
    -------
    list of Artist
        The squares of the factors, then the circles of the parts.
    """
    ax = axes_for(ax)
    above = dict.fromkeys(range(graph.n_parts), 0)
    depth = 0
    drawn: list[Artist] = []
    for factor in graph.factors:
        if len(factor.parts) == 1:
            r = factor.parts[0]
            above[r] += 1
            x, y = float(r), 0.55 * above[r]
        else:
            x, y = float(np.mean(factor.parts)), 0.0
            if len(factor.parts) > 2 or abs(factor.parts[0] - factor.parts[1]) > 1:
                depth += 1
                y = -0.55 * depth
        for r in factor.parts:
            ax.plot([x, r], [y, 0.0], color="0.5", linewidth=1.0, zorder=1)
        drawn.append(ax.scatter([x], [y], marker="s", s=90, color="white", edgecolor="black", zorder=3))
        if factor.name:
            ax.annotate(factor.name, (x, y), (0, 8), textcoords="offset points", ha="center", va="bottom", fontsize=7)
    for r, name in enumerate(graph.names):
        drawn.append(ax.scatter([r], [0.0], s=650, color="#dce6f2", edgecolor="black", zorder=2))
        ax.annotate(name, (r, 0.0), ha="center", va="center", fontsize=8, zorder=4)
    ax.set_aspect("equal")
    ax.set_xlim(-0.5, graph.n_parts - 0.5)
    ax.set_ylim(-0.55 * depth - 0.4, 0.55 * max(above.values()) + 0.4)
    ax.axis("off")
    return drawn


def plot_timelines(
    threads: Sequence[Sequence[tuple[Any, str]]],
    *,
    names: Sequence[str] | None = None,
    wrap: int = 26,
    ax: "Axes | None" = None,
) -> "list[Line2D]":
    """Draw threads on a time axis, one below the other, with a labelled dot for each item.

    Parameters
    ----------
    threads : sequence of sequences of (time, label)
        Times are numbers or dates, in any order; a label may be empty.
    names : sequence of str, optional
        Of the threads, written at the left; numbers by default.
    wrap : int
        Number of letters after which labels are broken.
    ax : Axes, optional
        Where; by default a new figure with room for the labels.

    Returns
    -------
    list of Line2D
        One for each thread; the labels are texts of the axes.
    """
    if names is not None and len(names) != len(threads):
        raise DiversetError(f"{len(names)} names for {len(threads)} threads; give one each")
    if ax is None:
        longest = max((len(thread) for thread in threads), default=1)
        ax = axes_for(None)
        ax.figure.set_size_inches(max(7.0, 1.25 * longest), 1.0 + 1.5 * len(threads))  # type: ignore[union-attr]
    lines: list[Line2D] = []
    for row, thread in enumerate(threads):
        ordered = sorted(thread, key=lambda item: item[0])
        times = [time for time, _ in ordered]
        (line,) = ax.plot(times, [-row] * len(times), "o-", color=f"C{row % 10}", markersize=6, linewidth=1.6)
        lines.append(line)
        for position, (time, label) in enumerate(ordered):
            words = "\n".join(textwrap.wrap(label, wrap))
            # Above and below in turn, so that neighbours do not run into each other.
            shift, va = (7, "bottom") if position % 2 == 0 else (-7, "top")
            ax.annotate(words, (time, -row), (0, shift), textcoords="offset points", ha="center", va=va, fontsize=7.5)
    ax.set_yticks([-row for row in range(len(threads))], names or [str(row + 1) for row in range(len(threads))])
    ax.set_ylim(-len(threads) + 0.4, 0.6)
    ax.margins(x=0.08)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return lines


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
    trace, steps, axes
        As in :func:`plot_trace_line`.
    positions : array_like of shape (n_items, 2)
        Where each item lies; a regular grid is drawn as an image, other points as dots.

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
