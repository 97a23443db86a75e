r"""Eigenvalues of random matrices, from matrices and from kernels.

Three ensembles whose eigenvalues are projection processes ([Ginibre1965]_; [MehtaGaudin1960]_; [Dyson1962]_;
[KuleszaTaskar2012]_, section 2.1.1). ``sample_matrices`` and numerical eigenvalues know nothing of a kernel, ``sample``
nothing of a matrix.
"""

from __future__ import annotations

import abc
import math
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaln, xlogy

from diverset._typing import Array, FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import LARGEST, as_number, check_nonnegative, check_size
from diverset.theory.classics.projection import ProjectionProcess

__all__ = ["CUE", "GUE", "Ginibre"]


def _complex_normal(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Complex normal numbers of variance 1."""
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / math.sqrt(2.0)


class _MatrixEnsemble(ProjectionProcess):
    def sample_matrices(self, size: int, *, rng: RNGLike = None) -> Array:
        """Draw random matrices, of shape (size, n_points, n_points)."""
        return self._matrices(check_size(size, name="size"), np.random.default_rng(rng))

    def sample_eigenvalues(self, size: int, *, rng: RNGLike = None) -> Array:
        """Points from the eigenvalues of random matrices, of shape (size, n_points); the kernel is not used."""
        return self._points_of(self.sample_matrices(size, rng=rng))

    @abc.abstractmethod
    def _matrices(self, size: int, rng: np.random.Generator) -> Array:
        """Random matrices, of shape (size, n_points, n_points)."""

    @abc.abstractmethod
    def _points_of(self, matrices: Array) -> Array:
        """Their eigenvalues, on the scale of the process."""


def _finite(x: Array) -> Array:
    """Points that can be squared."""
    bad = ~(np.abs(x) <= LARGEST)
    if x.ndim != 1 or bad.any():
        what = f"x has shape {x.shape}" if x.ndim != 1 else f"x[{int(bad.argmax())}] is {x[bad][0]}"
        raise DiversetError(f"{what}; give a flat array of finite points")
    return x


class Ginibre(_MatrixEnsemble):
    r"""Eigenvalues of a matrix of independent complex normal entries: n points in the plane.

    .. math::  K(z, w) = \frac1\pi\, e^{-(|z|^2 + |w|^2)/2} \sum_{l<n} \frac{(z \bar w)^l}{l!}

    Parameters
    ----------
    n_points : int
        Size of the matrix.

    Notes
    -----
    The circular law: for large n the points fill the disc of radius :math:`\sqrt n` evenly, with density
    :math:`1/\pi`. The squared moduli are, as a set, independent Gamma variables of shapes 1 to n [Kostlan1992]_.

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
        z = _finite(np.atleast_1d(np.asarray(x, dtype=np.complex128)))[:, None]
        power = np.arange(self.n_points)
        log_size = xlogy(power, np.abs(z)) - 0.5 * (np.abs(z) ** 2 + gammaln(power + 1.0) + math.log(math.pi))
        values: Array = np.exp(log_size + 1j * power * np.angle(z))
        return values

    def _propose(self, size: int, rng: np.random.Generator) -> Array:
        # Under the density of function l, the squared modulus is Gamma(l + 1) and the angle uniform.
        radius = np.sqrt(rng.standard_gamma(rng.integers(1, self.n_points + 1, size).astype(np.float64)))
        points: Array = radius * np.exp(2j * np.pi * rng.random(size))
        return points

    def count_distribution(self, radius: float) -> FloatArray:
        """Law of the number of points within a distance of the origin, for 0 to n_points."""
        r = check_nonnegative(radius, name="radius")
        return self._counts(np.diag(gammainc(np.arange(1.0, self.n_points + 1), r * r)))

    def _matrices(self, size: int, rng: np.random.Generator) -> Array:
        return _complex_normal((size, self.n_points, self.n_points), rng)

    def _points_of(self, matrices: Array) -> Array:
        return np.linalg.eigvals(matrices)


class GUE(_MatrixEnsemble):
    r"""Eigenvalues of the Gaussian unitary ensemble: n points on the line.

    Hermitian matrices with density proportional to :math:`e^{-\mathrm{tr} H^2/2}`: standard normal on the diagonal,
    complex normal of variance 1 off it. In terms of Hermite polynomials, orthogonal for the standard normal density,

    .. math::  K(x, y) = \sum_{l<n} \phi_l(x) \phi_l(y), \qquad
        \phi_l(x) = \frac{\mathrm{He}_l(x)\, e^{-x^2/4}}{\sqrt{\sqrt{2\pi}\, l!}} .

    Parameters
    ----------
    n_points : int
        Size of the matrix.

    Notes
    -----
    The semicircle law: for large n the density tends to :math:`\sqrt{4n - x^2} / 2\pi` (:meth:`limit_density`).

    Examples
    --------
    >>> ensemble = GUE(50)
    >>> ensemble.intensity([0.0, 10.0]).round(3), ensemble.limit_density([0.0, 10.0]).round(3)
    (array([2.24 , 1.614]), array([2.251, 1.592]))
    """

    #: Width of the cells on which proposals are uniform.
    _CELL = 0.25

    def functions(self, x: ArrayLike) -> Array:
        """Hermite functions at real points, by their three-term recursion, which is stable."""
        points = _finite(np.atleast_1d(np.asarray(x, dtype=np.float64)))
        values = np.empty((len(points), self.n_points))
        # The first functions underflow far from the origin, where later ones are large: carry a logarithmic scale.
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
        squares = np.asarray(x, dtype=np.float64) ** 2
        return np.asarray(np.sqrt(np.maximum(4.0 * self.n_points - squares, 0.0)) / (2.0 * math.pi))

    @cached_property
    def _envelope(self) -> tuple[FloatArray, FloatArray, float, float]:
        r"""Cells' left ends and heights above the intensity, the edge, and the rate of decay beyond it.

        Within: the slope of the intensity is :math:`-\sqrt n\,\phi_n\phi_{n-1}`, and no Hermite function exceeds
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
        """Law of the number of points in [a, b], for 0 to n_points; by Gauss-Legendre quadrature."""
        low, high = as_number(a, name="a"), as_number(b, name="b")
        # Functions are below rounding this far out.
        reach = 2.0 * math.sqrt(self.n_points) + 20.0
        low, high = max(low, -reach), min(high, reach)
        if low >= high:
            nothing: FloatArray = np.eye(1, self.n_points + 1)[0]
            return nothing
        nodes, weights = np.polynomial.legendre.leggauss(8 * self.n_points + 100)
        x = low + (high - low) * (nodes + 1.0) / 2.0
        F = self.functions(x)
        return self._counts(F.T @ (F * (weights * (high - low) / 2.0)[:, None]))

    def _matrices(self, size: int, rng: np.random.Generator) -> Array:
        M = _complex_normal((size, self.n_points, self.n_points), rng)
        H: Array = (M + M.conj().transpose(0, 2, 1)) / math.sqrt(2.0)
        return H

    def _points_of(self, matrices: Array) -> Array:
        return np.linalg.eigvalsh(matrices)


class CUE(_MatrixEnsemble):
    r"""Eigenvalues of a uniformly random unitary matrix, as n angles in :math:`[0, 2\pi)`.

    .. math::  K(\theta, \eta) = \frac{1}{2\pi} \sum_{l<n} e^{il(\theta - \eta)}

    Parameters
    ----------
    n_points : int
        Size of the matrix.

    Notes
    -----
    The density is :math:`n/2\pi` everywhere; all the order is in the repulsion.

    Examples
    --------
    >>> CUE(3).count_distribution(0.0, np.pi).round(4)
    array([0.0237, 0.4763, 0.4763, 0.0237])
    """

    def functions(self, x: ArrayLike) -> Array:
        r""":math:`e^{il\theta} / \sqrt{2\pi}` at angles."""
        theta = _finite(np.atleast_1d(np.asarray(x, dtype=np.float64)))
        values: Array = np.exp(1j * np.outer(theta, np.arange(self.n_points))) / math.sqrt(2.0 * math.pi)
        return values

    def _propose(self, size: int, rng: np.random.Generator) -> Array:
        return 2.0 * np.pi * rng.random(size)

    def count_distribution(self, a: float, b: float) -> FloatArray:
        """Law of the number of angles in the arc [a, b], for 0 to n_points."""
        low, high = as_number(a, name="a"), as_number(b, name="b")
        half = min(max(high - low, 0.0) / 2.0, math.pi)
        # Turned so that the arc lies evenly about 0, inner products over it are real.
        row = half / math.pi * np.sinc(np.arange(self.n_points) * half / math.pi)
        return self._counts(scipy.linalg.toeplitz(row))

    def _matrices(self, size: int, rng: np.random.Generator) -> Array:
        Q, R = np.linalg.qr(_complex_normal((size, self.n_points, self.n_points), rng))
        # QR leaves phases free; with the diagonal of R made positive, Q is uniform.
        diagonal = np.diagonal(R, axis1=1, axis2=2)
        U: Array = Q * (diagonal / np.abs(diagonal))[:, None, :]
        return U

    def _points_of(self, matrices: Array) -> Array:
        angles: Array = np.mod(np.angle(np.linalg.eigvals(matrices)), 2.0 * math.pi)
        return angles
