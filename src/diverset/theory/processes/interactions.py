r"""Interactions of the points of a Gibbs process ([KuleszaTaskar2012]_, section 2.5.2).

A pair interaction is a function :math:`\psi(r)` of the distance; the weight of a pattern is the product of
:math:`\psi` over all pairs of its points. Values below 1 repel, and 0 forbids.
"""

import abc
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.numerics.validation import as_number, as_real, check_nonnegative, check_positive
from diverset.theory.processes.window import Box

__all__ = ["AreaInteraction", "Interaction", "LinearCore", "PairInteraction", "SoftCore", "Strauss", "VerySoftCore"]

_TURN = 2.0 * math.pi


class Interaction(abc.ABC):
    """Effect of the other points on the weight of a point."""

    @property
    def reach(self) -> float:
        """Distance beyond which points do not interact; infinite by default."""
        return math.inf

    @property
    def integrable(self) -> bool:
        """Whether a Gibbs process on a continuous space can have this interaction: true if it does not attract."""
        return True

    @abc.abstractmethod
    def log_effect(self, u: FloatArray, points: FloatArray, box: Box) -> Any:
        """Logarithm of the factor by which a further point at u changes the weight of `points`, without activity."""

    def statistic(self, u: FloatArray, points: FloatArray, box: Box) -> Any:
        r"""Exponent t of an interaction of the form :math:`\gamma^{t(u, X)}`."""
        raise DiversetError(f"{type(self).__name__} has no parameter gamma; choose among values of its own parameters")

    def check_in(self, box: Box) -> None:
        """Raise for a box in which the interaction is not defined."""
        if box.torus and math.isfinite(self.reach) and self.reach > 0.5 * min(box.sides):
            raise DiversetError(
                f"{self} reaches {self.reach:g}; on a torus it must not exceed half of {min(box.sides):g}"
            )


class PairInteraction(Interaction):
    r"""An interaction :math:`\prod_{i<j} \psi(|x_i - x_j|)`."""

    @abc.abstractmethod
    def log_psi(self, r: FloatArray) -> FloatArray:
        """Logarithm of the potential at distances r."""

    def psi(self, r: ArrayLike) -> FloatArray:
        """The potential at distances r."""
        distance = as_real(r, name="r")
        if not (distance >= 0.0).all():
            raise DiversetError(f"r goes down to {np.min(distance)}; distances are not negative")
        with np.errstate(over="ignore"):
            return np.exp(self.log_psi(distance))

    def log_effect(self, u: FloatArray, points: FloatArray, box: Box) -> Any:
        """Sum of the log-potentials between u and the points; places u of shape (m, 1, dim) give m sums."""
        return self.log_psi(box.distances(u, points)).sum(axis=-1)


@dataclass(frozen=True)
class Strauss(PairInteraction):
    r"""Strauss's potential: :math:`\gamma` within a radius R, 1 beyond ([Strauss1975]_).

    :math:`\gamma = 0` is the hard core, :math:`\gamma < 1` a soft one. :math:`\gamma > 1` makes clusters, which is
    possible only on finite ground sets or with a hard core: points are never closer than `hard_core`.

    Parameters
    ----------
    gamma : float
        At least 0.
    radius : float
        R.
    hard_core : float
        Minimum distance, at most R; 0 by default.

    Examples
    --------
    >>> Strauss(0.3, 1.0, hard_core=0.2).psi([0.1, 0.5, 2.0])
    array([0. , 0.3, 1. ])
    """

    gamma: float
    radius: float
    hard_core: float = 0.0

    def __post_init__(self) -> None:
        check_nonnegative(self.gamma, name="gamma")
        check_positive(self.radius, name="radius")
        if check_nonnegative(self.hard_core, name="hard_core") > self.radius:
            raise DiversetError(f"hard_core is {self.hard_core}; it must not exceed the radius {self.radius}")

    @property
    def reach(self) -> float:
        """The radius."""
        return self.radius

    @property
    def integrable(self) -> bool:
        """False for clusters without a hard core, whose weight grows without bound with the number of points."""
        return self.gamma <= 1.0 or self.hard_core > 0.0

    def log_psi(self, r: FloatArray) -> FloatArray:
        """Log gamma within the radius, ``-inf`` within the hard core, 0 beyond."""
        inner = math.log(self.gamma) if self.gamma > 0.0 else -math.inf
        return np.where(r <= self.radius, np.where(r < self.hard_core, -math.inf, inner), 0.0)

    def statistic(self, u: FloatArray, points: FloatArray, box: Box) -> Any:
        """Number of points within the radius; infinite within the hard core. Takes several places as `log_effect`."""
        r = box.distances(u, points)
        return np.where((r < self.hard_core).any(axis=-1), math.inf, (r <= self.radius).sum(axis=-1))[()]


@dataclass(frozen=True)
class _Scaled(PairInteraction):
    """Potential with one scale."""

    sigma: float

    def __post_init__(self) -> None:
        check_positive(self.sigma, name="sigma")


@dataclass(frozen=True)
class VerySoftCore(_Scaled):
    r"""The potential :math:`\psi(r) = 1 - e^{-(r/\sigma)^2}` ([OgataTanemura1984]_): zero only at r = 0.

    Examples
    --------
    >>> VerySoftCore(1.0).psi([0.0, 1.0, 3.0]).round(4)
    array([0.    , 0.6321, 0.9999])
    """

    def log_psi(self, r: FloatArray) -> FloatArray:
        """Logarithm of the potential."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(-((r / self.sigma) ** 2))))


@dataclass(frozen=True)
class SoftCore(_Scaled):
    r"""The potential :math:`\psi(r) = e^{-(\sigma/r)^n}` ([OgataTanemura1984]_): nearer a hard core the larger n > 2.

    Examples
    --------
    >>> SoftCore(1.0, n=6).psi([0.5, 1.0, 2.0]).round(4)
    array([0.    , 0.3679, 0.9845])
    """

    n: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (number := as_number(self.n, name="n")) > 2.0:
            raise DiversetError(f"n is {number}; it must exceed 2, or the potential reaches too far")

    def log_psi(self, r: FloatArray) -> FloatArray:
        """Logarithm of the potential."""
        with np.errstate(divide="ignore", over="ignore"):
            return -((self.sigma / r) ** self.n)


@dataclass(frozen=True)
class LinearCore(_Scaled):
    r"""The potential :math:`\psi(r) = \min(r/\sigma, 1)` ([Ripley1977]_).

    Examples
    --------
    >>> LinearCore(2.0).psi([0.0, 1.0, 3.0])
    array([0. , 0.5, 1. ])
    """

    @property
    def reach(self) -> float:
        """Sigma."""
        return self.sigma

    def log_psi(self, r: FloatArray) -> FloatArray:
        """Logarithm of the potential."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.minimum(r / self.sigma, 1.0)))


@dataclass(frozen=True)
class AreaInteraction(Interaction):
    r"""Weight :math:`\gamma^{-A(X)}`, A the area of the union of discs around the points ([BaddeleyVanLieshout1995]_).

    For :math:`\gamma < 1` patterns that cover much are preferred, for :math:`\gamma > 1` those that cover little. Both
    are possible, since no point lowers the area. Unlike a pair potential, the area involves any number of points.
    For one or two dimensions. The area is exact (arcs of the discs, by Green's theorem). In a box with edges, discs
    that cross the edge count in full. On a torus the radius must be below a quarter of each side.

    Parameters
    ----------
    gamma : float
        Positive.
    radius : float
        Radius of the discs; points interact up to twice this distance.

    Examples
    --------
    A disc between two discs that touch adds less than its own area.

    >>> box = Box((9.0, 9.0))
    >>> added = AreaInteraction(np.exp(-1.0), 1.0).log_effect(np.array([4.0, 4.0]), np.array([[3.0, 4.0], [5, 4]]), box)
    >>> round(added, 4)
    0.6849
    """

    gamma: float
    radius: float

    def __post_init__(self) -> None:
        check_positive(self.gamma, name="gamma")
        check_positive(self.radius, name="radius")

    @property
    def reach(self) -> float:
        """Twice the radius."""
        return 2.0 * self.radius

    def check_in(self, box: Box) -> None:
        """Raise for more than two dimensions, or a torus too small for the discs."""
        if box.dim > 2:
            raise DiversetError(f"the area interaction is for one or two dimensions; the box has {box.dim}")
        super().check_in(box)

    def log_effect(self, u: FloatArray, points: FloatArray, box: Box) -> Any:
        """Minus log gamma times the area that a disc at u adds."""
        return math.log(self.gamma) * self.statistic(u, points, box)

    def statistic(self, u: FloatArray, points: FloatArray, box: Box) -> Any:
        """Minus the area that a disc at u adds."""
        return -added_volume(box.displacements(u, points).reshape(-1, box.dim), self.radius)


def union_volume(centres: FloatArray, radius: float) -> float:
    r"""Length (one dimension) or area (two) of a union of balls of one radius. O(n^2 log n) for n discs.

    The boundary consists of the arcs of each circle that no other disc covers. By Green's theorem, an arc of the circle
    around (a, b) from :math:`\theta_0` to :math:`\theta_1` contributes

    .. math::  \tfrac{r}{2}\left(a (\sin\theta_1 - \sin\theta_0) - b (\cos\theta_1 - \cos\theta_0)
               + r (\theta_1 - \theta_0)\right).
    """
    if len(centres) == 0:
        return 0.0
    if centres.shape[1] == 1:
        gaps = np.diff(np.sort(centres[:, 0]))
        return float(np.minimum(gaps, 2.0 * radius).sum() + 2.0 * radius)
    distinct = np.unique(centres, axis=0)
    step = distinct[np.newaxis] - distinct[:, np.newaxis]
    distance = np.hypot(step[..., 0], step[..., 1])
    total = 0.0
    for i, (a, b) in enumerate(distinct.tolist()):
        near = (distance[i] < 2.0 * radius) & (distance[i] > 0.0)
        towards = np.arctan2(step[i, near, 1], step[i, near, 0])
        half = np.arccos(distance[i, near] / (2.0 * radius))
        for start, end in _exposed(towards - half, towards + half):
            sweep = a * (math.sin(end) - math.sin(start)) - b * (math.cos(end) - math.cos(start))
            total += 0.5 * radius * (sweep + radius * (end - start))
    return total


def _exposed(starts: FloatArray, ends: FloatArray) -> list[tuple[float, float]]:
    """Arcs of a circle outside all covered arcs, each of which is shorter than half a turn."""
    shift = np.floor(starts / _TURN) * _TURN
    covered = list(zip((starts - shift).tolist(), (ends - shift).tolist(), strict=True))
    # An arc that goes past the full turn also covers the beginning.
    covered += [(0.0, b - _TURN) for _, b in covered if b > _TURN]
    arcs: list[tuple[float, float]] = []
    reach = 0.0
    for a, b in [*sorted(covered), (_TURN, _TURN)]:
        if a > reach:
            arcs.append((reach, a))
        reach = max(reach, b)
    return arcs


def added_volume(steps: FloatArray, radius: float) -> float:
    """Volume that a ball at the origin adds to the union of balls at `steps`, all with one radius."""
    near = steps[np.einsum("ij,ij->i", steps, steps) < (2.0 * radius) ** 2]
    if len(near) == 0:
        return 2.0 * radius if steps.shape[1] == 1 else math.pi * radius**2
    with_it = np.concatenate([near, np.zeros((1, steps.shape[1]))])
    return max(union_volume(with_it, radius) - union_volume(near, radius), 0.0)
