r"""Poisson points, and Poisson points thinned to a minimum distance ([KuleszaTaskar2012]_, section 2.5.1).

Thinning gives points independent uniform *times*. Matérn's type I removes every point that has another within the
radius; type II every point that has an *earlier* one within the radius; type III, in order of time, every point that
has an earlier one *that has not been removed*. Random sequential adsorption is type III without an end: points keep
arriving until no place is left.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import BoolArray, FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import (
    as_generator,
    as_real,
    check_count,
    check_fits_in_memory,
    check_nonnegative,
    check_positive,
    check_size,
)
from diverset.theory.processes.window import Box, ball_volume, lattice

__all__ = ["adsorption", "matern_intensity", "matern_pair_correlation", "matern_process", "matern_survivors", "poisson"]

#: Probability that a point outside the margin would have changed a draw of a type III process.
_NEGLECTED = 1e-9


def poisson(
    box: Box, intensity: float | Callable[[FloatArray], FloatArray], *, bound: float | None = None, rng: RNGLike = None
) -> FloatArray:
    r"""Draw the points, of shape (n, dim), of a Poisson process: disjoint regions are independent.

    The number of points in a region B is Poisson with mean :math:`\int_B \lambda(x)\,dx`. The analogue on a finite
    ground set has independent items: the DPP with a diagonal marginal kernel, ``DPP.from_marginal(numpy.diag(p))``.

    Parameters
    ----------
    box : Box
        Window of the points.
    intensity : float or callable
        Expected number of points per unit of volume: :math:`\lambda`, or a function from points (n, dim) to their
        intensities (n,).
    bound : float, optional
        Upper bound of a callable intensity, required with it: points of a process with this intensity are kept with
        probability :math:`\lambda(x) / \text{bound}`.
    rng : int, Generator or None
        Seed or generator.

    Examples
    --------
    >>> poisson(Box.unit(2), 100.0, rng=0).shape
    (104, 2)
    """
    generator = as_generator(rng)
    if not callable(intensity):
        rate = check_nonnegative(intensity, name="intensity")
        return box.uniform(generator.poisson(_possible(rate * box.volume)), rng=generator)
    if bound is None:
        raise DiversetError("a varying intensity needs bound=, a number that it never exceeds")
    top = check_nonnegative(bound, name="bound")
    points = box.uniform(generator.poisson(_possible(top * box.volume)), rng=generator)
    values = as_real(intensity(points), name="intensity")
    if values.shape != (len(points),):
        raise DiversetError(f"intensity gave shape {values.shape} for {len(points)} points; give one number each")
    wrong = ~((values >= 0.0) & (values <= top))
    if wrong.any():
        i = int(wrong.argmax())
        raise DiversetError(f"intensity at {points[i].tolist()} is {values[i]:.6g}, not between 0 and bound={top}")
    return np.asarray(points[generator.random(len(points)) * top < values])


def _possible(mean: float) -> float:
    """The mean number of points; raises if memory cannot hold so many."""
    check_fits_in_memory(int(min(16.0 * mean, 1e18)), what=f"about {mean:.3g} points", remedy="lower the intensity")
    return mean


def matern_survivors(
    points: ArrayLike, radius: float, *, kind: int, box: Box, times: ArrayLike | None = None
) -> BoolArray:
    """Mask, of shape (n,), of the points that Matérn thinning of the given type keeps.

    Parameters
    ----------
    points : array_like of shape (n, dim)
        The points to thin.
    radius : float
        Two points at this distance or less are close.
    kind : {1, 2, 3}
        The type.
    box : Box
        Defines distances.
    times : array_like of shape (n,), optional
        Arrival times, for types 2 and 3; by default the points arrive in the order of the rows.

    Examples
    --------
    Three points in a row, each close to the next. Type II removes the last point because of the second, although the
    second is removed too.

    >>> line = Box((1.0,))
    >>> [matern_survivors([0.2, 0.3, 0.4], 0.1001, kind=kind, box=line).tolist() for kind in (1, 2, 3)]
    [[False, False, False], [True, False, False], [True, False, True]]
    """
    _check_kind(kind)
    X = box.as_points(points)
    limit = check_nonnegative(radius, name="radius")
    kept = np.ones(len(X), dtype=bool)
    i, j = box.close_pairs(X, limit)
    arrival = np.arange(len(X)) if times is None else as_real(times, name="times")
    if arrival.shape != (len(X),):
        raise DiversetError(f"times has shape {arrival.shape} for {len(X)} points; give one each")
    rank = np.argsort(np.argsort(arrival, kind="stable"))  # of simultaneous points, the first row is the earlier one
    swap = rank[i] > rank[j]
    early, late = np.where(swap, j, i), np.where(swap, i, j)
    if kind < 3:
        kept[late] = False
        kept[early if kind == 1 else []] = False
        return kept
    # In the order of the earlier point, so that whether it is kept is known when its pairs are processed.
    order = np.argsort(rank[early], kind="stable")
    for a, b in zip(early[order].tolist(), late[order].tolist(), strict=True):
        if kept[a]:
            kept[b] = False
    return kept


def matern_process(box: Box, intensity: float, radius: float, *, kind: int, rng: RNGLike = None) -> FloatArray:
    r"""Draw the points, of shape (n, dim), of a Matérn process of type I, II or III.

    A box with edges shows a part of the process in the whole space. Points outside thin points inside, so Poisson
    points are drawn in the box and a margin. One radius is exact for types I and II. In type III, points act through
    chains of earlier points. The expected number of chains of m close points is :math:`(\lambda v)^m / m!` per point, v
    the volume of the ball, and the margin is m radii with m so large that it is exceeded with probability below 1e-9.

    Parameters
    ----------
    box, rng
        As in :func:`poisson`.
    intensity : float
        Intensity of the Poisson process before thinning; :func:`matern_intensity` gives that of the result.
    radius : float
        Minimum distance; on a torus at most half the shortest side.
    kind : {1, 2, 3}
        The type.

    Examples
    --------
    >>> [len(matern_process(Box.unit(2), 200.0, 0.05, kind=kind, rng=0)) for kind in (1, 2, 3)]
    [33, 93, 110]
    """
    _check_kind(kind)
    rate = check_nonnegative(intensity, name="intensity")
    limit = check_positive(radius, name="radius")
    _possible(rate * box.volume)
    generator = as_generator(rng)
    if box.torus and limit > 0.5 * min(box.sides):
        raise DiversetError(f"radius is {limit}; on a torus with sides {box.sides} it must not exceed half of one")
    margin = 0.0 if box.torus else limit * (1 if kind != 3 else _longest_chain(rate, limit, box))
    outer = Box(tuple(a + 2.0 * margin for a in box.sides), box.torus)
    points = poisson(outer, rate, rng=generator)
    times = generator.random(len(points))
    left = points[matern_survivors(points, limit, kind=kind, box=outer, times=times)] - margin
    inside = ((left >= 0.0) & (left <= np.array(box.sides))).all(axis=1)
    return np.asarray(left[inside])


def _longest_chain(rate: float, radius: float, box: Box) -> int:
    """Number of links that chains of close, ever earlier points practically never exceed."""
    mean = rate * ball_volume(radius, box.dim)
    if mean == 0.0:
        return 1
    log_points = math.log(max(rate * box.volume, 1.0))
    m = 1
    while log_points + m * math.log(mean) - math.lgamma(m + 1) > math.log(_NEGLECTED):
        m += 1
    return m


def matern_intensity(intensity: float, radius: float, *, kind: int, dim: int = 2) -> float:
    r"""Intensity of the Matérn processes of types I and II.

    .. math::  \lambda_1 = \lambda e^{-\lambda v}, \qquad \lambda_2 = \frac{1 - e^{-\lambda v}}{v},

    with v the volume of a ball ([Matern1986]_). There is no closed form for type III. The parameters are those of
    :func:`matern_process`.

    Examples
    --------
    >>> round(matern_intensity(200.0, 0.05, kind=1), 3), round(matern_intensity(200.0, 0.05, kind=2), 3)
    (41.576, 100.856)
    """
    rate, v = _rate_and_volume(intensity, radius, kind, dim)
    if kind == 1:
        return rate * math.exp(-rate * v)
    return -math.expm1(-rate * v) / v if v > 0.0 else rate


def matern_pair_correlation(r: ArrayLike, intensity: float, radius: float, *, kind: int, dim: int = 2) -> FloatArray:
    r"""Pair correlation of the Matérn processes of types I and II.

    With U(r) the volume of the union of two balls whose centres are r apart, the density of pairs beyond the radius is

    .. math::

        \rho_1(r) = \lambda^2 e^{-\lambda U}, \qquad
        \rho_2(r) = \frac{2}{U - v}\left(\frac{1 - e^{-\lambda v}}{v} - \frac{1 - e^{-\lambda U}}{U}\right),

    and 0 below. The result is divided by the square of :func:`matern_intensity`. Type II averages over the two times
    the probability that neither point has an earlier neighbour.

    Examples
    --------
    >>> matern_pair_correlation([0.04, 0.06, 0.1, 0.5], 200.0, 0.05, kind=2).round(4)
    array([0.    , 1.1075, 1.    , 1.    ])
    """
    rate, v = _rate_and_volume(intensity, radius, kind, dim)
    distance = as_real(r, name="r")
    from scipy.special import betainc

    # Clipped before squaring, so that no distance overflows.
    share = 1.0 - np.clip(np.abs(distance) / (2.0 * radius), 0.0, 1.0) ** 2
    union = v * (2.0 - betainc((dim + 1) / 2, 0.5, share))
    if kind == 1:
        density = rate**2 * np.exp(-rate * union)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            density = 2.0 / (union - v) * (-np.expm1(-rate * v) / v + np.expm1(-rate * union) / union)
    far = distance > radius
    left = matern_intensity(intensity, radius, kind=kind, dim=dim)
    if left**2 == 0.0:
        raise DiversetError(f"intensity is {intensity:g}, its square is out of range; take another unit")
    return np.where(far, density, 0.0) / left**2


def _check_kind(kind: int) -> None:
    if kind not in (1, 2, 3):
        raise DiversetError(f"kind is {kind!r}; the Matérn processes are 1, 2 and 3")


def _rate_and_volume(intensity: float, radius: float, kind: int, dim: int) -> tuple[float, float]:
    _check_kind(kind)
    if kind == 3:
        raise DiversetError("kind is 3; moments of type III have no closed form; estimate them from draws")
    rate = check_positive(intensity, name="intensity")
    limit = check_positive(radius, name="radius")
    if not 1e-100 <= limit <= 1e100 ** (1.0 / check_count(dim, name="dim")):
        raise DiversetError(f"radius is {limit:g}; take another unit of length")
    return rate, ball_volume(limit, dim)


def adsorption(box: Box, radius: float, *, max_points: int | None = None, rng: RNGLike = None) -> FloatArray:
    """Draw points, of shape (n, dim), by random sequential adsorption, in order of arrival.

    Points arrive uniformly in the free space until there is none.
    Exact up to the jamming limit. Candidates are uniform over a list of cells that contains the free space; those too
    close to a point are dropped, and type III thinning is applied within a batch. As free space gets scarce, cells
    within the radius of one point are removed and the others halved along each side, until no cell is left.

    Parameters
    ----------
    box, rng
        As in :func:`poisson`.
    radius : float
        Minimum distance; on a torus below half the shortest side.
    max_points : int, optional
        Largest number of points; by default points arrive up to the jamming limit.

    Examples
    --------
    The balls of half the radius around the points cover about 0.547 of the plane.

    >>> discs = adsorption(Box.unit(2, torus=True), 0.05, rng=0)
    >>> round(len(discs) * np.pi * 0.025**2, 3)
    0.55
    """
    limit = check_positive(radius, name="radius")
    if box.torus and limit >= 0.5 * min(box.sides):
        raise DiversetError(f"radius is {limit}; on a torus with sides {box.sides} it must be below half of one")
    most = math.inf if max_points is None else check_size(max_points, name="max_points")
    generator = as_generator(rng)
    sides = np.array(box.sides)
    # A ball of this radius covers the box, so a larger one makes no difference.
    limit = min(limit, 2.0 * float(np.linalg.norm(sides)))
    with np.errstate(over="ignore"):
        cells_wanted = np.maximum(1.0, np.ceil(sides * math.sqrt(box.dim) / limit))
        check_fits_in_memory(
            int(min(32.0 * box.dim * float(np.prod(cells_wanted)), 1e18)),
            what=f"a list of cells of width {limit:g}",
            remedy="take a larger radius, or a smaller box",
        )
    shape = cells_wanted.astype(np.int64)
    width = sides / shape
    corners = lattice(np.arange(m) for m in shape) * width
    points = np.zeros((0, box.dim))
    while len(corners) and len(points) < most:
        batch = 2 * len(corners) + 16
        cells = generator.integers(len(corners), size=batch)
        arrivals = np.minimum(corners[cells] + generator.random((batch, box.dim)) * width, np.nextafter(sides, 0.0))
        if len(points):
            arrivals = arrivals[box.tree(points).query(arrivals)[0] > limit]
        arrivals = arrivals[matern_survivors(arrivals, limit, kind=3, box=box)]
        points = np.concatenate([points, arrivals])
        corners = _with_room(corners, width, points, limit, box)
        # Few of the candidates were accepted: refine the cells.
        if 4 * len(arrivals) < batch and len(corners):
            width = width / 2.0
            corners = (corners[:, np.newaxis] + lattice(([0, 1],) * box.dim) * width).reshape(-1, box.dim)
            corners = _with_room(corners, width, points, limit, box)
    return points if max_points is None else points[:max_points]


def _with_room(corners: FloatArray, width: FloatArray, points: FloatArray, radius: float, box: Box) -> FloatArray:
    """Cells that do not lie entirely within the radius of their nearest point."""
    if len(points) == 0:
        return corners
    centres = corners + width / 2.0
    nearest = points[box.tree(points).query(centres)[1]]
    farthest = np.abs(box.displacements(centres, nearest)) + width / 2.0
    return np.asarray(corners[(farthest**2).sum(axis=1) > radius**2])
