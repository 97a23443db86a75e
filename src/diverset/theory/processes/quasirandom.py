r"""Quasirandom points: Halton and Sobol sequences, discrepancy, and errors of integration.

Quasirandom points cover the cube evenly ([KuleszaTaskar2012]_, section 2.5.4). Averages over them are close to
integrals: by the Koksma-Hlawka inequality, the error is at most the variation of the function times the *star
discrepancy*.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import LARGEST, as_generator, as_number, as_real, check_count, check_fits_in_memory
from diverset.theory.processes.window import Box

__all__ = ["IntegrationErrors", "discrepancy", "halton", "integration_errors", "sobol", "star_discrepancy"]


def halton(k: int, dim: int = 2, *, scramble: bool = False, rng: RNGLike = None) -> FloatArray:
    """First k points of the Halton sequence in the unit cube ([Halton1960]_), by SciPy.

    Parameters
    ----------
    k : int
        Number of points.
    dim : int
        Number of dimensions.
    scramble : bool
        Permute the digits at random, so that each point is uniform. The unscrambled sequence starts at 0.
    rng : int, Generator or None
        Seed or generator for scrambling.

    Examples
    --------
    >>> halton(4).round(4)
    array([[0.    , 0.    ],
           [0.5   , 0.3333],
           [0.25  , 0.6667],
           [0.75  , 0.1111]])
    """
    from scipy.stats import qmc

    engine = qmc.Halton(check_count(dim, name="dim"), scramble=scramble, rng=as_generator(rng))
    return np.asarray(engine.random(check_count(k, name="k")), dtype=np.float64)


def sobol(k: int, dim: int = 2, *, scramble: bool = False, rng: RNGLike = None) -> FloatArray:
    """First k points of the Sobol sequence in the unit cube ([Sobol1967]_), by SciPy.

    The points are best balanced if k is a power of two. The parameters are those of :func:`halton`.

    Examples
    --------
    >>> sobol(4)
    array([[0.  , 0.  ],
           [0.5 , 0.5 ],
           [0.75, 0.25],
           [0.25, 0.75]])
    """
    from scipy.stats import qmc

    count = check_count(k, name="k")
    engine = qmc.Sobol(check_count(dim, name="dim"), scramble=scramble, rng=as_generator(rng))
    points = engine.random_base2(max(count - 1, 0).bit_length())
    return np.asarray(points[:count], dtype=np.float64)


def _in_unit_cube(points: ArrayLike) -> FloatArray:
    array = as_real(points, name="points")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.size == 0:
        raise DiversetError(f"points has shape {array.shape}; give one row for each of one point or more")
    return Box.unit(array.shape[1]).as_points(array)


def discrepancy(points: ArrayLike) -> float:
    r"""Discrepancy at the points themselves, as in [KuleszaTaskar2012]_, section 2.5.4.

    .. math::  \operatorname{disc}(Y) = \max_{x \in Y} \left| \frac{|Y \cap S_x|}{k} - \operatorname{vol}(S_x) \right|,

    with :math:`S_x = [0, x_1) \times \dots \times [0, x_D)`, in :math:`O(k^2 D)`. It is at most the
    :func:`star_discrepancy`, the supremum over all x in the cube. The Koksma-Hlawka inequality needs the latter: a
    single point at the origin has discrepancy 0 here, but its averages are not exact.

    Parameters
    ----------
    points : array_like of shape (k, D)
        In the unit cube.

    Examples
    --------
    >>> discrepancy([[0.25], [0.75]]), star_discrepancy([[0.25], [0.75]]), discrepancy([[0.0]])
    (0.25, 0.25, 0.0)
    """
    Y = _in_unit_cube(points)
    return float(max(abs((Y < x).all(axis=1).mean() - np.prod(x)) for x in Y))


def star_discrepancy(points: ArrayLike) -> float:
    r"""Exact star discrepancy.

    .. math::  \operatorname{disc}^*(Y) = \sup_{x \in [0,1]^D} \left| \frac{|Y \cap S_x|}{k}
               - \operatorname{vol}(S_x) \right|.

    The supremum is approached on the grid of the coordinates of the points and 1, with open and with closed boxes.
    Counts in all boxes are cumulative sums over the grid: :math:`O((k+1)^D)` time and memory.
    :func:`scipy.stats.qmc.discrepancy` has mean-square versions, which are cheap in any dimension.

    Parameters
    ----------
    points : array_like of shape (k, D)
        In the unit cube; up to three dimensions, since the cost grows like :math:`k^D`.

    Examples
    --------
    >>> star_discrepancy([[0.5]]), star_discrepancy([[0.0]])
    (0.5, 1.0)
    """
    Y = _in_unit_cube(points)
    k, dim = Y.shape
    if dim > 3:
        raise DiversetError(f"points has {dim} dimensions; the exact value is for at most 3 (see scipy.stats.qmc)")
    ticks = [np.unique(np.append(Y[:, j], 1.0)) for j in range(dim)]
    shape = tuple(len(t) for t in ticks)
    check_fits_in_memory(4 * 8 * int(np.prod(shape)), what="the grid of boxes", remedy="take fewer points")
    counts = np.zeros(shape)
    np.add.at(counts, tuple(np.searchsorted(t, Y[:, j]) for j, t in enumerate(ticks)), 1.0)
    closed = counts
    for axis in range(dim):
        closed = np.cumsum(closed, axis=axis)
    # An open box ends one tick earlier on every side.
    open_ = np.pad(closed, [(1, 0)] * dim)[(slice(0, -1),) * dim]
    volume = math.prod(np.ix_(*ticks))
    return float(max((closed / k - volume).max(), (volume - open_ / k).max()))


@dataclass(frozen=True, eq=False)
class IntegrationErrors:
    """Errors of averages over point sets.

    Attributes
    ----------
    sizes : ndarray of shape (m,)
        Mean numbers of points drawn.
    root_mean_square : ndarray of shape (m,)
        Root mean square errors over the repetitions.
    """

    sizes: FloatArray
    root_mean_square: FloatArray

    @property
    def slope(self) -> float:
        """Slope of a line through the logarithms of errors and sizes: -1/2 for independent points; NaN for one size."""
        if len(self.sizes) < 2:
            return float("nan")
        return float(np.polyfit(np.log(self.sizes), np.log(self.root_mean_square), 1)[0])


def integration_errors(
    function: Callable[[FloatArray], FloatArray],
    integral: float,
    draw: Callable[[int, np.random.Generator], FloatArray],
    sizes: Sequence[int],
    *,
    repeats: int = 50,
    fixed_count: bool = True,
    rng: RNGLike = None,
) -> IntegrationErrors:
    r"""Errors of :math:`\frac1k \sum_x f(x)` as an estimate of :math:`\int f` over the unit cube.

    Parameters
    ----------
    function : callable
        f, from points (n, D) to values (n,).
    integral : float
        The exact integral of f.
    draw : callable
        ``draw(k, generator)`` returns about k points in the unit cube.
    sizes : sequence of int
        Values of k.
    repeats : int
        Number of draws for each size.
    fixed_count : bool
        Divide by the number of points drawn; if false, by k, which is unbiased for a random number of points.
    rng : int, Generator or None
        Seed or generator.

    Examples
    --------
    >>> uniform = lambda k, rng: rng.random((k, 2))
    >>> errors = integration_errors(lambda x: x[:, 0], 0.5, uniform, [10, 1000], repeats=2000, rng=0)
    >>> (errors.root_mean_square * np.sqrt(12 * errors.sizes)).round(1)
    array([1., 1.])
    """
    exact = as_number(integral, name="integral")
    if not abs(exact) <= LARGEST:
        raise DiversetError(f"integral is {exact}; it and its square must be finite")
    generator = as_generator(rng)
    counts, errors = [], []
    for k in sizes:
        wanted = check_count(k, name="a size")
        draws = [draw(wanted, generator) for _ in range(check_count(repeats, name="repeats"))]
        drawn = np.array([len(points) for points in draws])
        totals = np.array([np.sum(function(points)) if len(points) else 0.0 for points in draws])
        counts.append(drawn.mean())
        errors.append(np.sqrt(np.mean((totals / (np.maximum(drawn, 1) if fixed_count else wanted) - exact) ** 2)))
    return IntegrationErrors(np.array(counts), np.array(errors))
