r"""Greedy search for a set of high probability.

:math:`\log\det L_Y` is submodular, so adding the item of largest gain again and again gives a good set, though
finding the best one is NP-hard ([KuleszaTaskar2012]_, section 2.4.5).
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import Array
from diverset.core import DPP, NonsymmetricDPP
from diverset.core.lowrank import LowRankLikelihood
from diverset.core.representation import Representation
from diverset.inference._state import require_likelihood
from diverset.inference.engine import Picks, greedy_dense
from diverset.inference.limits import Limits
from diverset.inference.nonsymmetric import pick_nonsymmetric
from diverset.inference.result import Selection
from diverset.inference.rows import greedy_rows
from diverset.numerics.linalg import routine
from diverset.numerics.validation import check_fits_in_memory, check_size, is_sparse

__all__ = ["map_greedy"]


def map_greedy(dpp: DPP | NonsymmetricDPP, k: int | None = None) -> Selection:
    r"""Pick items one at a time, each the one that raises :math:`\det L_Y` most.

    Parameters
    ----------
    dpp : DPP or NonsymmetricDPP
        An L-ensemble: dense, from features or in low-rank form, in which cases L is not formed.
    k : int, optional
        How many items; by default picks go on while they raise the probability, towards the mode.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains``, ``log_det``, ``log_prob``.

    Notes
    -----
    What an item would add is its squared distance to the span of the picks, which only falls; so what was known of
    it earlier is an upper bound, and most items are never brought up to date ([ChenZhangZhou2018]_ for the Cholesky
    rows, ``diverset.inference.rows`` for the lazy part). O(nk^2) at worst for a dense kernel, O(nkD) from
    features. Picking stops at the rank, where every further set has probability zero. The set has at least
    :math:`1/(k!)^2` times the largest determinant ([CivrilMagdonIsmail2009]_), in practice nearly all of it.

    A nonsymmetric kernel takes O(nk^2), and O(nkD) more in low-rank form ([GartrellEtAl2021]_). Its determinant is not
    submodular, so that there is no guarantee.

    Examples
    --------
    >>> import diverset as dv
    >>> map_greedy(dv.DPP([[3.0, 2.9, 0.0], [2.9, 2.9, 0.0], [0.0, 0.0, 2.0]]), k=2).indices
    array([0, 2])
    """
    if isinstance(dpp, NonsymmetricDPP):
        wanted = dpp.n_items if k is None else min(check_size(k), dpp.n_items)
        return _selection(dpp, pick_nonsymmetric(dpp._form, wanted, stop=0.0 if k is None else -math.inf))
    require_likelihood(dpp, "map_greedy")
    n = dpp.n_items
    wanted = n if k is None else min(check_size(k), n)
    return _selection(dpp, _pick(dpp._representation, wanted, stop=0.0 if k is None else -math.inf))


def _selection(dpp: DPP | NonsymmetricDPP, picks: Picks) -> Selection:
    log_det = float(picks.gains.sum())
    return Selection(
        indices=dpp._labels(picks.positions),
        gains=picks.gains,
        log_det=log_det,
        objective=log_det,
        log_prob=dpp._log_prob(np.sort(picks.positions)),
        rank_spent=picks.rank_spent,
    )


def _pick_by_qr(representation: Representation, rows: Array, log_scale: float, k: int, stop: float) -> Picks:
    """Picks from rows whose coordinates differ in scale, by a QR factorisation with column pivoting."""
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
    if representation.rows_of_hidden is not None:
        return _pick_by_qr(representation, *representation.rows_of_hidden, k, stop)
    if isinstance(representation, LowRankLikelihood) and representation.factor.base.dtype.kind != "c":
        factor = representation.factor
        if not isinstance(factor.base, np.ndarray) and not is_sparse(factor.base):
            from diverset.distributed.select import greedy_factor

            return greedy_factor(factor, k, stop)
        plain = factor.transform is None and factor.rows is None and isinstance(factor.base, np.ndarray)
        if plain and factor.base.flags.c_contiguous and factor.base.dtype in (np.float32, np.float64):
            rows = factor.base
            squares = np.ones(n) if factor.quality is None else factor.quality**2
        else:
            check_fits_in_memory(8 * n * factor.width, what=f"the features of {n} items in double precision")
            rows, squares = factor.take(np.arange(n)), np.ones(n)
        return greedy_rows(
            rows,
            k,
            scale=np.array(representation.likelihood_diagonal()),
            factor=squares,
            bonus=np.zeros(n),
            weight=1.0,
            limits=Limits(np.ones(n, dtype=bool), stop=stop),
            beyond_rank=False,
        )
    everything = np.arange(n)
    check_fits_in_memory(16 * n * n, what=f"the kernel of {n} items")
    L = np.ascontiguousarray(representation.likelihood_block(everything, everything))
    return greedy_dense(L, k, bonus=np.zeros(n), weight=1.0, limits=Limits(np.ones(n, dtype=bool), stop=stop))
