r"""Probing: what including or leaving out each single item does to a bound, and which pairs exclude each other.

The linear bound :math:`v - s + \sum_{i \in S} g_i` of a node (:class:`diverset.inference.bounds.LinearBound`) becomes,
for the sets that include item j,

.. math::

    \log\frac{C_{jj}|f_j|^2}{f_j \Theta^{-1} f_j^*} - \psi\frac{g_j}{|f_j|^2} + v - (s-1) + \sum_{i \in S - j} g_i',
    \qquad r_i = \frac{f_i f_j^*}{|f_j|^2}, \qquad
    g_i' = (f_i - r_i f_j)\,\Theta\,(f_i - r_i f_j)^* + \frac{\psi}{d}\,\frac{|r_i|^2 |f_j|^2}{\psi + |f_j|^2},

the bound of the child in which j is conditioned on, without any new eigenvalues: :math:`\Theta` is compressed to the
vectors orthogonal to :math:`f_j`, which multiplies its determinant by :math:`f_j\Theta^{-1}f_j^* / |f_j|^2`, and is
:math:`1/d` along :math:`f_j`. All items are probed in O(m^2 log m); those that cannot be in a better set are fixed out,
those that cannot be missing are fixed in.

*Conflicts*: with j in, the same test for a second item finds pairs that cannot be together. Cliques of such pairs
become blocks, of which at most one item may be chosen, and the bound is taken over the polytope that says so. For
smooth kernels, where half an item here and half its neighbour there would otherwise pass for a diverse set, this is
what makes the proof possible.
"""

from __future__ import annotations

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.inference.bounds import LinearBound
from diverset.numerics.linalg import squared_modulus

__all__ = ["probe"]


def probe(
    A: Array, s: int, bound: LinearBound, blocks: IntArray, conflict: BoolArray, target: float
) -> tuple[FloatArray, FloatArray, int]:
    """Bounds with and without each item, and the number of conflicts found; see the module docstring."""
    from diverset.inference._exact_loops import exclusion_bounds, inclusion_bounds

    n_blocks = int(blocks.max()) + 1
    d, lam, W, psi = bound.rest, bound.lam, bound.W, bound.psi
    A = A - psi * np.eye(len(A))
    c = np.diagonal(A).real
    G = A / d + (W * (1.0 / lam - 1.0 / d)) @ W.conj().T
    ratio = A / c
    g = bound.g[:, None] - 2.0 * (ratio.conj() * G).real + squared_modulus(ratio) * bound.g
    g = np.maximum(g, 0.0) + squared_modulus(ratio) * (psi / (psi + c) * c / d)
    h = d * c + squared_modulus(W) @ (lam - d)
    base = bound.constant - (s - 1) + np.log(c + psi) + np.log(c / h) - psi * bound.g / c
    with_item, found = inclusion_bounds(base, np.ascontiguousarray(g.T), blocks, n_blocks, s, conflict, target)
    return with_item, exclusion_bounds(bound.g, blocks, n_blocks, s, bound.value), found
