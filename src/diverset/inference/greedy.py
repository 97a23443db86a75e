r"""Greedy search for a set of high probability.

:math:`\log\det L_Y` is submodular, so adding the item of largest gain again and again gives a good set, though
finding the best one is NP-hard ([KuleszaTaskar2012]_, section 2.4.5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import NoLikelihoodKernelError
from diverset.numerics.linalg import EPS, squared_modulus
from diverset.numerics.validation import check_size

__all__ = ["Selection", "map_greedy"]


@dataclass(frozen=True, eq=False)
class Selection:
    """A chosen set.

    Parameters
    ----------
    indices : ndarray of int64
        Labels of the items, in the order they were picked.
    gains : ndarray
        What each pick added to the log-determinant.
    log_prob : float
        Log-probability of the set under the DPP.
    """

    indices: IntArray
    gains: FloatArray
    log_prob: float

    @property
    def log_det(self) -> float:
        r""":math:`\log\det L_Y` of the set."""
        return float(self.gains.sum())

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __array__(self, dtype: object = None, copy: bool | None = None) -> IntArray:
        return np.array(self.indices, dtype=dtype)  # type: ignore[call-overload, no-any-return]


def map_greedy(dpp: DPP, k: int | None = None) -> Selection:
    r"""Pick items one at a time, each the one that raises :math:`\det L_Y` most.

    Parameters
    ----------
    dpp : DPP
        An L-ensemble: dense or from features, in which case L is not formed.
    k : int, optional
        How many items, at most the rank; by default picks go on while they raise the probability.

    Returns
    -------
    Selection
        ``indices`` in pick order, ``gains``, ``log_prob``.

    Notes
    -----
    Cholesky rows are kept per item, so that a pick costs O(nk) and the whole O(nk^2) ([ChenZhangZhou2018]_).
    Picking stops at the rank, where every further set has probability zero.

    Examples
    --------
    >>> import diverset as dv
    >>> map_greedy(dv.DPP([[3.0, 2.9, 0.0], [2.9, 2.9, 0.0], [0.0, 0.0, 2.0]]), k=2).indices
    array([0, 2])
    """
    representation = dpp._representation
    if representation.log_normalizer == math.inf:
        raise NoLikelihoodKernelError(
            "map_greedy needs a likelihood kernel L, and this DPP has none (K has an eigenvalue 1); "
            "thin(1 - 1e-9) gives a DPP near it that has one"
        )
    n = dpp.n_items
    limit = n if k is None else min(check_size(k), n)
    everything = np.arange(n)
    residual = np.array(representation.likelihood_diagonal())
    floor = 64.0 * n * EPS * residual
    coordinates: list[np.ndarray] = []
    picked: list[int] = []
    gains: list[float] = []
    available = np.ones(n, dtype=bool)
    while len(picked) < limit:
        gain = np.where(available & (residual > floor), residual, 0.0)
        best = int(gain.argmax())
        if gain[best] <= (1.0 if k is None else 0.0):
            break
        column = representation.likelihood_block(everything, np.array([best]))[:, 0]
        for row in coordinates:
            column = column - row * row[best].conj()
        column = column / math.sqrt(gain[best])
        coordinates.append(column)
        residual = residual - squared_modulus(column)
        available[best] = False
        picked.append(best)
        gains.append(math.log(gain[best]))
    positions = np.array(picked, dtype=np.int64)
    return Selection(dpp.items[positions], np.array(gains), dpp._log_prob(np.sort(positions)))
