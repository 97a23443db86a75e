r"""Beta ensembles: eigenvalues with any power of their distances, from tridiagonal matrices.

.. math::  p(x_1, \dots, x_n) \propto \prod_{i<j} |x_i - x_j|^\beta \prod_i w(x_i),

for the weights w of Hermite, Laguerre and Jacobi polynomials. For :math:`\beta = 2` they are determinantal; for
:math:`\beta = 1` and 4 they are eigenvalues of real symmetric and of quaternion matrices. For any positive
:math:`\beta` they are eigenvalues of tridiagonal matrices with independent entries ([DumitriuEdelman2002]_;
[KillipNenciu2004]_), drawn in :math:`O(n)` and solved in :math:`O(n^2)`. The normalising constants are integrals of
Selberg's type ([Forrester2010]_, chapter 4).
"""

from __future__ import annotations

import abc

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.special import gammaln

from diverset._typing import FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import as_finite, as_number, check_count, check_positive, check_size

__all__ = ["BetaEnsemble", "BetaHermite", "BetaJacobi", "BetaLaguerre"]


class BetaEnsemble(abc.ABC):
    """n points on the line with density proportional to a power of their distances and a weight.

    Parameters
    ----------
    n_points : int
        Number of points.
    beta : float
        Power of the distances, positive.
    """

    def __init__(self, n_points: int, beta: float = 2.0) -> None:
        self.n_points = check_count(n_points, name="n_points")
        self.beta = check_positive(beta, name="beta")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_points={self.n_points}, beta={self.beta:g})"

    @abc.abstractmethod
    def _tridiagonal(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Diagonals, of shape (size, n), and squares of what is beside them, of shape (size, n - 1)."""

    @property
    @abc.abstractmethod
    def log_normalizer(self) -> float:
        """Logarithm of the integral of the unnormalised density over all n points."""

    @abc.abstractmethod
    def _log_weight(self, x: FloatArray) -> FloatArray:
        """Logarithm of the weight at each point; ``-inf`` outside its support."""

    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> FloatArray:
        """Draw points, ascending: of shape (n_points,), or (size, n_points).

        Parameters
        ----------
        size : int, optional
            How many draws; a single one by default.
        rng : int, Generator or None
            Seed or generator.
        """
        generator = np.random.default_rng(rng)
        count = 1 if size is None else check_size(size, name="size")
        diagonals, squares = self._tridiagonal(count, generator)
        beside = np.sqrt(squares)
        points = np.empty((count, self.n_points))
        for i in range(count):
            if self.n_points == 1:
                points[i] = diagonals[i]
            else:
                points[i] = scipy.linalg.eigvalsh_tridiagonal(diagonals[i], beside[i])
        return points[0] if size is None else points

    def log_density(self, x: ArrayLike) -> float:
        """Logarithm of the joint density of n points, in any order."""
        points = as_finite(x, name="x", shape=(None,))
        if len(points) != self.n_points:
            raise DiversetError(f"x has {len(points)} points; the ensemble has {self.n_points}")
        i, j = np.triu_indices(self.n_points, 1)
        with np.errstate(divide="ignore"):
            distances = self.beta * float(np.log(np.abs(points[i] - points[j])).sum())
        return float(self._log_weight(points).sum()) + distances - self.log_normalizer

    def _log_repulsion(self) -> float:
        r""":math:`\sum_j \log\Gamma(1 + j\beta/2) / \Gamma(1 + \beta/2)`, which all three constants share."""
        j = np.arange(1, self.n_points + 1)
        return float((gammaln(1.0 + j * self.beta / 2.0) - gammaln(1.0 + self.beta / 2.0)).sum())


class BetaHermite(BetaEnsemble):
    r"""Points on the line with weight :math:`e^{-x^2/2}`: the Gaussian ensembles.

    Parameters
    ----------
    n_points : int
        Number of points.
    beta : float
        Power of the distances.

    Notes
    -----
    :math:`\mathrm{E}\sum x_i^2 = n + \beta n(n-1)/2` ([DumitriuEdelman2002]_).

    Examples
    --------
    >>> ensemble = BetaHermite(3, beta=4.0)
    >>> ensemble.sample(rng=0).round(3)
    array([-2.39 ,  0.449,  2.575])
    >>> round(BetaHermite(1).log_density([0.0]), 6)  # a normal number
    -0.918939
    """

    def _tridiagonal(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        n = self.n_points
        diagonal = rng.standard_normal((size, n))
        # Half a chi-square number of f degrees of freedom is a gamma number of shape f / 2.
        return diagonal, rng.standard_gamma(self.beta * np.arange(n - 1, 0, -1) / 2.0, size=(size, n - 1))

    @property
    def log_normalizer(self) -> float:
        """Mehta's integral."""
        return 0.5 * self.n_points * float(np.log(2.0 * np.pi)) + self._log_repulsion()

    def _log_weight(self, x: FloatArray) -> FloatArray:
        return -0.5 * x**2


class BetaLaguerre(BetaEnsemble):
    r"""Positive points with weight :math:`x^\alpha e^{-x}`: the Wishart ensembles.

    Parameters
    ----------
    n_points : int
        Number of points.
    beta : float
        Power of the distances.
    alpha : float
        Above -1.

    Notes
    -----
    :math:`\mathrm{E}\sum x_i = n(\alpha + 1 + (n-1)\beta/2)` ([DumitriuEdelman2002]_).

    Examples
    --------
    >>> BetaLaguerre(2, beta=1.0, alpha=0.5).sample(rng=0).round(3)
    array([0.949, 3.875])
    """

    def __init__(self, n_points: int, beta: float = 2.0, *, alpha: float = 0.0) -> None:
        super().__init__(n_points, beta)
        self.alpha = as_number(alpha, name="alpha")
        if not self.alpha > -1.0:
            raise DiversetError(f"alpha is {self.alpha:g}; the weight has an integral for alpha above -1")

    def _tridiagonal(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        n, half = self.n_points, self.beta / 2.0
        # A bidiagonal B with squared entries d and e; the points are eigenvalues of B B^T.
        d = rng.standard_gamma(self.alpha + 1.0 + half * np.arange(n - 1, -1, -1), size=(size, n))
        e = rng.standard_gamma(half * np.arange(n - 1, 0, -1), size=(size, n - 1))
        diagonal = d.copy()
        diagonal[:, 1:] += e
        return diagonal, d[:, :-1] * e

    @property
    def log_normalizer(self) -> float:
        """Selberg's integral, in Laguerre's form."""
        j = np.arange(self.n_points)
        return self._log_repulsion() + float(gammaln(self.alpha + 1.0 + j * self.beta / 2.0).sum())

    def _log_weight(self, x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (self.alpha * np.log(x) if self.alpha else 0.0) - x
        return np.where(x > 0.0, inside, -np.inf)


class BetaJacobi(BetaEnsemble):
    r"""Points between 0 and 1 with weight :math:`x^{a-1}(1-x)^{b-1}`: the MANOVA ensembles.

    Parameters
    ----------
    n_points : int
        Number of points.
    beta : float
        Power of the distances.
    a, b : float
        Positive; a = b = 1 is the uniform weight.

    Notes
    -----
    :math:`\mathrm{E}\,x_i = (a + (n-1)\beta/2) / (a + b + (n-1)\beta)` on average over i. The tridiagonal matrix comes
    from independent canonical moments, which have beta laws ([KillipNenciu2004]_).

    Examples
    --------
    >>> BetaJacobi(3, beta=2.0, a=1.0, b=1.0).sample(rng=0).round(3)
    array([0.051, 0.469, 0.999])
    """

    def __init__(self, n_points: int, beta: float = 2.0, *, a: float = 1.0, b: float = 1.0) -> None:
        super().__init__(n_points, beta)
        self.a, self.b = check_positive(a, name="a"), check_positive(b, name="b")

    def _tridiagonal(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        n, half = self.n_points, self.beta / 2.0
        left = half * np.arange(n - 1, -1, -1)
        odd = rng.beta(left + self.a, left + self.b, size=(size, n))
        even = rng.beta(left[:-1], left[1:] + self.a + self.b, size=(size, n - 1))
        # The chain xi_k = (1 - p_{k-1}) p_k of canonical moments p.
        first, second = odd.copy(), (1.0 - odd[:, :-1]) * even
        first[:, 1:] *= 1.0 - even
        diagonal = first.copy()
        diagonal[:, 1:] += second
        return diagonal, first[:, :-1] * second

    @property
    def log_normalizer(self) -> float:
        """Selberg's integral."""
        half, j = self.beta / 2.0, np.arange(self.n_points)
        ends = gammaln(self.a + j * half) + gammaln(self.b + j * half)
        return self._log_repulsion() + float((ends - gammaln(self.a + self.b + (self.n_points + j - 1) * half)).sum())

    def _log_weight(self, x: FloatArray) -> FloatArray:
        inside = (x > 0.0) & (x < 1.0)
        safe = np.where(inside, x, 0.5)
        return np.where(inside, (self.a - 1.0) * np.log(safe) + (self.b - 1.0) * np.log1p(-safe), -np.inf)
