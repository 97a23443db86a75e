"""Weighted graphs as arrays, from edge lists and from networkx."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError

__all__ = ["Graph", "read_graph"]


@dataclass(frozen=True, eq=False)
class Graph:
    """A connected weighted graph; parallel edges and loops are allowed."""

    nodes: list[Hashable]
    tails: IntArray
    heads: IntArray
    weights: FloatArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @cached_property
    def incidence(self) -> FloatArray:
        """Row e has -1 at the tail of edge e and +1 at its head; of shape (n_edges, n_nodes)."""
        B = np.zeros((len(self.tails), self.n_nodes))
        rows = np.arange(len(self.tails))
        np.add.at(B, (rows, self.heads), 1.0)
        np.add.at(B, (rows, self.tails), -1.0)
        return B

    @cached_property
    def heaviest_tree(self) -> IntArray:
        """Edges of a spanning tree of largest weight, by Kruskal's algorithm."""
        leader = list(range(self.n_nodes))

        def find(u: int) -> int:
            while leader[u] != u:
                leader[u] = leader[leader[u]]
                u = leader[u]
            return u

        tree = []
        for e in np.argsort(-self.weights, kind="stable").tolist():
            u, v = find(int(self.tails[e])), find(int(self.heads[e]))
            if u != v:
                leader[u] = v
                tree.append(e)
        return np.array(sorted(tree), dtype=np.int64)

    def paths(self, tree: IntArray) -> FloatArray:
        """Edges as signed sums of the edges of a spanning tree: 0, +1 and -1, of shape (n_edges, len(tree))."""
        around: list[list[tuple[int, int, float]]] = [[] for _ in self.nodes]
        for t, e in enumerate(tree.tolist()):
            u, v = int(self.tails[e]), int(self.heads[e])
            around[u].append((v, t, 1.0))
            around[v].append((u, t, -1.0))
        # The path from the first node to each.
        reach = np.zeros((self.n_nodes, len(tree)))
        waiting, seen = [0], {0}
        while waiting:
            u = waiting.pop()
            for v, t, sign in around[u]:
                if v not in seen:
                    seen.add(v)
                    reach[v] = reach[u]
                    reach[v, t] = sign
                    waiting.append(v)
        return reach[self.heads] - reach[self.tails]

    @cached_property
    def steps(self) -> list[tuple[list[float], list[int], list[int]]]:
        """For each node: cumulative weights of its edges, where they lead, and which they are. Loops are left out."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for e, (u, v) in enumerate(zip(self.tails.tolist(), self.heads.tolist(), strict=True)):
            if u != v:
                found[u].append((v, e))
                found[v].append((u, e))
        return [
            (
                np.cumsum(self.weights[[e for _, e in around]]).tolist(),
                [v for v, _ in around],
                [e for _, e in around],
            )
            for around in found
        ]


def read_graph(graph: Any, weight: str) -> Graph:
    """A networkx graph, or an iterable of edges (u, v) or (u, v, weight), as a checked `Graph`."""
    if hasattr(graph, "edges") and hasattr(graph, "is_directed"):
        if graph.is_directed():
            raise DiversetError("the graph is directed; spanning trees here are of undirected graphs: to_undirected()")
        nodes = list(graph.nodes)
        edges = [(u, v, data.get(weight, 1.0)) for u, v, data in graph.edges(data=True)]
    else:
        edges = [_edge(i, edge) for i, edge in enumerate(graph)]
        nodes = list(dict.fromkeys(node for u, v, _ in edges for node in (u, v)))
    if not nodes:
        raise DiversetError("the graph has no nodes; give at least one edge")
    for u, v, w in edges:
        if not (isinstance(w, (int, float, np.number)) and 0.0 < w < math.inf):
            raise DiversetError(f"the edge {u!r} - {v!r} has weight {w!r}; weights are positive numbers")
    position = {node: i for i, node in enumerate(nodes)}
    found = Graph(
        nodes,
        np.array([position[u] for u, _, _ in edges], dtype=np.int64),
        np.array([position[v] for _, v, _ in edges], dtype=np.int64),
        np.array([w for _, _, w in edges], dtype=np.float64),
    )
    _check_connected(found)
    return found


def _edge(i: int, edge: Iterable[Any]) -> tuple[Hashable, Hashable, Any]:
    ends = tuple(edge)
    if len(ends) not in (2, 3):
        raise DiversetError(f"edge {i} is {ends!r}; give edges as (u, v) or (u, v, weight)")
    return ends[0], ends[1], ends[2] if len(ends) == 3 else 1.0


def _check_connected(graph: Graph) -> None:
    seen, waiting = {0}, [0]
    while waiting:
        for v in graph.steps[waiting.pop()][1]:
            if v not in seen:
                seen.add(v)
                waiting.append(v)
    if len(seen) < graph.n_nodes:
        missing = next(node for i, node in enumerate(graph.nodes) if i not in seen)
        raise DiversetError(
            f"the graph is not connected: no path leads from {graph.nodes[0]!r} to {missing!r}, so that it has no "
            "spanning tree; take one component at a time"
        )
