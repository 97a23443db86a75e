r"""Random spanning trees: Wilson's walk, Aldous and Broder's, and the transfer-current kernel.

A spanning tree drawn with probability proportional to the product of its edges' weights is a determinantal set of edges
(the transfer-current theorem, [BurtonPemantle1993]_). With B the signed incidence matrix, W the weights and
:math:`L = B^T W B` the Laplacian,

.. math::  K = W^{1/2} B L^{+} B^T W^{1/2},

the orthogonal projection onto the space of gradients; its rank is the number of nodes less one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core import DPP
from diverset.errors import DiversetError, LabelError
from diverset.theory.classics._graphs import Graph, read_graph
from diverset.theory.classics.base import Classic

__all__ = ["SpanningTrees"]

#: Range of the weights beyond which random walks take too long.
_WIDE = 1e4


class SpanningTrees(Classic[IntArray]):
    r"""Spanning trees of a graph, drawn with probability proportional to the product of their weights.

    Items are edges, in the order given. The object is the set of its edges already.

    Parameters
    ----------
    graph : networkx graph, or iterable of (u, v) or (u, v, weight)
        Connected and undirected; nodes are any hashable objects. Parallel edges are different items; loops are in no
        tree.
    weight : str
        Edge attribute that holds the weight in a networkx graph; 1 where there is none.
    method : {"wilson", "aldous-broder"}
        How trees are drawn. Both are exact. Wilson's takes the mean hitting time of a random walk, Aldous and Broder's
        the cover time, which is longer. Both times grow with the range of the weights, since a walk goes to and fro
        along a heavy edge; where weights differ by more than 1e4, trees are drawn from the kernel instead.

    Notes
    -----
    The kernel takes O(n^3 + m n^2) for n nodes and m edges. Its entry :math:`K_{ef}` is, but for the weights' square
    root, the expected signed number of times that a random walk from one end of e, stopped at the other, passes f
    ([KuleszaTaskar2012]_, section 2.1.1), or the current through f when e is a battery; :math:`K_{ee}` is the weight of
    e times the resistance between its ends.

    Examples
    --------
    Of the three trees of a triangle each edge is in two.

    >>> trees = SpanningTrees([("a", "b"), ("b", "c"), ("c", "a")])
    >>> round(np.exp(trees.log_total_weight)), trees.dpp.inclusion_probabilities.round(6)
    (3, array([0.666667, 0.666667, 0.666667]))
    >>> tree = trees.sample(rng=0)
    >>> [trees.edges[e] for e in tree]
    [('a', 'b'), ('b', 'c')]
    """

    def __init__(self, graph: Any, *, weight: str = "weight", method: str = "wilson") -> None:
        if method not in _METHODS:
            raise DiversetError(f"method is {method!r}; choose one of {', '.join(_METHODS)}")
        self.method = method
        self._graph = read_graph(graph, weight)

    def __repr__(self) -> str:
        return f"SpanningTrees({self._graph.n_nodes} nodes, {len(self.edges)} edges, method={self.method!r})"

    @property
    def nodes(self) -> list[Hashable]:
        """Nodes of the graph."""
        return list(self._graph.nodes)

    @cached_property
    def edges(self) -> list[tuple[Hashable, Hashable]]:
        """Items: the ends of every edge."""
        g = self._graph
        return [(g.nodes[u], g.nodes[v]) for u, v in zip(g.tails, g.heads, strict=True)]

    @property
    def weights(self) -> FloatArray:
        """Weight of every edge."""
        return self._graph.weights.copy()

    @cached_property
    def log_total_weight(self) -> float:
        """Log of the summed weights of all spanning trees: their number, for unit weights (Kirchhoff's theorem)."""
        Z, heavy = self._tree_coordinates
        return float(np.log(self._graph.weights[heavy]).sum() + np.linalg.slogdet(Z.T @ Z)[1])

    @cached_property
    def _tree_coordinates(self) -> tuple[FloatArray, IntArray]:
        r"""Weighted edges in coordinates of a heaviest spanning tree T, and its edges.

        An edge is a signed sum of the tree's edges on the path between its ends, none of which is lighter. So the
        entries :math:`\pm\sqrt{w_e/w_t}` are at most 1 and the rows of T are unit vectors: the columns, which span the
        gradients, are well conditioned whatever the weights.
        """
        g = self._graph
        heavy = g.heaviest_tree
        root = np.sqrt(g.weights)
        return root[:, None] * g.paths(heavy) / root[heavy], heavy

    @cached_property
    def kernel(self) -> FloatArray:
        """Transfer-current matrix, symmetric, of shape (n_edges, n_edges)."""
        Q = np.linalg.qr(self._tree_coordinates[0])[0]
        return np.asarray(Q @ Q.T, dtype=np.float64)

    @cached_property
    def dpp(self) -> DPP:
        """The determinantal process of the edges."""
        return DPP.from_marginal(self.kernel)

    def _make(self, rng: np.random.Generator) -> IntArray:
        if self._graph.weights.max(initial=1.0) > _WIDE * self._graph.weights.min(initial=1.0):
            return np.asarray(self.dpp.sample(rng=rng), dtype=np.int64)
        return np.array(sorted(_METHODS[self.method](self._graph, rng)), dtype=np.int64)

    def items_of(self, thing: IntArray) -> IntArray:
        """The tree's edges."""
        return thing

    def find(self, edges: Iterable[tuple[Hashable, Hashable]]) -> IntArray:
        """Positions of edges given by their ends, either way round; of parallel edges the first."""
        position = {frozenset(ends): e for e, ends in reversed(list(enumerate(self.edges)))}
        try:
            return np.array(sorted(position[frozenset(ends)] for ends in edges), dtype=np.int64)
        except KeyError as missing:
            u, *v = missing.args[0]
            raise LabelError(f"the graph has no edge {u!r} - {v[0] if v else u!r}") from None


def _walker(graph: Graph, rng: np.random.Generator) -> Callable[[int], tuple[int, int]]:
    """Step of the random walk along weights: from a node to the next and the edge taken."""
    steps = graph.steps

    def step(u: int) -> tuple[int, int]:
        cumulative, ends, edges = steps[u]
        # Rounding of the product may reach the total, past the last edge.
        i = min(bisect_right(cumulative, rng.random() * cumulative[-1]), len(ends) - 1)
        return ends[i], edges[i]

    return step


def _wilson(graph: Graph, rng: np.random.Generator) -> list[int]:
    """Loop-erased walks from each node to the tree so far, from a root that does not matter ([Wilson1996]_)."""
    step = _walker(graph, rng)
    in_tree = [False] * graph.n_nodes
    in_tree[0] = True
    tree = []
    for start in range(1, graph.n_nodes):
        # Only the last way out of a node is kept: that erases the loops.
        out: dict[int, tuple[int, int]] = {}
        u = start
        while not in_tree[u]:
            out[u] = step(u)
            u = out[u][0]
        u = start
        while not in_tree[u]:
            in_tree[u] = True
            tree.append(out[u][1])
            u = out[u][0]
    return tree


def _aldous_broder(graph: Graph, rng: np.random.Generator) -> list[int]:
    """Edges by which a walk enters each node for the first time ([Aldous1990]_; [Broder1989]_)."""
    step = _walker(graph, rng)
    seen = [False] * graph.n_nodes
    seen[0] = True
    u = 0
    tree: list[int] = []
    while len(tree) < graph.n_nodes - 1:
        u, edge = step(u)
        if not seen[u]:
            seen[u] = True
            tree.append(edge)
    return tree


_METHODS = {"wilson": _wilson, "aldous-broder": _aldous_broder}
