r"""The k-SDPP over the threads of a graph ([KuleszaTaskar2012]_, section 6.6.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from scipy.sparse import csr_array

from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, LabelError, SizeError
from diverset.numerics.linalg import row_norms_squared
from diverset.numerics.projection import project
from diverset.numerics.validation import (
    as_generator,
    as_number,
    as_real,
    check_count,
    check_finite,
    check_fits_in_memory,
    check_nonnegative,
    check_rows,
    check_size,
    is_sparse,
)
from diverset.structured.graph import FactorGraph
from diverset.structured.ksdpp import StructuredKDPP
from diverset.structured.quality_model import QualityModel
from diverset.structured.sdpp import StructuredDPP
from diverset.threads.graph import ThreadGraph

__all__ = ["ThreadModel", "ThreadSet"]

#: Log-qualities of edges beyond this are refused: a thread's would overflow.
_MOST_LOG_QUALITY = 1e300
#: Smallest gain for which the search for the best threads changes a node, and largest number of its rounds.
_PROGRESS, _MOST_ROUNDS = 1e-9, 50


@dataclass(frozen=True, eq=False)
class ThreadSet:
    """Threads of a graph: a sequence of arrays of node numbers, and the log-probability of the set, if computed."""

    graph: ThreadGraph
    threads: tuple[IntArray, ...]
    log_prob: float | None = None

    def __len__(self) -> int:
        return len(self.threads)

    def __iter__(self) -> Iterator[IntArray]:
        return iter(self.threads)

    def __getitem__(self, i: int) -> IntArray:
        return self.threads[i]

    def __repr__(self) -> str:
        return f"ThreadSet({[thread.tolist() for thread in self.threads]})"

    @property
    def nodes(self) -> IntArray:
        """All nodes of all threads, each once, ascending."""
        return np.unique(np.concatenate([*self.threads, np.zeros(0, dtype=np.int64)]))

    @property
    def labels(self) -> list[list[Any]]:
        """The labels of the nodes of each thread."""
        return [[self.graph.labels[i] for i in thread] for thread in self.threads]


class ThreadModel:
    r"""Distribution over sets of k threads, which prefers diverse and salient threads.

    .. math::

        \Pr(Y) \propto \det L_Y, \quad L_{yz} = q(y)\,\phi(y)^\top\phi(z)\,q(z), \quad
        q(y) = \exp\Bigl(\beta\sum_r w(y_r) + \beta\sum_r w(y_{r-1}, y_r)\Bigr), \quad \phi(y) = \sum_r \phi(y_r),

    over all paths :math:`y = (y_1, \dots, y_R)` of a graph ([KuleszaTaskar2012]_, section 6.6.2).

    Parameters
    ----------
    graph : ThreadGraph
        Nodes and edges.
    length : int
        Nodes of a thread, R.
    k : int
        Number of threads.
    beta : float or (float, float)
        Factor of the weights; a pair has one for nodes and one for edges.
    projection : int or None
        Dimensions that the features are projected to at random (section 3.4); None keeps them all.
    rho : float
        A constant feature of every node: the larger, the more alike all threads are, and the stronger they repel
        each other (section 6.6.4).
    smoothing : int
        Rounds in which the features of every node become the mean of its own and those of all nodes that it has an
        edge with. Threads through one region of the graph then have nearly the same features, also where they share
        no node, and repel each other more; 0 is the model of the text.
    balance : float
        From 0, the model of the text, to 1. Where every document has c edges there are about :math:`c^R` threads, and
        topics with heavy coverage outweigh any repulsion. The squared quality of an edge is divided by
        :math:`(s(a)\,t(b))^{\text{balance}/2}`, where s(a) and t(b) are the sums over the edges out of a and into b;
        at 1, the edges of all threads within m nodes contribute no more than m to their summed squared quality.
    rng : int, Generator or None
        Seed or generator of the projection, and of draws without a generator of their own.

    Notes
    -----
    Immutable, but for the generator. With M nodes and d dimensions, the dual kernel is found on first use in
    :math:`O(R|E|d + RMd^2)`; a set of threads costs :math:`O(R|E|k)`, sets of one call share that.

    Examples
    --------
    >>> import numpy as np
    >>> from diverset.threads import ThreadGraph, ThreadModel
    >>> later = np.triu(np.ones((6, 6)), 1)
    >>> graph = ThreadGraph(later, features=np.eye(6)[[0, 1, 0, 1, 0, 1]] + 0.1)
    >>> model = ThreadModel(graph, length=3, k=2, projection=None, rng=0)
    >>> sorted(thread.tolist() for thread in model.best())
    [[0, 2, 4], [1, 3, 5]]
    >>> model.node_marginals().round(2)
    array([1., 1., 1., 1., 1., 1.])
    """

    def __init__(
        self,
        graph: ThreadGraph,
        *,
        length: int = 8,
        k: int = 10,
        beta: float | tuple[float, float] = 1.0,
        projection: int | None = 50,
        rho: float = 0.0,
        smoothing: int = 0,
        balance: float = 0.0,
        rng: RNGLike = None,
    ) -> None:
        if not isinstance(graph, ThreadGraph):
            raise DiversetError(f"graph is a {type(graph).__name__}; build a ThreadGraph")
        self.graph = graph
        self.length, self.k = check_count(length, name="length"), check_count(k, name="k")
        both = beta if isinstance(beta, (tuple, list)) else (beta, beta)
        if len(both) != 2:
            raise DiversetError(f"beta is {beta!r}; give a number, or two: for nodes and for edges")
        check_finite(as_real(both, name="beta", shape=(2,)), name="beta")
        self._beta = tuple(map(float, both))
        self._rho = check_nonnegative(rho, name="rho")
        self._rng = as_generator(rng)
        counts = graph.thread_counts(self.length)
        if counts[-1] < 1.0:
            reach = int(np.count_nonzero(counts))
            raise SizeError(
                f"no path of the graph has {self.length} nodes: the longest has {reach}; ask for threads of that "
                "length or less, or let more edges in"
            )
        if counts[-1] < self.k:
            raise SizeError(
                f"k is {self.k}, but the graph has only {counts[-1]:.0f} threads of this length; ask for fewer or "
                "shorter threads, or let more edges in"
            )
        features = _node_features(graph.features, self._rho, projection, self._rng)
        self._features = _smoothed(features, graph.edges, check_size(smoothing, name="smoothing"))
        self._nodes = self._beta[0] * graph.weights
        share = as_number(balance, name="balance")
        if not 0.0 <= share <= 1.0:
            raise DiversetError(f"balance is {share:g}; give a number from 0, the plain model, to 1")
        self._edges = _edge_qualities(graph.edges, self._beta[1], share)

    def __repr__(self) -> str:
        return f"ThreadModel({self.graph!r}, length={self.length}, k={self.k}, beta={self._beta}, rho={self._rho:g})"

    @cached_property
    def structured(self) -> StructuredKDPP:
        """The k-SDPP over threads as structures: one part for each position, whose values are nodes."""
        dpp = StructuredDPP(self._factor_graph())
        if self.k > dpp.rank:
            raise SizeError(
                f"k is {self.k}, but the features of all threads span only {dpp.rank} dimensions, and diverse sets "
                "have no more threads than that; ask for fewer, project to more dimensions, or give more features"
            )
        return dpp.of_size(self.k)

    def log_prob(self, threads: Sequence[Any]) -> float:
        """Log-probability that a draw is exactly this set of threads, each a sequence of node numbers."""
        rows = [check_rows(thread, self.graph.n_nodes, name=f"thread {i}") for i, thread in enumerate(threads)]
        for i, row in enumerate(rows):
            if len(row) != self.length:
                raise LabelError(f"thread {i} has {len(row)} nodes; the threads of this model have {self.length}")
        return self.structured.log_prob(np.array(rows, dtype=np.int64).reshape(-1, self.length))

    def node_marginals(self) -> FloatArray:
        r"""Expected number of threads of a draw that pass through each node.

        .. math::  \mu(v) = \sum_r \sum_{y:\, y_r = v} \Pr(y \in Y)
        """
        return np.asarray(np.sum(self.structured.part_marginals(), axis=0))

    @overload
    def sample(self, n: None = None, *, rng: RNGLike = None) -> ThreadSet: ...
    @overload
    def sample(self, n: int, *, rng: RNGLike = None) -> list[ThreadSet]: ...
    def sample(self, n: int | None = None, *, rng: RNGLike = None) -> ThreadSet | list[ThreadSet]:
        """Draw one set of threads, or a list of `n` independent ones, which share their messages.

        Without `rng`, draws go on with the generator of the model.
        """
        generator = self._rng if rng is None else as_generator(rng)
        draws = self.structured.sample(1 if n is None else n, rng=generator)
        sets = [self._set(rows) for rows in draws]
        return sets[0] if n is None else sets

    def best(
        self, *, n_starts: int = 16, rng: RNGLike = 0, progress: Callable[[int, int], None] | None = None
    ) -> ThreadSet:
        r"""A set of high probability, grown greedily.

        The next thread should have the largest :math:`q^2(y)\,\|\phi^\perp(y)\|^2`, where :math:`\phi^\perp` is the
        part of its features orthogonal to those of the threads before it. The search starts from `n_starts` draws
        of exactly this law, and from the thread of highest quality, and improves single nodes of each. It is a
        heuristic, and proves nothing about the most probable set.
        `progress`, if given, is called with the number of threads found and k.
        """
        starts = check_count(n_starts, name="n_starts")
        generator = as_generator(rng)
        X = self._features
        chosen = np.zeros((0, self.length), dtype=np.int64)
        rest = self.structured.dpp
        for i in range(self.k):
            if progress is not None:
                progress(i, self.k)
            found = [rows[0] for rows in rest.of_size(1).sample(starts, rng=generator)]
            if i == 0:
                found.append(QualityModel(self.structured._space.graph).n_best(1)[0])
            improved = [self._improved(thread, X) for thread in found]
            improved = [pair for pair in improved if not (chosen == pair[0]).all(axis=1).any()]
            thread = max(improved, key=lambda pair: pair[1])[0]
            chosen = np.concatenate([chosen, thread[None, :]])
            if i + 1 < self.k:
                rest = rest.condition(include=thread[None, :])
                new = X[thread].sum(axis=0)
                new /= np.linalg.norm(new)
                X = X - np.outer(X @ new, new)
        return self._set(chosen, self.structured.log_prob(chosen))

    def _set(self, rows: IntArray, log_prob: float | None = None) -> ThreadSet:
        return ThreadSet(self.graph, tuple(rows), log_prob)

    def _factor_graph(self, allowed: BoolArray | None = None) -> FactorGraph:
        """The factor graph of all threads, or of those through allowed nodes; the arrays of all positions are one."""
        factors = FactorGraph([self.graph.n_nodes] * self.length)
        log_node = self._nodes if allowed is None else np.where(allowed, self._nodes, -np.inf)
        parts = [[r] for r in range(self.length)]
        factors.add_factors(parts, features=self._features, log_quality=log_node, name="nodes")
        if self.length > 1:
            steps = [[r, r + 1] for r in range(self.length - 1)]
            factors.add_factors(steps, log_quality=self._edges, name="edges")
        return factors

    @cached_property
    def _back(self) -> Any:
        return self._edges.T.tocsr()

    def _options(self, thread: IntArray, r: int) -> tuple[IntArray, FloatArray]:
        """Nodes that can stand at position r, and the log-qualities of their edges to both neighbours."""
        near = [_row(self._edges, a) for a in thread[:r][-1:]] + [_row(self._back, b) for b in thread[r + 1 : r + 2]]
        if not near:
            return np.arange(self.graph.n_nodes), np.zeros(self.graph.n_nodes)
        nodes, log_q = near[0]
        if len(near) == 2:
            nodes, i, j = np.intersect1d(nodes, near[1][0], assume_unique=True, return_indices=True)
            log_q = log_q[i] + near[1][1][j]
        return nodes, log_q

    def _improved(self, thread: IntArray, X: FloatArray) -> tuple[IntArray, float]:
        """Change single nodes until none can be improved: the thread, and its log squared quality and length of `X`."""
        thread = thread.copy()
        for _ in range(_MOST_ROUNDS):
            before = thread.copy()
            for r in range(self.length):
                nodes, log_q = self._options(thread, r)
                others = X[thread].sum(axis=0) - X[thread[r]]
                with np.errstate(divide="ignore"):
                    gain = 2.0 * (log_q + self._nodes[nodes]) + np.log(row_norms_squared(X[nodes] + others))
                top = int(np.argmax(gain))
                if gain[top] > gain[nodes == thread[r]][0] + _PROGRESS:
                    thread[r] = nodes[top]
            if (thread == before).all():
                break
        log_q, total = self._nodes[thread].sum() + self._edges[thread[:-1], thread[1:]].sum(), X[thread].sum(axis=0)
        with np.errstate(divide="ignore"):
            return thread, float(2.0 * log_q + np.log(total @ total))


def _row(matrix: Any, node: int) -> tuple[IntArray, FloatArray]:
    part = slice(matrix.indptr[node], matrix.indptr[node + 1])
    return matrix.indices[part].astype(np.int64), matrix.data[part]


def _edge_qualities(edges: Any, beta: float, balance: float) -> Any:
    """Log-qualities of the edges; balanced, each less a share of the logarithms of its row's and its column's sum."""
    with np.errstate(over="ignore"):
        log_q = beta * edges.data
    if (np.abs(log_q) > _MOST_LOG_QUALITY).any():
        raise DiversetError(
            f"beta times the weight of an edge is {log_q[np.argmax(np.abs(log_q))]:g}, and sums of such numbers "
            "overflow; scale the weights down, or beta"
        )
    if balance > 0.0 and edges.nnz:
        start = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
        out, into = np.full((2, edges.shape[0]), -np.inf)
        np.logaddexp.at(out, start, 2.0 * log_q)
        np.logaddexp.at(into, edges.indices, 2.0 * log_q)
        log_q = log_q - 0.25 * balance * (out[start] + into[edges.indices])
    return csr_array((log_q, edges.indices, edges.indptr), edges.shape)


def _node_features(features: Any, rho: float, dim: int | None, rng: np.random.Generator) -> FloatArray:
    """Features of the nodes with the constant one, projected by random signs, which take a tenth of the time."""
    n, D = features.shape
    if dim is None:
        if is_sparse(features):
            check_fits_in_memory(8 * n * D, what="the dense form of the features", remedy="project them")
            features = features.toarray()
        return np.asarray(features) if rho == 0.0 else np.column_stack([features, np.full(n, rho)])
    Z = np.asarray(project(features, dim, rng, method="signs"), dtype=np.float64)
    if rho > 0.0:
        # The constant feature has a row of its own in the projection, drawn like the others.
        Z = Z + project(np.full((1, 1), rho), dim, rng, method="signs")
    return Z


def _smoothed(features: FloatArray, edges: Any, rounds: int) -> FloatArray:
    """Repeated means over every node and the nodes before and after it. O(rounds edges d)."""
    if rounds == 0:
        return features
    near = csr_array((np.ones(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
    size = 1.0 + np.diff(edges.indptr) + np.bincount(edges.indices, minlength=edges.shape[0])
    for _ in range(rounds):
        features = (features + near @ features + near.T @ features) / size[:, None]
    return np.asarray(features)
