"""Threads through a collection, along time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diverset.errors import DiversetError
from diverset.plots._matplotlib import new_axes, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["plot_timelines"]


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

    Notes
    -----
    Labels stand above and below their thread in turn, so that neighbours do not run into each other.
    """
    require_matplotlib()
    import textwrap

    if names is not None and len(names) != len(threads):
        raise DiversetError(f"{len(names)} names for {len(threads)} threads; give one each")
    if ax is None:
        longest = max((len(thread) for thread in threads), default=1)
        ax = new_axes()
        ax.figure.set_size_inches(max(7.0, 1.25 * longest), 1.0 + 1.5 * len(threads))  # type: ignore[union-attr]
    lines: list[Line2D] = []
    for row, thread in enumerate(threads):
        ordered = sorted(thread, key=lambda item: item[0])
        times = [time for time, _ in ordered]
        (line,) = ax.plot(times, [-row] * len(times), "o-", color=f"C{row % 10}", markersize=6, linewidth=1.6)
        lines.append(line)
        for position, (time, label) in enumerate(ordered):
            above = position % 2 == 0
            ax.annotate(
                "\n".join(textwrap.wrap(label, wrap)),
                (time, -row),
                (0, 7 if above else -7),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=7.5,
            )
    ax.set_yticks([-row for row in range(len(threads))], names or [str(row + 1) for row in range(len(threads))])
    ax.set_ylim(-len(threads) + 0.4, 0.6)
    ax.margins(x=0.08)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return lines
