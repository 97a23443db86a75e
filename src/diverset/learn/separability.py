r"""Test whether the likelihood of a log-linear quality model has a finite maximum.

The likelihood of an exponential family has no finite maximum if and only if there is a direction d, not constant on
the possible sets, along which every observed set is optimal:

.. math::

    \sum_{i \in Y_t} d^T f_{ti} \ge \sum_{i \in Y'} d^T f_{ti} \qquad \text{for all } Y' \text{ with } \det S_{Y'} > 0.

The possible sets are those of linearly independent items, the independent sets of a matroid. In a matroid, a set is
optimal if no single addition, removal or exchange improves it. So the exponentially many conditions reduce to

* :math:`d^T f_i \ge 0` for i in Y;
* :math:`d^T f_j \le 0` for j outside the span of Y;
* :math:`d^T f_i \ge d^T f_j` for j in the span of Y and each i that j may replace,

and for sets of a fixed size to the exchanges alone. A linear program with one unknown per feature finds d. If S has
full rank, this is the separability test of logistic regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.learn.instances import Example
from diverset.numerics.linalg import positions_outside

__all__ = ["Separation", "find_separation"]

#: An item is in the span of others if its conditional variance, relative to its variance, is below this.
_DEPENDENT = 1e-10
#: An item is not part of a linear dependence if its weight, relative to the largest, is below this.
_UNUSED = 1e-7
_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Separation:
    """A direction along which the likelihood rises without bound; its largest entry is 1 or -1.

    `instances` are those whose likelihood rises strictly. `items` belong to the first of these instances: observed
    items whose quality rises along the direction, or other items whose quality falls.
    """

    direction: FloatArray
    instances: list[str]
    items: list[int]


def find_separation(examples: list[Example], *, fixed_size: bool) -> Separation | None:
    """A direction of unbounded likelihood, or None if the maximum is finite.

    HiGHS solves a linear program with at most :math:`n + |Y|(n - |Y|)` conditions per instance.
    """
    from scipy.optimize import linprog

    conditions = [_conditions(example, fixed_size) for example in examples]
    rows = np.vstack([given for given, _ in conditions])
    scale = np.abs(rows).max(initial=0.0, axis=0)
    used = scale > 0.0
    if not used.any():
        return None
    rows = rows[:, used] / scale[used]
    norms = np.abs(rows).sum(axis=1)
    rows = rows[norms > 0.0] / norms[norms > 0.0, None]
    answer = linprog(-rows.mean(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1.0, 1.0), method="highs")
    if answer.x is None or answer.fun is None or -answer.fun <= _TOLERANCE:
        return None
    direction = np.zeros(len(scale))
    direction[used] = answer.x / scale[used]
    direction /= np.abs(direction).max()
    named: list[str] = []
    items: list[int] = []
    for example, (given, about) in zip(examples, conditions, strict=True):
        gains = given @ direction
        rising = gains > _TOLERANCE * np.abs(given).max(initial=1.0)
        if rising.any():
            named.append(example.instance.name)
            items = items or sorted({int(i) for i in about[rising].ravel()})
    return Separation(direction, named, items)


def _conditions(example: Example, fixed_size: bool) -> tuple[FloatArray, IntArray]:
    """Rows a of the conditions a.d >= 0, and the pair of items of each condition (one item twice for a single item)."""
    F, Y = example.instance.F, example.observed
    others = positions_outside(Y, example.instance.n)
    possible, free, replaces = _places(example, others)
    if fixed_size:
        # An item outside the span may replace any item.
        j, i = np.nonzero(replaces | free[:, None])
        return F[Y[i]] - F[others[j]], np.column_stack([Y[i], others[j]])
    added = others[free]
    j, i = np.nonzero(replaces & (possible & ~free)[:, None])
    rows = np.vstack([F[Y], -F[added], F[Y[i]] - F[others[j]]])
    about = np.column_stack([np.concatenate([Y, added, Y[i]]), np.concatenate([Y, added, others[j]])])
    return rows, about


def _places(example: Example, others: IntArray) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Which other items are possible, which are outside the span of Y, and which items of Y each may replace."""
    Y, instance = example.observed, example.instance
    norms = np.sqrt(instance.similarity_diagonal())
    own, those = norms[others], norms[Y]
    possible = own > 0.0
    own = np.where(possible, own, 1.0)
    if len(Y) == 0:
        return possible, possible, np.zeros((len(others), 0), dtype=bool)
    cross = instance.similarity_block(Y, others) / those[:, None] / own
    W = np.linalg.solve(instance.similarity_block(Y, Y) / those[:, None] / those, cross)
    left = 1.0 - np.einsum("ij,ij->j", cross.conj(), W).real
    free = possible & (left > _DEPENDENT)
    size = np.abs(W.T)
    return possible, free, possible[:, None] & (size > _UNUSED * size.max(axis=1, initial=0.0)[:, None])
