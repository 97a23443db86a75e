r"""Greedy search for a set of high probability under a nonsymmetric kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diverset._typing import FloatArray
from diverset.core.nonsymmetric_forms import Form
from diverset.core.nonsymmetric_low_rank import LowRankForm
from diverset.errors import NoLikelihoodKernelError
from diverset.inference.engine import Picks
from diverset.numerics.linalg import EPS

__all__ = ["pick_nonsymmetric"]

_Reader = Callable[[int], FloatArray]

#: Rounding units of the largest subtracted term within which a gain is zero.
_SLACK = 64.0


def pick_nonsymmetric(form: Form, k: int, stop: float) -> Picks:
    r"""Pick items one at a time, each the one that raises :math:`\det L_Y` most ([GartrellEtAl2021]_).

    The factor by which item i raises the determinant is :math:`L_{ii} - L_{iY} L_Y^{-1} L_{Yi}`. With the elimination
    of :math:`L_Y` extended to all rows and columns, each pick takes one column and one row of L and :math:`O(n|Y|)`
    operations, and :math:`O(nr)` for the column and row in low-rank form: :math:`O(nk(k + r))` in all.

    The determinant of a nonsymmetric kernel is not submodular, so there is no guarantee: partners that are only
    possible together, with zeros on the diagonal of L, are not found.
    """
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


def _reader(form: Form) -> tuple[_Reader, _Reader, FloatArray]:
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
