"""Random spanning trees: the random walks of Wilson and of Aldous and Broder, and the transfer-current kernel."""

import math
from bisect import bisect_right
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, LabelError
from diverset.theory.classics.base import SymmetricClassic

__all__ = ["SpanningTrees"]

#: Ratio of the weights beyond which random walks take too long.
_WIDE = 1e4
_METHODS = ("wilson", "aldous-broder")


class SpanningTrees(SymmetricClassic[IntArray]):
    r"""Spanning trees of a graph, drawn with probability proportional to the product of their edge weights.

    Items are edges, in the order given. An object is an ascending array of edges. The set is determinantal
    ([BurtonPemantle1993]_): with B the signed incidence matrix, W the weights and :math:`L = B^T W B` the Laplacian,

    .. math::  K = W^{1/2} B L^{+} B^T W^{1/2}

    is the orthogonal projection onto the space of gradients, of rank one less than the number of nodes.
    The kernel takes O(n^3 + m n^2) for n nodes and m edges. Up to square roots of weights, :math:`K_{ef}` is the
    expected signed number of times that a random walk from one end of e, stopped at the other end, passes f
    ([KuleszaTaskar2012]_, section 2.1.1), or the current through f if e is a battery. :math:`K_{ee}` is the weight of
    e times the resistance between its ends.

    Parameters
    ----------
    graph : networkx graph, or iterable of (u, v) or (u, v, weight)
        Connected and undirected; nodes are any hashable objects. Parallel edges are different items; loops are in no
        tree.
    weight : str
        Edge attribute that holds the weight in a networkx graph; edges without it have weight 1.
    method : {"wilson", "aldous-broder"}
        Algorithm for drawing trees. Both are exact. Wilson's takes the mean hitting time of a random walk, Aldous and
        Broder's the cover time, which is longer. Both times grow with the ratio of the weights. Where weights differ
        by a factor above 1e4, trees are drawn from the kernel instead.

    Examples
    --------
    A triangle has three spanning trees, and each edge is in two of them.

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
        self.nodes, edges = _read_graph(graph, weight)
        #: Items: the ends of every edge.
        self.edges: list[tuple[Hashable, Hashable]] = [(u, v) for u, v, _ in edges]
        #: Weight of every edge.
        self.weights: FloatArray = np.array([w for _, _, w in edges], dtype=np.float64)
        self.weights.flags.writeable = False
        position = {node: i for i, node in enumerate(self.nodes)}
        self._ends: IntArray = np.array([[position[u], position[v]] for u, v in self.edges], dtype=np.int64)
        self._ends = self._ends.reshape(-1, 2)
        _, component = connected_components(self._sparse(np.arange(len(edges)), self.weights), directed=False)
        if component.any():
            u, v = self.nodes[0], self.nodes[int(component.argmax())]
            raise DiversetError(
                f"the graph has no spanning tree: no path leads from {u!r} to {v!r}; take one component"
            )

    def __repr__(self) -> str:
        return f"SpanningTrees({len(self.nodes)} nodes, {len(self.edges)} edges, method={self.method!r})"

    def _sparse(self, edges: IntArray, values: FloatArray) -> Any:
        """Sparse adjacency matrix of some edges, with the 32-bit indices that older SciPy's graph functions need."""
        ends = tuple(self._ends[edges].T.astype(np.int32))
        return csr_array((values, ends), shape=(len(self.nodes),) * 2)

    @cached_property
    def log_total_weight(self) -> float:
        """Logarithm of the summed weights of all spanning trees: of their number, for unit weights (Kirchhoff)."""
        Z, heavy = self._tree_coordinates
        return float(np.log(self.weights[heavy]).sum() + np.linalg.slogdet(Z.T @ Z)[1])

    @cached_property
    def _tree_coordinates(self) -> tuple[FloatArray, IntArray]:
        r"""Weighted edges in coordinates of a heaviest spanning tree T, and the edges of T.

        An edge is a signed sum of the tree's edges on the path between its ends, none of which is lighter. So the
        entries :math:`\pm\sqrt{w_e/w_t}` are at most 1 and the rows of T are unit vectors: the columns, which span the
        gradients, are well conditioned for any weights.
        """
        order = np.argsort(-self.weights, kind="stable")
        order = order[self._ends[order, 0] != self._ends[order, 1]]
        # The first of parallel edges in the order is the heaviest; ranks make the lightest tree the heaviest one.
        _, rank = np.unique(np.sort(self._ends[order], axis=1) @ [len(self.nodes), 1], return_index=True)
        tree = minimum_spanning_tree(self._sparse(order[rank], (rank + 1).astype(np.float64)))
        heavy = np.sort(order[tree.data.astype(np.int64) - 1])
        incidence = np.zeros((len(self.edges), len(self.nodes)))
        for column, sign in ((1, 1.0), (0, -1.0)):
            np.add.at(incidence, (np.arange(len(incidence)), self._ends[:, column]), sign)
        # The incidence matrix is totally unimodular, so the coordinates are 0, 1 and -1.
        paths = np.rint(np.linalg.solve(incidence[heavy, 1:].T, incidence[:, 1:].T)).T
        root = np.sqrt(self.weights)
        return root[:, None] * paths / root[heavy], heavy

    @cached_property
    def kernel(self) -> FloatArray:
        """Transfer-current matrix, symmetric, of shape (n_edges, n_edges)."""
        Q = np.linalg.qr(self._tree_coordinates[0])[0]
        return np.asarray(Q @ Q.T, dtype=np.float64)

    def _make(self, rng: np.random.Generator) -> IntArray:
        if self.weights.max(initial=1.0) > _WIDE * self.weights.min(initial=1.0):
            return np.asarray(self.dpp.sample(rng=rng), dtype=np.int64)
        tree = self._wilson(rng) if self.method == "wilson" else self._aldous_broder(rng)
        return np.array(sorted(tree), dtype=np.int64)

    def items_of(self, thing: IntArray) -> IntArray:
        """The tree's edges."""
        return thing

    def find(self, edges: Iterable[tuple[Hashable, Hashable]]) -> IntArray:
        """Positions of edges given by their ends in either order; of parallel edges, the first."""
        position = {frozenset(ends): e for e, ends in reversed(list(enumerate(self.edges)))}
        try:
            return np.array(sorted(position[frozenset(ends)] for ends in edges), dtype=np.int64)
        except KeyError as missing:
            u, *v = missing.args[0]
            raise LabelError(f"the graph has no edge {u!r} - {v[0] if v else u!r}") from None

    @cached_property
    def _steps(self) -> list[tuple[list[float], list[int], list[int]]]:
        """For each node the cumulative weights of its edges, their other ends, and their numbers, without loops."""
        around: list[tuple[list[int], list[int]]] = [([], []) for _ in self.nodes]
        for e, (u, v) in enumerate(self._ends.tolist()):
            for here, there in ((u, v), (v, u)) if u != v else ():
                around[here][0].append(there)
                around[here][1].append(e)
        return [(np.cumsum(self.weights[edges]).tolist(), ends, edges) for ends, edges in around]

    def _step(self, u: int, rng: np.random.Generator) -> tuple[int, int]:
        """Next node of the random walk, and the edge taken."""
        cumulative, ends, edges = self._steps[u]
        # By rounding, the product may reach the total, past the last edge.
        i = min(bisect_right(cumulative, rng.random() * cumulative[-1]), len(ends) - 1)
        return ends[i], edges[i]

    def _wilson(self, rng: np.random.Generator) -> list[int]:
        """Loop-erased walks from each node to the tree so far; any root gives the same law ([Wilson1996]_)."""
        in_tree = [True] + [False] * (len(self.nodes) - 1)
        tree = []
        for start in range(1, len(self.nodes)):
            # Keeping only the last step out of each node erases the loops.
            out: dict[int, tuple[int, int]] = {}
            u = start
            while not in_tree[u]:
                out[u] = self._step(u, rng)
                u = out[u][0]
            u = start
            while not in_tree[u]:
                in_tree[u] = True
                tree.append(out[u][1])
                u = out[u][0]
        return tree

    def _aldous_broder(self, rng: np.random.Generator) -> list[int]:
        """Edges by which a walk enters each node for the first time ([Aldous1990]_; [Broder1989]_)."""
        seen, u = {0}, 0
        tree: list[int] = []
        while len(seen) < len(self.nodes):
            u, edge = self._step(u, rng)
            if u not in seen:
                seen.add(u)
                tree.append(edge)
        return tree


def _read_graph(graph: Any, weight: str) -> tuple[list[Hashable], list[tuple[Hashable, Hashable, float]]]:
    """Nodes and edges (u, v, weight) of a networkx graph, or of an iterable of edges (u, v) or (u, v, weight)."""
    edges: list[Any] = []
    if hasattr(graph, "edges") and hasattr(graph, "is_directed"):
        if graph.is_directed():
            raise DiversetError("the graph is directed; spanning trees here are of undirected graphs: to_undirected()")
        nodes = list(graph.nodes)
        edges = [(u, v, data.get(weight, 1.0)) for u, v, data in graph.edges(data=True)]
    else:
        for i, edge in enumerate(graph):
            ends = tuple(edge)
            if len(ends) not in (2, 3):
                raise DiversetError(f"edge {i} is {ends!r}; give edges as (u, v) or (u, v, weight)")
            edges.append((*ends, 1.0)[:3])
        nodes = list(dict.fromkeys(node for u, v, _ in edges for node in (u, v)))
    if not nodes:
        raise DiversetError("the graph has no nodes; give at least one edge")
    for u, v, w in edges:
        if not (isinstance(w, (int, float, np.integer, np.floating)) and 0.0 < w < math.inf):
            raise DiversetError(f"the edge {u!r} - {v!r} has weight {w!r}; weights are positive numbers")
    return nodes, edges
