r"""The dual kernel :math:`C = \sum_y q^2(y)\,\phi(y)\phi(y)^\top` of a structured DPP, fast and plain.

With :math:`Z = \sum_y q^2(y)`, :math:`C/Z` is the second moment of the features of a structure drawn with probability
:math:`q^2/Z`. Given the value of a part, what hangs on its different sides is independent, so that a second moment
is made of first moments,

.. math::  e_r(y_r) = \phi_r(y_r) + \sum_{\alpha\text{ below }r} e_\alpha(y_r), \qquad
           e_\alpha(y_r) = \sum_{y_\alpha \sim y_r} \pi(y_\alpha \mid y_r)
               \Big( \phi_\alpha(y_\alpha) + \sum_{s \ne r} e_s(y_s) \Big),

the expected features of everything below. Every pair of factors meets at one part or factor, where with the
probabilities :math:`b_r(y_r)` of its values the pair adds :math:`\sum_{y_r} b_r(y_r)\, e(y_r) e'(y_r)^\top` and its
transpose. Messages are M x D, not M x D x D: :math:`O(R(|E|D + MD^2))` for R factors of :math:`|E|` entries,
against :math:`O(R|E|D^2)` for the second-order semiring of [KuleszaTaskar2012]_, section 6.3.1. That one stays
as the plain twin, and holds for any factor tree too.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import FloatArray
from diverset.numerics.linalg import block_length
from diverset.structured.messages import Beliefs, check_possible, pass_both_ways, pass_up
from diverset.structured.semirings import SumProduct, VectorSecondOrder, reduce_groups
from diverset.structured.tree import FactorTree, PairNode, TableNode

__all__ = ["dual_kernel", "dual_kernel_plain"]


def dual_kernel_plain(tree: FactorTree) -> tuple[FloatArray, float]:
    """C/Z and log Z by one pass in the vectorised second-order semiring."""
    semiring = VectorSecondOrder(tree.n_features)
    up = pass_up(tree, semiring)
    check_possible(up)
    Z = float(up.total[0, 0])
    return semiring.matrix(up.total) / Z, up.log_scale + math.log(Z)


def dual_kernel(tree: FactorTree) -> tuple[FloatArray, float]:
    """C/Z, of shape (D, D), and log Z, by expected features."""
    beliefs = pass_both_ways(tree, SumProduct())
    check_possible(beliefs.up)
    moment = _Moment(tree, beliefs)
    return moment.run(), beliefs.up.log_scale + math.log(beliefs.up.total[0, 0])


def _ratio(x: FloatArray, y: FloatArray) -> FloatArray:
    """The ratio x / y, 0 where y is 0: values that no structure takes."""
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0.0)


class _Moment:
    """Second moment of the features, gathered from the leaves to the root.

    ``half`` becomes the sum of all b e e'^T with each pair of factors counted once and each factor with itself by half;
    the moment is half + half^T.
    """

    def __init__(self, tree: FactorTree, beliefs: Beliefs) -> None:
        self.tree = tree
        self.beliefs = beliefs
        self.half = np.zeros((tree.n_features, tree.n_features))
        # Expected features below each part; None while they are zero.
        self.below: list[FloatArray | None] = [None] * len(tree.n_values)

    def run(self) -> FloatArray:
        for node in reversed(self.tree.nodes):
            for child in node.children:
                self._close(child)
            e = self._through(node)
            if e is not None:
                self._meet(node.parent, e)
        self._close(self.tree.root)
        return self.half + self.half.T

    def _belief(self, r: int) -> FloatArray:
        b = self.beliefs.belief(r)[:, 0]
        return np.asarray(b / b.sum())

    def _add(self, weights: FloatArray, left: FloatArray, right: FloatArray, itself: FloatArray | None = None) -> None:
        """Add left^T diag(weights) (right + itself / 2), block by block: no third array of that size."""
        step = block_length(left.shape[1])
        for start in range(0, len(left), step):
            part = slice(start, start + step)
            block = right[part] if itself is None else right[part] + 0.5 * itself[part]
            self.half += left[part].T @ (weights[part, None] * block)

    def _meet(self, r: int, e: FloatArray) -> None:
        """Expected features from a factor below part r: pairs with what arrived before."""
        before = self.below[r]
        if before is None:
            self.below[r] = e
            return
        self._add(self._belief(r), before, e)
        before += e

    def _close(self, r: int) -> None:
        """All factors below part r have arrived: pair them with its own features."""
        phi, below = self.tree.unary[r].features, self.below[r]
        if phi is None:
            return
        b = self._belief(r)
        if below is None:
            self._add(0.5 * b, phi, phi)
            self.below[r] = phi.copy()
        else:
            self._add(b, phi, below, itself=phi)
            below += phi

    def _through(self, node: PairNode | TableNode) -> FloatArray | None:
        """Expected features below a factor for each value of its parent; frees those of its children."""
        below = [self.below[child] for child in node.children]
        for child in node.children:
            self.below[child] = None
        up = self.beliefs.up.parts
        if isinstance(node, PairNode):
            if below[0] is None:
                return None
            weights = up[node.children[0]]
            below[0] *= weights
            e = node.operator.apply(below[0])
            e *= _ratio(np.ones((len(e), 1)), node.operator.apply(weights))
            return e
        return self._through_table(node, below)

    def _through_table(self, node: TableNode, below: list[FloatArray | None]) -> FloatArray | None:
        terms = [] if node.features is None else [node.features]
        w = node.weights
        for child, at, e in zip(node.children, node.at_children, below, strict=True):
            w = w * self.beliefs.up.parts[child][at, 0]
            if e is not None:
                terms.append(e[at])
        if not terms:
            return None
        total = reduce_groups(np.add, w[:, None], node.offsets, 0.0)
        chances = _ratio(w[:, None], total[node.at_parent])
        b = self._belief(node.parent)[node.at_parent] * chances[:, 0]
        gathered = terms[0].copy()
        if node.features is not None:
            self._add(0.5 * b, gathered, gathered)
        for term in terms[1:]:
            self._add(b, gathered, term)
            gathered += term
        return reduce_groups(np.add, chances * gathered, node.offsets, 0.0)
