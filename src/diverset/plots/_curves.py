"""Quality against diversity, a curve for each method."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset.errors import DiversetError
from diverset.plots._matplotlib import new_axes, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["plot_quality_diversity"]

_MARKS = "osD^v<>ph"


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
    ax : Axes, optional
        Where; new ones by default.
    **line
        Passed to :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    list of Line2D
        One for each method, in order.
    """
    require_matplotlib()
    ax = new_axes() if ax is None else ax
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
