r"""Summary statistics of point patterns: pair correlation, Ripley's K, nearest neighbours.

For a Poisson process the pair correlation is 1, :math:`K(r) = v_d r^d` and :math:`G(r) = 1 - e^{-\rho v_d r^d}`, with
:math:`v_d` the volume of the unit ball; repulsion lowers all three near 0. Several patterns of one process may be
given, and are pooled. Edges are corrected for: on a torus there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.numerics.validation import check_positive
from diverset.theory.processes.window import Box, as_patterns, ball_volume

__all__ = ["nearest_neighbour_g", "pair_correlation", "ripley_k", "ripley_l"]

Patterns = ArrayLike | Sequence[ArrayLike]


def _as_distances(r: ArrayLike, box: Box) -> FloatArray:
    distances = np.atleast_1d(np.asarray(r, dtype=np.float64))
    limit = 0.5 * min(box.sides)
    if distances.ndim != 1 or not len(distances) or distances.min() < 0.0 or (np.diff(distances) < 0.0).any():
        raise DiversetError("r must be a rising list of distances that are not negative")
    if distances.max() > limit * (1.0 + 1e-12):
        raise DiversetError(f"r goes up to {distances.max():g}; in a box with sides {box.sides} take at most {limit:g}")
    return distances


def _squared_intensity(patterns: list[FloatArray], box: Box) -> float:
    r"""Estimate of :math:`\rho^2`: without bias for a Poisson process, the mean of n(n - 1) over the squared volume."""
    counts = np.array([len(X) for X in patterns], dtype=np.float64)
    n = counts.sum()
    m = len(patterns)
    # The pooled count of m patterns is one pattern in a window m times as large.
    pairs = n * (n - 1.0)
    if pairs <= 0.0:
        raise DiversetError(f"there are {int(n)} points; two or more are needed")
    return float(pairs / (m * box.volume) ** 2)


def _pair_weights(X: FloatArray, reach: float, box: Box) -> tuple[FloatArray, FloatArray]:
    r"""Distances of the close pairs, and how much each counts: the inverse of the volume that W and W + h share.

    Translation correction: a pair with step h is seen in proportion to that volume.
    """
    i, j = box.close_pairs(X, reach)
    steps = np.abs(box.displacements(X[i], X[j]))
    distance = np.sqrt((steps**2).sum(axis=1))
    if box.torus:
        return distance, np.full(len(i), 1.0 / box.volume)
    return distance, 1.0 / np.prod(np.array(box.sides) - steps, axis=1)


def ripley_k(patterns: Patterns, box: Box, r: ArrayLike) -> FloatArray:
    r"""Ripley's K: expected number of further points within r of a point, over the intensity ([Ripley1977]_).

    .. math::  \hat K(r) = \frac{1}{m \hat\rho^2} \sum_{x \ne y} \frac{1[|x - y| \le r]}{|W \cap (W + x - y)|}

    over m patterns in the window W, with :math:`\hat\rho^2 = n(n-1) / (m|W|)^2` for n points in all.

    Parameters
    ----------
    patterns : array_like of shape (n, dim), or sequence of them
        One pattern or several.
    box : Box
        Where they were observed.
    r : array_like of shape (k,)
        Distances, rising, up to half the shortest side.

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    Four points on a square lattice of a torus: each has two others at distance 0.5.

    >>> lattice = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]]
    >>> ripley_k(lattice, Box.unit(2, torus=True), [0.4, 0.5]).round(4)
    array([0.    , 0.6667])
    """
    given = as_patterns(patterns, box)
    distances = _as_distances(r, box)
    scale = 2.0 / (len(given) * _squared_intensity(given, box))
    total = np.zeros(len(distances))
    for X in given:
        apart, weight = _pair_weights(X, float(distances[-1]), box)
        order = np.argsort(apart)
        cumulative = np.concatenate([[0.0], np.cumsum(weight[order])])
        total += cumulative[np.searchsorted(apart[order], distances, side="right")]
    return scale * total


def ripley_l(patterns: Patterns, box: Box, r: ArrayLike) -> FloatArray:
    r"""Ripley's K made straight: :math:`L(r) = (K(r) / v_d)^{1/d}`, which is r for a Poisson process.

    Arguments as in :func:`ripley_k`.
    """
    L: FloatArray = (ripley_k(patterns, box, r) / ball_volume(1.0, box.dim)) ** (1.0 / box.dim)
    return L


def pair_correlation(patterns: Patterns, box: Box, r: ArrayLike, *, bandwidth: float | None = None) -> FloatArray:
    r"""Pair correlation g(r): density of pairs at distance r, over that of a Poisson process.

    .. math::  \hat g(r) = \frac{1}{m \hat\rho^2} \sum_{x \ne y}
               \frac{k_b(r - |x - y|)}{s_d |x - y|^{d-1}\, |W \cap (W + x - y)|},

    with :math:`s_d r^{d-1}` the surface of a ball and :math:`k_b` Epanechnikov's kernel of half-width b, scaled so that
    what falls below distance 0 is made up for.

    Parameters
    ----------
    patterns, box, r
        As in :func:`ripley_k`; r positive.
    bandwidth : float, optional
        b; by default :math:`0.15\,\hat\rho^{-1/d}`, a fraction of the usual distance between points.

    Returns
    -------
    ndarray of shape (len(r),)

    Examples
    --------
    >>> points = np.random.default_rng(0).random((20, 200, 2))
    >>> pair_correlation(points, Box.unit(2), [0.05, 0.1, 0.2]).round(1)
    array([1., 1., 1.])
    """
    given = as_patterns(patterns, box)
    distances = _as_distances(r, box)
    squared = _squared_intensity(given, box)
    if bandwidth is None:
        width = 0.15 * float(squared ** (-0.5 / box.dim))
    else:
        width = check_positive(bandwidth, name="bandwidth")
    surface = box.dim * ball_volume(1.0, box.dim)
    total = np.zeros(len(distances))
    for X in given:
        apart, weight = _pair_weights(X, float(distances[-1]) + width, box)
        weight = weight[apart > 0.0]
        apart = apart[apart > 0.0]
        order = np.argsort(apart)
        apart, weight = apart[order], weight[order] / (surface * apart[order] ** (box.dim - 1))
        low, high = np.searchsorted(apart, distances - width), np.searchsorted(apart, distances + width)
        for k, (a, b) in enumerate(zip(low, high, strict=True)):
            z = (distances[k] - apart[a:b]) / width
            total[k] += float((0.75 / width * (1.0 - z**2)) @ weight[a:b])
    # Part of the smoothing kernel that lies above distance 0.
    z = np.clip(distances / width, None, 1.0)
    inside = 0.5 + 0.75 * (z - z**3 / 3.0)
    scaled: FloatArray = 2.0 / (len(given) * squared) * total / inside
    return scaled


def nearest_neighbour_g(patterns: Patterns, box: Box, r: ArrayLike) -> FloatArray:
    r"""Law of the distance from a point to its nearest neighbour, :math:`G(r) = \Pr(\text{distance} \le r)`.

    In a box with edges, Hanisch's estimator: a point counts if its neighbour is nearer than the edge, with the inverse
    of the volume of the box shrunk by the distance as weight. On a torus all points count.

    Parameters
    ----------
    patterns, box, r
        As in :func:`ripley_k`.

    Returns
    -------
    ndarray of shape (len(r),)

    Examples
    --------
    >>> lattice = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]]
    >>> nearest_neighbour_g(lattice, Box.unit(2, torus=True), [0.4, 0.5])
    array([0., 1.])
    """
    given = as_patterns(patterns, box)
    distances = _as_distances(r, box)
    apart: list[Any] = []
    weights: list[Any] = []
    for X in given:
        if len(X) < 2:
            continue
        nearest = np.asarray(box.tree(X).query(X, k=2)[0])[:, 1]
        if box.torus:
            weight = np.ones(len(X))
        else:
            edge = np.minimum(X, np.array(box.sides) - X).min(axis=1)
            shrunk = np.prod(np.maximum(np.array(box.sides) - 2.0 * nearest[:, np.newaxis], 0.0), axis=1)
            weight = np.where((nearest <= edge) & (shrunk > 0.0), 1.0 / np.where(shrunk > 0.0, shrunk, 1.0), 0.0)
        apart.append(nearest)
        weights.append(weight)
    total = float(sum(w.sum() for w in weights))
    if total == 0.0:
        raise DiversetError("no point has a neighbour nearer than the edge of the box; give more points")
    d, w = np.concatenate(apart), np.concatenate(weights)
    order = np.argsort(d)
    cumulative = np.concatenate([[0.0], np.cumsum(w[order])]) / total
    return np.minimum(cumulative[np.searchsorted(d[order], distances, side="right")], 1.0)
