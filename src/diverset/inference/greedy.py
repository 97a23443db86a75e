r"""Greedy search for a set of high probability, also under a budget, and what all searches for such sets share.

:math:`\log\det L_Y` is submodular, so repeatedly adding the item of largest gain gives a good set. Finding the best set
is NP-hard ([KuleszaTaskar2012]_, section 2.4.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray
from diverset.core import DPP, KDPP, NonsymmetricDPP
from diverset.core.lowrank import LowRankLikelihood
from diverset.core.nonsymmetric_forms import Form
from diverset.core.nonsymmetric_low_rank import LowRankForm
from diverset.core.representation import Representation
from diverset.errors import DiversetError, NoLikelihoodKernelError, SizeError
from diverset.inference.engine import Limits, Picks, as_costs, greedy_dense
from diverset.inference.result import Selection
from diverset.inference.rows import greedy_rows
from diverset.numerics.linalg import EPS, cholesky_lower, routine, squared_modulus
from diverset.numerics.validation import check_fits_in_memory, check_nonnegative, check_size, is_sparse

__all__ = [
    "check_rank",
    "log_det",
    "make_selection",
    "map_budgeted",
    "map_greedy",
    "require_likelihood",
    "whole_kernel",
]

#: A gain under a nonsymmetric kernel counts as zero up to this many rounding units of the largest subtracted term.
_SLACK = 64.0
_RULES = ("probability", "log")


def require_likelihood(dpp: Any, name: str) -> None:
    """Raise an error unless `dpp` is an L-ensemble."""
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


def map_greedy(dpp: DPP | NonsymmetricDPP, k: int | None = None) -> Selection:
    r"""Pick items one at a time; each pick raises :math:`\det L_Y` the most.

    Parameters
    ----------
    dpp : DPP or NonsymmetricDPP
        An L-ensemble. L is not formed if the DPP is from features or in low-rank form.
    k : int, optional
        Number of items. By default, picking continues as long as it raises the probability.

    Notes
    -----
    The gain of an item is the log of its squared distance to the span of the picks, which only falls. So an earlier
    value is an upper bound, and most items are never updated (Cholesky rows as in [ChenZhangZhou2018]_, lazy
    evaluation as in ``diverset.inference.rows``). The time is O(nk^2) at worst for a dense kernel, O(nkD) from
    features. Picking stops at the rank: larger sets have probability zero. The determinant of the set is at least
    :math:`1/(k!)^2` times the largest ([CivrilMagdonIsmail2009]_), and in practice close to the largest.

    A nonsymmetric kernel takes O(nk^2), plus O(nkD) in low-rank form ([GartrellEtAl2021]_). Its determinant is not
    submodular, so there is no guarantee: items that have positive probability only as a pair are not found.

    Examples
    --------
    >>> import diverset as dv
    >>> map_greedy(dv.DPP([[3.0, 2.9, 0.0], [2.9, 2.9, 0.0], [0.0, 0.0, 2.0]]), k=2).indices
    array([0, 2])
    """
    if not isinstance(dpp, NonsymmetricDPP):
        require_likelihood(dpp, "map_greedy")
    wanted = dpp.n_items if k is None else min(check_size(k), dpp.n_items)
    stop = 0.0 if k is None else -math.inf
    if isinstance(dpp, NonsymmetricDPP):
        picks = _pick_nonsymmetric(dpp._form, wanted, stop)
    else:
        picks = _pick(dpp._representation, wanted, stop)
    log_det = float(picks.gains.sum())
    return Selection(
        indices=dpp._labels(picks.positions),
        gains=picks.gains,
        log_det=log_det,
        objective=log_det,
        log_prob=dpp._log_prob(np.sort(picks.positions)),
        rank_spent=len(picks.positions) if k is not None and len(picks.positions) < wanted else None,
    )


def _pick_by_qr(representation: Representation, rows: Array, log_scale: float, k: int, stop: float) -> Picks:
    """Picks from rows with coordinates of very different scales, by a QR factorisation with column pivoting."""
    R, pivots, *_ = routine("geqp3", rows)(rows.conj().T)
    gains = 2.0 * np.log(np.maximum(np.abs(np.diagonal(R)), np.finfo(np.float64).tiny)) + log_scale
    rank = len(gains)
    while rank and representation.log_prob(np.sort(pivots[:rank] - 1)) == -math.inf:
        rank -= 1
    poor = np.flatnonzero(gains[:rank] <= stop)
    m = min(k, int(poor[0]) if len(poor) else rank)
    return Picks((pivots[:m] - 1).astype(np.int64), gains[:m], rank if m == rank < k else None)


def _pick(representation: Representation, k: int, stop: float) -> Picks:
    n = representation.n
    limits = Limits(np.ones(n, dtype=bool), stop=stop)
    if representation.rows_of_hidden is not None:
        return _pick_by_qr(representation, *representation.rows_of_hidden, k, stop)
    if isinstance(representation, LowRankLikelihood) and representation.factor.base.dtype.kind != "c":
        factor = representation.factor
        if not isinstance(factor.base, np.ndarray) and not is_sparse(factor.base):
            from diverset.distributed.greedy import greedy_factor

            return greedy_factor(factor, k, stop)
        plain = factor.transform is None and factor.rows is None and isinstance(factor.base, np.ndarray)
        if plain and factor.base.flags.c_contiguous and factor.base.dtype in (np.float32, np.float64):
            rows = factor.base
            squares = np.ones(n) if factor.quality is None else factor.quality**2
        else:
            check_fits_in_memory(8 * n * factor.width, what=f"the features of {n} items in double precision")
            rows, squares = factor.take(np.arange(n)), np.ones(n)
        scale = np.array(representation.likelihood_diagonal())
        return greedy_rows(
            rows, k, scale=scale, factor=squares, bonus=np.zeros(n), weight=1.0, limits=limits, beyond_rank=False
        )
    everything = np.arange(n)
    check_fits_in_memory(16 * n * n, what=f"the kernel of {n} items")
    L = np.ascontiguousarray(representation.likelihood_block(everything, everything))
    return greedy_dense(L, k, bonus=np.zeros(n), weight=1.0, limits=limits)


def _pick_nonsymmetric(form: Form, k: int, stop: float) -> Picks:
    """Greedy picks under a nonsymmetric kernel ([GartrellEtAl2021]_), by elimination in all rows and columns."""
    column, row, gains = _reader(form)
    n = form.n
    noise = np.abs(gains)
    left, right = np.zeros((min(k, 16), n)), np.zeros((min(k, 16), n))
    free = np.ones(n, dtype=bool)
    positions: list[int] = []
    found: list[float] = []
    rank_spent = None
    while len(positions) < k:
        m = len(positions)
        usable = free & (gains > _SLACK * EPS * noise)
        if not usable.any():
            rank_spent = m
            break
        best = int(np.argmax(np.where(usable, gains, -np.inf)))
        gain = float(np.log(gains[best]))
        if gain <= stop:
            break
        if m == len(left):
            left, right = (np.concatenate([a, np.zeros((min(m, k - m), n))]) for a in (left, right))
        left[m] = column(best) - right[:m, best] @ left[:m]
        right[m] = (row(best) - left[:m, best] @ right[:m]) / gains[best]
        step = left[m] * right[m]
        gains = gains - step
        noise = np.maximum(noise, np.abs(step))
        free[best] = False
        positions.append(best)
        found.append(gain)
    return Picks(np.array(positions, dtype=np.int64), np.array(found), rank_spent)


def _reader(form: Form) -> tuple[Callable[[int], FloatArray], Callable[[int], FloatArray], FloatArray]:
    """Functions that read a column and a row of L, and its diagonal."""
    if isinstance(form, LowRankForm) and form.factor is not None:
        F, core = form.factor
        diagonal = np.einsum("ij,ij->i", F @ ((core + core.T) / 2.0), F)
        return (lambda i: F @ (core @ F[i])), (lambda i: F @ (F[i] @ core)), np.asarray(diagonal, dtype=np.float64)
    if form.log_normalizer == np.inf:
        raise NoLikelihoodKernelError(
            "map_greedy needs a likelihood kernel L, and this process has none (K has an eigenvalue 1)"
        )
    everything = np.arange(form.n)
    L: FloatArray = form.likelihood_block(everything, everything)
    return (lambda i: L[:, i]), (lambda i: L[i]), np.diagonal(L).copy()


def map_budgeted(
    dpp: DPP, costs: ArrayLike, budget: SupportsFloat, *, rule: str = "probability", fill: bool = False
) -> Selection:
    r"""Pick items one at a time by gain per cost, among the items that still fit the budget.

    Parameters
    ----------
    dpp : DPP
        An L-ensemble. L is not formed if the DPP is from features.
    costs : array_like of shape (n_items,)
        Positive cost of each item, in the order of ``dpp.items``.
    budget : float
        Largest total cost; at least 0.
    rule : {"probability", "log"}
        Rank by :math:`(\Pr(Y+i) - \Pr(Y))/c_i`, as Algorithm 6 of [KuleszaTaskar2012]_ does, or by
        :math:`(\log\Pr(Y+i) - \log\Pr(Y))/c_i`.
    fill : bool
        False: stop when no item that fits raises the probability, and return the best single item if it is more
        probable than the set. True: Algorithm 6 as printed, which continues until no item fits (here: no item with
        positive probability) and returns all picks.

    Notes
    -----
    If :math:`\log\det L_Y` is monotone (no eigenvalue of L below 1), the ``"log"`` rule guarantees
    :math:`\log\det L_Y \ge \frac12 (1 - \frac1e) \max \log\det L_{Y'}` over the sets within the budget. Greedy by ratio
    alone can be arbitrarily bad; the comparison with the best single item gives the guarantee
    ([KrauseGuestrin2005]_). For other kernels, and for the ``"probability"`` rule, no approximation factor is known.
    The result is at least as probable as every single item and as the empty set. O(nk^2) for k picks.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> dpp = dv.DPP(np.diag([9.0, 4.0, 4.0]))
    >>> map_budgeted(dpp, costs=[4.0, 1.0, 1.0], budget=4.0).indices
    array([1, 2])
    """
    require_likelihood(dpp, "map_budgeted")
    n = dpp.n_items
    cost = as_costs(costs, n)
    limit = check_nonnegative(budget, name="budget")
    if rule not in _RULES:
        raise DiversetError(f"rule is {rule!r}; choose one of {', '.join(_RULES)}")
    representation, everything = dpp._representation, np.arange(n)
    diagonal = np.array(representation.likelihood_diagonal(), dtype=np.float64)
    residual, floor = diagonal.copy(), 64.0 * n * EPS * diagonal
    available = cost <= limit
    coordinates: list[Array] = []
    picked: list[int] = []
    while True:
        # The pivot r of an item multiplies the probability: ratios of r - 1 and log(r) to the cost do not underflow.
        useful = available & (residual > (floor if fill else np.maximum(floor, 1.0)))
        if not useful.any():
            break
        pivots = np.where(useful, residual, 1.0)
        ratio = np.where(useful, (pivots - 1.0 if rule == "probability" else np.log(pivots)) / cost, -math.inf)
        best = int(ratio.argmax())
        available[best] = False
        spent = cost[[*picked, best]]
        # The sum of the costs must be at most the budget whichever way a caller adds them.
        if max(math.fsum(spent), spent.sum(), spent[::-1].sum()) > limit:
            continue
        column = representation.likelihood_block(everything, np.array([best]))[:, 0]
        for row in coordinates:
            column = column - row * row[best].conj()
        coordinates.append(column / math.sqrt(residual[best]))
        residual = residual - squared_modulus(coordinates[-1])
        picked.append(best)
    if not fill and n:
        alone = np.where(cost <= limit, diagonal, 0.0)
        single = int(alone.argmax())
        if alone[single] > 1.0 and math.log(alone[single]) > log_det(dpp, np.array(picked, dtype=np.int64)):
            picked = [single]
    return make_selection(dpp, picked, ordered=True)
