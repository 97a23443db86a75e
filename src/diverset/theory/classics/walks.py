r"""Non-intersecting random walks with fixed ends, in exact arithmetic.

k simple walks start at :math:`x_1 < \dots < x_k`, end after T steps at :math:`y_1 < \dots < y_k`, and never meet. With
:math:`\phi_{s,t}(u, v) = \binom{t-s}{(t-s+v-u)/2}` paths from u at time s to v at time t, the number of such families
is a determinant, by Karlin and McGregor [KarlinMcGregor1959]_ or Lindström, Gessel and Viennot [GesselViennot1985]_:

.. math::  \det G, \qquad G_{ij} = \phi_{0,T}(x_i, y_j).

The set of their places, at some or all times, is determinantal ([EynardMehta1998]_; [Johansson2004]_):

.. math::

    K\big((s,u), (t,v)\big) = \sum_{ij} \phi_{s,T}(u, y_i)\, (G^{-1})_{ij}\, \phi_{0,t}(x_j, v)
    - \mathbf 1[s < t]\, \phi_{s,t}(u, v).

In floats, G is singular already for a dozen walks of a hundred steps. All entries count paths, so determinants and
solutions are computed in integers, by Bareiss' elimination [Bareiss1968]_, and rounded once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import DiversetError, ImpossibleEventError
from diverset.numerics.validation import check_count
from diverset.theory.classics.base import NonsymmetricClassic

__all__ = ["NonIntersectingWalks"]


def _eliminate(a: Array) -> int:
    """Fraction-free Gauss-Jordan elimination in place on the left square of an integer matrix; returns its determinant.

    Afterwards the left square is the determinant times the identity, and the columns to its right hold the determinant
    times the solutions of the linear systems. Every division is exact.
    """
    k = len(a)
    sign, previous = 1, 1
    for c in range(k):
        pivot = next((r for r in range(c, k) if a[r, c] != 0), None)
        if pivot is None:
            return 0
        if pivot != c:
            a[[c, pivot]] = a[[pivot, c]]
            sign = -sign
        row, head = a[c].copy(), a[c, c]
        a[:] = (a * head - np.outer(a[:, c], row)) // previous
        a[c] = row
        previous = head
    a *= sign
    return int(sign * previous)


def _determinant(rows: Sequence[Sequence[int]]) -> int:
    """Exact determinant of an integer matrix, on lists, which are faster than arrays of objects."""
    a = [list(row) for row in rows]
    sign, previous = 1, 1
    while len(a) > 1:
        pivot = next((r for r, row in enumerate(a) if row[0] != 0), None)
        if pivot is None:
            return 0
        if pivot:
            a[0], a[pivot] = a[pivot], a[0]
            sign = -sign
        head, *top = a[0]
        a = [[(head * x - row[0] * y) // previous for x, y in zip(row[1:], top, strict=True)] for row in a[1:]]
        previous = head
    return sign * a[0][0]


@lru_cache(maxsize=1024)
def _binomials(n: int) -> Array:
    return np.array([math.comb(n, k) for k in range(n + 1)], dtype=object)


class NonIntersectingWalks(NonsymmetricClassic[IntArray]):
    r"""Simple symmetric random walks, conditioned on their ends and on never meeting.

    Item i is the place ``sites[i] = (time, position)``; it is in the set if a walk visits it.

    Parameters
    ----------
    starts, ends : sequence of int, of length k
        First and last positions, each strictly increasing and of one parity.
    n_steps : int
        T, the number of steps of -1 or +1.
    times : iterable of int, optional
        Times at which places are items; by default 1 to T - 1. A single time gives the law of the positions then.

    Notes
    -----
    Walks of one parity cannot change order without meeting. They are drawn step by step and walk by walk: the number
    of families that continue given moves is a determinant with one row per walk, and the row of a walk that has not
    moved yet is the sum of its rows after either move. This takes O(T k) exact determinants of k x k integers.

    Examples
    --------
    Two walks of four steps that return to their starts. Of the 36 pairs of paths, 20 do not meet:

    >>> walks = NonIntersectingWalks([0, 2], [0, 2], 4, times=[2])
    >>> walks.n_families
    20
    >>> walks.sites[:, 1]
    array([-2,  0,  2,  4])
    >>> walks.dpp.inclusion_probabilities
    array([0.3, 0.7, 0.7, 0.3])
    >>> walks.sample_objects(rng=0)
    array([[ 0, -1,  0, -1,  0],
           [ 2,  3,  4,  3,  2]])
    """

    def __init__(
        self,
        starts: Sequence[int] | IntArray,
        ends: Sequence[int] | IntArray,
        n_steps: int,
        *,
        times: Iterable[int] | None = None,
    ) -> None:
        self.starts, self.ends = _positions(starts, "starts"), _positions(ends, "ends")
        self.n_steps = check_count(n_steps, name="n_steps")
        if len(self.starts) != len(self.ends):
            raise DiversetError(
                f"there are {len(self.starts)} starts but {len(self.ends)} ends; give one of each per walk"
            )
        chosen = range(1, self.n_steps) if times is None else times
        self.times = sorted({int(t) for t in chosen})
        if self.times and not 0 <= self.times[0] <= self.times[-1] <= self.n_steps:
            raise DiversetError(f"times run from {self.times[0]} to {self.times[-1]}, not within 0 to {self.n_steps}")
        self._G = self._paths(0, self.starts, self.n_steps, self.ends)
        self.n_families: int = _determinant(self._G.tolist())
        if self.n_families == 0:
            raise ImpossibleEventError(
                f"no {len(self.starts)} walks of {self.n_steps} steps lead from {self.starts.tolist()} to "
                f"{self.ends.tolist()} without meeting; give ends within reach and of the right parity"
            )

    def __repr__(self) -> str:
        return f"NonIntersectingWalks({len(self.starts)} walks, n_steps={self.n_steps})"

    def _paths(self, s: int, u: IntArray, t: int, v: IntArray) -> Array:
        """Numbers of paths from places u at time s to places v at time t, as Python integers."""
        row = _binomials(t - s)
        up, odd = np.divmod(t - s + v - u[:, None], 2)
        counts: Array = np.where((odd == 0) & (0 <= up) & (up <= t - s), row[np.clip(up, 0, t - s)], 0)
        return counts

    @cached_property
    def sites(self) -> IntArray:
        """Items as (time, position), of shape (n_items, 2): all places within reach of both ends."""
        rows = []
        for t in self.times:
            left = self.n_steps - t
            low = max(int(self.starts[0]) - t, int(self.ends[0]) - left)
            high = min(int(self.starts[-1]) + t, int(self.ends[-1]) + left)
            rows += [(t, x) for x in range(low, high + 1, 2)]
        return np.array(rows, dtype=np.int64).reshape(len(rows), 2)

    @cached_property
    def kernel(self) -> FloatArray:
        """Marginal kernel over the sites, of shape (n_items, n_items); correctly rounded."""
        k, times = len(self.starts), self.times
        blocks = [self.sites[self.sites[:, 0] == t, 1] for t in times]
        forward = [self._paths(0, self.starts, t, x) for t, x in zip(times, blocks, strict=True)]
        system = np.concatenate([self._G, *forward], axis=1)
        # All entries are in units of 1 / det.
        det = _eliminate(system)
        rows = [np.zeros((0, len(self.sites)), dtype=object)]
        for s, x in zip(times, blocks, strict=True):
            row = self._paths(s, x, self.n_steps, self.ends) @ system[:, k:]
            for t, y in zip(times, blocks, strict=True):
                if s < t:
                    row[:, self.sites[:, 0] == t] -= det * self._paths(s, x, t, y)
            rows.append(row)
        # Python divides integers of any size with one rounding.
        whole = [[entry / det for entry in row] for row in np.concatenate(rows).tolist()]
        return np.array(whole, dtype=np.float64).reshape(len(self.sites), len(self.sites))

    def _make(self, rng: np.random.Generator) -> IntArray:
        k, T = len(self.starts), self.n_steps
        paths = np.empty((k, T + 1), dtype=np.int64)
        paths[:, 0] = self.starts
        for t in range(T):
            here = paths[:, t]
            rows = self._paths(t, here, T, self.ends).tolist()
            above = self._paths(t + 1, here + 1, T, self.ends).tolist()
            below = self._paths(t + 1, here - 1, T, self.ends).tolist()
            total = _determinant(rows)
            for i in range(k):
                rows[i] = above[i]
                up = _determinant(rows)
                if _chance(up, total, rng):
                    paths[i, t + 1], total = here[i] + 1, up
                else:
                    rows[i] = below[i]
                    paths[i, t + 1], total = here[i] - 1, total - up
        return paths

    def items_of(self, thing: IntArray) -> IntArray:
        """Places that walks, of shape (k, n_steps + 1), visit at the chosen times."""
        at = {(int(t), int(x)): i for i, (t, x) in enumerate(self.sites)}
        return np.array(sorted(at[t, int(x)] for t in self.times for x in thing[:, t]), dtype=np.int64)


def _chance(wins: int, total: int, rng: np.random.Generator) -> bool:
    """True with probability wins / total, for integers of any size."""
    if wins in (0, total):
        return wins == total
    return bool(rng.random() < wins / total)


def _positions(places: Sequence[int] | IntArray, name: str) -> IntArray:
    try:
        array = np.array([int(x) for x in places], dtype=np.int64)
    except (TypeError, ValueError):
        raise DiversetError(f"{name} is {places!r}; give the positions of the walks as whole numbers") from None
    if len(array) == 0:
        raise DiversetError(f"{name} is empty; there must be at least one walk")
    steps = np.diff(array)
    if (steps <= 0).any():
        raise DiversetError(f"{name} is {array.tolist()}; positions must increase from walk to walk")
    if (steps % 2).any():
        raise DiversetError(
            f"{name} is {array.tolist()}; walks at odd distances can swap without meeting: use one parity"
        )
    return array
