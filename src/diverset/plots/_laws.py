"""Kernels, spectra, laws of sizes, curves of quality against diversity, factor graphs, threads and draws by steps."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.errors import DiversetError
from diverset.plots._plane import BASELINE, SELECTED, axes_for, require_matplotlib
from diverset.sampling.trace import SamplingTrace
from diverset.structured.graph import FactorGraph

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D

__all__ = [
    "plot_factor_graph", "plot_kernel", "plot_quality_diversity", "plot_sizes", "plot_spectrum", "plot_timelines",
    "plot_trace_line", "plot_trace_plane",
]  # fmt: skip

#: Largest number of items that are labelled.
_NAMED = 30
_MARKS = "osD^v<>ph"


def plot_kernel(
    K: ArrayLike, *, labels: Sequence[str] | None = None, colorbar: bool = True, ax: "Axes | None" = None
) -> "AxesImage":
    """Draw a kernel as an image: blue below zero, red above, white at zero.

    Parameters
    ----------
    K : array_like of shape (n, n)
        L, K, or a similarity; of a complex one the real part is shown.
    labels : sequence of str, optional
        Names of the items, written where there are at most 30.
    colorbar : bool
        Add one.

    Returns
    -------
    AxesImage
    """
    matrix = np.real(np.asarray(K))
    if matrix.ndim != 2:
        raise DiversetError(f"K has shape {matrix.shape}; a kernel is a matrix")
    ax = axes_for(ax)
    largest = float(np.abs(matrix).max(initial=0.0)) or 1.0
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
    if labels is not None and len(labels) <= _NAMED:
        ax.set_xticks(range(len(labels)), labels, rotation=90)
        ax.set_yticks(range(len(labels)), labels)
    else:
        ax.set(xlabel="item", ylabel="item")
    if colorbar:
        ax.figure.colorbar(image, ax=ax, shrink=0.8)
    return image


def plot_spectrum(eigenvalues: ArrayLike, *, log: bool = False, ax: "Axes | None" = None, **line: Any) -> "Line2D":
    """Draw eigenvalues in descending order.

    Parameters
    ----------
    eigenvalues : array_like of shape (m,)
        As from ``dpp.eigenvalues``.
    log : bool
        On a logarithmic scale; eigenvalues at or below zero are then left out.
    **line
        Such as ``label``; passed to :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    Line2D
    """
    values = np.sort(np.asarray(eigenvalues, dtype=np.float64).ravel())[::-1]
    if log:
        values = values[values > 0.0]
    ax = axes_for(ax)
    style: dict[str, Any] = {"marker": "o", "markersize": 3, "linewidth": 1} | line
    (drawn,) = ax.plot(np.arange(1, len(values) + 1), values, **style)
    ax.set(xlabel="rank", ylabel="eigenvalue", **({"yscale": "log"} if log else {"ylim": (0.0, None)}))
    return drawn


def plot_sizes(
    probabilities: ArrayLike,
    *,
    draws: Sequence[Any] | None = None,
    label: str = "law",
    ax: "Axes | None" = None,
) -> "BarContainer":
    """Draw the law of the size of a set, and optionally the sizes of draws.

    Parameters
    ----------
    probabilities : array_like of shape (m,)
        Probability of every size from 0, as ``dpp.size_distribution``; sizes below 1e-6 at both ends are left out.
    draws : sequence of sets, optional
        Their sizes are drawn as dots, relative to their number.
    label : str
        Name of the bars in the legend.

    Returns
    -------
    BarContainer
    """
    pmf = np.asarray(probabilities, dtype=np.float64)
    if pmf.ndim != 1 or len(pmf) == 0:
        raise DiversetError(f"probabilities has shape {pmf.shape}; give one for every size")
    sizes = [] if draws is None else [len(Y) for Y in draws]
    shown = np.flatnonzero(pmf >= 1e-6)
    ends = [*shown.tolist(), *sizes]
    low, high = min(ends, default=0), max(ends, default=0)
    k = np.arange(low, high + 1)
    ax = axes_for(ax)
    padded = np.pad(pmf, (0, max(0, high + 1 - len(pmf))))
    bars = ax.bar(k, padded[low : high + 1], color=BASELINE, alpha=0.55, width=0.9, label=label)
    if sizes:
        seen = np.bincount(sizes, minlength=high + 1)[low:] / len(sizes)
        ax.plot(k, seen, "o", color=SELECTED, markersize=4, label=f"{len(sizes)} draws")
    ax.set(xlabel="size", ylabel="probability")
    return bars


def plot_quality_diversity(
    curves: Mapping[str, ArrayLike],
    *,
    dial: Sequence[float] | None = None,
    xlabel: str = "diversity",
    ylabel: str = "quality",
    ax: "Axes | None" = None,
    **line: Any,
) -> "list[Line2D]":
    """Draw the trade-off between quality and diversity of several methods.

    Parameters
    ----------
    curves : mapping from str to array_like of shape (m, 2)
        For each method, pairs (diversity, quality) along the dial.
    dial : sequence of float, optional
        Settings of the dial; the two ends are written beside the first curve.
    xlabel, ylabel : str
        What is measured.
    **line
        Passed to :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    list of Line2D
        One for each method, in order.
    """
    ax = axes_for(ax)
    lines: list[Line2D] = []
    for number, (name, values) in enumerate(curves.items()):
        pairs = np.asarray(values, dtype=np.float64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise DiversetError(
                f"the curve {name!r} has shape {pairs.shape}; give a (diversity, quality) pair in each row"
            )
        if dial is not None and len(dial) != len(pairs):
            raise DiversetError(f"the curve {name!r} has {len(pairs)} points for {len(dial)} settings of the dial")
        style: dict[str, Any] = {"marker": _MARKS[number % len(_MARKS)], "markersize": 4, "linewidth": 1.4} | line
        lines += ax.plot(pairs[:, 0], pairs[:, 1], label=name, **style)
        if number == 0 and dial is not None:
            for at, setting in ((0, dial[0]), (-1, dial[-1])):
                ax.annotate(f"{setting:g}", pairs[at], (6, 6), textcoords="offset points", fontsize=8)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if len(lines) > 1:
        ax.legend(frameon=False)
    return lines


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
    ylim = (-0.55 * depth - 0.4, 0.55 * max(above.values()) + 0.4)
    ax.set(aspect="equal", xlim=(-0.5, graph.n_parts - 0.5), ylim=ylim)
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
        lines += ax.plot(times, [-row] * len(times), "o-", color=f"C{row % 10}", markersize=6, linewidth=1.6)
        for position, (time, label) in enumerate(ordered):
            words = "\n".join(textwrap.wrap(label, wrap))
            # Above and below in turn, so that neighbours do not run into each other.
            shift, va = (7, "bottom") if position % 2 == 0 else (-7, "top")
            ax.annotate(words, (time, -row), (0, shift), textcoords="offset points", ha="center", va=va, fontsize=7.5)
    ax.set_yticks([-row for row in range(len(threads))], names or [str(row + 1) for row in range(len(threads))])
    ax.set_ylim(-len(threads) + 0.4, 0.6)
    ax.margins(x=0.08)
    ax.spines[["left", "right", "top"]].set_visible(False)
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
        From :func:`diverset.sampling.sampling_trace`.
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
        ax.set(xlabel="position", xticks=[low, high], xlim=(low, high), yticks=[], ylim=(0.0, 1.08 * top))
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
            style: Any = {"cmap": "gray", "vmin": 0.0, "shading": "nearest", "rasterized": True}
            drawn.append(ax.pcolormesh(columns, rows, image, **style))
        else:
            drawn.append(ax.scatter(xy[:, 0], xy[:, 1], c=law, s=12, cmap="gray", vmin=0.0))
            ax.set_facecolor("0.15")
        before = xy[np.searchsorted(trace.items, trace.picks[:t])]
        mark: Any = {"color": SELECTED, "markeredgecolor": "white", "markersize": 6, "clip_on": False}
        drawn += ax.plot(before[:, 0], before[:, 1], "o", **mark)
        ax.set(xticks=[], yticks=[], aspect="equal")
    return drawn


def _panels(
    trace: SamplingTrace, steps: Sequence[int] | None, axes: "Sequence[Axes] | None", *, width: float, height: float
) -> "tuple[list[int], list[Axes]]":
    """Which steps to show, and an axes with a title for each."""
    shown = list(range(min(len(trace), 6))) if steps is None else [int(t) for t in steps]
    for t in shown:
        if not 0 <= t < len(trace):
            raise DiversetError(f"step {t} does not exist; the draw has picks 0 to {len(trace) - 1}")
    if axes is None:
        require_matplotlib()
        import matplotlib.pyplot as plt

        n = max(len(shown), 1)
        _, grid = plt.subplots(1, n, figsize=(width * n, height), squeeze=False, layout="constrained")
        axes = grid[0][: len(shown)]
    panels = list(axes)
    if len(panels) != len(shown):
        raise DiversetError(f"{len(panels)} axes for {len(shown)} steps; give one each")
    for t, ax in zip(shown, panels, strict=True):
        ax.set_title("before the first pick" if t == 0 else f"after {t} pick{'s' * (t > 1)}")
    return shown, panels
