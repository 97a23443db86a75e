"""The multivariate Jacobi ensemble: n points in a cube, and quadrature with them."""

import math
from collections.abc import Callable
from itertools import count, product

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import eval_jacobi, gammaln

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import as_finite, check_count
from diverset.theory.classics.base import ProjectionProcess

__all__ = ["MultivariateJacobi"]

_ESTIMATORS = ("bardenet-hardy", "ermakov-zolotukhin")


class MultivariateJacobi(ProjectionProcess):
    r"""Projection process of n products of Jacobi polynomials on :math:`[-1, 1]^d`.

    .. math::  K(x, y) = \sum_{k} \varphi_k(x) \varphi_k(y) \sqrt{w(x) w(y)}, \qquad
               \varphi_k(x) = \prod_i p_{k_i}^{(a_i, b_i)}(x_i)

    over the first n degrees k, ordered by their largest entry, then lexicographically. The polynomials are orthonormal
    for :math:`\mu(dx) = \prod_i (1-x_i)^{a_i} (1+x_i)^{b_i}\,dx_i`. Points are nodes of a quadrature with errors of
    order :math:`n^{-1/2 - 1/(2d)}` for smooth functions ([BardenetHardy2020]_; [GautierBardenetValko2019]_).
    :class:`ProjectionProcess` describes the draws. Proposals take a uniform degree k, then each coordinate from
    :math:`p_k^2 w`, by rejection from the arcsine law with the bound of [ChowGatteschiWong1994]_, as in
    [GautierBardenetValko2019]_.

    Parameters
    ----------
    n_points : int
        Number of points and of polynomials.
    parameters : array_like of shape (d, 2)
        Exponents a and b of every coordinate, between -1/2 and 1/2. Zeros give the uniform measure, -1/2 Chebyshev's.

    Examples
    --------
    >>> process = MultivariateJacobi(25, [[0.0, 0.0], [0.0, 0.0]])
    >>> process.sample(rng=0).shape
    (25, 2)
    >>> f = lambda x: np.cos(x[:, 0]) * np.exp(x[:, 1])
    >>> exact = 2 * np.sin(1.0) * (np.e - 1 / np.e)
    >>> found = process.integral(f, estimator="ermakov-zolotukhin", rng=0)
    >>> bool(abs(found - exact) < 0.01)
    True
    """

    def __init__(self, n_points: int, parameters: ArrayLike) -> None:
        super().__init__(n_points)
        self.parameters = as_finite(parameters, name="parameters", shape=(None, 2)).copy()
        self.parameters.flags.writeable = False
        self.dim = check_count(len(self.parameters), name="the number of coordinates")
        worst = float(np.abs(self.parameters).max())
        if worst > 0.5:
            raise DiversetError(f"parameters has an exponent of size {worst:g}; the sampler needs them within 1/2")
        side = next(m for m in count(1) if m**self.dim >= self.n_points)
        degrees = sorted(product(range(side), repeat=self.dim), key=max)[: self.n_points]
        self.degrees: IntArray = np.array(degrees, dtype=np.int64)

    def __repr__(self) -> str:
        return f"MultivariateJacobi(n_points={self.n_points}, dim={self.dim})"

    @property
    def total_mass(self) -> float:
        r"""Mass :math:`\mu([-1, 1]^d)` of the measure."""
        return math.exp(sum(_log_norm(0, a, b) for a, b in self.parameters))

    def _points(self, x: ArrayLike) -> FloatArray:
        points = as_finite(x, name="x", shape=(None, self.dim))
        if len(points) and float(np.abs(points).max()) > 1.0:
            raise DiversetError(f"x has a coordinate {np.abs(points).max():.6g} in size; points lie in [-1, 1]")
        return points

    def polynomials(self, x: ArrayLike) -> FloatArray:
        """Values of the n polynomials at points of shape (m, dim), of shape (m, n_points)."""
        points = self._points(x)
        values = np.ones((len(points), self.n_points))
        for i, (a, b) in enumerate(self.parameters):
            top = int(self.degrees[:, i].max())
            table = np.stack([_orthonormal(k, a, b, points[:, i]) for k in range(top + 1)], axis=1)
            values *= table[:, self.degrees[:, i]]
        return values

    def log_weight(self, x: ArrayLike) -> FloatArray:
        """Logarithm of the density w of the measure at points of shape (m, dim)."""
        points = self._points(x)
        a, b = self.parameters.T
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(a == 0.0, 0.0, a * np.log1p(-points)) + np.where(b == 0.0, 0.0, b * np.log1p(points))
        return np.asarray(logs.sum(axis=1), dtype=np.float64)

    def functions(self, x: ArrayLike) -> Array:
        r"""Orthonormal functions :math:`\varphi_k \sqrt w` for the volume, of shape (m, n_points)."""
        points = self._points(x)
        return self.polynomials(points) * np.exp(0.5 * self.log_weight(points))[:, None]

    def _propose(self, size: int, rng: np.random.Generator) -> Array:
        chosen = self.degrees[rng.integers(self.n_points, size=size)]
        points = np.empty((size, self.dim))
        for i, (a, b) in enumerate(self.parameters):
            for k in np.unique(chosen[:, i]):
                where = np.flatnonzero(chosen[:, i] == k)
                points[where, i] = _draw_squared(int(k), a, b, len(where), rng)
        return points

    def integral(
        self, f: Callable[[FloatArray], ArrayLike], *, estimator: str = "bardenet-hardy", rng: RNGLike = None
    ) -> float:
        r"""Unbiased estimate of :math:`\int f\,d\mu` from the values of f at one draw.

        Parameters
        ----------
        f : callable
            Takes points of shape (n_points, dim) and returns n_points numbers.
        estimator : {"bardenet-hardy", "ermakov-zolotukhin"}
            The first is :math:`\sum_i f(x_i) / K(x_i, x_i)`, with K taken for the measure :math:`\mu`. The second
            integrates the interpolant of f by the n polynomials. It is exact for their linear combinations, and its
            variance is :math:`\lVert f\rVert^2 - \sum_k \langle f, \varphi_k\rangle^2` times the total mass.
        rng : int, Generator or None
            Seed or generator of the draw.
        """
        if estimator not in _ESTIMATORS:
            raise DiversetError(f"estimator is {estimator!r}; choose one of {', '.join(_ESTIMATORS)}")
        points = np.asarray(self.sample(rng=rng), dtype=np.float64)
        values = as_finite(np.asarray(f(points)), name="the values of f", shape=(self.n_points,))
        Phi = self.polynomials(points)
        if estimator == "bardenet-hardy":
            return float((values / (Phi**2).sum(axis=1)).sum())
        # The first polynomial is constant, so its coefficient is the integral up to that constant.
        return float(np.linalg.solve(Phi, values)[0]) * math.sqrt(self.total_mass)


def _log_norm(k: int, a: float, b: float) -> float:
    r"""Logarithm of :math:`\int (P_k^{(a,b)})^2 (1-x)^a (1+x)^b dx`."""
    # The general formula is 0/0 for k = 0 and a + b = -1.
    last = gammaln(a + b + 2.0) if k == 0 else math.log(2.0 * k + a + b + 1.0) + gammaln(k + a + b + 1.0)
    gammas = gammaln(k + a + 1.0) + gammaln(k + b + 1.0) - gammaln(k + 1.0)
    return float((a + b + 1.0) * math.log(2.0) + gammas - last)


def _orthonormal(k: int, a: float, b: float, x: FloatArray) -> FloatArray:
    return np.asarray(eval_jacobi(k, a, b, x) * math.exp(-0.5 * _log_norm(k, a, b)), dtype=np.float64)


def _log_bound(k: int, a: float, b: float) -> float:
    r"""Logarithm of an upper bound of :math:`\pi (1-x)^{a+1/2}(1+x)^{b+1/2} p_k(x)^2`, for k at least 1."""
    q, middle = max(a, b), k + (a + b + 1.0) / 2.0
    # sin^(a+1/2) cos^(b+1/2) |P_k| is at most Gamma(q+1) / Gamma(1/2) binom(k+q, k) (k + (a+b+1)/2)^(-q-1/2).
    half = float(gammaln(k + q + 1.0) - gammaln(k + 1.0) - 0.5 * math.log(math.pi) - (q + 0.5) * math.log(middle))
    return math.log(math.pi) + (a + b + 1.0) * math.log(2.0) + 2.0 * half - _log_norm(k, a, b)


def _draw_squared(k: int, a: float, b: float, size: int, rng: np.random.Generator) -> FloatArray:
    """Independent numbers in [-1, 1] with density p_k^2 w, by rejection from the arcsine law."""
    if k == 0:
        return 2.0 * rng.beta(b + 1.0, a + 1.0, size=size) - 1.0
    bound = math.exp(_log_bound(k, a, b))
    found = np.zeros(0)
    while len(found) < size:
        x = np.cos(math.pi * rng.random(2 * (size - len(found)) + 8))
        ratio = math.pi * (1.0 - x) ** (a + 0.5) * (1.0 + x) ** (b + 0.5) * _orthonormal(k, a, b, x) ** 2
        found = np.concatenate([found, x[rng.random(len(x)) * bound < ratio]])
    return found[:size]
