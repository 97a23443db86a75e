r"""The demo's model: large cities that are far apart.

City i has quality :math:`q_i = p_i^a`, a power of its population, and cities i and j have similarity
:math:`S_{ij} = \exp(-d_{ij}^2 / 2 \ell^2)`, where :math:`d_{ij}` is their distance. With
:math:`a = 1/2` a set's weight is the product of its populations times :math:`\det S_A`, the squared
volume spanned by its cities ([KuleszaTaskar2012]_, section 3.1).
"""

import csv
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np

import diverset as dv
from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, SizeError

__all__ = ["Choice", "Cities", "choose_cities", "load_us_cities", "load_us_outline"]

EARTH_RADIUS_KM = 6371.0


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
        """Positions in space, in kilometres from the Earth's centre, of shape (n, 3).

        Distances through the Earth, unlike those along its surface, make the squared exponential
        a positive semidefinite kernel; at a thousand kilometres the two differ by one part in a thousand.
        """
        lat, lon = np.radians(self.latitude), np.radians(self.longitude)
        unit = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
        return np.asarray(EARTH_RADIUS_KM * unit, dtype=np.float64)

    def closest_pair(self, items: IntArray) -> tuple[int, int, float]:
        """The two closest of the given cities, and their distance along the surface in km."""
        points = self.points[items]
        chord = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
        chord[np.diag_indices(len(items))] = np.inf
        i, j = np.unravel_index(int(np.argmin(chord)), chord.shape)
        arc = 2 * EARTH_RADIUS_KM * np.arcsin(chord[i, j] / (2 * EARTH_RADIUS_KM))
        return int(items[i]), int(items[j]), float(arc)


@dataclass(frozen=True, eq=False)
class Choice:
    """Two or three sets of k cities under one k-DPP, and what the k-DPP says about them."""

    cities: Cities
    diverse: IntArray  #: greedy picks, in the order of picking
    populous: IntArray  #: the k largest
    drawn: IntArray | None  #: a random draw, if a seed was given
    inclusion: FloatArray  #: for every city, the probability of being in a draw
    log_prob: dict[str, float]  #: log-probability of each set, by the name of its attribute

    @property
    def sets(self) -> dict[str, IntArray]:
        """The sets by name, without the draw if there is none."""
        named = {"diverse": self.diverse, "populous": self.populous, "drawn": self.drawn}
        return {name: items for name, items in named.items() if items is not None}


def load_us_cities() -> Cities:
    """The 200 most populous U.S. cities of 2013, largest first.

    Examples
    --------
    >>> cities = load_us_cities()
    >>> len(cities), cities.labels[0], int(cities.population[0])
    (200, 'New York, NY', 8405837)
    """
    rows = _read_csv("us_cities.csv")
    return Cities(
        names=tuple(row["name"] for row in rows),
        states=tuple(row["state"] for row in rows),
        latitude=np.array([float(row["latitude"]) for row in rows]),
        longitude=np.array([float(row["longitude"]) for row in rows]),
        population=np.array([float(row["population"]) for row in rows]),
    )


def load_us_outline() -> FloatArray:
    """A rough outline of the contiguous states: latitude and longitude, of shape (n_corners, 2)."""
    return np.array([[float(row["latitude"]), float(row["longitude"])] for row in _read_csv("us_outline.csv")])


def choose_cities(
    k: int = 10, *, length_scale: float = 500.0, population_power: float = 0.5, rng: RNGLike = None
) -> Choice:
    """Pick k diverse large cities, beside the k largest.

    Parameters
    ----------
    k : int, default=10
        How many cities.
    length_scale : float, default=500.0
        Distance in km over which cities resemble each other.
    population_power : float, default=0.5
        Exponent of the population in the quality; 0 looks at distance only, and the larger it is, the
        closer the picks come to the k largest.
    rng : int, Generator or None
        If given, also draw a random set.

    Returns
    -------
    choice : Choice
        The sets and their probabilities.
    """
    cities = load_us_cities()
    if not 1 <= k <= len(cities):
        raise SizeError(f"k = {k} cities asked for; it must be between 1 and {len(cities)}")
    if not 0 < length_scale < np.inf:
        raise DiversetError(f"length_scale = {length_scale:g} km; it must be positive and finite")
    if not 0 <= population_power < np.inf:
        raise DiversetError(f"population_power = {population_power:g}; it must be at least 0 and finite")
    # A common factor does not change a k-DPP; dividing by the largest population keeps powers in range.
    quality = (cities.population / cities.population.max()) ** population_power
    similarity = dv.kernels.rbf(cities.points, length_scale=length_scale)
    dpp = dv.DPP.from_quality_diversity(quality, similarity)
    kdpp = dpp.of_size(k)
    sets = {"diverse": dv.map_greedy(dpp, k=k).indices, "populous": np.arange(k, dtype=np.int64)}
    if rng is not None:
        sets["drawn"] = kdpp.sample(rng=rng)
    return Choice(
        cities=cities,
        diverse=sets["diverse"],
        populous=sets["populous"],
        drawn=sets.get("drawn"),
        inclusion=kdpp.inclusion_probabilities,
        log_prob={name: float(kdpp.log_prob(items)) for name, items in sets.items()},
    )


def _read_csv(name: str) -> list[dict[str, str]]:
    text = (files("diverset") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
