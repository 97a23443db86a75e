r"""A set of items, and the factor by which each single change of the set multiplies :math:`\det L_Y`.

For a set S of m items out of n, :class:`SubsetState` keeps

.. math::

    P = L_S^{-1}, \qquad Y = P\,L_{S\cdot}, \qquad r_j = L_{jj} - L_{jS}\,P\,L_{Sj},

The determinant is multiplied by :math:`r_j` if j is added, by :math:`P_{aa}` if a is removed, and by
:math:`P_{aa} r_j + |Y_{aj}|^2` if j replaces a. Computing the factors of all changes takes O(nm), as does one change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core import DPP, KDPP
from diverset.errors import DiversetError, NoLikelihoodKernelError, SizeError
from diverset.inference.result import Selection
from diverset.numerics.linalg import EPS, cholesky_lower, squared_modulus
from diverset.numerics.validation import check_fits_in_memory

__all__ = [
    "SubsetState",
    "check_rank",
    "log_det",
    "make_selection",
    "require_likelihood",
    "state_of",
    "whole_kernel",
]

#: Number of moves after which the inverse is recomputed, so that rounding errors do not accumulate.
_REFRESH = 50


def require_likelihood(dpp: Any, name: str) -> None:
    """Raise an error unless `dpp` is an L-ensemble. For a k-DPP, the message names the call with its L-ensemble."""
    if not isinstance(dpp, DPP):
        remedy = f"{name}(model.dpp, {dpp.k})" if isinstance(dpp, KDPP) else "a DPP, such as DPP(L)"
        raise DiversetError(f"{name} was given a {type(dpp).__name__}; pass {remedy}")
    if dpp.log_normalizer == math.inf:
        raise NoLikelihoodKernelError(
            f"{name} needs a likelihood kernel L, and this DPP has none (K has an eigenvalue 1); "
            "thin(1 - 1e-9) gives a DPP near it that has one"
        )


def whole_kernel(dpp: DPP, name: str) -> Array:
    """L as a dense matrix, for the methods that need all its entries."""
    require_likelihood(dpp, name)
    n = dpp.n_items
    check_fits_in_memory(48 * n * n, what=f"{name} over {n} items", remedy="map_greedy never forms L")
    everything = np.arange(n)
    return np.array(dpp._representation.likelihood_block(everything, everything))


def check_rank(k: int, rank: int) -> None:
    """Raise an error for a size at which every set has probability zero."""
    if k > rank:
        raise SizeError(f"k is {k}, and every set of more than {rank} items (the rank) has probability 0")


def log_det(dpp: DPP, positions: IntArray) -> float:
    r""":math:`\log\det L_Y`, computed from the representation of the DPP."""
    if len(positions) == 0:
        return 0.0
    return dpp._log_prob(np.sort(positions)) + dpp.log_normalizer


def _pivot_logs(dpp: DPP, positions: IntArray) -> FloatArray:
    """Gain in log-determinant from each item, given the items before it."""
    block = dpp._representation.likelihood_block(positions, positions)
    root = np.sqrt(np.diagonal(block).real)
    hidden = dpp._representation.rows_of_hidden is not None
    R = None if hidden or not (root > 0.0).all() else cholesky_lower(block / root[:, None] / root)
    if R is not None:
        return np.asarray(2.0 * (np.log(np.diagonal(R).real) + np.log(root)))
    return np.diff([log_det(dpp, positions[:m]) for m in range(len(positions) + 1)])


def make_selection(
    dpp: DPP, positions: Iterable[int], *, upper_bound: float | None = None, ordered: bool = False
) -> Selection:
    """The `Selection` for a set of positions, which is sorted unless `ordered` is true."""
    chosen = np.fromiter(positions, dtype=np.int64)
    if not ordered:
        chosen.sort()
    value = log_det(dpp, chosen)
    return Selection(
        indices=dpp.items[chosen],
        gains=_pivot_logs(dpp, chosen),
        log_det=value,
        objective=value,
        log_prob=dpp._log_prob(np.sort(chosen)),
        upper_bound=upper_bound,
    )


class SubsetState:
    """A set, with the effect of every addition, removal and exchange on the determinant.

    `diagonal` is that of L, and ``row(j)`` gives row j of L.
    """

    def __init__(self, diagonal: FloatArray, row: Callable[[int], Array], members: Iterable[int] = ()) -> None:
        self.n = len(diagonal)
        self._diagonal = diagonal
        self._floor = 64.0 * self.n * EPS * diagonal
        self._row = row
        self._moves = 0
        self._clear()
        for j in members:
            self._insert(int(j), self._row(int(j)))

    def _clear(self) -> None:
        self.members: list[int] = []
        self.rows: Array = np.zeros((0, self.n))
        self.inverse: Array = np.zeros((0, 0))
        self.coordinates: Array = np.zeros((0, self.n))
        self.residual = self._diagonal.copy()
        self.inside = np.zeros(self.n, dtype=bool)

    def _insert(self, j: int, row: Array) -> None:
        m = len(self.members)
        r = float(self.residual[j])
        y = self.coordinates[:, j].copy()
        e = row - y.conj() @ self.rows
        inverse = np.empty((m + 1, m + 1), dtype=np.result_type(self.inverse, row))
        # Divide by the root of r first: squares of entries may overflow although their quotients with r do not.
        root = math.sqrt(r)
        inverse[:m, :m] = self.inverse + np.outer(y / root, y.conj() / root)
        inverse[:m, m] = -y / r
        inverse[m, :m] = -y.conj() / r
        inverse[m, m] = 1.0 / r
        self.inverse = inverse
        self.rows = np.vstack([self.rows, row])
        self.coordinates = np.vstack([self.coordinates - np.outer(y, e / r), e / r])
        self.residual = self.residual - squared_modulus(e / root)
        self.members.append(j)
        self.inside[j] = True
        self.residual[self.inside] = 0.0

    def _delete(self, a: int) -> None:
        p = float(self.inverse[a, a].real)
        column = self.inverse[:, a]
        row = self.coordinates[a].copy()
        rest = np.arange(len(self.members)) != a
        self.residual = self.residual + squared_modulus(row / math.sqrt(p))
        self.coordinates = (self.coordinates - np.outer(column / p, row))[rest]
        # Divide first: if the kernel has tiny entries, squares of entries of its inverse overflow.
        self.inverse = (self.inverse - np.outer(column, (column / p).conj()))[np.ix_(rest, rest)]
        self.rows = self.rows[rest]
        self.inside[self.members.pop(a)] = False
        self.residual[self.inside] = 0.0

    @property
    def positions(self) -> IntArray:
        """The set, in the order of the rows of ``inverse``."""
        return np.array(self.members, dtype=np.int64)

    def addition_ratios(self) -> FloatArray:
        """Factor by which adding each item multiplies the determinant; 0 for members and items dependent on them."""
        return np.where(self.residual > self._floor, self.residual, 0.0)

    def removal_ratios(self) -> FloatArray:
        """Factor by which removing each member multiplies the determinant."""
        return np.array(np.diagonal(self.inverse).real)

    def exchange_ratios(self) -> FloatArray:
        """Factor for replacing member a by item j, of shape (m, n); 0 where j is a member."""
        with np.errstate(over="ignore"):  # an infinite factor wins, as it should
            ratios = np.outer(self.removal_ratios(), self.addition_ratios()) + squared_modulus(self.coordinates)
        ratios[:, self.inside] = 0.0
        return ratios

    def move(self, *, a: int = -1, j: int = -1) -> bool:
        """Remove the a-th member and add item j; -1 stands for none.

        Returns False, without j, if j depends on the others up to rounding.
        """
        if a >= 0:
            self._delete(a)
        self._moves += 1
        # Between items of very different scales, the residual of j can cancel.
        cancelled = j >= 0 and not self.residual[j] > self._floor[j]
        if cancelled or self._moves % _REFRESH == 0:
            members, rows = self.members, self.rows
            self._clear()
            for member, row in zip(members, rows, strict=True):
                self._insert(member, row)
        if j >= 0 and self.residual[j] > 0.0:
            self._insert(j, self._row(j))
        return j < 0 or bool(self.inside[j])


def state_of(dpp: DPP, members: Iterable[int] = ()) -> SubsetState:
    """The state of a set of positions of a DPP. The kernel is read row by row and never formed."""
    representation = dpp._representation
    everything = np.arange(dpp.n_items)

    def row(j: int) -> Array:
        values: Array = representation.likelihood_block(np.array([j]), everything)[0]
        return values

    return SubsetState(np.array(representation.likelihood_diagonal(), dtype=np.float64), row, members)
