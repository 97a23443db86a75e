"""Picture of a factor graph: parts as circles, factors as squares."""

from typing import TYPE_CHECKING

import numpy as np

from diverset.plots._matplotlib import new_axes, require_matplotlib
from diverset.structured.graph import FactorGraph

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["plot_factor_graph"]


def plot_factor_graph(graph: FactorGraph, *, ax: "Axes | None" = None) -> "list[Artist]":
    """Draw the parts of a graph in a row as circles, with their factors as squares (figure 18 of the monograph).

    Factors of one part stand above it; others sit between their parts, or below where parts lie between.

    Parameters
    ----------
    graph : FactorGraph
        What to draw.
    ax : Axes, optional
        Where; new ones by default.

    Returns
    -------
    list of Artist
        The squares of the factors, then the circles of the parts.
    """
    require_matplotlib()
    ax = new_axes() if ax is None else ax
    above = dict.fromkeys(range(graph.n_parts), 0)
    depth = 0
    drawn: list[Artist] = []
    for factor in graph.factors:
        if len(factor.parts) == 1:
            r = factor.parts[0]
            above[r] += 1
            x, y = float(r), 0.55 * above[r]
        else:
            x = float(np.mean(factor.parts))
            inside = max(factor.parts) - min(factor.parts) == len(factor.parts) - 1 == 1
            if inside:
                y = 0.0
            else:
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
