"""The picture of the demo: the chosen cities on a map of the United States."""

from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._typing import BoolArray, FloatArray
from diverset.demo.cities import EARTH_RADIUS_KM, Choice, load_us_outline
from diverset.plots import place_labels, plot_selection
from diverset.plots._plane import BASELINE, SELECTED, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["albers", "draw_us_map"]

_INSETS = {"AK": (0.035, 0.045, 0.13, 0.13), "HI": (0.18, 0.045, 0.13, 0.13)}
_MOST_LABELS = 40  # more labels would cover the map


def albers(latitude: FloatArray, longitude: FloatArray) -> FloatArray:
    r"""Albers equal-area conic projection with the parallels 29.5 and 45.5 degrees north, in km, of shape (n, 2).

    With :math:`n = (\sin\phi_1 + \sin\phi_2)/2` and :math:`C = \cos^2\phi_1 + 2 n \sin\phi_1`, a point lies at radius
    :math:`\rho = (R/n) \sqrt{C - 2 n \sin\phi}` and angle :math:`n (\lambda - \lambda_0)`.

    >>> albers(np.array([37.5]), np.array([-96.0])).round(6) + 0.0
    array([[0., 0.]])
    """
    first, second, origin = np.radians([29.5, 45.5, 37.5])
    n = (np.sin(first) + np.sin(second)) / 2
    C = np.cos(first) ** 2 + 2 * n * np.sin(first)
    rho, center = (EARTH_RADIUS_KM / n * np.sqrt(C - 2 * n * np.sin(phi)) for phi in (np.radians(latitude), origin))
    theta = n * np.radians(longitude + 96.0)
    return np.stack([rho * np.sin(theta), center - rho * np.cos(theta)], axis=1)


def draw_us_map(choice: Choice, figure: "FigureBase") -> None:
    """Draw a map of a choice into an empty figure of about 11 by 7 inches.

    The area of the grey dots grows with the population; the diverse picks are filled, the most populous cities are
    ringed. Alaska and Hawaii are in insets.
    """
    require_matplotlib()
    cities, k = choice.cities, len(choice.diverse)
    positions = albers(cities.latitude, cities.longitude)
    states = np.array(cities.states)
    main = ~np.isin(states, list(_INSETS))

    ax = figure.add_axes((0.015, 0.02, 0.97, 0.86))
    ax.set_aspect("equal")
    ax.axis("off")
    outline = albers(*load_us_outline().T)
    ax.fill(*outline.T, facecolor="#f6f4ee", edgecolor="0.6", linewidth=0.8, joinstyle="round", zorder=1)
    _draw_cities(ax, choice, positions, main)
    ax.margins(0.03)
    ax.autoscale_view()
    ax.apply_aspect()  # labels are placed in pixels, so the scale must be final
    _label(ax, choice, positions, main)

    for state, place in _INSETS.items():
        inset = ax.inset_axes(place)
        inset.set(xticks=[], yticks=[], facecolor="#f6f4ee")
        inset.spines[:].set(color="0.6", linewidth=0.8)
        _draw_cities(inset, choice, positions, states == state)
        x, y = positions[states == state].mean(axis=0)
        inset.set(xlim=(x - 500, x + 500), ylim=(y - 350, y + 350))
        style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 8.5}
        for i in np.flatnonzero(states == state):
            color = SELECTED if i in choice.diverse else BASELINE if i in choice.populous else "0.35"
            inset.annotate(cities.labels[i], positions[i], xytext=(0, -7), color=color, **style)

    figure.suptitle(f"{k} diverse large cities, beside the {k} most populous", fontsize=15, y=0.965)
    says = "dots: the 200 most populous U.S. cities, area by population"
    figure.text(0.5, 0.9, says, ha="center", fontsize=9.5, color="0.35")
    handles, names = ax.get_legend_handles_labels()
    order = np.argsort([name != "diverse (k-DPP, greedy)" for name in names], kind="stable")
    gulf_of_mexico = (0.65, 0.03)  # where there are no cities
    shown = [handles[i] for i in order], [names[i] for i in order]
    ax.legend(*shown, loc="lower center", bbox_to_anchor=gulf_of_mexico, frameon=False, fontsize=10, handletextpad=0.3)


def _draw_cities(ax: "Axes", choice: Choice, positions: FloatArray, shown: BoolArray) -> None:
    """Dots and marks of the cities in `shown`; sizes are relative to all cities."""
    rows = np.flatnonzero(shown)
    plot_selection(
        positions[rows],
        np.flatnonzero(np.isin(rows, choice.diverse)),
        baseline=np.flatnonzero(np.isin(rows, choice.populous)),
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
    names = np.array(choice.cities.names)
    style: dict[str, Any] = {"avoid": positions[shown], "fontsize": 10, "zorder": 6}
    notes = place_labels(ax, positions[diverse], names[diverse].tolist(), color=SELECTED, fontweight="bold", **style)
    place_labels(ax, positions[others], names[others].tolist(), beside=notes, color=BASELINE, **style)
