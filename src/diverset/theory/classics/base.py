"""Base classes of the classical processes."""

import abc
from functools import cached_property
from typing import Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logit

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.core import DPP, NonsymmetricDPP
from diverset.errors import DiversetError
from diverset.numerics import poisson_binomial
from diverset.numerics.validation import check_count
from diverset.theory._projection import ProjectionWalk, draw_one_or_list

__all__ = ["Classic", "NonsymmetricClassic", "ProjectionProcess", "SymmetricClassic"]

#: Proposals evaluated together.
_BATCH = 32

T = TypeVar("T")


class Classic(abc.ABC, Generic[T]):
    """A random object, the random set of items that it defines, and the determinantal process of that set.

    ``sample`` draws the object and derives the set, without a kernel. ``dpp.sample`` draws from the kernel, without an
    object. The theorem is that both have the same law. Both use the same labels.
    """

    @property
    @abc.abstractmethod
    def kernel(self) -> FloatArray:
        """Marginal kernel of the set."""

    @abc.abstractmethod
    def items_of(self, thing: T) -> IntArray:
        """Ascending items of the set that an object defines."""

    @abc.abstractmethod
    def _make(self, rng: np.random.Generator) -> T:
        """Draw one object."""

    @property
    @abc.abstractmethod
    def dpp(self) -> DPP | NonsymmetricDPP:
        """The determinantal process of the set, from its kernel."""

    @overload
    def sample_objects(self, size: None = None, *, rng: RNGLike = None) -> T: ...
    @overload
    def sample_objects(self, size: int, *, rng: RNGLike = None) -> list[T]: ...
    def sample_objects(self, size: int | None = None, *, rng: RNGLike = None) -> T | list[T]:
        """Draw one object, or a list of `size` independent objects, without the kernel."""
        return cast("T | list[T]", draw_one_or_list(self._make, size, rng))

    @overload
    def sample(self, size: None = None, *, rng: RNGLike = None) -> IntArray: ...
    @overload
    def sample(self, size: int, *, rng: RNGLike = None) -> list[IntArray]: ...
    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> IntArray | list[IntArray]:
        """Draw one set of ascending labels, or a list of `size` sets, from random objects.

        Parameters
        ----------
        size : int, optional
            Number of draws; by default a single one, not in a list.
        rng : int, Generator or None
            Seed or generator. A seed gives the sets of the objects that :meth:`sample_objects` draws with it.
        """
        if size is None:
            return self.items_of(self.sample_objects(rng=rng))
        return [self.items_of(thing) for thing in self.sample_objects(size, rng=rng)]


class SymmetricClassic(Classic[T]):
    """A classic with a symmetric kernel."""

    @cached_property
    def dpp(self) -> DPP:
        """The determinantal process of the set, from its kernel."""
        return DPP.from_marginal(self.kernel)


class NonsymmetricClassic(Classic[T]):
    """A classic with a kernel that is not symmetric."""

    @cached_property
    def dpp(self) -> NonsymmetricDPP:
        """The determinantal process of the set, from its kernel."""
        return NonsymmetricDPP.from_marginal(self.kernel, check="none")


class ProjectionProcess(abc.ABC):
    r"""Process of n points in a continuous space, given by n orthonormal functions.

    The kernel :math:`K(x, y) = \sum_l \phi_l(x) \overline{\phi_l(y)}` has the joint density
    :math:`\det[K(x_i, x_j)]_{ij} / n! = |\det[\phi_l(x_i)]|^2 / n!`.

    Parameters
    ----------
    n_points : int
        Number of functions and of points.
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
        """Matrix of :math:`K(x_i, y_j)`; `y` is `x` by default."""
        F = self.functions(x)
        G = F if y is None else self.functions(y)
        return np.asarray(F @ G.conj().T)

    def intensity(self, x: ArrayLike) -> FloatArray:
        """Expected number of points per unit of length or area, K(x, x)."""
        return np.asarray((np.abs(self.functions(x)) ** 2).sum(axis=1), dtype=np.float64)

    def log_density(self, x: ArrayLike) -> float:
        r"""Logarithm of the joint density :math:`\det[K(x_i, x_j)] / n!` of n points, in any order."""
        F = self.functions(x)
        if len(F) != self.n_points:
            raise DiversetError(f"x has {len(F)} points; the process has {self.n_points}")
        # The determinant of the functions: that of the kernel would square the condition number.
        _, log_det = np.linalg.slogdet(F)
        return float(2.0 * log_det - gammaln(self.n_points + 1))

    def _counts(self, gram: Array) -> FloatArray:
        """Law of the number of points in a region, from the inner products of the functions over the region."""
        pmf = poisson_binomial.pmf(logit(np.clip(np.linalg.eigvalsh(gram), 0.0, 1.0)))
        # The pmf ends at the largest possible number.
        return np.pad(pmf, (0, self.n_points + 1 - len(pmf)))

    @overload
    def sample(self, size: None = None, *, rng: RNGLike = None) -> Array: ...
    @overload
    def sample(self, size: int, *, rng: RNGLike = None) -> list[Array]: ...
    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> Array | list[Array]:
        r"""Draw n points from the kernel, in no particular order, or a list of `size` such draws.

        Algorithm 1 of the monograph without a ground set ([HoughEtAl2006]_). Exact. Points are proposed with density
        :math:`K(x, x)/n` and accepted with the fraction of K(x, x) that is left after projecting out the earlier
        points: about :math:`n H_n` proposals of :math:`O(n^2)`, :math:`H_n = 1 + 1/2 + \dots + 1/n`.

        Parameters
        ----------
        size, rng
            As in :meth:`Classic.sample`.
        """
        return cast("Array | list[Array]", draw_one_or_list(self._draw, size, rng))

    def _draw(self, rng: np.random.Generator) -> Array:
        points: list[Array] = []
        while len(points) < self.n_points:
            x = self._propose(_BATCH, rng)
            F = self.functions(x)
            F = F / np.linalg.norm(F, axis=1, keepdims=True)
            if not points:
                walk = ProjectionWalk(self.n_points, F.dtype)
            threshold, i = rng.random(_BATCH), 0
            while not walk.done and (threshold[i:] < (left := walk.residuals(F[i:]))).any():
                i += int((threshold[i:] < left).argmax()) + 1
                walk.add(F[i - 1])
                points.append(x[i - 1])
        return np.array(points)
