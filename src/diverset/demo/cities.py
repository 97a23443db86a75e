r"""The model of the demo: large cities that are far apart.

City i has quality :math:`q_i = p_i^a`, a power of its population, and cities i and j have similarity
:math:`S_{ij} = \exp(-d_{ij}^2 / 2 \ell^2)`, where :math:`d_{ij}` is their distance. For :math:`a = 1/2`, the weight of
a set is the product of its populations times :math:`\det S_A` ([KuleszaTaskar2012]_, section 3.1).
"""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files

import numpy as np

import diverset as dv
from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, SizeError
from diverset.io.tables import Table, read_table

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

        With distances along the surface, the squared exponential is not positive semidefinite; with straight ones it
        is, and at a thousand kilometres the two differ by one part in a thousand.
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
    """Sets of k cities and their probabilities under one k-DPP.

    ``sets`` are ``"diverse"``, the greedy picks in order, ``"populous"``, the k largest, and ``"drawn"``, a random
    draw, if there is one; ``inclusion`` is the probability of each city to be in a draw.
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

    Cities are similar over distances of about `length_scale` km. The larger `population_power`, the exponent of the
    population in the quality, the closer the picks come to the k largest; 0 uses distances only.
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
