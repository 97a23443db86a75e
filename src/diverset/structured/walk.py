r"""Drawing structures: a walk over the factor tree ([KuleszaTaskar2012]_, section 6.3.2, Algorithm 10).

A structure y is drawn with probability proportional to :math:`q^2(y)\, a(y)^2`, for an additive function
:math:`a(y) = v^\top\phi(y)`. Messages towards the root are passed once, in the :class:`~.semirings.Squares` semiring.
The walk then fixes the root and, depth first, the children of one factor after the other. At each factor, one element
of the semiring represents the rest of the tree: the sum A of a over the parts fixed so far, and the message of every
factor that waits on the stack with its parent fixed. With :math:`(1, A', S')` their product and
:math:`(p, \alpha, \gamma)` the message from below a candidate value,

.. math::  \Pr(\text{value}) \propto \gamma + 2A'\alpha + S'p.

This is where a tree differs from a chain: a fixed value changes A and with it the law of its *siblings*, although
their common parent was fixed before. Passing down the tree with the messages of the first pass would be wrong.

Several structures are drawn at once, each for its own function a, since all walks visit the factors in the same
order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.structured.messages import Messages, pass_up
from diverset.structured.semirings import Squares
from diverset.structured.tree import FactorTree, PairNode

__all__ = ["Candidates", "WalkPlan", "draw_structures"]

#: Candidates that are weighed at once: about ten arrays of this length.
_CANDIDATES = 1 << 20


def branching_factors(tree: FactorTree) -> list[int]:
    """Factors that wait on the stack while another is walked, so that their messages are needed."""
    waiting = []
    groups = [[tree.root], *(node.children for node in tree.nodes)]
    for parts in groups:
        pushed = [i for r in parts for i in tree.below[r]]
        waiting += pushed[:-1]
    return waiting


@dataclass(frozen=True, eq=False)
class WalkPlan:
    """The tree, with m features, and its `Squares(m)` messages, shared by walks for the m functions :math:`a_n`."""

    tree: FactorTree
    messages: Messages

    @classmethod
    def of(cls, tree: FactorTree, V: FloatArray) -> WalkPlan:
        r"""Messages for :math:`a_n(y) = v_n^\top\phi(y)`, v the columns of V, (D, m). :math:`O(R|E|m)`."""
        reduced = tree.with_features(V)
        return cls(reduced, pass_up(reduced, Squares(V.shape[1]), keep=branching_factors(reduced)))

    @property
    def m(self) -> int:
        """Number of functions."""
        return self.tree.n_features

    def masses(self) -> FloatArray:
        r""":math:`\sum_y q^2(y) a_n(y)^2` for each n, relative to ``exp(messages.log_scale)``."""
        return np.asarray(self.messages.total[0, 1 + self.m :])


@dataclass(frozen=True, eq=False)
class Candidates:
    """Joint values that the next parts of several walks can take.

    The candidates of walk i are offsets[i] to offsets[i + 1] of the other arrays.
    """

    offsets: IntArray
    parts: tuple[int, ...]
    #: For each part, its value in every candidate.
    values: tuple[IntArray, ...]
    #: Elements (p, a, c) of all factors below, with the weight and features of this one.
    p: FloatArray
    a: FloatArray
    c: FloatArray
    #: The function a of the candidate itself: of its factor and its values.
    own: FloatArray


def _own(tree: FactorTree, r: int, values: IntArray, n: IntArray) -> FloatArray | float:
    phi = tree.unary[r].features
    return 0.0 if phi is None else phi[values, n]


def root_candidates(plan: WalkPlan, n: int) -> Candidates:
    """All values of the root, for a walk of function n."""
    tree, m = plan.tree, plan.m
    r = tree.root
    values = np.arange(tree.n_values[r])
    x = plan.messages.parts[r]
    own = np.zeros(len(values)) + _own(tree, r, values, np.full(len(values), n))
    return Candidates(np.array([0, len(values)]), (r,), (values,), x[:, 0], x[:, 1 + n], x[:, 1 + m + n], own)


def factor_candidates(plan: WalkPlan, i: int, at: IntArray, n: IntArray) -> Candidates:
    """Joint values of the children of factor i, for walks that fixed its parent at `at`."""
    tree, m = plan.tree, plan.m
    node = tree.nodes[i]
    if isinstance(node, PairNode):
        rows = node.operator.rows(at)
        offsets, weights = rows.offsets, rows.weights
        values: tuple[IntArray, ...] = (rows.columns,)
        own = np.zeros(len(weights))
    else:
        starts, lengths = node.offsets[at], node.offsets[at + 1] - node.offsets[at]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        where = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        weights = node.weights[where]
        values = tuple(v[where] for v in node.at_children)
        own = np.zeros(len(weights))
        if node.features is not None:
            own += node.features[where, np.repeat(n, lengths)]
    function = np.repeat(n, np.diff(offsets))
    # The element of the factor itself is (w, w own, w own^2); those of the children are multiplied in.
    p, a, c = weights, weights * own, weights * own * own
    for r, v in zip(node.children, values, strict=True):
        x = plan.messages.parts[r]
        q, b, d = x[v, 0], x[v, 1 + function], x[v, 1 + m + function]
        p, a, c = p * q, p * b + q * a, p * d + q * c + 2.0 * a * b
        own = own + _own(tree, r, v, function)
    return Candidates(offsets, node.children, values, p, a, c, own)


def weights_of(candidates: Candidates, A: FloatArray, S: FloatArray) -> FloatArray:
    """Masses of the candidates beside an outside element (1, A, S) for each walk, clipped at 0."""
    count = np.diff(candidates.offsets)
    mass = candidates.c + 2.0 * np.repeat(A, count) * candidates.a + np.repeat(S, count) * candidates.p
    return np.maximum(mass, 0.0)


def pick(weights: FloatArray, offsets: IntArray, uniforms: FloatArray) -> IntArray:
    """One index from each group of weights, by inverting its cumulative sum at a uniform number."""
    cumulative = np.concatenate([[0.0], np.cumsum(weights)])
    first, last = cumulative[offsets[:-1]], cumulative[offsets[1:]]
    chosen = np.searchsorted(cumulative, first + uniforms * (last - first), side="right") - 1
    chosen = np.clip(chosen, offsets[:-1], offsets[1:] - 1)
    # Rounding at the edge of a group may select a candidate of weight zero: take the heaviest of the group.
    for b in np.flatnonzero(weights[chosen] <= 0.0):
        chosen[b] = offsets[b] + int(np.argmax(weights[offsets[b] : offsets[b + 1]]))
    return np.asarray(chosen)


def pick_several(weights: FloatArray, uniforms: FloatArray) -> IntArray:
    """Independent indices drawn from the same weights."""
    cumulative = np.cumsum(weights)
    # A uniform that rounds up to the total gives the last index with positive weight.
    last = int(np.flatnonzero(weights)[-1])
    return np.asarray(np.minimum(np.searchsorted(cumulative, uniforms * cumulative[-1], side="right"), last))


def _times(x: tuple[FloatArray, FloatArray], y: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Product of elements (1, A, S), given without their 1."""
    return x[0] + y[0], x[1] + y[1] + 2.0 * x[0] * y[0]


def _at_parent(plan: WalkPlan, i: int, at: IntArray, n: IntArray) -> tuple[FloatArray, FloatArray]:
    """Element of all factors below factor i, with its parent fixed, divided by its weight."""
    x = plan.messages.factors[i]
    p = x[at, 0]
    return x[at, 1 + n] / p, x[at, 1 + plan.m + n] / p


def draw_structures(plan: WalkPlan, n: IntArray, rng: np.random.Generator, *, constant: float = 0.0) -> IntArray:
    """Draw one structure for each entry of n, the index of its function; `constant` is added to all functions.

    Returns the values of all parts of the tree, (len(n), n_parts). The walks go through the factors side by side, in
    time proportional to the number of candidates.
    """
    tree = plan.tree
    fixed = np.zeros((len(n), len(tree.n_values)), dtype=np.int64)
    if len(n) == 0:
        return fixed
    stack: list[tuple[int, tuple[FloatArray, FloatArray]]] = []

    def push(parts: tuple[int, ...], element: tuple[FloatArray, FloatArray]) -> None:
        last = None
        for r in parts:
            for j in tree.below[r]:
                if last is not None:
                    element = _times(element, _at_parent(plan, last, fixed[:, tree.nodes[last].parent], n))
                stack.append((j, element))
                last = j

    uniforms = rng.random(len(n))
    for function in np.unique(n):
        # Walks of one function share the law of the root.
        same = np.flatnonzero(n == function)
        roots = root_candidates(plan, int(function))
        mass = weights_of(roots, np.array([constant]), np.array([constant**2]))
        fixed[same, tree.root] = pick_several(mass, uniforms[same])
    A = constant + np.zeros(len(n)) + _own(tree, tree.root, fixed[:, tree.root], n)
    push((tree.root,), (np.zeros(len(n)), np.zeros(len(n))))
    while stack:
        i, waiting = stack.pop()
        node, uniforms = tree.nodes[i], rng.random(len(n))
        outside = _times((A, A * A), waiting)
        A = A.copy()
        # Walks are handled in blocks with a bounded number of candidates.
        if isinstance(node, PairNode):
            most = tree.n_values[node.children[0]]
        else:
            most = int(np.diff(node.offsets).max())
        step = max(1, _CANDIDATES // most)
        for start in range(0, len(n), step):
            some = slice(start, start + step)
            candidates = factor_candidates(plan, i, fixed[some, node.parent], n[some])
            mass = weights_of(candidates, outside[0][some], outside[1][some])
            chosen = pick(mass, candidates.offsets, uniforms[some])
            A[some] += candidates.own[chosen]
            for r, v in zip(candidates.parts, candidates.values, strict=True):
                fixed[some, r] = v[chosen]
        push(node.children, waiting)
    return fixed
