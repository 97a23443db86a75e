r"""Greedy selection over sparse rows, such as word counts, without an n x n matrix or a dense copy of the features.

The rule is that of :func:`diverset.inference.rows.greedy_rows`, also beyond the rank. Each pick adds one dense
direction z of length D and lowers the residual of item i by :math:`f_i (z \cdot x_i)^2`, which takes one product of the
sparse matrix with a vector. In a basis Z of the span of the picks, the matrix :math:`M = \sum_{j \in Y} x_j x_j^\top`
of the D-optimal rule is only as large as the rank, so that no D x D matrix is formed.

Work: O(nnz + tD) for pick t. Memory: O(nnz + n + kD).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.inference.engine import Picks
from diverset.inference.limits import Limits, Room
from diverset.inference.rows import leverages
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import check_fits_in_memory

__all__ = ["greedy_sparse", "squared_norms_sparse"]


def squared_norms_sparse(X: Any) -> FloatArray:
    """Squared length of each row of a CSR matrix."""
    norms = np.zeros(X.shape[0])
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    np.add.at(norms, rows, X.data**2)
    return norms


def greedy_sparse(
    X: Any,
    k: int,
    *,
    scale: FloatArray,
    factor: FloatArray,
    bonus: FloatArray,
    weight: float,
    limits: Limits,
    given: IntArray,
) -> Picks:
    """Up to k picks among the rows of a CSR matrix of float64 without duplicate entries.

    `given` are positions of items already shown, which repel; the other arguments are those of
    :func:`diverset.inference.rows.greedy_rows`.
    """
    n, D = X.shape
    k = min(k, n)
    check_fits_in_memory(
        8 * (k + len(given)) * D,
        what=f"the directions of {k + len(given)} picks among {D} features",
        remedy="pick fewer items, or reduce the features (TruncatedSVD)",
    )
    span = _Span(X, factor, min(k + len(given), D))
    # Rounding errors come from the entries of a row in each product, and from one product per direction.
    longest = int(np.diff(X.indptr).max(initial=1))
    tolerance = 64.0 * min(D, longest + k + len(given)) * EPS
    residual = scale.copy()
    for j in given:
        if residual[j] > tolerance * scale[j]:
            span.add(int(j), residual)
    room = Room(limits)
    picked: list[int] = []
    gains: list[float] = []

    def pick(potential: FloatArray) -> int:
        """Pick the open item of largest key, the first in case of ties; returns -1 if there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            keys = np.where(room.open & (potential > 0.0), bonus + weight * np.log(potential), -math.inf)
        best = int(keys.argmax()) if n else -1
        if best < 0 or keys[best] <= limits.stop:
            return -1
        room.take(best)
        picked.append(best)
        gains.append(float(keys[best]))
        return best

    while len(picked) < k and (best := pick(np.where(residual > tolerance * scale, residual, 0.0))) >= 0:
        span.add(best, residual)
    spent = None
    if len(picked) < k and limits.stop == -math.inf and room.open.any():
        spent = len(picked)
        leverage, inverse = span.leverages(np.concatenate([given, np.array(picked, dtype=np.int64)]))
        # If rows have very different lengths, some leverages may be negative or nan; they count as 0.
        while len(picked) < k and (best := pick(1.0 + np.where(leverage > 0.0, leverage, 0.0))) >= 0:
            inverse = span.lower(best, leverage, inverse)
    return Picks(np.array(picked, dtype=np.int64), np.array(gains), spent)


class _Span:
    """Orthonormal directions of the picks so far, and their effect on residuals and leverages."""

    def __init__(self, X: Any, factor: FloatArray, most: int) -> None:
        self._X, self._factor = X, factor
        self._Z = np.zeros((most, X.shape[1]))
        self._t = 0

    @property
    def Z(self) -> FloatArray:
        return self._Z[: self._t]

    def _row(self, i: int) -> FloatArray:
        row = np.zeros(self._X.shape[1])
        entries = slice(self._X.indptr[i], self._X.indptr[i + 1])
        row[self._X.indices[entries]] = math.sqrt(self._factor[i]) * self._X.data[entries]
        return row

    def add(self, i: int, residual: FloatArray) -> None:
        """Add the direction of item i, and lower every residual by its part along that direction."""
        z = self._row(i)
        if not z.any():  # an item without a direction lowers no other residual
            residual[i] = 0.0
            return
        for _ in range(2):  # two passes give orthogonality to rounding error
            z -= self.Z.T @ (self.Z @ z)
        z /= math.sqrt(z @ z)
        self._Z[self._t] = z
        self._t += 1
        residual -= self._factor * (self._X @ z) ** 2

    def leverages(self, chosen: IntArray) -> tuple[FloatArray, FloatArray]:
        """Leverage x M^-1 x of every item, where M belongs to the chosen items, and M^-1 in the basis Z."""
        X, Z = self._X, self.Z
        C = np.sqrt(self._factor[chosen])[:, None] * (X[chosen] @ Z.T)
        lam, V = np.linalg.eigh(C.T @ C)
        known = lam > len(lam) * EPS * lam.max(initial=0.0)
        lam, V = lam[known], V[:, known]
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = leverages(X, np.ascontiguousarray(Z.T @ (V / np.sqrt(lam))))
            return self._factor * leverage, (V / lam) @ V.T

    def lower(self, i: int, leverage: FloatArray, inverse: FloatArray) -> FloatArray:
        """Add item i to M: lower every leverage, and return the new inverse (Sherman-Morrison)."""
        c = self.Z @ self._row(i)
        with np.errstate(over="ignore", invalid="ignore"):
            v = inverse @ c
            v /= math.sqrt(1.0 + max(float(c @ v), 0.0))
            leverage -= self._factor * (self._X @ (self.Z.T @ v)) ** 2
            return inverse - np.outer(v, v)
