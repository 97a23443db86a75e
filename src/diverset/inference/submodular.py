r"""Maximisation of :math:`\log\det L_Y` with guarantees: double greedy, local search, and continuous relaxation.

The known guarantees are for *nonnegative* submodular functions, and :math:`f(Y) = \log\det L_Y` is negative on many
sets. Their proofs use only the values of f at the two ends of the search, :math:`f(\emptyset) = 0` and
:math:`\log\det L` for the whole ground set. The functions state the guarantee that follows without an assumption on
signs.

The relaxation is the softmax extension. For x in the unit cube,

.. math::

    F(x) = \log \sum_Y \det(L_Y) \prod_{i \in Y} x_i \prod_{i \notin Y} (1 - x_i)
         = \log\det(\mathrm{diag}(x)(L - I) + I),

the logarithm of the expected determinant of a set that contains each item independently with probability :math:`x_i`
([GillenwaterKuleszaTaskar2012]_). At the corners of the cube F is the log-determinant. F is concave along nonnegative
directions, and its exponential is affine in each coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.core import DPP
from diverset.inference.greedy import check_rank, log_det, make_selection, map_greedy, require_likelihood, whole_kernel
from diverset.inference.local_search import SubsetState, state_of
from diverset.inference.result import Selection
from diverset.numerics.linalg import add_to_diagonal, cholesky_lower, hermitian_inverse, positions_outside
from diverset.numerics.validation import as_generator, check_count, check_fits_in_memory, check_positive, check_size

__all__ = ["map_double_greedy", "map_nonmonotone", "map_relaxed", "softmax_extension", "softmax_gradient"]

#: Step sizes tried towards the corner that maximises the linearisation.
_STEPS = 0.5 ** np.arange(14.0)
#: Coordinates closer than this to 0 or 1 count as 0 or 1.
_INTEGRAL = 1e-9


def map_double_greedy(dpp: DPP, *, rng: RNGLike = None, randomized: bool = True) -> Selection:
    r"""Double greedy: a set X grows from the empty set, a set Y shrinks from all items, until they are equal.

    Each item i is added to X or removed from Y, according to the gains

    .. math::

        a_i = \log\det L_{X+i} - \log\det L_X, \qquad b_i = \log\det L_{Y-i} - \log\det L_Y.

    If `randomized`, it is added with probability :math:`a_i^+/(a_i^+ + b_i^+)`, by random numbers from `rng`; otherwise
    it is added if :math:`a_i \ge b_i`. The indices of the result are ascending. The time is O(n^3).

    Notes
    -----
    [BuchbinderEtAl2012]_ prove one half of the optimum in expectation (randomised) and one third (deterministic) for a
    nonnegative submodular function. With :math:`f = \log\det` and :math:`f(\emptyset) = 0` their argument gives, for
    any positive definite L,

    .. math::

        \mathrm{E} f \ge \tfrac12 \max f + \tfrac14 \log\det L, \qquad
        f \ge \tfrac13 \max f + \tfrac13 \log\det L

    respectively. These are the stated fractions if :math:`\det L \ge 1`, and weak bounds if L is nearly singular. If L
    is singular, the ground set is replaced by the independent items that greedy search finds.
    :func:`diverset.map_local_search` is the better choice in practice; double greedy visits each item once.

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
        ratios = float(growing.addition_ratios()[ground[i]]), float(inverse[i, i].real)
        gain, loss = (math.log(x) if x > 0.0 else -math.inf for x in ratios)
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


def map_nonmonotone(dpp: DPP, *, eps: float = 0.1) -> Selection:
    r"""Local search of Feige, Mirrokni and Vondrak: additions and deletions, then a comparison with the complement.

    The search starts from the best single item. It adds or deletes an item as long as :math:`f = \log\det L_Y` grows by
    a factor above :math:`1 + \varepsilon/n^2`, in at most :math:`O(n^2 \log n / \varepsilon)` steps of :math:`O(n|Y|)`.
    It returns the final set or its complement, whichever is more probable, with ascending indices.

    Notes
    -----
    For a nonnegative submodular function the result is at least :math:`\frac13 - \frac\varepsilon n` of the optimum
    ([FeigeMirrokniVondrak2007]_, Theorem 3.4). The log-determinant may be negative. For the final set S and its
    complement, the proof gives

    .. math::  2\left(1 + \tfrac{\varepsilon}{n}\right) f(S) + f(\bar S) \ge \max f + \log\det L .

    This is the stated fraction if :math:`\det L \ge 1`, and no guarantee if L is singular. If no item has
    :math:`L_{ii} > 1`, the empty set is the most probable set (Hadamard) and is returned.
    :func:`diverset.map_local_search` also exchanges items and finds better sets.

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


def _softmax_matrix(L: Array, x: FloatArray) -> Array:
    return add_to_diagonal(x[:, None] * L, 1.0 - x)


def softmax_extension(L: Array, x: FloatArray) -> float:
    r""":math:`F(x) = \log\det(\mathrm{diag}(x)(L-I)+I)`, ``-inf`` if the determinant is 0."""
    sign, value = np.linalg.slogdet(_softmax_matrix(L, x))
    return float(value) if np.real(sign) > 0.0 else -math.inf


def softmax_gradient(L: Array, x: FloatArray) -> FloatArray:
    r"""Gradient of F: the diagonal of :math:`(L-I)(\mathrm{diag}(x)(L-I)+I)^{-1}`."""
    # Row i of (L-I) M^-1, for all i: solve M^T Z = (L-I)^T.
    Z = np.linalg.solve(_softmax_matrix(L, x).T, (L - np.eye(len(L))).T)
    return np.array(np.diagonal(Z).real)


def _conditional_gradient(
    L: Array, x: FloatArray, corner: Callable[[FloatArray], FloatArray], max_iter: int, tol: float
) -> FloatArray:
    """Conditional gradient: step towards the corner that maximises the linearisation, as long as F grows."""
    value = softmax_extension(L, x)
    for _ in range(max_iter):
        gradient = softmax_gradient(L, x)
        direction = corner(gradient) - x
        if float(gradient @ direction) <= tol:
            break
        trials = [softmax_extension(L, x + t * direction) for t in _STEPS]
        best = int(np.argmax(trials))
        if trials[best] <= value + 1e-3 * tol:
            break
        x, value = x + _STEPS[best] * direction, trials[best]
    return x


def _round_free(L: Array, x: FloatArray) -> IntArray:
    """Round each coordinate to 0 or 1, whichever does not lower F: F is monotone in each coordinate."""
    x = x.copy()
    for i in np.argsort(np.abs(x - 0.5), kind="stable")[::-1]:
        trials = []
        for end in (0.0, 1.0):
            x[i] = end
            trials.append(softmax_extension(L, x))
        x[i] = 1.0 if trials[1] > trials[0] else 0.0
    return np.flatnonzero(x > 0.5)


def _round_sized(L: Array, x: FloatArray) -> FloatArray:
    """Move pairs of coordinates along e_i - e_j to the better end, until at most one is strictly between 0 and 1."""
    x = x.copy()
    while True:
        between = np.flatnonzero((x > _INTEGRAL) & (x < 1.0 - _INTEGRAL))
        if len(between) < 2:
            return x
        order = between[np.argsort(x[between], kind="stable")]
        i, j = int(order[-1]), int(order[0])
        ends = []
        for up, down in ((i, j), (j, i)):
            step = min(1.0 - x[up], x[down])
            end = x.copy()
            end[up] = 1.0 if step == 1.0 - x[up] else x[up] + step
            end[down] = 0.0 if step == x[down] else x[down] - step
            ends.append(end)
        x = max(ends, key=lambda end: softmax_extension(L, end))


def _fit(L: Array, members: IntArray, k: int) -> IntArray:
    """Make a set of exactly k items: drop dependent items, then add or remove items greedily."""
    state = SubsetState(np.diagonal(L).real.copy(), lambda j: L[j])
    for j in members:
        if state.addition_ratios()[j] > 0.0:
            state.move(j=int(j))
    while len(state.members) > k:
        state.move(a=int(state.removal_ratios().argmax()))
    while len(state.members) < k and state.addition_ratios().max() > 0.0:
        state.move(j=int(state.addition_ratios().argmax()))
    return np.sort(state.positions)


def map_relaxed(dpp: DPP, k: int | None = None, *, max_iter: int = 100, tol: float = 1e-6) -> Selection:
    r"""Maximise the softmax extension over a polytope by conditional gradient, and round; a step takes O(n^3).

    Parameters
    ----------
    dpp, k
        As in :func:`diverset.map_exact`. With `k`, the polytope is :math:`\sum_i x_i = k` within the unit cube;
        otherwise it is the whole cube.
    max_iter : int
        Maximum number of steps in each of the two phases.
    tol : float
        A phase stops when the linearisation predicts a gain below this.

    Notes
    -----
    There are two phases ([GillenwaterKuleszaTaskar2012]_, Algorithms 1 and 2). The first finds a local maximum x over
    the polytope, the second a local maximum y with :math:`y \le 1 - x`. Without `k`, and if F is nonnegative (no
    eigenvalue of L below 1), the better of the two has at least a quarter of the maximum of F. Otherwise, and with `k`,
    no approximation factor is known.

    Without `k`, rounding does not lower F: :math:`e^F` is affine in each coordinate, so one of the two ends is at least
    as good, and :math:`\log\det L_Y \ge \max(F(x), F(y))`. With `k`, rounding moves two fractional coordinates at a
    time in opposite directions, which may lower F; this set and the k largest weights are both tried. With `k`, L is
    first scaled so that the DPP has k items on average, which does not change the order of the sets of k items.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> map_relaxed(dv.DPP(np.diag([3.0, 0.5, 2.0]))).indices
    array([0, 2])
    """
    L = whole_kernel(dpp, "map_relaxed")
    steps = check_count(max_iter, name="max_iter")
    tolerance = check_positive(tol, name="tol")
    size = None if k is None else check_size(k)
    if size is not None:
        check_rank(size, dpp.rank)
        if size in (0, dpp.n_items):
            return make_selection(dpp, range(size))
        L = whole_kernel(dpp.rescale(min(size, dpp.rank - 0.5)), "map_relaxed")
    candidates = _candidates(L, size, steps, tolerance)
    values = [log_det(dpp, members) for members in candidates]
    return make_selection(dpp, candidates[int(np.argmax(values))])


def _candidates(L: Array, k: int | None, max_iter: int, tol: float) -> list[IntArray]:
    """Sets rounded from the two phases of the search, of size k or, if k is None, of any size."""
    candidates = [np.zeros(0, dtype=np.int64)] if k is None else []
    room = np.ones(len(L))
    for _ in range(2):
        if k is not None and room.sum() < k:
            break

        def corner(g: FloatArray, limit: FloatArray = room) -> FloatArray:
            if k is None:
                return np.where(g > 0.0, limit, 0.0)
            order = np.argsort(-g, kind="stable")
            y = np.empty(len(L))
            y[order] = np.diff(np.minimum(np.cumsum(limit[order]), k), prepend=0.0)
            return y

        x = _conditional_gradient(L, room * (0.0 if k is None else k / room.sum()), corner, max_iter, tol)
        if k is None:
            candidates.append(_round_free(L, x))
        else:
            heaviest = np.argsort(-x, kind="stable")[:k]
            candidates += [_fit(L, np.flatnonzero(_round_sized(L, x) > 0.5), k), _fit(L, heaviest, k)]
        room = room - x
    return candidates
