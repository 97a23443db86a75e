r"""Threads as the structures of a factor graph: one part for each position, all over the same nodes.

Every step goes along the same edges, so that the arrays of nodes and edges are held once. Threads of unequal length
stop early: one more value, *stop*, which every node may lead to and which only leads to itself, without features.
A thread of :math:`\ell` nodes then has its last :math:`R - \ell` positions at stop, and weights of stop at position r
shift the quality of whole lengths: with :math:`u_r = s_{r-1} - s_r` a thread of length :math:`\ell` gains
:math:`\sum_{r > \ell} u_r = s_\ell - s_R`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.errors import LabelError
from diverset.structured.graph import FactorGraph

__all__ = ["ThreadChain"]


@dataclass(frozen=True, eq=False)
class ThreadChain:
    """Log-qualities and features of nodes and edges, and the lengths that threads may have.

    Parameters
    ----------
    nodes : ndarray of shape (n,)
        Log-quality of each node.
    edges : csr_array of shape (n, n)
        Log-quality of each edge.
    features : ndarray of shape (n, d)
        Features of each node.
    length, min_length : int
        Nodes of the longest and of the shortest thread.
    profile : ndarray of shape (length - min_length + 1,)
        Log-quality of each length, from the shortest.
    """

    nodes: FloatArray
    edges: Any
    features: FloatArray
    length: int
    min_length: int
    profile: FloatArray

    @property
    def n(self) -> int:
        """Number of nodes; also the value that stands for stop."""
        return len(self.nodes)

    @property
    def stops(self) -> bool:
        """Whether threads may stop early."""
        return self.min_length < self.length

    def factor_graph(
        self,
        *,
        kept_edges: BoolArray | None = None,
        starts: BoolArray | None = None,
        ends: BoolArray | None = None,
    ) -> FactorGraph:
        """The factor graph of all threads, or of those along some edges, from some nodes, to some nodes."""
        n_values = self.n + 1 if self.stops else self.n
        graph = FactorGraph([n_values] * self.length)
        log_node, features = self.nodes, self.features
        if self.stops:
            log_node = np.append(log_node, 0.0)
            features = np.concatenate([features, np.zeros((1, features.shape[1]))])
        graph.add_factors([[r] for r in range(self.length)], features=features, log_quality=log_node, name="nodes")
        if self.length > 1:
            steps = [[r, r + 1] for r in range(self.length - 1)]
            graph.add_factors(steps, log_quality=self._steps(kept_edges, ends), name="edges")
        for r, allowed in self._allowed(starts, ends).items():
            graph.add_factor([r], log_quality=allowed, name=f"position {r + 1}")
        return graph

    def _steps(self, kept: BoolArray | None, ends: BoolArray | None) -> Any:
        """Log-qualities of steps; with stop as the last row and column."""
        from scipy.sparse import csr_array

        if kept is None and not self.stops:
            return self.edges
        start = np.repeat(np.arange(self.n), np.diff(self.edges.indptr))
        end, data = self.edges.indices, self.edges.data
        if kept is not None:
            start, end, data = start[kept], end[kept], data[kept]
        size = self.n
        if self.stops:
            last = np.arange(self.n + 1) if ends is None else np.append(np.flatnonzero(ends), self.n)
            start = np.concatenate([start, last])
            end = np.concatenate([end, np.full(len(last), self.n)])
            data = np.concatenate([data, np.zeros(len(last))])
            size += 1
        return csr_array((data, (start, end)), shape=(size, size))

    def _allowed(self, starts: BoolArray | None, ends: BoolArray | None) -> dict[int, FloatArray]:
        """Log-qualities of single positions: where threads begin and end, and when they may stop."""
        size = self.n + 1 if self.stops else self.n
        own: dict[int, FloatArray] = {}

        def at(r: int) -> FloatArray:
            return own.setdefault(r, np.zeros(size))

        if starts is not None:
            at(0)[: self.n][~starts] = -np.inf
        if ends is not None:
            # A thread that stopped early has ended where the step to stop was allowed.
            at(self.length - 1)[: self.n][~ends] = -np.inf
        if self.stops:
            for r in range(self.length):
                at(r)[self.n] = -np.inf if r < self.min_length else -np.diff(self.profile)[r - self.min_length]
        return own

    # between threads and structures ----------------------------------------------------------------------

    def rows(self, threads: Sequence[Any]) -> IntArray:
        """Threads, given as sequences of nodes, as structures."""
        rows = np.full((len(threads), self.length), self.n, dtype=np.int64)
        for i, thread in enumerate(threads):
            nodes = np.asarray(thread)
            if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
                raise LabelError(f"thread {i} is {thread!r}; a thread is a sequence of node numbers")
            if not self.min_length <= len(nodes) <= self.length:
                wanted = str(self.length) if not self.stops else f"{self.min_length} to {self.length}"
                raise LabelError(f"thread {i} has {len(nodes)} nodes; the threads of this model have {wanted}")
            if len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < self.n:
                raise LabelError(f"thread {i} names node {int(nodes.max())}; nodes are numbered 0 to {self.n - 1}")
            rows[i, : len(nodes)] = nodes
        return rows

    def threads(self, rows: IntArray) -> list[IntArray]:
        """Structures as sequences of nodes."""
        return [row[row < self.n] for row in rows]

    def log_masses(self) -> FloatArray:
        r"""Logarithm of the summed squared quality of all threads of each length, without the profile.

        Notes
        -----
        One scalar per node and step, forwards: O(length edges). ``-inf`` where there is no thread.
        """
        from scipy.sparse import csr_array

        top_node = float(self.nodes.max())
        top_edge = float(self.edges.data.max(initial=-np.inf))
        node = np.exp(2.0 * (self.nodes - top_node))
        weights = np.exp(2.0 * (self.edges.data - top_edge)) if self.edges.nnz else self.edges.data
        back = csr_array((weights, self.edges.indices, self.edges.indptr), shape=self.edges.shape).T
        message, log_scale = node, 2.0 * top_node
        found = np.full(self.length, -np.inf)
        for r in range(self.length):
            total = float(message.sum())
            if total == 0.0:
                break
            found[r] = np.log(total) + log_scale
            message = node * (back @ (message / total))
            log_scale = found[r] + 2.0 * (top_node + top_edge)
        return found[self.min_length - 1 :]
