r"""Local search for a set of high probability: exchanges, additions, removals.

For a set S of m items out of n, :class:`SubsetState` keeps

.. math::

    P = L_S^{-1}, \qquad Y = P\,L_{S\cdot}, \qquad r_j = L_{jj} - L_{jS}\,P\,L_{Sj}.

The determinant is multiplied by :math:`r_j` if j is added, by :math:`P_{aa}` if a is removed, and by
:math:`P_{aa} r_j + |Y_{aj}|^2` if j replaces a. Computing the factors of all changes takes O(nm), as does one change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import DiversetError, SizeError
from diverset.inference.greedy import check_rank, log_det, make_selection, map_greedy, require_likelihood
from diverset.inference.result import Selection
from diverset.numerics.linalg import EPS, positions_outside, squared_modulus
from diverset.numerics.validation import check_count, check_size, find_positions

__all__ = ["SubsetState", "best_move", "map_local_search", "state_of"]

#: Relative growth of the determinant that counts as an improvement; less may be rounding.
TOLERANCE = 1e-9
#: Number of moves after which the inverse is recomputed, so that rounding errors do not accumulate.
_REFRESH = 50


class SubsetState:
    """A set, with the effect of each change on the determinant; `diagonal` is that of L, ``row(j)`` is row j of L."""

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
        """Remove the a-th member and add item j (-1 for none); False, without j, if j depends on the others."""
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
    representation, everything = dpp._representation, np.arange(dpp.n_items)
    diagonal = np.array(representation.likelihood_diagonal(), dtype=np.float64)
    return SubsetState(diagonal, lambda j: representation.likelihood_block(np.array([j]), everything)[0], members)


def best_move(state: SubsetState, *, sized: bool) -> tuple[float, int, int]:
    """The change that multiplies the determinant most: (factor, member to remove, item to add), -1 for none."""
    found = (0.0, -1, -1)
    if state.members:
        exchange = state.exchange_ratios()
        a, j = divmod(int(exchange.argmax()), state.n)
        found = (float(exchange[a, j]), a, j)
    if not sized:
        addition, removal = state.addition_ratios(), state.removal_ratios()
        if len(addition) and addition.max() > found[0]:
            found = (float(addition.max()), -1, int(addition.argmax()))
        if len(removal) and removal.max() > found[0]:
            found = (float(removal.max()), int(removal.argmax()), -1)
    return found


def improve(dpp: DPP, start: IntArray, *, sized: bool, max_iter: int) -> IntArray:
    """Apply the best change until no change improves; a change is accepted if the recomputed determinant grows."""
    if dpp._representation.rows_of_hidden is not None:
        return _improve_by_log_probs(dpp, start, sized=sized, max_iter=max_iter)
    state = state_of(dpp, start)
    best, value = start, log_det(dpp, start)
    for _ in range(max_iter):
        factor, a, j = best_move(state, sized=sized)
        if factor <= 1.0 + TOLERANCE:
            break
        rest = np.delete(best, a) if a >= 0 else best
        changed = np.append(rest, j) if j >= 0 else rest
        reached = log_det(dpp, changed)
        # The predicted growth was rounding error, which an ill-conditioned block can cause.
        if reached <= value + 0.1 * TOLERANCE or not state.move(a=a, j=j):
            break
        best, value = changed, reached
    return best


def _improve_by_log_probs(dpp: DPP, start: IntArray, *, sized: bool, max_iter: int) -> IntArray:
    """`improve` by the log-probability of every neighbour, for kernels whose entries hide small eigenvalues."""
    best, value = start, log_det(dpp, start)
    for _ in range(max_iter):
        others = positions_outside(best, dpp.n_items)
        removed = [np.delete(best, a) for a in range(len(best))]
        neighbours = [[np.append(rest, j) for rest in removed for j in others]]
        if not sized:
            neighbours += [removed, [np.append(best, j) for j in others]]
        found = best
        for sets in filter(len, neighbours):
            ordered = np.sort(np.array(sets, dtype=np.int64).reshape(len(sets), -1), axis=1)
            values = dpp._log_probs(ordered) + dpp.log_normalizer
            if values.max() > value + TOLERANCE:
                found, value = ordered[int(values.argmax())], float(values.max())
        if found is best:
            break
        best = found
    return best


def map_local_search(
    dpp: DPP, k: int | None = None, *, start: Iterable[int] | None = None, max_iter: int = 10_000
) -> Selection:
    r"""Improve a set by the best single change until no change raises :math:`\det L_Y`.

    With `k`, a change replaces one item by another. Without `k`, additions and removals are allowed, too.

    Parameters
    ----------
    dpp, k
        As in :func:`diverset.map_exact`. L is not formed if the DPP is from features.
    start : iterable of int, optional
        Initial set, of positive probability and of k items if `k` is given. The greedy set by default.
    max_iter : int
        Maximum number of changes.

    Notes
    -----
    Evaluating all exchanges takes O(nk), and so does making one. A change is accepted only if the recomputed
    log-determinant grows by more than rounding error. The indices of the result are ascending.

    With `k`, a search from the greedy set has the guarantee of greedy search: the determinant is at least
    :math:`1/(k!)^2` of the largest ([CivrilMagdonIsmail2009]_). Without `k`, a set Y that no single change improves has
    :math:`2\log\det L_Y \ge \log\det L_{Y \cup C} + \log\det L_{Y \cap C}` for every set C
    ([FeigeMirrokniVondrak2007]_, Lemma 3.2).

    Examples
    --------
    Greedy search picks the long vector 0 first and never removes it.

    >>> import diverset as dv
    >>> dpp = dv.DPP.from_features([[1.1, 1.1], [1.5, 0.0], [0.0, 1.5]])
    >>> dv.map_greedy(dpp, k=2).indices.tolist(), map_local_search(dpp, k=2).indices.tolist()
    ([0, 1], [1, 2])
    """
    require_likelihood(dpp, "map_local_search")
    limit = check_count(max_iter, name="max_iter")
    size = None if k is None else check_size(k)
    if start is None:
        greedy = map_greedy(dpp, size)
        begin = np.searchsorted(dpp.items, greedy.indices).astype(np.int64)
        if size is not None and len(begin) < size:
            check_rank(size, len(begin))
    else:
        begin = find_positions(start, dpp.items, name="start")
        if size is not None and len(begin) != size:
            raise SizeError(f"start has {len(begin)} items and k is {size}; give a start of k items")
        if log_det(dpp, begin) == -math.inf:
            raise DiversetError(f"start is {dpp.items[begin].tolist()}, which has probability 0; leave it out")
    return make_selection(dpp, improve(dpp, begin, sized=size is not None, max_iter=limit))
