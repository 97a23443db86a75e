r"""Poisson points thinned until none are close: Matérn's three processes, and random sequential adsorption.

All four keep a minimum distance ([KuleszaTaskar2012]_, section 2.5.1). Points get independent uniform *times*. Of a
Poisson set, type I removes every point that has another within the radius; type II every point that has an *earlier*
one; type III, in order of time, every point that has an earlier one *which is still there*. Sequential adsorption is
type III without an end: points keep arriving until no place is left.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import BoolArray, FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import (
    check_count,
    check_fits_in_memory,
    check_nonnegative,
    check_positive,
    check_size,
)
from diverset.theory.processes.poisson import poisson
from diverset.theory.processes.window import Box, ball_volume

__all__ = [
    "adsorption",
    "matern_intensity",
    "matern_pair_correlation",
    "matern_process",
    "matern_survivors",
]

_KINDS = (1, 2, 3)
#: Chance that a point outside the margin would have changed a draw of a type III process.
_NEGLECTED = 1e-9


def matern_survivors(
    points: ArrayLike, radius: float, *, kind: int, box: Box, times: ArrayLike | None = None
) -> BoolArray:
    """Which points are left after Matérn thinning of the given type.

    Parameters
    ----------
    points : array_like of shape (n, dim)
        The points to thin.
    radius : float
        Two points at this distance or less are close.
    kind : {1, 2, 3}
        The type.
    box : Box
        Says how distances are measured.
    times : array_like of shape (n,), optional
        When each point arrived, for types 2 and 3; by default in the order of the rows.

    Returns
    -------
    kept : ndarray of bool, of shape (n,)

    Notes
    -----
    A search tree finds the close pairs; the rest is linear in their number.

    Examples
    --------
    Three points in a row, each close to the next. Type II removes the last although the one it is close to is gone.

    >>> line = Box((1.0,))
    >>> [matern_survivors([0.2, 0.3, 0.4], 0.1001, kind=kind, box=line).tolist() for kind in (1, 2, 3)]
    [[False, False, False], [True, False, False], [True, False, True]]
    """
    _check_kind(kind)
    X = box.as_points(points)
    limit = check_nonnegative(radius, name="radius")
    kept = np.ones(len(X), dtype=bool)
    i, j = box.close_pairs(X, limit)
    if kind == 1:
        kept[i] = False
        kept[j] = False
        return kept
    arrival = np.arange(len(X)) if times is None else np.asarray(times, dtype=np.float64)
    if arrival.shape != (len(X),):
        raise DiversetError(f"times has shape {arrival.shape} for {len(X)} points; give one each")
    rank = np.argsort(np.argsort(arrival, kind="stable"))  # of two that came together, the first row is the earlier
    swap = rank[i] > rank[j]
    early, late = np.where(swap, j, i), np.where(swap, i, j)
    if kind == 2:
        kept[late] = False
        return kept
    # By the time of the earlier point: when a pair is looked at, the fate of its earlier point is settled.
    order = np.argsort(rank[early], kind="stable")
    for a, b in zip(early[order].tolist(), late[order].tolist(), strict=True):
        if kept[a]:
            kept[b] = False
    return kept


def matern_process(box: Box, intensity: float, radius: float, *, kind: int, rng: RNGLike = None) -> FloatArray:
    r"""Draw a Matérn process of type I, II or III.

    Parameters
    ----------
    box : Box
        Where.
    intensity : float
        Of the Poisson process that is thinned; :func:`matern_intensity` is what is left.
    radius : float
        No two points are this close; on a torus at most half the shortest side.
    kind : {1, 2, 3}
        The type.
    rng : int, Generator or None
        Seed or generator.

    Returns
    -------
    points : ndarray of shape (n, dim)

    Notes
    -----
    In a box with edges the process is that of the whole space, seen through the box: points outside thin those inside,
    so the Poisson set is drawn with a margin. One radius is exact for types I and II. In type III influence travels
    along chains of ever earlier points; m of them within reach of each other are expected
    :math:`(\lambda v)^m / m!` times, v the volume of the ball, and the margin is m radii with m so large that a point
    beyond it matters with probability below 1e-9.

    Examples
    --------
    >>> [len(matern_process(Box.unit(2), 200.0, 0.05, kind=kind, rng=0)) for kind in (1, 2, 3)]
    [33, 93, 110]
    """
    _check_kind(kind)
    rate = check_nonnegative(intensity, name="intensity")
    limit = check_positive(radius, name="radius")
    check_fits_in_memory(
        int(min(16.0 * rate * box.volume, 1e18)),
        what=f"about {rate * box.volume:.3g} points",
        remedy="lower the intensity",
    )
    generator = np.random.default_rng(rng)
    margin = 0.0
    if box.torus:
        if limit > 0.5 * min(box.sides):
            raise DiversetError(f"radius is {limit}; on a torus with sides {box.sides} it must not exceed half of one")
    else:
        margin = limit * (1 if kind != 3 else _longest_chain(rate, limit, box))
    outer = Box(tuple(a + 2.0 * margin for a in box.sides), box.torus)
    points = poisson(outer, rate, rng=generator)
    times = generator.random(len(points))
    left = points[matern_survivors(points, limit, kind=kind, box=outer, times=times)] - margin
    inside = ((left >= 0.0) & (left <= np.array(box.sides))).all(axis=1)
    kept: FloatArray = left[inside]
    return kept


def _longest_chain(rate: float, radius: float, box: Box) -> int:
    """Links after which a chain of ever earlier points within reach of each other is out of the question."""
    mean = rate * ball_volume(radius, box.dim)
    if mean == 0.0:
        return 1
    log_points = math.log(max(rate * box.volume, 1.0))
    m = 1
    while log_points + m * math.log(mean) - math.lgamma(m + 1) > math.log(_NEGLECTED):
        m += 1
    return m


def matern_intensity(intensity: float, radius: float, *, kind: int, dim: int = 2) -> float:
    r"""Points per unit of volume that Matérn thinning leaves, for types I and II.

    .. math::  \lambda_1 = \lambda e^{-\lambda v}, \qquad \lambda_2 = \frac{1 - e^{-\lambda v}}{v},

    with v the volume of a ball ([Matern1986]_). There is no closed form for type III.

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

    With U(r) the volume of the union of two balls whose centres are r apart, for r beyond the radius

    .. math::

        \rho_1(r) = \lambda^2 e^{-\lambda U}, \qquad
        \rho_2(r) = \frac{2}{U - v}\left(\frac{1 - e^{-\lambda v}}{v} - \frac{1 - e^{-\lambda U}}{U}\right),

    divided by the square of :func:`matern_intensity`; zero below. The second is the chance that neither has an earlier
    neighbour, averaged over the two times.

    Examples
    --------
    >>> matern_pair_correlation([0.04, 0.06, 0.1, 0.5], 200.0, 0.05, kind=2).round(4)
    array([0.    , 1.1075, 1.    , 1.    ])
    """
    rate, v = _rate_and_volume(intensity, radius, kind, dim)
    distance = np.asarray(r, dtype=np.float64)
    from scipy.special import betainc

    # Clipped before it is squared, so that no distance is too large.
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
        raise DiversetError(
            f"intensity is {intensity:g}, whose square is beyond the range of floats; take another unit"
        )
    return np.where(far, density, 0.0) / left**2


def _check_kind(kind: int) -> None:
    if kind not in _KINDS:
        raise DiversetError(f"kind is {kind!r}; the Matérn processes are 1, 2 and 3")


def _rate_and_volume(intensity: float, radius: float, kind: int, dim: int) -> tuple[float, float]:
    _check_kind(kind)
    if kind == 3:
        raise DiversetError(
            "kind is 3; moments of the type III process have no closed form, so estimate them from draws"
        )
    rate = check_positive(intensity, name="intensity")
    limit = check_positive(radius, name="radius")
    if not 1e-100 <= limit <= 1e100 ** (1.0 / check_count(dim, name="dim")):
        raise DiversetError(f"radius is {limit:g}; take another unit of length")
    return rate, ball_volume(limit, dim)


# adsorption -----------------------------------------------------------------------------------------------------------


def adsorption(box: Box, radius: float, *, max_points: int | None = None, rng: RNGLike = None) -> FloatArray:
    """Draw by random sequential adsorption: points arrive uniformly where there is room, until there is none.

    Parameters
    ----------
    box : Box
        Where.
    radius : float
        No two points are this close; on a torus below half the shortest side.
    max_points : int, optional
        Stop at so many; by default at the jamming limit.
    rng : int, Generator or None
        Seed or generator.

    Returns
    -------
    points : ndarray of shape (n, dim)
        In order of arrival.

    Notes
    -----
    Exact, the end included. Candidates are uniform over a list of cells that holds all the free space, and one that is
    too close to a point is dropped, which leaves those uniform over the free space. As room gets scarce, cells that
    lie within the radius of one point are struck off and the others halved along each side; the draw ends with the
    list. A batch of candidates is what type III thinning makes of it.

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
    generator = np.random.default_rng(rng)
    sides = np.array(box.sides)
    # One ball of this radius covers the box, whatever else its size.
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
    corners = np.stack(np.meshgrid(*(np.arange(m) for m in shape), indexing="ij"), axis=-1).reshape(-1, box.dim) * width
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
        # Half of the candidates or more fell on taken ground: look closer.
        if 4 * len(arrivals) < batch and len(corners):
            width = width / 2.0
            halves = np.stack(np.meshgrid(*([0, 1],) * box.dim, indexing="ij"), axis=-1).reshape(-1, box.dim) * width
            corners = (corners[:, np.newaxis] + halves).reshape(-1, box.dim)
            corners = _with_room(corners, width, points, limit, box)
    return points if max_points is None else points[:max_points]


def _with_room(corners: FloatArray, width: FloatArray, points: FloatArray, radius: float, box: Box) -> FloatArray:
    """The cells that do not lie wholly within the radius of a single point, their nearest."""
    if len(points) == 0:
        return corners
    centres = corners + width / 2.0
    nearest = points[box.tree(points).query(centres)[1]]
    farthest = np.abs(box.displacements(centres, nearest)) + width / 2.0
    left: FloatArray = corners[(farthest**2).sum(axis=1) > radius**2]
    return left
