"""Kernels as images, their spectra, laws of sizes, and curves of quality against diversity."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.errors import DiversetError
from diverset.plots._matplotlib import BASELINE, SELECTED, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D

__all__ = ["plot_kernel", "plot_quality_diversity", "plot_sizes", "plot_spectrum"]

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
    ax.set(xlabel="rank", ylabel="eigenvalue")
    ax.set(**({"yscale": "log"} if log else {"ylim": (0.0, None)}))
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
    ends = [*shown[:1].tolist(), *shown[-1:].tolist(), *sizes]
    low, high = min(ends, default=0), max(ends, default=0)
    k = np.arange(low, high + 1)
    ax = axes_for(ax)
    padded = np.concatenate([pmf, np.zeros(max(0, high + 1 - len(pmf)))])
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
