r"""A factor graph made ready for message passing: a rooted tree with weights :math:`q^{power}`.

Part 0 is the root. Factors of one part are merged into their part, since qualities multiply and features add; a
forest becomes a tree by one more part with a single value, the hub, tied to the root of each component by a factor
of ones. Every other factor has one *parent* part, nearer to the root, and one or more *children*.

The order of the factors is depth first, as a stack gives it: a factor comes after the one that has its parent as a
child, and all that hangs below a factor comes before its next sibling. Read backwards, it is the order in which
messages go up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.structured.graph import Factor, FactorGraph
from diverset.structured.operators import DensePair, PairWeights, SeparablePair, SparsePair, UniformPair
from diverset.structured.potential import Potential

__all__ = ["FactorTree", "PairNode", "TableNode", "Unary", "tree_of"]


@dataclass(frozen=True, eq=False)
class Unary:
    """Weight and features of the values of one part; None stands for weights 1, or for no features."""

    weights: FloatArray | None = None
    features: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class PairNode:
    """A factor of two parts without features: a matrix, rows for the parent."""

    parent: int
    children: tuple[int]
    operator: PairWeights


@dataclass(frozen=True, eq=False)
class TableNode:
    """Any other factor: its allowed joint values, sorted by the value of the parent.

    Those with value v of the parent are in the rows offsets[v] to offsets[v + 1] of the other arrays.
    """

    parent: int
    children: tuple[int, ...]
    offsets: IntArray
    at_parent: IntArray
    at_children: tuple[IntArray, ...]
    weights: FloatArray
    features: FloatArray | None


@dataclass(frozen=True, eq=False)
class FactorTree:
    """Rooted factor tree; :func:`tree_of` makes one.

    Weights are divided by ``exp(log_scale)``.
    """

    #: Number of values of each part, the hub included.
    n_values: tuple[int, ...]
    root: int
    unary: tuple[Unary, ...]
    #: The factors of two parts or more, depth first from the root.
    nodes: tuple[PairNode | TableNode, ...]
    n_features: int
    log_scale: float

    @cached_property
    def below(self) -> tuple[tuple[int, ...], ...]:
        """For each part, the factors whose parent it is, in the order a walk pushes them on its stack."""
        below: list[list[int]] = [[] for _ in self.n_values]
        for i, node in enumerate(self.nodes):
            below[node.parent].append(i)
        # A stack returns first what was pushed last.
        return tuple(tuple(reversed(b)) for b in below)

    def with_features(self, V: FloatArray) -> FactorTree:
        """The same tree with features multiplied by V, (D, m); shared arrays are multiplied once."""
        done: dict[int, FloatArray] = {}

        def mapped(phi: FloatArray | None) -> FloatArray | None:
            if phi is None:
                return None
            if id(phi) not in done:
                done[id(phi)] = np.ascontiguousarray(phi @ V)
            return done[id(phi)]

        unary = tuple(Unary(u.weights, mapped(u.features)) for u in self.unary)
        nodes = tuple(
            replace(node, features=mapped(node.features)) if isinstance(node, TableNode) else node
            for node in self.nodes
        )
        return replace(self, unary=unary, nodes=nodes, n_features=V.shape[1])


#: Offsets, values of the parent, values of the children, weights, features: the fields of a TableNode.
_Table: TypeAlias = tuple[IntArray, IntArray, tuple[IntArray, ...], FloatArray, FloatArray | None]
T = TypeVar("T")


class _Builder:
    """Weights of each potential, computed once even if several factors share it."""

    def __init__(self, power: float) -> None:
        self.power = power
        self._made: dict[tuple[object, ...], Any] = {}

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def weights(self, q: FloatArray) -> FloatArray:
        w = q * q if self.power == 2.0 else q**self.power
        # Subnormal numbers have few digits and slow down every product.
        if self.power != 1.0:
            w[w < 1e-300] = 0.0
        return np.asarray(w)

    def pair(self, p: Potential, flipped: bool) -> PairWeights:
        """Operator of a potential of two parts; flipped if the second part is the parent."""

        def make() -> PairWeights:
            if p.separable is not None:
                small = tuple(self.weights(A.swapaxes(-1, -2) if flipped else A) for A in p.separable)
                return SeparablePair(small, p.by, of_columns=flipped)
            if p.rows is not None and p.values is not None:
                indptr, indices = p.rows
                if not flipped:
                    return SparsePair(indptr, indices, self.weights(p.values), (p.shape[0], p.shape[1]))
                from scipy.sparse import csr_array

                T = csr_array((self.weights(p.values), indices, indptr), shape=(p.shape[0], p.shape[1])).T.tocsr()
                return SparsePair(T.indptr, T.indices, T.data, (p.shape[1], p.shape[0]))
            if p.dense is None:
                return UniformPair(p.shape[::-1] if flipped else p.shape)
            W = self.weights(p.dense)
            return DensePair(np.ascontiguousarray(W.T) if flipped else W)

        return self.once((id(p), "pair", flipped), make)

    def table(self, p: Potential, axis: int) -> _Table:
        """Joint values of a potential sorted by the part on this axis."""

        def make() -> _Table:
            index = p.coordinates()
            if p.values is not None:
                w = self.weights(p.values)
            elif p.dense is not None:
                w = self.weights(p.dense[tuple(index)])
            else:
                w = self.weights(np.exp(p.log_quality_at(index.T) - p.log_max))
            phi = p.features
            if phi is not None and p.values is None:
                phi = phi[tuple(index)]
            order = np.argsort(index[axis], kind="stable")
            index, w = index[:, order], w[order]
            phi = None if phi is None else phi[order]
            offsets = np.searchsorted(index[axis], np.arange(p.shape[axis] + 1))
            others = tuple(np.ascontiguousarray(index[i]) for i in range(p.arity) if i != axis)
            return offsets, np.ascontiguousarray(index[axis]), others, w, phi

        return self.once((id(p), "table", axis), make)

    def unary(self, potentials: list[Potential]) -> tuple[Unary, float]:
        """The factors of one part as one, and the logarithm of what its weights were divided by."""
        if not potentials:
            return Unary(), 0.0

        def make() -> tuple[Unary, float]:
            q = features = None
            for p in potentials:
                if p.dense is not None:
                    q = p.dense if q is None else q * p.dense
                if p.features is not None:
                    features = p.features if features is None else features + p.features
            if q is None:
                return Unary(None, features), 0.0
            top = float(q.max())
            if top == 0.0:
                raise DiversetError("the factors of a part forbid all of its values, so that no structure is allowed")
            return Unary(self.weights(q / top if top < 1.0 else q), features), self.power * float(np.log(top))

        return self.once((*(id(p) for p in potentials), "unary"), make)


def tree_of(graph: FactorGraph, power: float = 2.0) -> FactorTree:
    """The tree of a graph without cycles, with weights :math:`q^{power}`.

    The power is 2 for the DPP, whose kernel multiplies two qualities, and 1 for the quality model.
    """
    if not graph.is_forest:
        raise DiversetError("the graph has cycles; junction_tree(graph) joins its parts to a tree")
    builder = _Builder(power)
    joining = [f for f in graph.factors if len(f.parts) > 1]
    single: list[list[Potential]] = [[] for _ in graph.n_values]
    for factor in graph.factors:
        if len(factor.parts) == 1:
            single[factor.parts[0]].append(factor.potential)
    unary = [builder.unary(potentials) for potentials in single]
    log_scale = sum(log for _, log in unary) + power * sum(f.potential.log_max for f in graph.factors)
    merged = [u for u, _ in unary]
    n_values, root = list(graph.n_values), 0
    roots = np.unique(graph._components[: graph.n_parts], return_index=True)[1].tolist()
    if len(roots) > 1:
        root = graph.n_parts
        n_values.append(1)
        merged.append(Unary())
        joining += [Factor((root, r), Potential((1, n_values[r])), "") for r in roots]

    around: list[list[int]] = [[] for _ in n_values]
    for i, factor in enumerate(joining):
        for r in factor.parts:
            around[r].append(i)
    nodes: list[PairNode | TableNode] = []
    used = [False] * len(joining)
    stack = [(i, root) for i in reversed(around[root])]
    for i in around[root]:
        used[i] = True
    while stack:
        i, parent = stack.pop()
        nodes.append(_node(builder, joining[i], parent))
        for child in reversed(nodes[-1].children):
            for j in reversed(around[child]):
                if not used[j]:
                    used[j] = True
                    stack.append((j, child))
    return FactorTree(tuple(n_values), root, tuple(merged), tuple(nodes), graph.n_features, log_scale)


def _node(builder: _Builder, factor: Factor, parent: int) -> PairNode | TableNode:
    """The node of a factor whose parent is this part."""
    p = factor.potential
    axis = factor.parts.index(parent)
    children = tuple(r for r in factor.parts if r != parent)
    if p.arity == 2 and p.features is None:
        return PairNode(parent, (children[0],), builder.pair(p, flipped=axis == 1))
    offsets, at_parent, at_children, weights, features = builder.table(p, axis)
    return TableNode(parent, children, offsets, at_parent, at_children, weights, features)
