r"""Eigenvalues of random matrices: three projection processes, and the beta ensembles.

``sample_matrices`` and ``sample_eigenvalues`` draw matrices; ``sample`` draws from the kernel ([Ginibre1965]_;
[MehtaGaudin1960]_; [Dyson1962]_; [KuleszaTaskar2012]_, section 2.1.1).
"""

import abc
import math
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaln, xlogy

from diverset._typing import Array, FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import (
    as_finite,
    as_generator,
    as_number,
    as_real,
    as_real_or_complex,
    check_count,
    check_nonnegative,
    check_positive,
    check_size,
)
from diverset.theory.classics.base import ProjectionProcess

__all__ = ["CUE", "GUE", "BetaEnsemble", "BetaHermite", "BetaJacobi", "BetaLaguerre", "Ginibre"]


def _complex_normal(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Complex normal numbers of variance 1."""
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / math.sqrt(2.0)


class _MatrixEnsemble(ProjectionProcess):
    def sample_matrices(self, size: int, *, rng: RNGLike = None) -> Array:
        """Draw random matrices, of shape (size, n_points, n_points)."""
        return self._matrices(check_size(size, name="size"), as_generator(rng))

    def sample_eigenvalues(self, size: int, *, rng: RNGLike = None) -> Array:
        """Draw points as eigenvalues of random matrices, of shape (size, n_points), without the kernel."""
        return self._points_of(self.sample_matrices(size, rng=rng))

    @abc.abstractmethod
    def _matrices(self, size: int, rng: np.random.Generator) -> Array:
        """Random matrices, of shape (size, n_points, n_points)."""

    def _points_of(self, matrices: Array) -> Array:
        return np.linalg.eigvals(matrices)


class Ginibre(_MatrixEnsemble):
    r"""Eigenvalues of an n x n matrix of independent complex normal entries: n = `n_points` points in the plane.

    .. math::  K(z, w) = \frac1\pi\, e^{-(|z|^2 + |w|^2)/2} \sum_{l<n} \frac{(z \bar w)^l}{l!}

    By the circular law, for large n the density is :math:`1/\pi` in the disc of radius :math:`\sqrt n`. The set of
    squared moduli is that of independent Gamma variables of shapes 1 to n [Kostlan1992]_.

    Examples
    --------
    >>> ensemble = Ginibre(50)
    >>> ensemble.sample(rng=0).shape, ensemble.sample_eigenvalues(1, rng=0).shape
    ((50,), (1, 50))
    >>> ensemble.intensity([0.0, 3.0]).round(4), round(1 / np.pi, 4)
    (array([0.3183, 0.3183]), 0.3183)
    """

    def functions(self, x: ArrayLike) -> Array:
        r""":math:`\phi_l(z) = z^l e^{-|z|^2/2} / \sqrt{\pi\, l!}` at complex points."""
        z = as_real_or_complex(np.atleast_1d(np.asarray(x)), name="x", ndim=1).astype(np.complex128)[:, None]
        as_finite(np.abs(z[:, 0]), name="x", shape=(None,))
        power = np.arange(self.n_points)
        log_size = xlogy(power, np.abs(z)) - 0.5 * (np.abs(z) ** 2 + gammaln(power + 1.0) + math.log(math.pi))
        return np.asarray(np.exp(log_size + 1j * power * np.angle(z)))

    def _propose(self, size: int, rng: np.random.Generator) -> Array:
        # Under the density of function l, the squared modulus is Gamma(l + 1) and the angle is uniform.
        radius = np.sqrt(rng.standard_gamma(rng.integers(1, self.n_points + 1, size).astype(np.float64)))
        return np.asarray(radius * np.exp(2j * np.pi * rng.random(size)))

    def count_distribution(self, radius: float) -> FloatArray:
        """Probabilities of 0 to n_points points within a distance of the origin."""
        r = check_nonnegative(radius, name="radius")
        return self._counts(np.diag(gammainc(np.arange(1.0, self.n_points + 1), r * r)))

    def _matrices(self, size: int, rng: np.random.Generator) -> Array:
        return _complex_normal((size, self.n_points, self.n_points), rng)


class GUE(_MatrixEnsemble):
    r"""Eigenvalues of the Gaussian unitary ensemble: n = `n_points` points on the line.

    Hermitian n x n matrices with density proportional to :math:`e^{-\mathrm{tr} H^2/2}`: entries are standard normal
    on the diagonal and complex normal of variance 1 off it. With the Hermite polynomials for the normal density,

    .. math::  K(x, y) = \sum_{l<n} \phi_l(x) \phi_l(y), \qquad
        \phi_l(x) = \frac{\mathrm{He}_l(x)\, e^{-x^2/4}}{\sqrt{\sqrt{2\pi}\, l!}} .

    By the semicircle law, the density for large n is near :math:`\sqrt{4n - x^2} / 2\pi` (:meth:`limit_density`).

    Examples
    --------
    >>> ensemble = GUE(50)
    >>> ensemble.intensity([0.0, 10.0]).round(3), ensemble.limit_density([0.0, 10.0]).round(3)
    (array([2.24 , 1.614]), array([2.251, 1.592]))
    """

    #: Width of the cells on which proposals are uniform.
    _CELL = 0.25

    def functions(self, x: ArrayLike) -> Array:
        """Hermite functions at real points, by their stable three-term recursion."""
        points = as_finite(np.atleast_1d(np.asarray(x)), name="x", shape=(None,))
        values = np.empty((len(points), self.n_points))
        # Far from the origin the first functions underflow while later ones are large: keep a logarithmic scale.
        log_scale = -0.25 * points**2 - 0.25 * math.log(2.0 * math.pi)
        before, here = np.zeros_like(points), np.ones_like(points)
        for degree in range(self.n_points):
            values[:, degree] = here * np.exp(log_scale)
            before, here = here, (points * here - math.sqrt(degree) * before) / math.sqrt(degree + 1.0)
            size = np.maximum(np.abs(here), 1.0)
            before, here, log_scale = before / size, here / size, log_scale + np.log(size)
        return values

    def limit_density(self, x: ArrayLike) -> FloatArray:
        r"""The semicircle, :math:`\sqrt{4n - x^2} / 2\pi` on its support."""
        squares = as_real(x, name="x") ** 2
        return np.asarray(np.sqrt(np.maximum(4.0 * self.n_points - squares, 0.0)) / (2.0 * math.pi))

    @cached_property
    def _envelope(self) -> tuple[FloatArray, FloatArray, float, float]:
        r"""Upper bound of the intensity: left ends and heights of cells, the outer edge, and the rate of decay there.

        Within a cell: the slope of the intensity is :math:`-\sqrt n\,\phi_n\phi_{n-1}`, and no Hermite function exceeds
        :math:`(2\pi)^{-1/4}` (Cramér), so that the intensity within a cell exceeds that at its ends by at most
        half a width times :math:`\sqrt{n / 2\pi}`. Beyond the edge a: :math:`\phi_l'' = (x^2/4 - l - 1/2)\phi_l`, and a
        solution that decays does so at least at the rate :math:`\sqrt{a^2/4 - l - 1/2}`.
        """
        n, h = self.n_points, self._CELL
        edge = h * math.ceil((2.0 * math.sqrt(n) + 1.0) / h)
        ends = np.arange(-edge, edge + h / 2.0, h)
        density = self.intensity(ends)
        heights = np.maximum(density[:-1], density[1:]) + 0.5 * h * math.sqrt(n / (2.0 * math.pi))
        return ends[:-1], heights, edge, 2.0 * math.sqrt(edge * edge / 4.0 - n + 0.5)

    def _propose(self, size: int, rng: np.random.Generator) -> Array:
        left, heights, edge, rate = self._envelope
        tail = float(self.intensity([edge])[0])
        masses = np.concatenate([heights * self._CELL, [tail / rate, tail / rate]])
        found: list[FloatArray] = []
        while sum(len(part) for part in found) < size:
            cell = rng.choice(len(masses), size=2 * size, p=masses / masses.sum())
            inside = cell < len(left)
            at = np.minimum(cell, len(left) - 1)
            beyond = rng.standard_exponential(2 * size) / rate
            x = np.where(inside, left[at] + self._CELL * rng.random(2 * size), edge + beyond)
            x = np.where(cell == len(masses) - 1, -x, x)
            bound = np.where(inside, heights[at], tail * np.exp(-rate * beyond))
            found.append(x[rng.random(2 * size) * bound < self.intensity(x)])
        return np.concatenate(found)[:size]

    def count_distribution(self, a: float, b: float) -> FloatArray:
        """Probabilities of 0 to n_points points in [a, b], by Gauss-Legendre quadrature."""
        low, high = as_number(a, name="a"), as_number(b, name="b")
        # Further out, all functions are below rounding.
        reach = 2.0 * math.sqrt(self.n_points) + 20.0
        low, high = max(low, -reach), min(high, reach)
        if low >= high:
            return np.asarray(np.eye(1, self.n_points + 1)[0])
        nodes, weights = np.polynomial.legendre.leggauss(8 * self.n_points + 100)
        x = low + (high - low) * (nodes + 1.0) / 2.0
        F = self.functions(x)
        return self._counts(F.T @ (F * (weights * (high - low) / 2.0)[:, None]))

    def _matrices(self, size: int, rng: np.random.Generator) -> Array:
        M = _complex_normal((size, self.n_points, self.n_points), rng)
        return np.asarray((M + M.conj().transpose(0, 2, 1)) / math.sqrt(2.0))

    def _points_of(self, matrices: Array) -> Array:
        return np.linalg.eigvalsh(matrices)


class CUE(_MatrixEnsemble):
    r"""Eigenvalues of a uniformly random n x n unitary matrix, as n angles in :math:`[0, 2\pi)`.

    .. math::  K(\theta, \eta) = \frac{1}{2\pi} \sum_{l<n} e^{il(\theta - \eta)}

    The density is :math:`n/2\pi` everywhere.

    Examples
    --------
    >>> CUE(3).count_distribution(0.0, np.pi).round(4)
    array([0.0237, 0.4763, 0.4763, 0.0237])
    """

    def functions(self, x: ArrayLike) -> Array:
        r""":math:`e^{il\theta} / \sqrt{2\pi}` at angles."""
        theta = as_finite(np.atleast_1d(np.asarray(x)), name="x", shape=(None,))
        return np.asarray(np.exp(1j * np.outer(theta, np.arange(self.n_points))) / math.sqrt(2.0 * math.pi))

    def _propose(self, size: int, rng: np.random.Generator) -> Array:
        return 2.0 * np.pi * rng.random(size)

    def count_distribution(self, a: float, b: float) -> FloatArray:
        """Probabilities of 0 to n_points angles in the arc [a, b]."""
        low, high = as_number(a, name="a"), as_number(b, name="b")
        half = min(max(high - low, 0.0) / 2.0, math.pi)
        # For an arc rotated to be symmetric about 0, the inner products are real.
        row = half / math.pi * np.sinc(np.arange(self.n_points) * half / math.pi)
        return self._counts(scipy.linalg.toeplitz(row))

    def _matrices(self, size: int, rng: np.random.Generator) -> Array:
        Q, R = np.linalg.qr(_complex_normal((size, self.n_points, self.n_points), rng))
        # QR is unique up to phases; Q is uniform if the diagonal of R is made positive.
        diagonal = np.diagonal(R, axis1=1, axis2=2)
        return np.asarray(Q * (diagonal / np.abs(diagonal))[:, None, :])

    def _points_of(self, matrices: Array) -> Array:
        return np.asarray(np.mod(np.angle(np.linalg.eigvals(matrices)), 2.0 * math.pi))


class BetaEnsemble(abc.ABC):
    r"""Points with density :math:`\propto \prod_{i<j} |x_i - x_j|^\beta \prod_i w(x_i)` for a weight function w.

    They are determinantal for :math:`\beta = 2`, and eigenvalues of real symmetric and of quaternion matrices for
    :math:`\beta = 1` and 4. For any :math:`\beta > 0` they are eigenvalues of tridiagonal matrices with independent
    entries ([DumitriuEdelman2002]_; [KillipNenciu2004]_), drawn in :math:`O(n)` and solved in :math:`O(n^2)`. The
    normalising constants are integrals of Selberg's type ([Forrester2010]_, chapter 4).

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
        """Diagonals, of shape (size, n), and squared off-diagonals, of shape (size, n - 1)."""

    @property
    @abc.abstractmethod
    def log_normalizer(self) -> float:
        """Logarithm of the integral of the unnormalised density over all n points."""

    @abc.abstractmethod
    def _log_weight(self, x: FloatArray) -> FloatArray:
        """Logarithm of the weight at each point; ``-inf`` outside its support."""

    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> FloatArray:
        """Draw ascending points with a seed or generator: of shape (n_points,), or (size, n_points)."""
        count = 1 if size is None else check_size(size, name="size")
        points, squares = self._tridiagonal(count, as_generator(rng))
        if self.n_points > 1:
            for row, square in zip(points, squares, strict=True):
                row[:] = scipy.linalg.eigvalsh_tridiagonal(row, np.sqrt(square))
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
        r""":math:`\sum_j \log\Gamma(1 + j\beta/2) / \Gamma(1 + \beta/2)`, part of all three constants."""
        j = np.arange(1, self.n_points + 1)
        return float((gammaln(1.0 + j * self.beta / 2.0) - gammaln(1.0 + self.beta / 2.0)).sum())


class BetaHermite(BetaEnsemble):
    r"""Points on the line with weight :math:`e^{-x^2/2}`: the Gaussian ensembles.

    The parameters are those of :class:`BetaEnsemble`. The expectation of :math:`\sum x_i^2` is
    :math:`n + \beta n(n-1)/2` ([DumitriuEdelman2002]_).

    Examples
    --------
    >>> ensemble = BetaHermite(3, beta=4.0)
    >>> ensemble.sample(rng=0).round(3)
    array([-2.39 ,  0.449,  2.575])
    >>> round(BetaHermite(1).log_density([0.0]), 6)  # a standard normal variable
    -0.918939
    """

    def _tridiagonal(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        n = self.n_points
        diagonal = rng.standard_normal((size, n))
        # Half a chi-square variable with f degrees of freedom is a gamma variable of shape f / 2.
        return diagonal, rng.standard_gamma(self.beta * np.arange(n - 1, 0, -1) / 2.0, size=(size, n - 1))

    @property
    def log_normalizer(self) -> float:
        """Mehta's integral."""
        return 0.5 * self.n_points * float(np.log(2.0 * np.pi)) + self._log_repulsion()

    def _log_weight(self, x: FloatArray) -> FloatArray:
        return -0.5 * x**2


class BetaLaguerre(BetaEnsemble):
    r"""Positive points with weight :math:`x^\alpha e^{-x}`: the Wishart ensembles.

    The expected sum of the points is :math:`n(\alpha + 1 + (n-1)\beta/2)` ([DumitriuEdelman2002]_).

    Parameters
    ----------
    n_points, beta
        As in :class:`BetaEnsemble`.
    alpha : float
        Exponent, above -1.

    Examples
    --------
    >>> BetaLaguerre(2, beta=1.0, alpha=0.5).sample(rng=0).round(3)
    array([0.949, 3.875])
    """

    def __init__(self, n_points: int, beta: float = 2.0, *, alpha: float = 0.0) -> None:
        super().__init__(n_points, beta)
        self.alpha = as_number(alpha, name="alpha")
        if not self.alpha > -1.0:
            raise DiversetError(f"alpha is {self.alpha:g}; the weight is integrable for alpha above -1")

    def _tridiagonal(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        n, half = self.n_points, self.beta / 2.0
        # d and e are the squared entries of a bidiagonal B; the points are the eigenvalues of B B^T.
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

    The mean of the points is :math:`(a + (n-1)\beta/2) / (a + b + (n-1)\beta)`. The tridiagonal matrix comes from
    independent canonical moments, which have beta laws ([KillipNenciu2004]_).

    Parameters
    ----------
    n_points, beta
        As in :class:`BetaEnsemble`.
    a, b : float
        Positive exponents; a = b = 1 gives the uniform weight.

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
