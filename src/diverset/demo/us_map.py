"""The demo's picture: the chosen cities on a map of the United States."""

from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.demo.cities import Choice, load_us_outline
from diverset.plots import place_labels, plot_selection
from diverset.plots._matplotlib import BASELINE, SELECTED, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["albers", "draw_us_map"]

_INSETS = {"AK": (0.035, 0.045, 0.13, 0.13), "HI": (0.18, 0.045, 0.13, 0.13)}
_MOST_LABELS = 40  # more labels would cover the map


def albers(latitude: FloatArray, longitude: FloatArray) -> FloatArray:
    r"""Albers equal-area conic projection, in km, of shape (n, 2).

    With :math:`n = (\sin\phi_1 + \sin\phi_2)/2` and :math:`C = \cos^2\phi_1 + 2 n \sin\phi_1`, a point lies
    at radius :math:`\rho = (R/n) \sqrt{C - 2 n \sin\phi}` and angle :math:`n (\lambda - \lambda_0)`. The
    standard parallels are those usual for the contiguous states, 29.5 and 45.5 degrees north.

    Examples
    --------
    >>> albers(np.array([37.5]), np.array([-96.0])).round(6) + 0.0
    array([[0., 0.]])
    """
    first, second, origin = np.radians([29.5, 45.5, 37.5])
    n = (np.sin(first) + np.sin(second)) / 2
    C = np.cos(first) ** 2 + 2 * n * np.sin(first)

    def radius(phi: FloatArray) -> FloatArray:
        return np.asarray(6371.0 / n * np.sqrt(C - 2 * n * np.sin(phi)))

    rho = radius(np.radians(latitude))
    theta = n * np.radians(longitude + 96.0)
    return np.stack([rho * np.sin(theta), radius(np.asarray(origin)) - rho * np.cos(theta)], axis=1)


def draw_us_map(choice: Choice, figure: "FigureBase") -> None:
    """Fill a figure with the map of a choice.

    Every city is a grey dot with an area that grows with its population; the diverse picks are filled,
    the most populous are ringed. Alaska and Hawaii get boxes of their own, so as not to squeeze the rest.

    Parameters
    ----------
    choice : Choice
        What to show.
    figure : Figure or SubFigure
        An empty figure, about 11 by 7 inches.
    """
    require_matplotlib()
    cities, k = choice.cities, len(choice.diverse)
    positions = albers(cities.latitude, cities.longitude)
    apart = np.isin(cities.states, list(_INSETS))

    ax = figure.add_axes((0.015, 0.02, 0.97, 0.86))
    ax.set_aspect("equal")
    ax.axis("off")
    outline = albers(*load_us_outline().T)
    ax.fill(*outline.T, facecolor="#f6f4ee", edgecolor="0.6", linewidth=0.8, joinstyle="round", zorder=1)
    _draw_cities(ax, choice, positions, ~apart)
    ax.margins(0.03)
    ax.autoscale_view()
    ax.apply_aspect()  # labels are placed in pixels, so the scale must be final
    _label(ax, choice, positions, ~apart)

    for state, place in _INSETS.items():
        inset = ax.inset_axes(place)
        inset.set(xticks=[], yticks=[], facecolor="#f6f4ee")
        inset.spines[:].set(color="0.6", linewidth=0.8)
        there = np.isin(cities.states, [state])
        _draw_cities(inset, choice, positions, there)
        x, y = positions[there].mean(axis=0)
        inset.set(xlim=(x - 500, x + 500), ylim=(y - 350, y + 350))
        _label_inset(inset, choice, positions, there)

    figure.suptitle(f"{k} diverse large cities, beside the {k} most populous", fontsize=15, y=0.965)
    figure.text(
        0.5,
        0.9,
        "dots: the 200 most populous U.S. cities, area by population",
        ha="center",
        fontsize=9.5,
        color="0.35",
    )
    handles, names = ax.get_legend_handles_labels()
    order = np.argsort([name != "diverse (k-DPP, greedy)" for name in names], kind="stable")
    ax.legend(
        [handles[i] for i in order],
        [names[i] for i in order],
        loc="lower center",
        bbox_to_anchor=(0.65, 0.03),  # in the Gulf of Mexico, where there are no cities
        frameon=False,
        fontsize=10,
        handletextpad=0.3,
    )


def _draw_cities(ax: "Axes", choice: Choice, positions: FloatArray, shown: BoolArray) -> None:
    """Dots and marks of the cities in `shown`; sizes are relative to all cities."""
    rows = np.flatnonzero(shown)

    def local(items: IntArray) -> IntArray:
        return np.flatnonzero(np.isin(rows, items))

    plot_selection(
        positions[rows],
        local(choice.diverse),
        baseline=local(choice.populous),
        weights=choice.cities.population[rows],
        largest_weight=float(choice.cities.population.max()),
        selected_label="diverse (k-DPP, greedy)",
        baseline_label="most populous",
        ax=ax,
    )


def _label(ax: "Axes", choice: Choice, positions: FloatArray, shown: BoolArray) -> None:
    """Names of the diverse picks, then of the other populous cities, on the main map."""
    diverse = choice.diverse[shown[choice.diverse]]
    others = np.setdiff1d(choice.populous[shown[choice.populous]], diverse)
    diverse, others = diverse[:_MOST_LABELS], others[: _MOST_LABELS // 2]
    names = choice.cities.names
    marks = positions[shown]
    style: dict[str, Any] = {"fontsize": 10, "zorder": 6}
    picked = [names[i] for i in diverse]
    notes = place_labels(ax, positions[diverse], picked, avoid=marks, color=SELECTED, fontweight="bold", **style)
    rest = [names[i] for i in others]
    place_labels(ax, positions[others], rest, avoid=marks, beside=notes, color=BASELINE, **style)


def _label_inset(ax: "Axes", choice: Choice, positions: FloatArray, there: BoolArray) -> None:
    for i in np.flatnonzero(there):
        color = SELECTED if i in choice.diverse else BASELINE if i in choice.populous else "0.35"
        ax.annotate(
            choice.cities.labels[i],
            positions[i],
            xytext=(0, -7),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8.5,
            color=color,
        )
