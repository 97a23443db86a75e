r"""The dual kernel :math:`C = \sum_y q^2(y)\,\phi(y)\phi(y)^\top` of a structured DPP.

With :math:`Z = \sum_y q^2(y)`, :math:`C/Z` is the second moment of the features of a structure drawn with probability
:math:`q^2/Z`. Given the value of a part, the subtrees around it are independent, so that second moments follow from
first moments,

.. math::  e_r(y_r) = \phi_r(y_r) + \sum_{\alpha\text{ below }r} e_\alpha(y_r), \qquad
           e_\alpha(y_r) = \sum_{y_\alpha \sim y_r} \pi(y_\alpha \mid y_r)
               \Big( \phi_\alpha(y_\alpha) + \sum_{s \ne r} e_s(y_s) \Big),

the expected features of all factors below. The paths from two factors to the root meet at one part or factor. With the
probabilities :math:`b_r(y_r)` of its values, the pair adds :math:`\sum_{y_r} b_r(y_r)\, e(y_r) e'(y_r)^\top` and its
transpose. Messages are M x D, not M x D x D: :math:`O(R(|E|D + MD^2))` for R factors of :math:`|E|` entries,
against :math:`O(R|E|D^2)` for the second-order semiring of [KuleszaTaskar2012]_, section 6.3.1.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from diverset._typing import FloatArray
from diverset.structured.messages import Beliefs, check_possible, pass_both_ways
from diverset.structured.semirings import SumProduct, reduce_groups
from diverset.structured.tree import FactorTree, PairNode, TableNode

__all__ = ["dual_kernel"]

#: Multiplications in one block product. Below this size BLAS starts no threads, which would keep spinning and slow down
#: the sparse products that follow. A block also stays in the cache for three passes.
_BLOCK_WORK = 1 << 18


def dual_kernel(tree: FactorTree) -> tuple[FloatArray, float]:
    """C/Z, of shape (D, D), and log Z, by expected features."""
    beliefs = pass_both_ways(tree, SumProduct(), keep=True)
    check_possible(beliefs.up)
    return _Moment(tree, beliefs).run(), beliefs.up.log_scale + math.log(beliefs.up.total[0, 0])


def _ratio(x: FloatArray, y: FloatArray) -> FloatArray:
    """The ratio x / y, 0 where y is 0 (values that no structure takes)."""
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0.0)


class _Moment:
    """Second moment of the features, gathered from the leaves to the root.

    ``half`` is the sum of b e e'^T over pairs of factors, a factor paired with itself at half weight; the moment is
    half + half^T.
    """

    def __init__(self, tree: FactorTree, beliefs: Beliefs) -> None:
        self.tree = tree
        self.beliefs = beliefs
        self.half = np.zeros((tree.n_features, tree.n_features))
        # Expected features below each part; None while they are zero.
        self.below: list[FloatArray | None] = [None] * len(tree.n_values)
        # For parts with the same features, the sum of b e, so that one product serves all of them.
        self.uses = Counter(id(u.features) for u in tree.unary)
        self.sums: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}

    def run(self) -> FloatArray:
        for i in range(len(self.tree.nodes) - 1, -1, -1):
            node = self.tree.nodes[i]
            for child in node.children:
                self._close(child)
            e = self._through(i, node)
            if e is not None:
                self._meet(node.parent, e)
        self._close(self.tree.root)
        for phi, b, weighted in self.sums.values():
            self._add(0.5 * b, phi, phi)
            self._add(np.ones(len(phi)), phi, weighted)
        return self.half + self.half.T

    def _belief(self, r: int) -> FloatArray:
        b = self.beliefs.belief(r)[:, 0]
        return np.asarray(b / b.sum())

    def _add(self, weights: FloatArray, left: FloatArray, right: FloatArray, itself: FloatArray | None = None) -> None:
        """Add left^T diag(weights) (right + itself / 2) in blocks, without a third array of that size."""
        step = max(64, _BLOCK_WORK // left.shape[1] ** 2)
        for start in range(0, len(left), step):
            part = slice(start, start + step)
            block = right[part] if itself is None else right[part] + 0.5 * itself[part]
            self.half += left[part].T @ (weights[part, None] * block)

    def _meet(self, r: int, e: FloatArray) -> None:
        """Pair the expected features of a factor below part r with those that arrived before."""
        before = self.below[r]
        if before is None:
            self.below[r] = e
            return
        self._add(self._belief(r), before, e)
        before += e

    def _close(self, r: int) -> None:
        """Pair the features of part r with those of all factors below it."""
        phi, below = self.tree.unary[r].features, self.below[r]
        if phi is None:
            return
        b = self._belief(r)
        if self.uses[id(phi)] > 1:
            self._defer(phi, b, below)
        elif below is None:
            self._add(0.5 * b, phi, phi)
        else:
            self._add(b, phi, below, itself=phi)
        if below is None:
            self.below[r] = phi.copy()
        else:
            below += phi

    def _defer(self, phi: FloatArray, b: FloatArray, below: FloatArray | None) -> None:
        """Accumulate the products with features that several parts share."""
        if id(phi) not in self.sums:
            self.sums[id(phi)] = phi, np.zeros(len(phi)), np.zeros(phi.shape)
        _, total, weighted = self.sums[id(phi)]
        total += b
        if below is not None:
            step = max(64, _BLOCK_WORK // phi.shape[1])
            for start in range(0, len(phi), step):
                part = slice(start, start + step)
                weighted[part] += b[part, None] * below[part]

    def _through(self, i: int, node: PairNode | TableNode) -> FloatArray | None:
        """Expected features below a factor for each value of its parent; frees those of its children."""
        below = [self.below[child] for child in node.children]
        for child in node.children:
            self.below[child] = None
        up = self.beliefs.up.parts
        if isinstance(node, PairNode):
            if below[0] is None:
                return None
            total = self.beliefs.up.factors[i][:, 0]
            return node.operator.apply_scaled(_ratio(np.ones(len(total)), total), up[node.children[0]][:, 0], below[0])
        return self._through_table(i, node, below)

    def _through_table(self, i: int, node: TableNode, below: list[FloatArray | None]) -> FloatArray | None:
        terms = [] if node.features is None else [node.features]
        w = node.weights
        for child, at, e in zip(node.children, node.at_children, below, strict=True):
            w = w * self.beliefs.up.parts[child][at, 0]
            if e is not None:
                terms.append(e[at])
        if not terms:
            return None
        chances = _ratio(w[:, None], self.beliefs.up.factors[i][node.at_parent])
        b = self._belief(node.parent)[node.at_parent] * chances[:, 0]
        gathered = terms[0].copy()
        if node.features is not None:
            self._add(0.5 * b, gathered, gathered)
        for term in terms[1:]:
            self._add(b, gathered, term)
            gathered += term
        return reduce_groups(np.add, chances * gathered, node.offsets, 0.0)
