"""DPPs in continuous space, through the spectra of their kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError, NoLikelihoodKernelError
from diverset.numerics import poisson_binomial
from diverset.numerics.validation import as_finite, as_real, check_count, check_finite, check_positive, check_size
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.theory._projection import ProjectionWalk, draw_one_or_list
from diverset.theory.processes.window import Box, lattice

__all__ = ["ContinuousDPP"]

#: Share of the expected number of points that may belong to neglected modes.
_TAIL = 1e-10
_MAX_MODES = 200_000
#: Distance, in scales of a Gaussian kernel, at which its square is negligible: the margin around a box with edges.
_FADED = 6.0
#: Largest number of candidates per batch.
_BATCH = 64


def _check_scale(scale: float) -> float:
    alpha = check_positive(scale, name="scale")
    if not 1e-50 <= alpha <= 1e50:
        raise DiversetError(f"scale is {alpha:g}; take another unit of length")
    return alpha


def _check_top(name: str, intensity: float, scale: float, volume: float) -> float:
    """Largest eigenvalue of a kernel with this intensity and integral `volume`; raises if it exceeds 1."""
    rho = check_positive(intensity, name="intensity")
    if rho * volume > 1.0 + 1e-12:
        raise KernelError(f"intensity is {rho:g}; a {name} kernel of scale {scale:g} has at most {1.0 / volume:.6g}")
    return rho * volume


class ContinuousDPP:
    r"""Stationary DPP on a torus, or restricted to a box with edges; `gaussian`, `cauchy` and `projection` make it.

    On a torus with sides a, a stationary kernel C has eigenfunctions
    :math:`\varphi_k(x) = e^{2\pi i\, k \cdot x / a} / \sqrt{|W|}` for integer frequencies k:

    .. math::  C(x - y) = \sum_k \kappa_k\, \varphi_k(x) \overline{\varphi_k(y)}, \qquad 0 \le \kappa_k \le 1.

    The number of points is a sum of independent trials with probabilities :math:`\kappa_k`. A draw selects each mode
    with that probability, then points from the projection onto these modes ([LavancierMollerRubak2015]_).
    The restriction of a DPP to a part of its space is the DPP with the same kernel there. In a box with edges this
    is exactly the DPP with the periodic kernel, which the margin makes equal to that in the plane, up to rounding.

    Parameters
    ----------
    box : Box
        Window of the points.
    modes : array_like of int, of shape (m, dim)
        Frequencies k, all different.
    eigenvalues : array_like of shape (m,)
        :math:`\kappa_k`, in [0, 1].
    period : sequence of float, optional
        Sides of the torus of the modes, by default those of the box. Larger sides leave a margin, whose points are
        dropped.

    Examples
    --------
    >>> dpp = ContinuousDPP.gaussian(Box.unit(2, torus=True), intensity=100.0, scale=0.05)
    >>> round(dpp.expected_size, 6), round(dpp.size_variance, 2)
    (100.0, 60.73)
    >>> dpp.pair_correlation([[0.0, 0.0], [0.05, 0.0], [0.2, 0.0]]).round(4)
    array([0.    , 0.8647, 1.    ])
    >>> dpp.sample(rng=0).shape
    (108, 2)
    """

    def __init__(
        self, box: Box, modes: ArrayLike, eigenvalues: ArrayLike, *, period: tuple[float, ...] | None = None
    ) -> None:
        self.box = box
        self.period = Box(box.sides if period is None else period, torus=True)
        k = np.array(modes)
        if k.ndim == 1 and box.dim == 1:
            k = k[:, np.newaxis]
        kappa = as_real(eigenvalues, name="eigenvalues")
        if k.ndim != 2 or k.shape[1] != box.dim or kappa.shape != (len(k),) or self.period.dim != box.dim:
            raise DiversetError(
                f"modes has shape {k.shape} and eigenvalues {kappa.shape}; expected (m, {box.dim}), (m,)"
            )
        if k.dtype.kind not in "iu":
            raise DiversetError(f"modes holds {k.dtype} values; frequencies are whole numbers")
        if any(a > b for a, b in zip(box.sides, self.period.sides, strict=True)):
            raise DiversetError(f"period is {self.period.sides}, less than the sides {box.sides} of the box")
        if len(np.unique(k, axis=0)) != len(k):
            raise DiversetError("modes names a frequency twice; give each once")
        check_finite(kappa, name="eigenvalues")
        if len(kappa) and (kappa.min() < 0.0 or kappa.max() > 1.0 + 1e-12):
            worst = kappa.max() if kappa.max() > 1.0 else kappa.min()
            raise KernelError(f"eigenvalues has {worst:.6g}; a DPP needs all between 0 and 1")
        order = np.argsort(kappa, kind="stable")
        order = order[kappa[order] > 0.0]
        self.modes = k[order].astype(np.int64)
        self.eigenvalues = np.minimum(kappa[order], 1.0)
        self.modes.flags.writeable = self.eigenvalues.flags.writeable = False

    def __repr__(self) -> str:
        return f"ContinuousDPP({self.box}, {len(self.modes)} modes, intensity={self.intensity:.6g})"

    @classmethod
    def from_spectral_density(
        cls, box: Box, density: Callable[[FloatArray], FloatArray], *, margin: float = 0.0
    ) -> ContinuousDPP:
        r"""Process whose kernel has a given isotropic spectral density.

        :math:`\kappa_k = \hat C(|k / a|)`, so that the kernel is the periodic sum of C (by Poisson summation).

        Parameters
        ----------
        box : Box
            Window of the points.
        density : callable
            :math:`\hat C`, from lengths of frequency vectors to numbers in [0, 1]. The box of frequencies is doubled
            until its faces have less than 1e-10 of the sum, so the density must decay fast.
        margin : float
            Width of the margin around a box with edges; ignored on a torus.
        """
        period = box.sides if box.torus else tuple(a + margin for a in box.sides)
        reach = 2
        while True:
            limits = [max(1, math.ceil(reach * a / min(period))) for a in period]
            count = math.prod(2 * m + 1 for m in limits)
            if count > _MAX_MODES:
                raise DiversetError(
                    f"the kernel needs more than {_MAX_MODES} modes; take a larger scale or a smaller box"
                )
            k = lattice(np.arange(-m, m + 1) for m in limits)
            kappa = as_real(density(np.sqrt(((k / np.array(period)) ** 2).sum(axis=1))), name="the density")
            if kappa.max() > 1.0 + 1e-12:
                raise KernelError(f"the kernel has an eigenvalue {kappa.max():.6g}; lower the intensity or the scale")
            outermost = (np.abs(k) == np.array(limits)).any(axis=1)
            if kappa[outermost].sum() <= _TAIL * kappa.sum():
                break
            reach *= 2
        keep = kappa > _TAIL * 1e-3 * max(float(kappa.max()), 1e-300)
        return cls(box, k[keep], kappa[keep], period=period)

    @classmethod
    def gaussian(cls, box: Box, *, intensity: float, scale: float) -> ContinuousDPP:
        r"""Gaussian kernel :math:`C(r) = \rho\, e^{-(r/\alpha)^2}`.

        Its spectral density is :math:`\rho (\sqrt\pi \alpha)^d e^{-(\pi \alpha |\xi|)^2}`, so the process exists for
        :math:`\rho \le (\sqrt\pi \alpha)^{-d}` ([LavancierMollerRubak2015]_).

        Parameters
        ----------
        box : Box
            Window of the points.
        intensity : float
            :math:`\rho`. On a torus that is small for the scale, the periodic sum of the kernel is a little larger; the
            attribute ``intensity`` is the exact value.
        scale : float
            :math:`\alpha`; the pair correlation is :math:`1 - e^{-2 (r/\alpha)^2}`.
        """
        alpha = _check_scale(scale)
        top = _check_top("Gaussian", intensity, alpha, (math.sqrt(math.pi) * alpha) ** box.dim)
        return cls.from_spectral_density(
            box, lambda xi: np.minimum(top * np.exp(-((math.pi * alpha * xi) ** 2)), 1.0), margin=_FADED * alpha
        )

    @classmethod
    def cauchy(cls, box: Box, *, intensity: float, scale: float) -> ContinuousDPP:
        r"""Cauchy kernel :math:`C(r) = \rho\, (1 + (r/\alpha)^2)^{-(d+1)/2}`, with long-range repulsion.

        Its spectral density is :math:`\rho\, \alpha^d c_d\, e^{-2\pi\alpha|\xi|}` with
        :math:`c_d = \pi^{(d+1)/2} / \Gamma((d+1)/2)`. The parameters are those of :meth:`gaussian`. Torus only: in
        a box with edges the periodic kernel would differ from the kernel in the plane.
        """
        alpha, d = _check_scale(scale), box.dim
        if not box.torus:
            raise DiversetError("a Cauchy kernel reaches too far for a box with edges; use Box(..., torus=True)")
        volume = alpha**d * math.pi ** ((d + 1) / 2) / math.gamma((d + 1) / 2)
        top = _check_top("Cauchy", intensity, alpha, volume)
        return cls.from_spectral_density(box, lambda xi: np.minimum(top * np.exp(-2 * math.pi * alpha * xi), 1.0))

    @classmethod
    def projection(cls, box: Box, n_points: int) -> ContinuousDPP:
        """Projection onto the `n_points` modes of lowest frequency: the most repulsive process with this intensity.

        On a torus only; always `n_points` points. In one dimension and with an odd number, they are the eigenvalues of
        random unitary matrices. Modes of equal frequency are taken in the order of their numbers.
        """
        count = check_count(n_points, name="n_points")
        if not box.torus:
            raise DiversetError("a projection lives on the whole torus; use Box(..., torus=True)")
        reach = math.ceil(count ** (1.0 / box.dim)) + 1
        # All modes together may lie along one axis.
        limits = [min(max(1, math.ceil(reach * a / min(box.sides))), count) for a in box.sides]
        k = lattice(np.arange(-m, m + 1) for m in limits)
        squared = ((k * (max(box.sides) / np.array(box.sides))) ** 2).sum(axis=1)
        # Equal frequencies may differ by rounding, so only twelve significant digits are compared.
        digits, exponent = np.frexp(squared)
        lowest = np.argsort(np.ldexp(digits.round(12), exponent), kind="stable")[:count]
        return cls(box, k[lowest], np.ones(count))

    @property
    def intensity(self) -> float:
        """Expected number of points per unit of volume."""
        return float(self.eigenvalues.sum()) / self.period.volume

    @property
    def expected_size(self) -> float:
        """Expected number of points in the box."""
        return self.intensity * self.box.volume

    def _counting(self) -> FloatArray:
        """Eigenvalues of the kernel on the box: those on the torus, or those of the restriction to a box with edges."""
        if self.box.sides == self.period.sides:
            return self.eigenvalues
        return self.region_eigenvalues(np.zeros(self.box.dim), self.box.sides)

    @property
    def size_variance(self) -> float:
        """Variance of the number of points in the box."""
        kappa = self._counting()
        return float((kappa * (1.0 - kappa)).sum())

    @property
    def size_distribution(self) -> FloatArray:
        """Probability of every number of points in the box, from 0."""
        return poisson_binomial.pmf(logit(self._counting()))

    def region_eigenvalues(self, lower: ArrayLike, upper: ArrayLike) -> FloatArray:
        r"""Eigenvalues of the kernel restricted to a box B: success probabilities of trials that sum to its count.

        They are those of the matrix :math:`\sqrt{\kappa_k \kappa_l} \int_B \varphi_k \overline{\varphi_l}`.
        """
        a = as_finite(lower, name="the lower corner", shape=(self.box.dim,))
        b = as_finite(upper, name="the upper corner", shape=(self.box.dim,))
        sides = np.array(self.period.sides)
        # A neglected mode changes no eigenvalue by more than its own.
        common = self.eigenvalues > 1e-10
        k, kappa = self.modes[common], self.eigenvalues[common]
        gram = np.ones((len(k), len(k)), dtype=np.complex128)
        for j in range(self.box.dim):
            step = (k[:, np.newaxis, j] - k[:, j]) / sides[j]
            length = (b[j] - a[j]) * np.sinc(step * (b[j] - a[j]))
            gram *= length * np.exp(1j * np.pi * step * (a[j] + b[j])) / sides[j]
        root = np.sqrt(kappa)
        return np.clip(np.linalg.eigvalsh(root[:, np.newaxis] * gram * root), 0.0, 1.0)

    def kernel(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Marginal kernel between points, of shape (n, m)."""
        X, Y = self._functions(self._as_rows(x)), self._functions(self._as_rows(y))
        values: Array = (X * self.eigenvalues) @ Y.conj().T
        # If modes come in pairs k and -k of equal eigenvalues, the kernel is real up to rounding.
        scale = float(np.abs(values).max(initial=0.0))
        return values.real if np.abs(values.imag).max(initial=0.0) <= 1e-12 * scale else values

    def _as_rows(self, points: ArrayLike) -> FloatArray:
        array = as_real(points, name="points")
        if array.size == 0 or array.ndim < 2:
            array = array.reshape(-1, self.box.dim) if array.size % self.box.dim == 0 else array[None]
        return as_finite(array, name="points", shape=(None, self.box.dim))

    def _functions(self, points: FloatArray, chosen: IntArray | None = None) -> Array:
        """Values of the eigenfunctions, of shape (n, modes)."""
        k = self.modes if chosen is None else self.modes[chosen]
        phase = (points / np.array(self.period.sides)) @ k.T
        return np.asarray(np.exp(2j * np.pi * phase) / math.sqrt(self.period.volume))

    def pair_correlation(self, steps: ArrayLike) -> FloatArray:
        r"""Pair correlation :math:`g(h) = 1 - |C(h)|^2 / \rho^2` for displacements h, of shape (m, dim)."""
        if self.intensity == 0.0:
            raise DiversetError("all eigenvalues are 0, so there are no points and no pairs")
        C = self.kernel(self._as_rows(steps), np.zeros((1, self.box.dim)))[:, 0]
        return np.asarray(np.maximum(1.0 - np.abs(C) ** 2 / self.intensity**2, 0.0))

    def log_density(self, points: ArrayLike) -> float:
        r"""Log-density of a pattern with respect to the Poisson process of unit intensity, on the torus.

        .. math::  \log p(X) = |W| + \sum_k \log(1 - \kappa_k) + \log\det \tilde C(X), \qquad
                   \tilde C = \sum_k \frac{\kappa_k}{1 - \kappa_k} \varphi_k \overline{\varphi_k}.
        """
        if self.box.sides != self.period.sides:
            raise DiversetError("the density is known on a torus only; use Box(..., torus=True)")
        if (self.eigenvalues >= 1.0).any():
            raise NoLikelihoodKernelError("an eigenvalue is 1, so there is no likelihood kernel and no such density")
        X = self.box.as_points(points)
        base = self.box.volume + float(np.log1p(-self.eigenvalues).sum())
        F = self._functions(X)
        sign, log_det = np.linalg.slogdet((F * (self.eigenvalues / (1.0 - self.eigenvalues))) @ F.conj().T)
        return base + float(log_det) if abs(sign) > 0.0 else -math.inf

    @overload
    def sample(self, size: None = None, *, n_points: int | None = None, rng: RNGLike = None) -> FloatArray: ...
    @overload
    def sample(self, size: int, *, n_points: int | None = None, rng: RNGLike = None) -> list[FloatArray]: ...
    def sample(
        self, size: int | None = None, *, n_points: int | None = None, rng: RNGLike = None
    ) -> FloatArray | list[FloatArray]:
        r"""Draw one pattern, or a list of `size` patterns. Exact.

        A pattern has shape (n, dim). n points take about n log n uniform candidates of O(n^2): :math:`O(n^3 \log n)`.

        Parameters
        ----------
        size : int, optional
            Number of patterns; by default a single one, not in a list.
        n_points : int, optional
            Condition on this number of points (a k-DPP in continuous space); on a torus only.
        rng : int, Generator or None
            Seed or generator. The same seed gives the same draws.
        """
        if n_points is not None:
            check_size(n_points, name="n_points")
            if self.box.sides != self.period.sides:
                raise DiversetError("n_points fixes the number on the whole torus; use Box(..., torus=True)")
        law = EigenvectorLaw.of(logit(self.eigenvalues), n_points)
        draws = draw_one_or_list(lambda generator: self._draw(law.draw(generator), generator), size, rng)
        return cast("FloatArray | list[FloatArray]", draws)

    def _draw(self, chosen: IntArray, rng: np.random.Generator) -> FloatArray:
        walk = ProjectionWalk(len(chosen))
        points = np.zeros((len(chosen), self.box.dim))
        # At every place the vector of modes has the same length, so only its direction matters.
        size = math.sqrt(self.period.volume / max(len(chosen), 1))
        while not walk.done:
            # With m of n points to draw, one candidate in n / m is accepted on average; the first one is used.
            batch = min(_BATCH, 2 * len(chosen) // (len(chosen) - len(walk)))
            candidates = self.period.uniform(batch, rng=rng)
            directions = self._functions(candidates, chosen) * size
            accepted = np.flatnonzero(rng.random(batch) < walk.residuals(directions))
            if len(accepted):
                points[len(walk)] = candidates[accepted[0]]
                walk.add(directions[accepted[0]])
        if self.box.sides != self.period.sides:
            points = points[(points <= np.array(self.box.sides)).all(axis=1)]
        return points
