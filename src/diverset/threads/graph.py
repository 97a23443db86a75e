r"""The graph of threads: nodes with weights, features, labels and times, and weighted directed edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, KernelError, LabelError
from diverset.numerics.validation import as_finite, as_real, check_count, check_finite, is_sparse
from diverset.threads.corpus import first_twice, read_times

__all__ = ["ThreadGraph"]


@dataclass(frozen=True, eq=False)
class ThreadGraph:
    r"""A directed graph whose paths are threads ([KuleszaTaskar2012]_, section 6.6.2).

    Parameters
    ----------
    edges : scipy.sparse or array_like of shape (n, n)
        Entry (a, b) is the weight of the edge from a to b. Every stored entry of a sparse array is an edge, and every
        entry of a dense array that is not zero.
    features : array_like or scipy.sparse of shape (n, D)
        Diversity features :math:`\phi` of the nodes.
    weights : array_like of shape (n,), optional
        How important each node is; 0 by default.
    labels : sequence, optional
        Names of the nodes, all different; 0, 1, ... by default.
    times : sequence, optional
        When each node happened: numbers, dates or ``datetime64``. No edge may go back in time.

    Notes
    -----
    The graph must not have a cycle, so that no thread passes a node twice. Unless every edge leads to a later time,
    this is checked by the strongly connected components, in O(edges).

    Examples
    --------
    >>> import numpy as np
    >>> from diverset.threads import ThreadGraph
    >>> graph = ThreadGraph([[0, 1, 2], [0, 0, 1], [0, 0, 0]], features=np.eye(3), labels=["a", "b", "c"])
    >>> graph, graph.longest, graph.n_threads(2)
    (ThreadGraph(3 nodes, 3 edges, 3 features), 3, 3.0)
    """

    edges: Any
    features: Any
    weights: Any = None
    labels: Any = None
    times: Any = None

    def __post_init__(self) -> None:
        edges = _read_edges(self.edges)
        n = edges.shape[0]
        features = _read_features(self.features, n)
        weights = np.zeros(n) if self.weights is None else as_real(self.weights, name="weights", shape=(n,))
        check_finite(weights, name="weights")
        labels = _read_labels(self.labels, n)
        times = None if self.times is None else read_times(self.times, n)
        vars(self).update(edges=edges, features=features, weights=weights, labels=labels, times=times)
        self._check_direction()

    def __repr__(self) -> str:
        return f"ThreadGraph({self.n_nodes:,} nodes, {self.n_edges:,} edges, {self.features.shape[1]:,} features)"

    @classmethod
    def from_networkx(
        cls, graph: Any, features: Any = "features", *, weight: str = "weight", time: str | None = None
    ) -> ThreadGraph:
        """From a `networkx.DiGraph`; its nodes become the labels.

        Parameters
        ----------
        graph : networkx.DiGraph
            Nodes and edges with attributes.
        features : str or array_like of shape (n, D)
            Attribute of the nodes that holds their features, or all of them in the order of the nodes.
        weight : str
            Attribute of nodes and edges that holds their weight; without it nodes weigh 0, edges 1.
        time : str, optional
            Attribute of the nodes that holds their time.
        """
        if not getattr(graph, "is_directed", lambda: False)():
            raise DiversetError(
                f"graph is a {type(graph).__name__}; threads run along directed edges, so pass a networkx.DiGraph"
            )
        import networkx

        nodes = list(graph.nodes)
        if not nodes:
            raise KernelError("the graph has no nodes")
        edges = networkx.to_scipy_sparse_array(graph, nodes, dtype=np.float64, weight=weight)
        if isinstance(features, str):
            missing = next((node for node in nodes if features not in graph.nodes[node]), None)
            if missing is not None:
                raise DiversetError(
                    f"node {missing!r} has no attribute {features!r}; pass features as an array instead"
                )
            features = np.array([graph.nodes[node][features] for node in nodes])
        times = None if time is None else [graph.nodes[node].get(time) for node in nodes]
        weights = [float(graph.nodes[node].get(weight, 0.0)) for node in nodes]
        return cls(edges, features, weights=weights, labels=nodes, times=times)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.edges.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.edges.nnz)

    @cached_property
    def _index(self) -> dict[Any, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def node(self, label: Any) -> int:
        """Number of a node, given by its label."""
        try:
            return self._index[label]
        except (KeyError, TypeError):
            raise LabelError(f"no node is called {label!r}; labels are such as {self.labels[0]!r}") from None

    @cached_property
    def longest(self) -> int:
        """Number of nodes on the longest path."""
        return int(np.count_nonzero(self.thread_counts(self.n_nodes)))

    def n_threads(self, length: int) -> float:
        """Number of threads of this many nodes, as a float, since it may be huge."""
        return float(self.thread_counts(length)[-1])

    def thread_counts(self, length: int) -> FloatArray:
        """Numbers of threads of 1, 2, ..., `length` nodes; O(length edges)."""
        counts = np.zeros(check_count(length, name="length"))
        steps = csr_array((np.ones(self.n_edges), self.edges.indices, self.edges.indptr), shape=self.edges.shape)
        beginning = np.ones(self.n_nodes)
        with np.errstate(over="ignore"):
            for r in range(len(counts)):
                counts[r] = beginning.sum()
                if counts[r] == 0.0:
                    break
                beginning = steps @ beginning
        return counts

    def _check_direction(self) -> None:
        """Refuse edges that go back in time, and cycles."""
        start, end = _ends(self.edges)
        if self.times is not None:
            back = self.times[end] < self.times[start]
            if back.any():
                a, b = start[back][0], end[back][0]
                raise DiversetError(
                    f"the edge from {self.labels[a]!r} ({self.times[a]}) to {self.labels[b]!r} ({self.times[b]}) goes "
                    f"back in time ({int(back.sum()):,} edges do); edges lead from the earlier to the later node"
                )
            if (self.times[start] < self.times[end]).all():
                return
        loops = start[start == end]  # a stored weight of 0 is an edge, too
        n, component = connected_components(self.edges, directed=True, connection="strong")
        if n < self.n_nodes or len(loops):
            many = np.argmax(np.bincount(component))
            members = np.flatnonzero(component == many) if n < self.n_nodes else loops[:1]
            shown = ", ".join(repr(self.labels[i]) for i in members[:5]) + (", ..." if len(members) > 5 else "")
            raise DiversetError(
                f"the edges form a cycle through {shown}: a thread could pass a node twice; leave out edges that "
                "do not lead forward (from the earlier to the later node)"
            )


def _ends(edges: Any) -> tuple[IntArray, IntArray]:
    """Both ends of every edge."""
    return np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr)), edges.indices


def _read_edges(given: Any) -> Any:
    if is_sparse(given):
        as_real(given.data, name="edges", shape=(None,))  # refuses complex weights
        edges = csr_array(given, dtype=np.float64, copy=True)
        # Stored zeros are edges of weight 0, so nothing is eliminated; entries stored twice would add up.
        stored = int(given.nnz)
        edges.sum_duplicates()
        if edges.nnz < stored:
            raise KernelError(f"{stored - edges.nnz:,} edges are stored more than once; give each edge once")
    else:
        edges = csr_array(as_real(given, name="edges", shape=(None, None)))
    if edges.ndim != 2 or edges.shape[0] != edges.shape[1]:
        raise KernelError(f"edges have shape {edges.shape}; they are a square array, one row and column per node")
    if edges.shape[0] == 0:
        raise KernelError("the graph has no nodes")
    if not np.isfinite(edges.data).all():
        a, b, value = (x[~np.isfinite(edges.data)][0] for x in (*_ends(edges), edges.data))
        raise KernelError(f"edges[{a}, {b}] is {value}; weights are finite, and what is no edge is not stored")
    return edges


def _read_features(given: Any, n: int) -> Any:
    features = given.tocsr() if is_sparse(given) else as_finite(given, name="features", shape=(None, None))
    if is_sparse(given):
        as_finite(features.data, name="features", shape=(None,))
    if features.shape[0] != n:
        raise KernelError(f"features have {features.shape[0]} rows for {n} nodes; give one row for each node")
    return features


def _read_labels(given: Any, n: int) -> tuple[Any, ...]:
    if given is None:
        return tuple(range(n))
    labels = tuple(given.tolist() if isinstance(given, np.ndarray) else given)
    if len(labels) != n:
        raise LabelError(f"there are {len(labels)} labels for {n} nodes; give one for each node")
    if (pair := first_twice(labels)) is not None:
        raise LabelError(f"label {labels[pair[0]]!r} is given to two nodes; labels tell nodes apart")
    return labels
