r"""Projection processes on the line, the circle or the plane, drawn exactly by the chain rule.

For orthonormal functions :math:`\phi_0, \dots, \phi_{n-1}` the kernel :math:`K(x, y) = \sum_l \phi_l(x)
\overline{\phi_l(y)}` defines a process of exactly n points, with joint density

.. math::  \frac{1}{n!} \det\big[ K(x_i, x_j) \big]_{ij} = \frac{1}{n!} \big| \det [ \phi_l(x_i) ] \big|^2 .

It is Algorithm 1 of [KuleszaTaskar2012]_ without a ground set ([HoughEtAl2006]_): points are drawn one after another,
the next with density proportional to what is left of :math:`K(x, x)` after projecting off the points before.
"""

from __future__ import annotations

import abc
import math
from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from diverset._typing import Array, FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics import poisson_binomial
from diverset.numerics.validation import check_count, check_size

__all__ = ["ProjectionProcess"]

#: Proposals evaluated together.
_BATCH = 32


class ProjectionProcess(abc.ABC):
    """n points of a continuous space, drawn by the kernel of n orthonormal functions.

    Parameters
    ----------
    n_points : int
        Number of functions, and of points.
    """

    def __init__(self, n_points: int) -> None:
        self.n_points = check_count(n_points, name="n_points")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_points={self.n_points})"

    @abc.abstractmethod
    def functions(self, x: ArrayLike) -> Array:
        """Values of the orthonormal functions at points, of shape (len(x), n_points)."""

    @abc.abstractmethod
    def _propose(self, size: int, rng: np.random.Generator) -> Array:
        """Independent points with density K(x, x) / n_points."""

    def kernel(self, x: ArrayLike, y: ArrayLike | None = None) -> Array:
        """Matrix of :math:`K(x_i, y_j)`; of `x` with itself by default."""
        F = self.functions(x)
        G = F if y is None else self.functions(y)
        product: Array = F @ G.conj().T
        return product

    def intensity(self, x: ArrayLike) -> FloatArray:
        """Expected number of points per unit of length or area, K(x, x)."""
        return np.asarray((np.abs(self.functions(x)) ** 2).sum(axis=1), dtype=np.float64)

    def log_density(self, x: ArrayLike) -> float:
        r"""Log of the joint density :math:`\det[K(x_i, x_j)] / n!` of n points, in any order."""
        F = self.functions(x)
        if len(F) != self.n_points:
            raise DiversetError(f"x has {len(F)} points; the process has {self.n_points}")
        # The determinant of the functions, not of the kernel, which would square its condition number.
        _, log_det = np.linalg.slogdet(F)
        return float(2.0 * log_det - gammaln(self.n_points + 1))

    def _counts(self, gram: Array) -> FloatArray:
        """Law of the number of points in a region, from the functions' inner products over the region."""
        kappa = np.clip(np.linalg.eigvalsh(gram), 0.0, 1.0)
        with np.errstate(divide="ignore"):
            pmf = poisson_binomial.pmf(np.log(kappa) - np.log1p(-kappa))
        # It ends with the largest number that is possible.
        return np.pad(pmf, (0, self.n_points + 1 - len(pmf)))

    @overload
    def sample(self, size: None = None, *, rng: RNGLike = None) -> Array: ...
    @overload
    def sample(self, size: int, *, rng: RNGLike = None) -> list[Array]: ...
    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> Array | list[Array]:
        r"""Draw n points from the kernel, or a list of `size` such draws; in no particular order.

        Parameters
        ----------
        size : int, optional
            How many draws; a single one, not in a list, by default.
        rng : int, Generator or None
            Seed or generator.

        Notes
        -----
        Points are proposed by the intensity and kept with probability (what is left of K(x, x)) / K(x, x): for n points
        about :math:`n H_n` proposals of :math:`O(n^2)`, :math:`H_n = 1 + 1/2 + \dots + 1/n`. Exact.
        """
        generator = np.random.default_rng(rng)
        if size is None:
            return self._draw(generator)
        return [self._draw(generator) for _ in range(check_size(size, name="size"))]

    def _draw(self, rng: np.random.Generator) -> Array:
        n = self.n_points
        basis = np.zeros((0, n))
        points: list[Array] = []
        while len(points) < n:
            x = self._propose(_BATCH, rng)
            F = self.functions(x)
            threshold = rng.random(_BATCH)
            norms = (np.abs(F) ** 2).sum(axis=1)
            for i in range(_BATCH):
                # Twice is enough: once leaves rounding of the size of the row itself.
                left = F[i] - (F[i] @ basis.conj().T) @ basis
                share = float(np.vdot(left, left).real) / float(norms[i])
                if threshold[i] < share:
                    left = left - (left @ basis.conj().T) @ basis
                    basis = np.concatenate([basis, left[None] / math.sqrt(float(np.vdot(left, left).real))])
                    points.append(x[i])
                    if len(points) == n:
                        break
        return np.array(points)
