r"""Maximising :math:`\log\det L_Y` as a submodular function that is not monotone.

Both algorithms here come with guarantees for *nonnegative* submodular functions, and :math:`f(Y) = \log\det L_Y` is
negative on many sets. Adding a constant c to f keeps it submodular, and :math:`c = -\min_Y f(Y)` makes it nonnegative;
the guarantee then holds for :math:`f + c`. The proofs need less: they use only the values of f at the two ends of the
search, :math:`f(\emptyset) = 0` and :math:`\log\det L` for the whole ground set. Each function states the guarantee
that follows without any assumption on signs.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.core import DPP
from diverset.inference.greedy import log_det, make_selection, map_greedy, require_likelihood
from diverset.inference.local_search import state_of
from diverset.inference.result import Selection
from diverset.numerics.linalg import cholesky_lower, hermitian_inverse, positions_outside
from diverset.numerics.validation import as_generator, check_fits_in_memory, check_positive

__all__ = ["map_double_greedy", "map_nonmonotone"]


def map_double_greedy(dpp: DPP, *, rng: RNGLike = None, randomized: bool = True) -> Selection:
    r"""Double greedy: a set X grows from the empty set, a set Y shrinks from all items, until they are equal.

    Each item i is added to X or removed from Y, according to the gains

    .. math::

        a_i = \log\det L_{X+i} - \log\det L_X, \qquad b_i = \log\det L_{Y-i} - \log\det L_Y.

    It is added if :math:`a_i \ge b_i` or, if `randomized`, with probability :math:`a_i^+/(a_i^+ + b_i^+)`.

    Parameters
    ----------
    dpp : DPP
        An L-ensemble.
    rng : int, Generator or None
        Seed or generator for the random decisions.
    randomized : bool
        Whether decisions are random.

    Returns
    -------
    Selection
        ``indices`` ascending.

    Notes
    -----
    [BuchbinderEtAl2012]_ prove one half of the optimum in expectation (randomised) and one third
    (deterministic) for a nonnegative submodular function. With :math:`f = \log\det` and :math:`f(\emptyset) = 0`
    their argument gives, for any positive definite L,

    .. math::

        \mathrm{E} f \ge \tfrac12 \max f + \tfrac14 \log\det L, \qquad
        f \ge \tfrac13 \max f + \tfrac13 \log\det L

    respectively. These are the stated fractions if :math:`\det L \ge 1`, and weak bounds if L is nearly singular. If L
    is singular, the ground set is replaced by the independent items that greedy search finds.
    :func:`diverset.map_local_search` is the better choice in practice; double greedy visits each item once.

    The time is O(n^3): the inverse of L is downdated, and the Cholesky rows of the growing set are updated.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> map_double_greedy(dv.DPP(np.diag([3.0, 0.5, 2.0])), randomized=False).indices
    array([0, 2])
    """
    require_likelihood(dpp, "map_double_greedy")
    generator = as_generator(rng)
    ground: IntArray = np.arange(dpp.n_items)
    if log_det(dpp, ground) == -math.inf:
        ground = np.sort(np.searchsorted(dpp.items, map_greedy(dpp, dpp.n_items).indices)).astype(np.int64)
    m = len(ground)
    check_fits_in_memory(48 * m * m, what=f"map_double_greedy over {m} items", remedy="map_greedy never forms L")
    R = cholesky_lower(dpp._representation.likelihood_block(ground, ground))
    if R is None:  # the block of the independent items is numerically singular
        return make_selection(dpp, np.searchsorted(dpp.items, map_greedy(dpp).indices))
    inverse = hermitian_inverse(R)
    growing = state_of(dpp)
    for i in range(m):
        gain = _log(float(growing.addition_ratios()[ground[i]]))
        loss = _log(float(inverse[i, i].real))
        if randomized:
            up, down = max(gain, 0.0), max(loss, 0.0)
            add = up + down == 0.0 or float(generator.random()) * (up + down) < up
        else:
            add = gain >= loss
        if add and gain > -math.inf:
            growing.move(j=int(ground[i]))
        else:
            column = inverse[:, i].copy()
            # Divide first: if the kernel has tiny entries, products of entries of its inverse overflow.
            inverse -= np.outer(column, (column / column[i].real).conj())
    return make_selection(dpp, growing.members)


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


def map_nonmonotone(dpp: DPP, *, eps: float = 0.1) -> Selection:
    r"""Local search of Feige, Mirrokni and Vondrak: additions and deletions, then a comparison with the complement.

    The search starts from the best single item. It adds or deletes an item as long as :math:`f = \log\det L_Y` grows by
    a factor above :math:`1 + \varepsilon/n^2`. It returns the final set or its complement, whichever is more probable.

    Parameters
    ----------
    dpp : DPP
        An L-ensemble.
    eps : float
        Accuracy. A smaller value takes more steps, at most :math:`O(n^2 \log n / \varepsilon)`.

    Returns
    -------
    Selection
        ``indices`` ascending.

    Notes
    -----
    For a nonnegative submodular function the result is at least :math:`\frac13 - \frac\varepsilon n` of the optimum
    ([FeigeMirrokniVondrak2007]_, Theorem 3.4). The log-determinant may be negative. For the final set S and its
    complement, the proof gives

    .. math::  2\left(1 + \tfrac{\varepsilon}{n}\right) f(S) + f(\bar S) \ge \max f + \log\det L .

    This is the stated fraction if :math:`\det L \ge 1`, and no guarantee if L is singular. If no item has
    :math:`L_{ii} > 1`, the empty set is the most probable set (Hadamard) and is returned.

    A step takes :math:`O(n|Y|)`. :func:`diverset.map_local_search` also exchanges items and finds better sets.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> map_nonmonotone(dv.DPP(np.diag([3.0, 0.5, 2.0]))).indices
    array([0, 2])
    """
    require_likelihood(dpp, "map_nonmonotone")
    slack = check_positive(eps, name="eps")
    n = dpp.n_items
    state = state_of(dpp)
    ratios = state.addition_ratios()
    if n == 0 or ratios.max() <= 1.0:
        return make_selection(dpp, [])
    state.move(j=int(ratios.argmax()))
    value = math.log(float(ratios.max()))
    while True:
        # Growth below 1e-12 may be rounding error, even if epsilon is smaller.
        needed = max(slack / n**2, 1e-12) * value
        addition, removal = state.addition_ratios(), state.removal_ratios()
        if addition.max() >= removal.max() and math.log(addition.max()) > needed:
            value += math.log(addition.max())
            state.move(j=int(addition.argmax()))
        elif math.log(removal.max()) > needed:
            value += math.log(removal.max())
            state.move(a=int(removal.argmax()))
        else:
            break
    rest = positions_outside(np.sort(state.positions), n)
    return make_selection(dpp, rest if log_det(dpp, rest) > log_det(dpp, state.positions) else state.members)
