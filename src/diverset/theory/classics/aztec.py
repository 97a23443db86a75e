r"""Domino tilings of the Aztec diamond: shuffling, the particles' kernel, the arctic circle.

The Aztec diamond of order n is the union of the unit squares :math:`[x, x+1] \times [y, y+1]` with
:math:`|x + \tfrac12| + |y + \tfrac12| \le n`; it has :math:`2^{n(n+1)/2}` tilings by dominoes [ElkiesEtAl1992]_.
Squares are named by their lower left corners, and are *grey* where x + y + n is even. Every domino covers one grey
square. The grey square is a particle if it is the left half of a horizontal domino (which points *north*) or the lower
half of a vertical one (*east*); otherwise the domino points *south* or *west*. The set of particles is determinantal
([Johansson2005]_; [KuleszaTaskar2012]_, section 2.1.1).

**Kernel.** Let C be the matrix with rows for grey and columns for white squares, 1 for horizontal neighbours and i for
vertical ones. The absolute value of its determinant counts tilings, and minors of its inverse their local patterns
([Kasteleyn1961]_; [Kenyon1997]_): dominoes :math:`(b_1, w_1), \dots` are all in the tiling with probability
:math:`\prod_i C_{b_i w_i} \det[C^{-1}_{w_i b_j}]`. Particles sum this over two of the four neighbours of each grey
square. The determinant is linear in each row, so with A the part of C for right and upper neighbours,

.. math::  K = A\, C^{-1}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from scipy.special import gammaln

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.numerics.validation import check_count
from diverset.theory.classics.base import NonsymmetricClassic

__all__ = ["AztecDiamond", "Tiling", "krawtchouk_dpp"]

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
    """Uniformly random domino tilings of the Aztec diamond.

    Item i is the grey square ``sites[i]``; it is in the set if it is a particle.

    Parameters
    ----------
    order : int
        Half the number of rows, at least 1.

    Notes
    -----
    Shuffling grows a tiling from order to order: dominoes that face each other are removed, the others move one square
    in their direction, and each 2 x 2 hole is filled with two parallel dominoes, horizontal or vertical with
    probability 1/2 [ElkiesEtAl1992]_. A draw takes O(n^3). The kernel takes O(n^6) and is not symmetric; on each
    diagonal of squares it is equivalent to that of the Krawtchouk ensemble, :func:`krawtchouk_dpp`.

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
        grey: IntArray = self.squares[self.squares.sum(axis=1) % 2 == self.order % 2]
        return grey

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
    r"""Particles of the Aztec diamond on one diagonal of squares, as an orthogonal polynomial ensemble.

    There are always r particles on line r, for r from 1 to n, and their places :math:`0 \le h_1 < \dots < h_r \le n`
    have the law

    .. math::  \Pr(h_1, \dots, h_r) \propto \prod_{i<j} (h_i - h_j)^2 \prod_i \binom{n}{h_i},

    a projection process of Krawtchouk polynomials ([Johansson2005]_).

    Parameters
    ----------
    order : int
        n, the order of the diamond.
    line : int
        r, from 1 to n.

    Returns
    -------
    DPP
        Over the n + 1 places of the line.

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
