r"""The cities of the demo: large ones that are far apart, and a map of them.

City i has quality :math:`q_i = p_i^a`, a power of its population, and cities i and j have similarity
:math:`S_{ij} = \exp(-d_{ij}^2 / 2 \ell^2)`, where :math:`d_{ij}` is their distance. For :math:`a = 1/2`, the weight of
a set is the product of its populations times :math:`\det S_A` ([KuleszaTaskar2012]_, section 3.1).
"""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np

import diverset as dv
from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, SizeError
from diverset.io.tables import Table, read_table
from diverset.plots import place_labels, plot_selection
from diverset.plots._plane import BASELINE, SELECTED, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["Choice", "Cities", "albers", "choose_cities", "draw_us_map", "load_us_cities", "load_us_outline"]

EARTH_RADIUS_KM = 6371.0
_INSETS = {"AK": (0.035, 0.045, 0.13, 0.13), "HI": (0.18, 0.045, 0.13, 0.13)}
_MOST_LABELS = 40  # more labels would cover the map


@dataclass(frozen=True, eq=False)
class Cities:
    """Names, positions in degrees and populations of some cities, largest first."""

    names: tuple[str, ...]
    states: tuple[str, ...]
    latitude: FloatArray
    longitude: FloatArray
    population: FloatArray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """Name and state, since some names occur twice."""
        return tuple(f"{name}, {state}" for name, state in zip(self.names, self.states, strict=True))

    @cached_property
    def points(self) -> FloatArray:
        """Positions in space, in kilometres from the Earth's centre, of shape (n, 3)."""
        # The squared exponential of straight distances is positive semidefinite, that of distances on the surface not.
        lat, lon = np.radians(self.latitude), np.radians(self.longitude)
        unit = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
        return np.asarray(EARTH_RADIUS_KM * unit, dtype=np.float64)

    def closest_pair(self, items: IntArray) -> tuple[int, int, float]:
        """The two closest of the given cities, and their distance along the surface in km."""
        from scipy.spatial.distance import pdist

        chords = pdist(self.points[items])
        i, j = (side[chords.argmin()] for side in np.triu_indices(len(items), 1))
        arc = 2 * EARTH_RADIUS_KM * np.arcsin(chords.min() / (2 * EARTH_RADIUS_KM))
        return int(items[i]), int(items[j]), float(arc)


@dataclass(frozen=True, eq=False)
class Choice:
    """Sets of k cities and their probabilities under one k-DPP.

    ``sets`` may also have ``"drawn"``, a random draw; ``inclusion`` is the probability of each city to be in a draw.
    """

    cities: Cities
    sets: dict[str, IntArray]
    inclusion: FloatArray
    log_prob: dict[str, float]

    @property
    def diverse(self) -> IntArray:
        """The greedy picks, in order."""
        return self.sets["diverse"]

    @property
    def populous(self) -> IntArray:
        """The k largest cities."""
        return self.sets["populous"]


def load_us_cities() -> Cities:
    """The 200 most populous U.S. cities of 2013, largest first.

    >>> cities = load_us_cities()
    >>> len(cities), cities.labels[0], int(cities.population[0])
    (200, 'New York, NY', 8405837)
    """
    table = _read("us_cities.csv")
    numbers = (table.numbers(name) for name in ("latitude", "longitude", "population"))
    return Cities(tuple(table.column("name")), tuple(table.column("state")), *numbers)


def load_us_outline() -> FloatArray:
    """A rough outline of the contiguous states: latitude and longitude, of shape (n_corners, 2)."""
    table = _read("us_outline.csv")
    return np.stack([table.numbers("latitude"), table.numbers("longitude")], axis=1)


def _read(name: str) -> Table:
    with as_file(files("diverset") / "data" / name) as path:
        return read_table(path)


def choose_cities(
    k: int = 10, *, length_scale: float = 500.0, population_power: float = 0.5, rng: RNGLike = None
) -> Choice:
    """Pick k diverse large cities, the k largest for comparison, and with `rng` also a random set.

    Cities are similar over about `length_scale` km; `population_power` is the exponent of the population in quality.
    """
    cities = load_us_cities()
    if not 1 <= k <= len(cities):
        raise SizeError(f"k = {k} cities; it must be between 1 and {len(cities)}")
    if not 0 < length_scale < np.inf:
        raise DiversetError(f"length_scale = {length_scale:g} km; it must be positive and finite")
    if not 0 <= population_power < np.inf:
        raise DiversetError(f"population_power = {population_power:g}; it must be at least 0 and finite")
    # A common factor does not change a k-DPP; dividing by the largest population keeps powers in range.
    quality = (cities.population / cities.population.max()) ** population_power
    dpp = dv.DPP.from_quality_diversity(quality, dv.kernels.rbf(cities.points, length_scale=length_scale))
    kdpp = dpp.of_size(k)
    sets = {"diverse": dv.map_greedy(dpp, k=k).indices, "populous": np.arange(k, dtype=np.int64)}
    if rng is not None:
        sets["drawn"] = kdpp.sample(rng=rng)
    log_prob = {name: float(kdpp.log_prob(items)) for name, items in sets.items()}
    return Choice(cities, sets, kdpp.inclusion_probabilities, log_prob)


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
    """Draw a map into an empty figure of about 11 by 7 inches: diverse picks filled, most populous cities ringed."""
    require_matplotlib()
    cities, k = choice.cities, len(choice.diverse)
    positions = albers(cities.latitude, cities.longitude)
    states = np.array(cities.states)
    main = ~np.isin(states, list(_INSETS))

    ax = figure.add_axes((0.015, 0.02, 0.97, 0.86), aspect="equal")
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
    handles = sorted(ax.get_legend_handles_labels()[0], key=lambda mark: mark.get_label() != "diverse (k-DPP, greedy)")
    gulf_of_mexico: Any = {"loc": "lower center", "bbox_to_anchor": (0.65, 0.03)}  # where there are no cities
    ax.legend(handles=handles, frameon=False, fontsize=10, handletextpad=0.3, **gulf_of_mexico)


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
