r"""Maximising :math:`\log\det L_Y` as a submodular function that is not monotone.

Both algorithms here come with guarantees for *nonnegative* submodular functions, and :math:`f(Y) = \log\det L_Y` is
negative on many sets. Adding a constant c to f keeps it submodular, and :math:`c = -\min_Y f(Y)` makes it nonnegative;
the fraction then holds for :math:`f + c`. Their proofs use less: only the two ends of the search count,
:math:`f(\emptyset) = 0` and f of the whole ground set, :math:`\log\det L`. What they show without any assumption on
signs is stated with each function.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.core import DPP
from diverset.inference._state import log_det, make_selection, require_likelihood, state_of
from diverset.inference.greedy import map_greedy
from diverset.inference.result import Selection
from diverset.numerics.linalg import cholesky_lower, hermitian_inverse, positions_outside
from diverset.numerics.validation import as_generator, check_fits_in_memory, check_positive

__all__ = ["map_double_greedy", "map_nonmonotone"]


def map_double_greedy(dpp: DPP, *, rng: RNGLike = None, randomized: bool = True) -> Selection:
    r"""Double greedy: one set grows from nothing, one shrinks from everything, until they meet.

    Item i is added to the first or removed from the second, according to the gains

    .. math::

        a_i = \log\det L_{X+i} - \log\det L_X, \qquad b_i = \log\det L_{Y-i} - \log\det L_Y:

    added if :math:`a_i \ge b_i`, or, randomised, with probability :math:`a_i^+/(a_i^+ + b_i^+)`.

    Parameters
    ----------
    dpp : DPP
        An L-ensemble.
    rng : int, Generator or None
        Seed or generator for the coins.
    randomized : bool
        Whether to toss coins.

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

    respectively: the stated fractions where :math:`\det L \ge 1`, and little where L is nearly singular. Where it is
    singular, a largest set of independent items (the greedy's) takes the place of the ground set.
    :func:`diverset.map_local_search` is the better choice in practice; this one looks at each item once.

    O(n^3): the inverse of L is downdated, the Cholesky rows of the growing set are kept.

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
    if R is None:  # even the independent items are singular to rounding
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
            # The quotient first: products of a kernel of tiny numbers' inverse would overflow.
            inverse -= np.outer(column, (column / column[i].real).conj())
    return make_selection(dpp, growing.members)


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


def map_nonmonotone(dpp: DPP, *, eps: float = 0.1) -> Selection:
    r"""Local search of Feige, Mirrokni and Vondrak: add, delete, then the better of the set and its complement.

    From the best single item, an item is added or deleted as long as :math:`f = \log\det L_Y` grows by a factor of more
    than :math:`1 + \varepsilon/n^2`; of the set found and its complement, the more probable one is returned.

    Parameters
    ----------
    dpp : DPP
        An L-ensemble.
    eps : float
        Accuracy: smaller takes more steps, at most :math:`O(n^2 \log n / \varepsilon)`.

    Returns
    -------
    Selection
        ``indices`` ascending.

    Notes
    -----
    For a nonnegative submodular function the result is at least :math:`\frac13 - \frac\varepsilon n` of the optimum
    ([FeigeMirrokniVondrak2007]_, Theorem 3.4). The log-determinant may be negative; their proof gives, for the set S of
    the search and its complement,

    .. math::  2\left(1 + \tfrac{\varepsilon}{n}\right) f(S) + f(\bar S) \ge \max f + \log\det L ,

    the fraction stated where :math:`\det L \ge 1`, nothing where L is singular. If no item has :math:`L_{ii} > 1`, the
    empty set is the most probable one (Hadamard), and is returned.

    :math:`O(n|Y|)` a step. :func:`diverset.map_local_search`, which exchanges items as well, finds better sets.

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
        # Rounding is no growth, however small epsilon is.
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
