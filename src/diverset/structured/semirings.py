r"""Semirings: the addition and multiplication of message passing ([KuleszaTaskar2012]_, section 6.2).

An element of a semiring is a row of numbers, so that a message is an array of shape (n, width), n elements. One
engine (:mod:`diverset.structured.messages`) then computes

.. math::  \bigoplus_y \bigotimes_\alpha w_\alpha(y_\alpha)

for all of them. In most semirings :math:`\oplus` is plain addition of rows; passing a message through a factor
without features is then one matrix product, whatever the width.

=============  =====================================  ================================================================
class          element                                sums up to
=============  =====================================  ================================================================
`SumProduct`   p                                      :math:`\sum_y p(y)`
`MaxProduct`   p                                      :math:`\max_y p(y)`
`Squares`      p, and pa, pa² for each of m features  :math:`\sum_y p(y) a_n(y)^2` for each n: one per vector
`SquaredNorm`  p, :math:`p\phi, p\|\phi\|^2`          :math:`\sum_y p(y) \|\phi(y)\|^2`: part marginals
=============  =====================================  ================================================================
"""

from __future__ import annotations

import abc
import math

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.numerics.linalg import block_length
from diverset.structured.operators import PairWeights

__all__ = ["MaxProduct", "Semiring", "SquaredNorm", "Squares", "SumProduct", "reduce_groups"]


def reduce_groups(operation: np.ufunc, x: FloatArray, offsets: IntArray, empty: float) -> FloatArray:
    """Reduce consecutive groups of rows that begin at `offsets`; empty groups give `empty`."""
    out = np.full((len(offsets) - 1, x.shape[1]), empty)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        out[filled] = operation.reduceat(x, offsets[filled], axis=0)
    return out


class Semiring(abc.ABC):
    """Operations on elements stored as rows; :class:`MaxProduct` overrides the addition."""

    #: Numbers per element.
    width: int = 1

    @abc.abstractmethod
    def lift(self, weights: FloatArray, features: FloatArray | None) -> FloatArray:
        """Elements of a factor with weights p, (n,), and features, (n, D); None for features that are 0."""

    @abc.abstractmethod
    def times(self, x: FloatArray, y: FloatArray) -> FloatArray:
        r""":math:`x \otimes y`, row by row."""

    def one(self, n: int) -> FloatArray:
        """Neutral elements of the product."""
        return self.lift(np.ones(n), None)

    def zero(self, n: int) -> FloatArray:
        """Neutral elements of the sum, which stand for forbidden values."""
        return np.zeros((n, self.width))

    def total(self, x: FloatArray) -> FloatArray:
        r""":math:`\bigoplus` of all rows, of shape (1, width)."""
        return np.asarray(x.sum(axis=0, keepdims=True))

    def grouped(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        r""":math:`\bigoplus` of consecutive groups of rows that begin at `offsets`; some may be empty."""
        return reduce_groups(np.add, x, offsets, 0.0)

    def through(self, W: PairWeights, x: FloatArray, *, up: bool) -> FloatArray:
        """Pass a message through a factor without features, towards the root or away from it."""
        return W.apply(x) if up else W.apply_transposed(x)

    def rescale(self, x: FloatArray) -> float:
        """Divide elements in place by their largest weight and return its logarithm; do nothing if all are zero."""
        top = float(x[:, 0].max(initial=0.0))
        if not top > 0.0:
            return 0.0
        x /= top
        return math.log(top)


class SumProduct(Semiring):
    """Ordinary sums and products: normalisers and marginals of the quality model."""

    def lift(self, weights: FloatArray, features: FloatArray | None) -> FloatArray:
        """The weights."""
        return weights[:, None]

    def times(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Product of numbers."""
        return x * y


class MaxProduct(SumProduct):
    """Maxima and products: the best structure."""

    def total(self, x: FloatArray) -> FloatArray:
        """The maximum."""
        return np.asarray(x.max(axis=0, keepdims=True))

    def grouped(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        """Maxima of groups; 0 for an empty group."""
        return reduce_groups(np.maximum, x, offsets, 0.0)

    def through(self, W: PairWeights, x: FloatArray, *, up: bool) -> FloatArray:
        """Largest products. Away from the root, W is read in blocks of rows."""
        if up:
            return W.apply_max(x[:, 0])[:, None]
        out = np.zeros(W.shape[1])
        for start in range(0, W.shape[0], 256):
            block = np.arange(start, min(start + 256, W.shape[0]))
            rows = W.rows(block)
            np.maximum.at(out, rows.columns, rows.weights * np.repeat(x[block, 0], np.diff(rows.offsets)))
        return out[:, None]


class Squares(Semiring):
    r"""Each of m features by itself: :math:`(p, pa_1, \dots, pa_m, pa_1^2, \dots, pa_m^2)` with a common p.

    With :math:`a_n = v_n^\top\phi`, structures are drawn from a mixture over n of :math:`q^2(y) (v_n^\top \phi(y))^2`.
    """

    def __init__(self, m: int) -> None:
        self.m = m
        self.width = 1 + 2 * m

    def lift(self, weights: FloatArray, features: FloatArray | None) -> FloatArray:
        """The element of p and the features."""
        x = np.zeros((len(weights), self.width))
        x[:, 0] = weights
        if features is not None:
            x[:, 1 : 1 + self.m] = weights[:, None] * features
            x[:, 1 + self.m :] = x[:, 1 : 1 + self.m] * features
        return x

    def times(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Weights multiply; first and second moments follow the product rule, feature by feature."""
        m = self.m
        z = np.empty((len(x), self.width))
        # Blocks that stay in the cache through all passes.
        step = block_length(self.width, 1 << 18)
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            a, b, c = x[part], y[part], z[part]
            np.multiply(a[:, :1], b, out=c)
            c[:, 1:] += b[:, :1] * a[:, 1:]
            c[:, 1 + m :] += 2.0 * a[:, 1 : 1 + m] * b[:, 1 : 1 + m]
        return z


class SquaredNorm(Semiring):
    r"""Squared length of a vector of D features: :math:`(p, p\phi, p\|\phi\|^2)`."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.width = n_features + 2

    def lift(self, weights: FloatArray, features: FloatArray | None) -> FloatArray:
        """The element of p and the features."""
        x = np.zeros((len(weights), self.width))
        x[:, 0] = weights
        if features is not None:
            x[:, 1:-1] = weights[:, None] * features
            x[:, -1] = np.einsum("ij,ij->i", x[:, 1:-1], features)
        return x

    def times(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Weights multiply, vectors add, and their inner product enters twice."""
        p, q = x[:, :1], y[:, :1]
        z = p * y
        z[:, 1:] += q * x[:, 1:]
        z[:, -1] += 2.0 * np.einsum("ij,ij->i", x[:, 1:-1], y[:, 1:-1])
        return z
