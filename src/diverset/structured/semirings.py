r"""Semirings: what message passing adds and multiplies ([KuleszaTaskar2012]_, section 6.2).

An element of a semiring is a row of numbers, so that a message is an array of shape (n, width), n elements. One
engine (:mod:`diverset.structured.messages`) then computes

.. math::  \bigoplus_y \bigotimes_\alpha w_\alpha(y_\alpha)

for all of them. In most semirings :math:`\oplus` is plain addition of rows; passing a message through a factor
without features is then one matrix product, whatever the width.

===================  =====================================  ==========================================================
class                element                                sums up to
===================  =====================================  ==========================================================
`SumProduct`         p                                      :math:`\sum_y p(y)`
`MaxProduct`         p                                      :math:`\max_y p(y)`
`LogSum`             log p                                  :math:`\log \sum_y p(y)`
`SecondOrder`        p, pa, pb, pab                         :math:`\sum_y p(y) a(y) b(y)`, a and b additive
`VectorSecondOrder`  p, :math:`p\phi, p\phi\phi^\top`       :math:`\sum_y p(y) \phi(y)\phi(y)^\top`: the dual kernel
`Squares`            p, and pa, pa² for each of m features  :math:`\sum_y p(y) a_n(y)^2` for each n: one per vector
`SquaredNorm`        p, :math:`p\phi, p\|\phi\|^2`          :math:`\sum_y p(y) \|\phi(y)\|^2`: part marginals
===================  =====================================  ==========================================================
"""

from __future__ import annotations

import abc
import math

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.numerics.linalg import block_length
from diverset.structured.operators import PairWeights

__all__ = [
    "LogSum",
    "MaxProduct",
    "SecondOrder",
    "Semiring",
    "SquaredNorm",
    "Squares",
    "SumProduct",
    "VectorSecondOrder",
    "reduce_groups",
]


def reduce_groups(operation: np.ufunc, x: FloatArray, offsets: IntArray, empty: float) -> FloatArray:
    """Reduce consecutive groups of rows that begin at `offsets`; empty groups give `empty`."""
    out = np.full((len(offsets) - 1, x.shape[1]), empty)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        out[filled] = operation.reduceat(x, offsets[filled], axis=0)
    return out


class Semiring(abc.ABC):
    """Elements as rows; addition here is that of rows, which :class:`MaxProduct` and :class:`LogSum` replace."""

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
        """Neutral elements of the sum: what is forbidden."""
        return np.zeros((n, self.width))

    def total(self, x: FloatArray) -> FloatArray:
        r""":math:`\bigoplus` of all rows, of shape (1, width)."""
        return np.asarray(x.sum(axis=0, keepdims=True))

    def grouped(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        r""":math:`\bigoplus` of consecutive groups of rows that begin at `offsets`; some may be empty."""
        return reduce_groups(np.add, x, offsets, 0.0)

    def through(self, W: PairWeights, x: FloatArray, *, up: bool) -> FloatArray:
        """A message passed through a factor without features, towards the root or away from it."""
        return W.apply(x) if up else W.apply_transposed(x)

    def rescale(self, x: FloatArray) -> float:
        """Divide elements by their largest weight, in place, and return its logarithm; by 1 where all are zero."""
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
        """Maxima of groups; 0, as of nothing allowed, for an empty one."""
        return reduce_groups(np.maximum, x, offsets, 0.0)

    def through(self, W: PairWeights, x: FloatArray, *, up: bool) -> FloatArray:
        """Largest products; the maximum away from the root reads W by columns."""
        if up:
            return W.apply_max(x[:, 0])[:, None]
        out = np.zeros(W.shape[1])
        for start in range(0, W.shape[0], 256):
            block = np.arange(start, min(start + 256, W.shape[0]))
            rows = W.rows(block)
            np.maximum.at(out, rows.columns, rows.weights * np.repeat(x[block, 0], np.diff(rows.offsets)))
        return out[:, None]


class LogSum(Semiring):
    """Sums and products of numbers given by their logarithms; ``-inf`` is zero."""

    def lift(self, weights: FloatArray, features: FloatArray | None) -> FloatArray:
        """Logarithms of the weights."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(weights)[:, None])

    def times(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Sum of logarithms."""
        return x + y

    def zero(self, n: int) -> FloatArray:
        """Minus infinity."""
        return np.full((n, 1), -np.inf)

    def total(self, x: FloatArray) -> FloatArray:
        """Logarithm of the sum."""
        return np.asarray(np.logaddexp.reduce(x, axis=0, keepdims=True))

    def grouped(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        """Logarithms of the sums of groups."""
        return reduce_groups(np.logaddexp, x, offsets, -np.inf)

    def through(self, W: PairWeights, x: FloatArray, *, up: bool) -> FloatArray:
        """The product with W of numbers scaled to at most 1."""
        top = float(x.max())
        if top == -np.inf:
            return self.zero(W.shape[0] if up else W.shape[1])
        y = super().through(W, np.exp(x - top), up=up)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(y) + top)

    def rescale(self, x: FloatArray) -> float:
        """Shift to a largest entry of 0, in place."""
        top = float(x.max(initial=-np.inf))
        if top == -np.inf:
            return 0.0
        x -= top
        return top


class SecondOrder(Semiring):
    r"""Four numbers :math:`(p, pa, pb, pab)`, for two additive functions a and b: features of width 2.

    .. math::  (p, \phi, \psi, c) \otimes (p', \phi', \psi', c')
               = (pp',\ p\phi' + p'\phi,\ p\psi' + p'\psi,\ pc' + p'c + \phi\psi' + \phi'\psi)

    ([LiEisner2009]_; [KuleszaTaskar2012]_, section 6.2.4).
    """

    width = 4

    def lift(self, weights: FloatArray, features: FloatArray | None) -> FloatArray:
        """The element of p, a and b."""
        x = np.zeros((len(weights), 4))
        x[:, 0] = weights
        if features is not None:
            x[:, 1:3] = weights[:, None] * features
            x[:, 3] = weights * features[:, 0] * features[:, 1]
        return x

    def times(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """As above."""
        p, a, b, c = x.T
        q, d, e, f = y.T
        return np.stack([p * q, p * d + q * a, p * e + q * b, p * f + q * c + a * e + d * b], axis=1)


class VectorSecondOrder(Semiring):
    r"""All pairs of features at once: :math:`(p, p\phi, p\phi\phi^\top)`, rows of :math:`1 + D + D^2` numbers.

    The plain way to the dual kernel, :math:`O(D^2)` per allowed joint value of every factor ([KuleszaTaskar2012]_,
    section 6.3.1).

    Parameters
    ----------
    n_features : int
        D.
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.width = 1 + n_features + n_features**2

    def _split(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        D = self.n_features
        return x[:, :1], x[:, 1 : 1 + D], x[:, 1 + D :].reshape(len(x), D, D)

    def _join(self, p: FloatArray, phi: FloatArray, C: FloatArray) -> FloatArray:
        return np.concatenate([p, phi, C.reshape(len(p), -1)], axis=1)

    def lift(self, weights: FloatArray, features: FloatArray | None) -> FloatArray:
        """The element of p and the features."""
        p = weights[:, None]
        phi = np.zeros((len(p), self.n_features)) if features is None else features
        return self._join(p, p * phi, p[:, :, None] * phi[:, :, None] * phi[:, None, :])

    def times(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """The product of :class:`SecondOrder` for every pair of features."""
        p, phi, C = self._split(x)
        q, psi, E = self._split(y)
        outer = phi[:, :, None] * psi[:, None, :]
        second = p[:, :, None] * E + q[:, :, None] * C + outer + outer.transpose(0, 2, 1)
        return self._join(p * q, p * psi + q * phi, second)

    def matrix(self, x: FloatArray) -> FloatArray:
        """The last component of a single element, (D, D)."""
        return np.asarray(self._split(x)[2][0])


class Squares(Semiring):
    r"""Each of m features by itself: :math:`(p, pa_1, \dots, pa_m, pa_1^2, \dots, pa_m^2)`, which share p.

    With the features :math:`a_n = v_n^\top\phi` this is what a structure is drawn with: the law of one structure is a
    mixture over n of :math:`q^2(y) (v_n^\top \phi(y))^2`.

    Parameters
    ----------
    m : int
        Number of features.
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
        """The product of :class:`SecondOrder` with a = b, for each feature."""
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
    r"""Features as one vector, of which only the length counts: :math:`(p, p\phi, p\|\phi\|^2)`.

    Parameters
    ----------
    n_features : int
        D.
    """

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
        """Weights multiply, vectors add, and their inner product counts twice."""
        p, q = x[:, :1], y[:, :1]
        z = p * y
        z[:, 1:] += q * x[:, 1:]
        z[:, -1] += 2.0 * np.einsum("ij,ij->i", x[:, 1:-1], y[:, 1:-1])
        return z
