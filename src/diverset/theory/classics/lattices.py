r"""Random structures on lattices: non-intersecting walks, in exact arithmetic, and domino tilings of the Aztec diamond.

In floats, the matrix G of :class:`NonIntersectingWalks` is singular already for a dozen walks of a hundred steps. All
entries count paths, so determinants and solutions are computed in integers, by Bareiss' elimination [Bareiss1968]_, and
rounded once, at the end.

The Aztec diamond of order n is the union of the unit squares :math:`[x, x+1] \times [y, y+1]` with
:math:`|x + \tfrac12| + |y + \tfrac12| \le n`; it has :math:`2^{n(n+1)/2}` tilings by dominoes [ElkiesEtAl1992]_.
Squares are named by their lower left corners, and are *grey* where x + y + n is even. Every domino covers one grey
square. The grey square is a particle if it is the left half of a horizontal domino (which points *north*) or the lower
half of a vertical one (*east*); otherwise the domino points *south* or *west*.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy.linalg
from scipy.special import gammaln

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import DiversetError, ImpossibleEventError
from diverset.numerics.validation import check_count
from diverset.theory.classics.base import NonsymmetricClassic

__all__ = ["AztecDiamond", "NonIntersectingWalks", "Tiling", "krawtchouk_dpp"]


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

    Item i is the place ``sites[i] = (time, position)``; it is in the set if a walk visits it. With
    :math:`\phi_{s,t}(u, v) = \binom{t-s}{(t-s+v-u)/2}` paths from u at time s to v at time t, the number of families
    of walks that never meet is :math:`\det G`, :math:`G_{ij} = \phi_{0,T}(x_i, y_j)` ([KarlinMcGregor1959]_;
    [GesselViennot1985]_), and the set is determinantal ([EynardMehta1998]_; [Johansson2004]_):

    .. math::

        K\big((s,u), (t,v)\big) = \sum_{ij} \phi_{s,T}(u, y_i)\, (G^{-1})_{ij}\, \phi_{0,t}(x_j, v)
        - \mathbf 1[s < t]\, \phi_{s,t}(u, v).

    Walks of one parity cannot change order without meeting. They are drawn step by step and walk by walk: the number
    of families that continue given moves is a determinant with one row per walk, and the row of a walk that has not
    moved yet is the sum of its rows after either move. This takes O(T k) exact determinants of k x k integers.

    Parameters
    ----------
    starts, ends : sequence of int, of length k
        First and last positions, each strictly increasing and of one parity.
    n_steps : int
        T, the number of steps of -1 or +1.
    times : iterable of int, optional
        Times at which places are items; by default 1 to T - 1. A single time gives the law of the positions then.

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
            raise DiversetError(f"there are {len(self.starts)} starts but {len(self.ends)} ends; give one per walk")
        chosen = range(1, self.n_steps) if times is None else times
        self.times = sorted({int(t) for t in chosen})
        if self.times and not 0 <= self.times[0] <= self.times[-1] <= self.n_steps:
            raise DiversetError(f"times run from {self.times[0]} to {self.times[-1]}, not within 0 to {self.n_steps}")
        self._G = self._paths(0, self.starts, self.n_steps, self.ends)
        self.n_families: int = _determinant(self._G.tolist())
        if self.n_families == 0:
            where = f"from {self.starts.tolist()} to {self.ends.tolist()}"
            raise ImpossibleEventError(
                f"no walks of {self.n_steps} steps lead {where} without meeting; "
                "give ends within reach and of the right parity"
            )

    def __repr__(self) -> str:
        return f"NonIntersectingWalks({len(self.starts)} walks, n_steps={self.n_steps})"

    def _paths(self, s: int, u: IntArray, t: int, v: IntArray) -> Array:
        """Numbers of paths from places u at time s to places v at time t, as Python integers."""
        row = _binomials(t - s)
        up, odd = np.divmod(t - s + v - u[:, None], 2)
        return np.asarray(np.where((odd == 0) & (0 <= up) & (up <= t - s), row[np.clip(up, 0, t - s)], 0))

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
        raise DiversetError(f"{name} is {array.tolist()}; walks at odd distances can swap; use one parity")
    return array


# domino tilings ----------------------------------------------------------------------------------------

#: Moves of the dominoes when the diamond grows.
_MOVES = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


@dataclass(frozen=True, eq=False)
class Tiling:
    """A domino tiling of an Aztec diamond.

    Parameters
    ----------
    order : int
        Order of the diamond.
    north, south, east, west : ndarray of shape (m, 2)
        Left or lower squares (x, y) of the dominoes with this direction: north and south are horizontal, east and west
        vertical.
    """

    order: int
    north: IntArray
    south: IntArray
    east: IntArray
    west: IntArray

    def dominoes(self) -> list[tuple[int, int, str]]:
        """Every domino as (x, y, direction), sorted: equal lists are equal tilings."""
        return sorted((int(x), int(y), direction) for direction in _MOVES for x, y in getattr(self, direction).tolist())


class AztecDiamond(NonsymmetricClassic[Tiling]):
    r"""Uniformly random domino tilings of the Aztec diamond.

    Item i is the grey square ``sites[i]``; it is in the set if it is a particle, the left half of a horizontal or the
    lower half of a vertical domino. Let C be the matrix with rows for grey and columns for white squares, 1 for
    horizontal neighbours and i for vertical ones, and A its part for right and upper neighbours. Minors of
    :math:`C^{-1}` count local patterns ([Kasteleyn1961]_; [Kenyon1997]_), and the determinant is linear in each row, so
    the particles are determinantal with :math:`K = A\, C^{-1}` ([Johansson2005]_; [KuleszaTaskar2012]_, section 2.1.1).
    Shuffling grows a tiling from order to order: dominoes that face each other are removed, the others move one square
    in their direction, and each 2 x 2 hole is filled with two parallel dominoes, horizontal or vertical with
    probability 1/2 [ElkiesEtAl1992]_. A draw takes O(n^3). The kernel takes O(n^6) and is not symmetric; on each
    diagonal of squares it is equivalent to that of the Krawtchouk ensemble, :func:`krawtchouk_dpp`.

    Parameters
    ----------
    order : int
        Half the number of rows, at least 1.

    Examples
    --------
    >>> diamond = AztecDiamond(2)
    >>> diamond.n_tilings, len(diamond.sites)
    (8, 6)
    >>> diamond.sample(rng=0)
    array([1, 2, 5])
    >>> diamond.dpp.inclusion_probabilities.round(6)
    array([0.25, 0.5 , 0.75, 0.25, 0.5 , 0.75])
    """

    def __init__(self, order: int) -> None:
        self.order = check_count(order, name="order")

    def __repr__(self) -> str:
        return f"AztecDiamond(order={self.order})"

    @property
    def n_tilings(self) -> int:
        """Number of tilings, :math:`2^{n(n+1)/2}`."""
        return 1 << (self.order * (self.order + 1) // 2)

    @property
    def arctic_radius(self) -> float:
        r"""Radius :math:`n/\sqrt2` of the circle outside of which large tilings are frozen [JockuschEtAl1998]_."""
        return self.order / math.sqrt(2.0)

    @cached_property
    def squares(self) -> IntArray:
        """All squares, sorted by y, then x; of shape (2n(n+1), 2)."""
        n = self.order
        y, x = np.mgrid[-n:n, -n:n].reshape(2, -1)
        inside = np.abs(x + 0.5) + np.abs(y + 0.5) <= n
        return np.stack([x[inside], y[inside]], axis=1).astype(np.int64)

    @cached_property
    def sites(self) -> IntArray:
        """Grey squares, the items; of shape (n(n+1), 2)."""
        return np.asarray(self.squares[self.squares.sum(axis=1) % 2 == self.order % 2])

    @cached_property
    def _position(self) -> dict[tuple[int, int], int]:
        return {(x, y): i for i, (x, y) in enumerate(self.sites.tolist())}

    @cached_property
    def kernel(self) -> FloatArray:
        """Marginal kernel of the particles, of shape (n(n+1), n(n+1))."""
        white = self.squares[self.squares.sum(axis=1) % 2 != self.order % 2]
        column = {(x, y): i for i, (x, y) in enumerate(white.tolist())}
        # Signs by the column of the grey square instead of i for vertical neighbours: the same up to a gauge change of
        # rows and columns, and real.
        A = np.zeros((len(self.sites), len(white)))
        rest = np.zeros_like(A)
        for b, (x, y) in enumerate(self.sites.tolist()):
            sign = -1.0 if x % 2 else 1.0
            for matrix, neighbour, value in (
                (A, (x + 1, y), 1.0),
                (A, (x, y + 1), sign),
                (rest, (x - 1, y), 1.0),
                (rest, (x, y - 1), sign),
            ):
                if neighbour in column:
                    matrix[b, column[neighbour]] = value
        C = A + rest
        # Scaling rows and columns of C changes no minor of K, but avoids entries that grow exponentially with n. On a
        # line K is Krawtchouk's kernel with all of the binomial weight on one side; with half of it moved to the
        # other side, and lines balanced by their own binomials, the condition number of C is n.
        place, line = self._places
        scale = np.exp(0.5 * (_log_binomial(self.order - 1, line) - _log_binomial(self.order, place)))[:, None]
        columns = 1.0 / np.linalg.norm(scale * C, axis=0)
        return np.asarray(scipy.linalg.solve((scale * C * columns).T, (scale * A * columns).T).T, dtype=np.float64)

    @property
    def _places(self) -> tuple[IntArray, IntArray]:
        """The place of each site on its diagonal, 0 to n, and the diagonal's number less one."""
        x, y = self.sites.T
        return (y - x + self.order) // 2, (x + y + self.order) // 2

    def sites_on_line(self, line: int) -> IntArray:
        """Items on diagonal number `line`, 1 to n, in the order of their places in :func:`krawtchouk_dpp`."""
        r = _check_line(self.order, line)
        place, number = self._places
        on = np.flatnonzero(number == r - 1)
        return on[np.argsort(place[on])]

    def items_of(self, thing: Tiling) -> IntArray:
        """Grey squares under dominoes that point north or east."""
        if thing.order != self.order:
            raise DiversetError(f"the tiling is of order {thing.order}; this diamond is of order {self.order}")
        found = [self._position[x, y] for x, y in [*thing.north.tolist(), *thing.east.tolist()]]
        return np.array(sorted(found), dtype=np.int64)

    def _make(self, rng: np.random.Generator) -> Tiling:
        n = self.order
        # One square of margin: dominoes of all orders up to n lie in the middle of the array.
        shape = (2 * n + 2, 2 * n + 2)
        at = {direction: np.zeros(shape, dtype=bool) for direction in _MOVES}
        for m in range(1, n + 1):
            _grow(at, m, n + 1, rng)
        return Tiling(n, **{d: np.argwhere(here)[:, ::-1] - (n + 1) for d, here in at.items()})


def _moved(here: BoolArray, dx: int, dy: int) -> BoolArray:
    """Array shifted by at most one place; the margin is empty, so that nothing wraps around."""
    return np.roll(here, (dy, dx), axis=(0, 1))


def _grow(at: dict[str, BoolArray], m: int, centre: int, rng: np.random.Generator) -> None:
    """Grow a tiling from order m - 1 to order m, in place; arrays are indexed by [y + centre, x + centre]."""
    # Destroy: north with south directly above it, east with west directly to its right.
    facing = at["north"] & _moved(at["south"], 0, -1)
    at["north"] &= ~facing
    at["south"] &= ~_moved(facing, 0, 1)
    facing = at["east"] & _moved(at["west"], -1, 0)
    at["east"] &= ~facing
    at["west"] &= ~_moved(facing, 1, 0)
    # Slide.
    for direction, (dx, dy) in _MOVES.items():
        at[direction] = _moved(at[direction], dx, dy)
    # Create. Holes start at squares where x + y + m is odd, and are found row by row.
    flat, upright = at["north"] | at["south"], at["east"] | at["west"]
    full = flat | _moved(flat, 1, 0) | upright | _moved(upright, 0, 1)
    for y in range(-m, m):
        half = min(y + 1 + m, m - y)  # the row runs from -half to half - 1
        start = -half + (-half + y + m + 1) % 2
        columns = np.arange(start, half - 1, 2) + centre
        row = y + centre
        empty = columns[~full[row, columns]]
        if len(empty) == 0:
            continue
        full[row : row + 2, empty] = full[row : row + 2, empty + 1] = True
        lying = rng.random(len(empty)) < 0.5
        at["south"][row, empty[lying]] = at["north"][row + 1, empty[lying]] = True
        at["west"][row, empty[~lying]] = at["east"][row, empty[~lying] + 1] = True


def _log_binomial(n: int, k: IntArray) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), dtype=np.float64)


def _check_line(order: int, line: int) -> int:
    r = check_count(line, name="line")
    if r > order:
        raise DiversetError(f"line is {r}; a diamond of order {order} has lines 1 to {order}")
    return r


def krawtchouk_dpp(order: int, line: int) -> DPP:
    r"""DPP of the particles of the Aztec diamond over the n + 1 places of one diagonal of squares.

    There are always r particles on line r, for r from 1 to n, and their places :math:`0 \le h_1 < \dots < h_r \le n`
    have the law

    .. math::  \Pr(h_1, \dots, h_r) \propto \prod_{i<j} (h_i - h_j)^2 \prod_i \binom{n}{h_i},

    an orthogonal polynomial ensemble, the projection onto Krawtchouk polynomials ([Johansson2005]_).

    Parameters
    ----------
    order : int
        n, the order of the diamond.
    line : int
        r, from 1 to n.

    Examples
    --------
    >>> krawtchouk_dpp(2, 1).inclusion_probabilities.round(6)
    array([0.25, 0.5 , 0.25])
    """
    n = check_count(order, name="order")
    r = _check_line(n, line)
    # Multiplication by h, in the orthonormal polynomials, is the Jacobi matrix of the binomial weight; polynomials at
    # the points are its eigenvectors, without the cancellation of evaluating them.
    off = np.sqrt(np.arange(1.0, n + 1) * np.arange(n, 0.0, -1)) / 2.0
    _, vectors = scipy.linalg.eigh_tridiagonal(np.full(n + 1, n / 2.0), off)
    Q: Array = vectors[:r].T
    return DPP.from_marginal(Q @ Q.T)
