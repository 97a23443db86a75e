r"""Random partitions: the Poissonised Plancherel measure and the discrete Bessel kernel.

Take a Poisson number N of mean :math:`\theta`, a uniform permutation of N things, and the shape :math:`\lambda` of its
tableaux under the Robinson-Schensted correspondence:

.. math::  \Pr(\lambda) = e^{-\theta} \theta^{|\lambda|} \left( \frac{\dim \lambda}{|\lambda|!} \right)^2 .

The set :math:`\{\lambda_i - i : i \ge 1\}` of integers is determinantal ([BorodinOkounkovOlshanski2000]_;
[Johansson2001]_), with Bessel functions of argument :math:`2\sqrt\theta` in

.. math::  K(x, y) = \sum_{k \ge 1} J_{x+k} J_{y+k}
    = \sqrt\theta\, \frac{J_x J_{y+1} - J_{x+1} J_y}{x - y}.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.numerics.validation import check_fits_in_memory, check_positive
from diverset.theory.classics.base import Classic

__all__ = ["PoissonizedPlancherel", "rsk_shape"]


def rsk_shape(sequence: Iterable[float]) -> IntArray:
    """Shape of the tableaux of a sequence of different numbers, by row insertion; O(N^1.5) for random ones.

    The first row is as long as the longest increasing subsequence, the first column as the longest decreasing one.

    Examples
    --------
    >>> rsk_shape([3, 1, 4, 2, 5])
    array([3, 2])
    """
    rows: list[list[float]] = []
    for value in sequence:
        x = float(value)
        for row in rows:
            at = bisect_right(row, x)
            if at == len(row):
                row.append(x)
                break
            row[at], x = x, row[at]
        else:
            rows.append([x])
    return np.array([len(row) for row in rows], dtype=np.int64)


def _site(x: Any) -> int:
    try:
        return operator.index(x)
    except TypeError:
        raise DiversetError(f"the window has an end {x!r}; sites are whole numbers") from None


class PoissonizedPlancherel(Classic[IntArray]):
    r"""Partitions under the Poissonised Plancherel measure.

    Item j is in the set if ``sites[j]`` is :math:`\lambda_i - i` for some :math:`i \ge 1`, where
    :math:`\lambda_i = 0` past the last part.

    Parameters
    ----------
    theta : float
        Mean of the number that is partitioned.
    window : (int, int), optional
        First and last site. By default :math:`\pm 2\sqrt\theta` and as much more as the edge's fluctuations, of order
        :math:`\theta^{1/6}`, may reach.

    Notes
    -----
    Scaled by :math:`\sqrt\theta`, partitions have a limit shape, and the density of sites at :math:`u\sqrt\theta` tends
    to :math:`\arccos(u/2)/\pi` (:meth:`limit_density`). The largest site + 1 is the longest increasing
    subsequence.

    Examples
    --------
    >>> partitions = PoissonizedPlancherel(4.0, window=(-3, 3))
    >>> partitions.sample_objects(rng=0)
    array([2])
    >>> partitions.sites[partitions.items_of([3, 2])]
    array([-3,  0,  2])
    >>> partitions.dpp.inclusion_probabilities.round(3)
    array([0.716, 0.583, 0.579, 0.421, 0.417, 0.284, 0.099])
    """

    def __init__(self, theta: float, window: tuple[int, int] | None = None) -> None:
        self.theta = check_positive(theta, name="theta")
        if window is None:
            reach = math.ceil(2.0 * math.sqrt(self.theta) + 6.0 * self.theta ** (1.0 / 6.0) + 6.0)
            window = (-reach, reach)
        if len(window) != 2:
            raise DiversetError(f"window is {window!r}; give the first site, then the last")
        first, last = (_site(x) for x in window)
        if first > last:
            raise DiversetError(f"window is ({first}, {last}); give the first site, then the last")
        self.sites: IntArray = np.arange(first, last + 1)

    def __repr__(self) -> str:
        return f"PoissonizedPlancherel(theta={self.theta:g}, window=({self.sites[0]}, {self.sites[-1]}))"

    @cached_property
    def kernel(self) -> FloatArray:
        """Discrete Bessel kernel between the sites, of shape (n_sites, n_sites)."""
        from scipy.special import jv

        # The sum of products, not the quotient: nothing cancels where x and y are close. J_m falls faster than any
        # power once m is past its argument.
        z = 2.0 * math.sqrt(self.theta)
        first = int(self.sites[0])
        last = max(math.ceil(z + 12.0 * z ** (1.0 / 3.0)) + 30, int(self.sites[-1]) + 2)
        orders = np.arange(first + 1, last + 1)
        J = np.where(orders < 0, (-1.0) ** orders, 1.0) * jv(np.abs(orders), z)
        H = np.zeros((len(self.sites), len(orders)))
        for i in range(len(self.sites)):
            H[i, : len(orders) - i] = J[i:]
        return H @ H.T

    @cached_property
    def dpp(self) -> DPP:
        """The determinantal process of the sites taken."""
        return DPP.from_marginal(self.kernel)

    def limit_density(self) -> FloatArray:
        r"""Probability of each site in the limit of large theta, :math:`\arccos(x / 2\sqrt\theta) / \pi`."""
        u = np.clip(self.sites / (2.0 * math.sqrt(self.theta)), -1.0, 1.0)
        return np.asarray(np.arccos(u) / np.pi, dtype=np.float64)

    def _make(self, rng: np.random.Generator) -> IntArray:
        check_fits_in_memory(
            int(min(16.0 * self.theta, 1e18)), what=f"about {self.theta:.3g} steps", remedy="lower theta"
        )
        return rsk_shape(rng.random(rng.poisson(self.theta)))

    def items_of(self, thing: IntArray | Sequence[int]) -> IntArray:
        """Sites that a partition, given by its parts in descending order, takes."""
        parts = np.asarray(thing, dtype=np.int64)
        taken = parts - np.arange(1, len(parts) + 1)
        # Past the last part every site is taken.
        rest = np.arange(int(self.sites[0]), -len(parts))
        sites = np.concatenate([taken, rest])
        inside = (sites >= self.sites[0]) & (sites <= self.sites[-1])
        return np.sort(sites[inside] - self.sites[0])
