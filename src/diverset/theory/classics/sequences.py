r"""Random sequences and permutations: descents, carries in addition, and Plancherel partitions.

Descents and carries are *one-dependent*: the items before and after a place are independent. Every such random set is
determinantal (:func:`one_dependent_kernel`, [BorodinDiaconisFulman2010]_). So is the set of integers
:math:`\lambda_i - i` of a random partition :math:`\lambda` under the Poissonised Plancherel measure
([BorodinOkounkovOlshanski2000]_; [Johansson2001]_).
"""

import math
import operator
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.numerics.symmetric import log_elementary_symmetric_all
from diverset.numerics.validation import (
    as_probability_vector,
    as_real,
    check_count,
    check_fits_in_memory,
    check_positive,
)
from diverset.theory.classics.base import NonsymmetricClassic, SymmetricClassic

__all__ = ["Carries", "Descents", "PoissonizedPlancherel", "one_dependent_kernel", "rsk_shape"]


def one_dependent_kernel(runs: ArrayLike) -> FloatArray:
    r"""Marginal kernel of a one-dependent random set, from the probabilities of runs.

    .. math::  K_{ij} = -(F^{-1})_{i,j+1}, \qquad F_{ij} = \Pr(\{i, \dots, j-1\} \subseteq Y)

    K is upper Hessenberg, with -1 below the diagonal [BorodinDiaconisFulman2010]_. Expanding the determinant of an
    interval along its first row gives the recursion that inverts F. Runs that do not touch are independent, and
    :math:`K_A` is block triangular for them. :math:`O(n^3)`.

    Parameters
    ----------
    runs : array_like of shape (n_items + 1, n_items + 1)
        F, upper triangular with unit diagonal; only entries above the diagonal are read.

    Examples
    --------
    Independent items are one-dependent, although the kernel is not diagonal.

    >>> one_dependent_kernel([[1.0, 0.5, 0.1], [0.0, 1.0, 0.2], [0.0, 0.0, 1.0]])
    array([[ 0.5,  0. ],
           [-1. ,  0.2]])
    """
    F = as_real(runs, name="runs")
    if F.ndim != 2 or F.shape[0] != F.shape[1] or len(F) == 0:
        raise DiversetError(f"runs has shape {F.shape}; n items need an (n + 1, n + 1) matrix of run probabilities")
    if not (np.abs(F) <= 1.0 + 1e-9).all():
        i, j = np.argwhere(~(np.abs(F) <= 1.0 + 1e-9))[0]
        raise DiversetError(f"runs[{i}, {j}] is {F[i, j]}; a probability lies between 0 and 1")
    inverse = scipy.linalg.solve_triangular(F, np.eye(len(F)), unit_diagonal=True)
    return np.asarray(0.0 - inverse[:-1, 1:], dtype=np.float64)


class Descents(NonsymmetricClassic[IntArray]):
    r"""Descents of a sequence of independent, identically distributed values.

    Item i is in the set if value i + 1 of the sequence is less than value i. A run of m descents is a decreasing
    sequence of m + 1 values, and m + 1 different values have exactly one decreasing order:

    .. math::  \Pr(x_i > x_{i+1} > \dots > x_{i+m}) = e_{m+1}(p_1, \dots, p_b),

    the elementary symmetric polynomial of the values' probabilities ([KuleszaTaskar2012]_, section 2.1.1;
    [BorodinDiaconisFulman2010]_).

    Parameters
    ----------
    length : int
        Length of the sequence, at least 1; there are ``length - 1`` items.
    values : int or array_like of shape (b,)
        Number of equally likely values (10 for digits), or the probabilities of the values in ascending order.

    Examples
    --------
    >>> falls = Descents(5, values=10)
    >>> sequence = falls.sample_objects(rng=0)
    >>> sequence, falls.items_of(sequence)
    (array([6, 2, 0, 0, 8]), array([0, 1]))
    >>> falls.dpp.inclusion_probabilities.round(6)
    array([0.45, 0.45, 0.45, 0.45])
    >>> round(falls.dpp.marginal([0, 1]), 6)  # 120 of 1,000 triples of digits decrease
    0.12
    """

    def __init__(self, length: int, values: int | ArrayLike = 10) -> None:
        self.length = check_count(length, name="length")
        if np.ndim(values) == 0:
            b = check_count(values, name="values")
            self.probabilities: FloatArray = np.full(b, 1.0 / b)
        else:
            self.probabilities = as_probability_vector(values, name="values")
        self.probabilities.flags.writeable = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(length={self.length}, {len(self.probabilities)} values)"

    @cached_property
    def kernel(self) -> FloatArray:
        """Marginal kernel, of shape (length - 1, length - 1)."""
        n, b = self.length, len(self.probabilities)
        with np.errstate(divide="ignore"):
            log_e = log_elementary_symmetric_all(np.log(self.probabilities), min(n, b))
        falling = np.zeros(n)  # entry m: a run of m descents
        falling[: len(log_e) - 1] = np.exp(log_e[1:])
        falling[0] = 1.0
        return one_dependent_kernel(scipy.linalg.toeplitz(np.eye(1, n)[0], falling))

    def _make(self, rng: np.random.Generator) -> IntArray:
        return rng.choice(len(self.probabilities), size=self.length, p=self.probabilities)

    def items_of(self, thing: IntArray) -> IntArray:
        """Descents of a sequence."""
        return np.flatnonzero(np.diff(thing) < 0)


class Carries(Descents):
    r"""Carries when a column of random digits is added up.

    Digits are added one after another, and only the last digit of the sum is kept. Item i is in the set if adding digit
    i + 1 makes a carry. The last digits of the running sums are independent and uniform, and carries are their
    descents: the set has the law of :class:`Descents` ([BorodinDiaconisFulman2010]_).

    Parameters
    ----------
    length : int
        Number of digits, at least 1; there are ``length - 1`` items.
    base : int
        Base of the number system, at least 2.

    Examples
    --------
    7 + 4 makes a carry (11, keep 1), 1 + 8 does not, and 9 + 2 does:

    >>> Carries(4).items_of(np.array([7, 4, 8, 2]))
    array([0, 2])
    >>> round(Carries(4, base=2).dpp.marginal([0, 1]), 12)  # in base 2 never twice in a row
    0.0
    """

    def __init__(self, length: int, base: int = 10) -> None:
        if check_count(base, name="base") < 2:
            raise DiversetError(f"base is {base}; a number system has at least two digits")
        super().__init__(length, base)
        self.base = len(self.probabilities)

    def items_of(self, thing: IntArray) -> IntArray:
        """Places where adding the next digit makes a carry."""
        return super().items_of(np.cumsum(thing) % self.base)


def rsk_shape(sequence: Iterable[float]) -> IntArray:
    """Shape of the Young tableaux of a sequence of distinct numbers, by row insertion (Robinson and Schensted).

    The lengths of the first row and column are those of the longest increasing and decreasing subsequences. The cost
    is O(N^1.5) for N random numbers.

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


class PoissonizedPlancherel(SymmetricClassic[IntArray]):
    r"""Random partitions under the Poissonised Plancherel measure, with the discrete Bessel kernel.

    A partition is the shape :math:`\lambda` (:func:`rsk_shape`) of a uniform permutation of a Poisson number of things
    with mean :math:`\theta`:

    .. math::  \Pr(\lambda) = e^{-\theta} \theta^{|\lambda|} \left( \frac{\dim \lambda}{|\lambda|!} \right)^2 .

    Item j is in the set if ``sites[j]`` is :math:`\lambda_i - i` for some :math:`i \ge 1`, where
    :math:`\lambda_i = 0` past the last part. With Bessel functions of argument :math:`2\sqrt\theta`,

    .. math::  K(x, y) = \sum_{k \ge 1} J_{x+k} J_{y+k}
        = \sqrt\theta\, \frac{J_x J_{y+1} - J_{x+1} J_y}{x - y}.

    Scaled by :math:`\sqrt\theta`, partitions have a limit shape, and the density of sites at :math:`u\sqrt\theta` tends
    to :math:`\arccos(u/2)/\pi` (:meth:`limit_density`). The largest site plus 1 is the length of the
    longest increasing subsequence.

    Parameters
    ----------
    theta : float
        Mean of the number that is partitioned.
    window : (int, int), optional
        First and last site. By default :math:`\pm 2\sqrt\theta`, widened by a multiple of :math:`\theta^{1/6}`, the
        order of the fluctuations of the edge.

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
        try:
            first, last = (operator.index(x) for x in window)
        except (TypeError, ValueError):
            raise DiversetError(f"window is {window!r}; give two whole numbers, the first and last site") from None
        if first > last:
            raise DiversetError(f"window is ({first}, {last}); give the first site, then the last")
        self.sites: IntArray = np.arange(first, last + 1)

    def __repr__(self) -> str:
        return f"PoissonizedPlancherel(theta={self.theta:g}, window=({self.sites[0]}, {self.sites[-1]}))"

    @cached_property
    def kernel(self) -> FloatArray:
        """Discrete Bessel kernel between the sites, of shape (n_sites, n_sites)."""
        from scipy.special import jv

        # The sum of products, not the quotient, which cancels where x and y are close. J_m decays faster than any
        # power once m exceeds its argument.
        z = 2.0 * math.sqrt(self.theta)
        first = int(self.sites[0])
        last = max(math.ceil(z + 12.0 * z ** (1.0 / 3.0)) + 30, int(self.sites[-1]) + 2)
        orders = np.arange(first + 1, last + 1)
        J = np.where(orders < 0, (-1.0) ** orders, 1.0) * jv(np.abs(orders), z)
        H = np.zeros((len(self.sites), len(orders)))
        for i in range(len(self.sites)):
            H[i, : len(orders) - i] = J[i:]
        return H @ H.T

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
        """Sites of a partition, which is given by its parts in descending order."""
        parts = np.asarray(thing, dtype=np.int64)
        taken = parts - np.arange(1, len(parts) + 1)
        # Past the last part every site is in the set.
        rest = np.arange(int(self.sites[0]), -len(parts))
        sites = np.concatenate([taken, rest])
        inside = (sites >= self.sites[0]) & (sites <= self.sites[-1])
        return np.sort(sites[inside] - self.sites[0])
