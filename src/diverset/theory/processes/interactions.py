r"""How points of a Gibbs process feel each other ([KuleszaTaskar2012]_, section 2.5.2).

A pair interaction is a function :math:`\psi(r)` of the distance, by which the weight of a pattern is multiplied for
each pair of its points. Below 1 it repels; at 0 it forbids.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.numerics.validation import as_number, check_nonnegative, check_positive
from diverset.theory.processes.discs import added_volume
from diverset.theory.processes.window import Box

__all__ = [
    "AreaInteraction",
    "Interaction",
    "LinearCore",
    "PairInteraction",
    "SoftCore",
    "Strauss",
    "VerySoftCore",
]


class Interaction(abc.ABC):
    """What a point's neighbours do to its weight."""

    @property
    @abc.abstractmethod
    def reach(self) -> float:
        """Distance beyond which points do not feel each other; infinite if they always do."""

    @property
    def integrable(self) -> bool:
        """Whether a Gibbs process on a continuous space can have this interaction: whether it never attracts."""
        return True

    @abc.abstractmethod
    def log_effect(self, u: FloatArray, points: FloatArray, box: Box) -> float:
        """Log of the factor that the weight of `points` gains with a further point at u, its activity apart."""

    def statistic(self, u: FloatArray, points: FloatArray, box: Box) -> float:
        r"""For interactions :math:`\gamma^{t(u, X)}`: the exponent t."""
        raise DiversetError(f"{type(self).__name__} has no parameter gamma; choose among values of its own parameters")

    def check_in(self, box: Box) -> None:
        """Refuse a box in which the interaction is not defined."""
        if box.torus and math.isfinite(self.reach) and self.reach > 0.5 * min(box.sides):
            raise DiversetError(
                f"{self} reaches {self.reach:g}; on a torus with sides {box.sides} it must not exceed half of one"
            )


class PairInteraction(Interaction):
    r"""An interaction :math:`\prod_{i<j} \psi(|x_i - x_j|)`."""

    @abc.abstractmethod
    def log_psi(self, r: FloatArray) -> FloatArray:
        """Logarithm of the potential at distances r."""

    def psi(self, r: ArrayLike) -> FloatArray:
        """The potential at distances r."""
        distance = np.asarray(r, dtype=np.float64)
        if not (distance >= 0.0).all():
            raise DiversetError(f"r goes down to {np.min(distance)}; distances are not negative")
        with np.errstate(over="ignore"):  # far away
            return np.exp(self.log_psi(distance))

    def log_effect(self, u: FloatArray, points: FloatArray, box: Box) -> float:
        """Sum of the log-potentials to the points there."""
        return float(self.log_psi(box.distances(u, points)).sum())


@dataclass(frozen=True)
class Strauss(PairInteraction):
    r"""Strauss's potential: :math:`\gamma` within a radius R, 1 beyond ([Strauss1975]_).

    :math:`\gamma = 0` is the hard core, :math:`\gamma < 1` a soft one, :math:`\gamma > 1` clusters: that is possible
    on finite ground sets only. With a hard core h inside, points are never closer than h.

    Parameters
    ----------
    gamma : float
        At least 0.
    radius : float
        R.
    hard_core : float
        h, at most R; 0 by default.

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
        if not 0.0 <= check_nonnegative(self.hard_core, name="hard_core") <= self.radius:
            raise DiversetError(f"hard_core is {self.hard_core}; it must not exceed the radius {self.radius}")

    @property
    def reach(self) -> float:
        """The radius."""
        return self.radius

    @property
    def integrable(self) -> bool:
        """Not where it clusters without a hard core: the more points, the better, without end."""
        return self.gamma <= 1.0 or self.hard_core > 0.0

    def log_psi(self, r: FloatArray) -> FloatArray:
        """Log gamma within the radius, ``-inf`` within the hard core, 0 beyond."""
        inner = math.log(self.gamma) if self.gamma > 0.0 else -math.inf
        return np.where(r <= self.radius, np.where(r < self.hard_core, -math.inf, inner), 0.0)

    def statistic(self, u: FloatArray, points: FloatArray, box: Box) -> float:
        """Number of points within the radius; infinite within the hard core."""
        r = box.distances(u, points)
        return math.inf if (r < self.hard_core).any() else float((r <= self.radius).sum())


@dataclass(frozen=True)
class VerySoftCore(PairInteraction):
    r"""The potential :math:`\psi(r) = 1 - e^{-(r/\sigma)^2}` ([OgataTanemura1984]_): zero only at r = 0.

    Examples
    --------
    >>> VerySoftCore(1.0).psi([0.0, 1.0, 3.0]).round(4)
    array([0.    , 0.6321, 0.9999])
    """

    sigma: float

    def __post_init__(self) -> None:
        check_positive(self.sigma, name="sigma")

    @property
    def reach(self) -> float:
        """Infinite."""
        return math.inf

    def log_psi(self, r: FloatArray) -> FloatArray:
        """Logarithm of the potential."""
        with np.errstate(divide="ignore"):
            log: FloatArray = np.log(-np.expm1(-((r / self.sigma) ** 2)))
        return log


@dataclass(frozen=True)
class SoftCore(PairInteraction):
    r"""The potential :math:`\psi(r) = e^{-(\sigma/r)^n}` ([OgataTanemura1984]_): nearer a hard core the larger n > 2.

    Examples
    --------
    >>> SoftCore(1.0, n=6).psi([0.5, 1.0, 2.0]).round(4)
    array([0.    , 0.3679, 0.9845])
    """

    sigma: float
    n: float = 4.0

    def __post_init__(self) -> None:
        check_positive(self.sigma, name="sigma")
        if not (number := as_number(self.n, name="n")) > 2.0:
            raise DiversetError(f"n is {number}; it must exceed 2, or the potential reaches too far")

    @property
    def reach(self) -> float:
        """Infinite."""
        return math.inf

    def log_psi(self, r: FloatArray) -> FloatArray:
        """Logarithm of the potential."""
        with np.errstate(divide="ignore", over="ignore"):
            return -((self.sigma / r) ** self.n)


@dataclass(frozen=True)
class LinearCore(PairInteraction):
    r"""The potential :math:`\psi(r) = \min(r/\sigma, 1)` ([Ripley1977]_).

    Examples
    --------
    >>> LinearCore(2.0).psi([0.0, 1.0, 3.0])
    array([0. , 0.5, 1. ])
    """

    sigma: float

    def __post_init__(self) -> None:
        check_positive(self.sigma, name="sigma")

    @property
    def reach(self) -> float:
        """Sigma."""
        return self.sigma

    def log_psi(self, r: FloatArray) -> FloatArray:
        """Logarithm of the potential."""
        with np.errstate(divide="ignore"):
            log: FloatArray = np.log(np.minimum(r / self.sigma, 1.0))
        return log


@dataclass(frozen=True)
class AreaInteraction(Interaction):
    r"""Weight :math:`\gamma^{-A(X)}`, A the area of the union of discs around the points ([BaddeleyVanLieshout1995]_).

    :math:`U(X) = A(X) \log\gamma`: below 1 patterns that cover much are preferred, above 1 those that cover little,
    which is possible since no point can lower the area. Unlike a pair potential it sees any number of points at once.

    Parameters
    ----------
    gamma : float
        Positive.
    radius : float
        Of the discs; points feel each other up to twice as far.

    Notes
    -----
    In one or two dimensions; the area is exact (arcs of the discs, by Green's theorem), and discs that stick out of a
    box with edges count in full. On a torus the radius must be below a quarter of each side.

    Examples
    --------
    Two discs of radius 1 that touch, and a third between them that adds less than its own area.

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
        """Refuse more than two dimensions, and a torus too small for the discs."""
        if box.dim > 2:
            raise DiversetError(f"the area interaction is for one or two dimensions; the box has {box.dim}")
        super().check_in(box)

    def log_effect(self, u: FloatArray, points: FloatArray, box: Box) -> float:
        """Log gamma times minus the area that a disc at u adds."""
        return math.log(self.gamma) * self.statistic(u, points, box)

    def statistic(self, u: FloatArray, points: FloatArray, box: Box) -> float:
        """Minus the area that a disc at u adds."""
        return -added_volume(box.displacements(u, points).reshape(-1, box.dim), self.radius)
