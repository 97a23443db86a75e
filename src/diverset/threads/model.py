r"""The k-SDPP over the threads of a graph ([KuleszaTaskar2012]_, section 6.6.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, ImpossibleEventError, SizeError
from diverset.numerics.projection import project
from diverset.numerics.validation import (
    as_number,
    check_count,
    check_fits_in_memory,
    check_nonnegative,
    check_size,
    is_sparse,
)
from diverset.structured.ksdpp import StructuredKDPP
from diverset.structured.sdpp import StructuredDPP
from diverset.threads.chain import ThreadChain
from diverset.threads.graph import ThreadGraph

if TYPE_CHECKING:
    from diverset.threads.through import ThreadsThrough

__all__ = ["ThreadModel", "ThreadSet"]

#: Log-qualities of edges beyond this are refused: a thread's would overflow.
_MOST_LOG_QUALITY = 1e300


@dataclass(frozen=True, eq=False)
class ThreadSet:
    """Some threads of a graph; a sequence of arrays of node numbers.

    Parameters
    ----------
    graph : ThreadGraph
        Where they run.
    threads : tuple of ndarray of int64
        The nodes of each, in order.
    log_prob : float, optional
        Log-probability of the set, where it was asked for.
    """

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
    r"""Random sets of k threads, diverse and salient:

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
        How much weights count; for nodes and edges apart if two are given.
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
        what much was written about outweighs any repulsion. The squared quality of an edge is divided by
        :math:`(s(a)\,t(b))^{\text{balance}/2}`, where s(a) and t(b) are the sums over the edges out of a and into b;
        at 1, the edges of all threads within m nodes contribute no more than m to their summed squared quality.
    rng : int, Generator or None
        Seed or generator, for the projection and for draws that bring none of their own.
    min_length : int, optional
        Threads may stop early, but not before so many nodes; `length` by default.
    length_weights : array_like of shape (length - min_length + 1,), optional
        How much of the quality goes to threads of each length, from the shortest; equal shares by default. There are
        so many more long threads than short ones that without it hardly any would stop.
    projection_method : {"signs", "gaussian", "sparse"}
        See :func:`diverset.project`; the text has ``gaussian``.

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
    """  # noqa: D400

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
        min_length: int | None = None,
        length_weights: Any = None,
        projection_method: str = "signs",
    ) -> None:
        if not isinstance(graph, ThreadGraph):
            raise DiversetError(f"graph is a {type(graph).__name__}; build a ThreadGraph")
        self._graph = graph
        self._length, self._k = check_count(length, name="length"), check_count(k, name="k")
        shortest = self._length if min_length is None else check_count(min_length, name="min_length")
        if shortest > self._length:
            raise SizeError(f"min_length is {shortest}, more than length, {self._length}")
        self._beta = _read_beta(beta)
        self._rho = check_nonnegative(rho, name="rho")
        self._rng = np.random.default_rng(rng)
        counts = graph.thread_counts(self._length)
        reach = int(np.count_nonzero(counts))
        if reach < shortest:
            raise SizeError(
                f"no path of the graph has {shortest} nodes: the longest has {reach}; ask for threads of that length "
                "or less, or let more edges in"
            )
        count = float(counts[shortest - 1 :].sum())
        if count < self._k:
            raise SizeError(
                f"k is {self._k}, but the graph has only {count:.0f} threads of this length; ask for fewer or shorter "
                "threads, or let more edges in"
            )
        features = _node_features(graph.features, self._rho, projection, self._rng, projection_method)
        features = _smoothed(features, graph.edges, check_size(smoothing, name="smoothing"))
        edges = _edge_qualities(graph.edges, self._beta[1], _read_balance(balance))
        lengths = self._length - shortest + 1
        chain = ThreadChain(self._beta[0] * graph.weights, edges, features, self._length, shortest, np.zeros(lengths))
        if chain.stops:
            chain = _with_profile(chain, _read_shares(length_weights, lengths))
        self._chain = chain

    def __repr__(self) -> str:
        return f"ThreadModel({self._graph!r}, length={self._length}, k={self._k}, beta={self._beta}, rho={self._rho:g})"

    @property
    def graph(self) -> ThreadGraph:
        """The graph."""
        return self._graph

    @property
    def k(self) -> int:
        """Number of threads in a set."""
        return self._k

    @property
    def length(self) -> int:
        """Nodes of a thread, at most."""
        return self._length

    @cached_property
    def structured(self) -> StructuredKDPP:
        """The k-SDPP over threads as structures: one part for each position; nodes are values, the last one is stop."""
        dpp = StructuredDPP(self._chain.factor_graph())
        if self._k > dpp.rank:
            raise SizeError(
                f"k is {self._k}, but the features of all threads span only {dpp.rank} dimensions, and diverse sets "
                "have no more threads than that; ask for fewer, project to more dimensions, or give more features"
            )
        return dpp.of_size(self._k)

    # questions -------------------------------------------------------------------------------------------

    def log_prob(self, threads: Sequence[Any]) -> float:
        """Log-probability that a draw is exactly this set of threads, each a sequence of node numbers."""
        return self.structured.log_prob(self._chain.rows(threads))

    def node_marginals(self) -> FloatArray:
        r"""Expected number of threads of a draw that pass through each node.

        .. math::  \mu(v) = \sum_r \sum_{y:\, y_r = v} \Pr(y \in Y)
        """
        return np.asarray(np.sum(self.structured.part_marginals(), axis=0)[: self._chain.n])

    def expected_coverage(self, groups: Sequence[Any] | None = None) -> Any:
        """Expected number of nodes that the threads of a draw visit, in all or in each group.

        A node that several threads visit counts for each of them.

        Parameters
        ----------
        groups : sequence of length n, optional
            A group for each node, such as its topic or its week.

        Returns
        -------
        float, or dict of float by group
        """
        mu = self.node_marginals()
        if groups is None:
            return float(mu.sum())
        if len(groups) != len(mu):
            raise DiversetError(f"groups has {len(groups)} entries for {len(mu)} nodes; give one for each node")
        covered: dict[Any, float] = {}
        for group, value in zip(groups, mu.tolist(), strict=True):
            covered[group] = covered.get(group, 0.0) + value
        return covered

    # draws -----------------------------------------------------------------------------------------------

    @overload
    def sample(self, n: None = None, *, rng: RNGLike = None) -> ThreadSet: ...
    @overload
    def sample(self, n: int, *, rng: RNGLike = None) -> list[ThreadSet]: ...
    def sample(self, n: int | None = None, *, rng: RNGLike = None) -> ThreadSet | list[ThreadSet]:
        """Draw one set of threads, or a list of `n` independent ones, which share their messages.

        Without `rng`, draws go on with the generator of the model.
        """
        generator = self._rng if rng is None else np.random.default_rng(rng)
        draws = self.structured.sample(1 if n is None else n, rng=generator)
        sets = [self._set(rows) for rows in draws]
        return sets[0] if n is None else sets

    def best(
        self, *, n_starts: int = 16, rng: RNGLike = 0, progress: Callable[[int, int], None] | None = None
    ) -> ThreadSet:
        """A set of high probability, grown greedily: a heuristic; see ``diverset.threads.best``.

        `progress`, if given, is told how many threads of how many are found.
        """
        from diverset.threads.best import best_threads

        return best_threads(self, n_starts=n_starts, rng=rng, progress=progress)

    def through(self, nodes: Any) -> ThreadsThrough:
        """The law given that one thread of the set passes through all of these nodes: a number, or several."""
        from diverset.threads.through import ThreadsThrough

        return ThreadsThrough(self, nodes)

    def _set(self, rows: IntArray, log_prob: float | None = None) -> ThreadSet:
        return ThreadSet(self._graph, tuple(self._chain.threads(rows)), log_prob)


def _read_beta(beta: Any) -> tuple[float, float]:
    nodes, edges = _two_numbers(beta)
    if not (math.isfinite(nodes) and math.isfinite(edges)):
        raise DiversetError(f"beta is {beta!r}; it must be finite")
    return nodes, edges


def _two_numbers(beta: Any) -> tuple[float, float]:
    if isinstance(beta, (tuple, list)):
        if len(beta) != 2:
            raise DiversetError(f"beta is {beta!r}; give a number, or two: for nodes and for edges")
        return as_number(beta[0], name="beta[0]"), as_number(beta[1], name="beta[1]")
    both = as_number(beta, name="beta")
    return both, both


def _read_balance(balance: Any) -> float:
    share = as_number(balance, name="balance")
    if not 0.0 <= share <= 1.0:
        raise DiversetError(f"balance is {share:g}; give a number from 0, the plain model, to 1")
    return share


def _edge_qualities(edges: Any, beta: float, balance: float) -> Any:
    """Log-qualities of the edges; balanced, each less a share of the logarithms of its row's and its column's sum."""
    from scipy.sparse import csr_array

    with np.errstate(over="ignore"):
        log_q = beta * edges.data
    if (np.abs(log_q) > _MOST_LOG_QUALITY).any():
        raise DiversetError(
            f"beta times the weight of an edge is {log_q[np.argmax(np.abs(log_q))]:g}, and sums of such numbers "
            "overflow; scale the weights down, or beta"
        )
    if balance > 0.0 and edges.nnz:
        out = np.diff(edges.indptr)
        by_end = np.argsort(edges.indices, kind="stable")
        into = np.bincount(edges.indices, minlength=edges.shape[0])
        from_start = np.repeat(_log_sums(2.0 * log_q, out), out)
        to_end = np.empty_like(log_q)
        to_end[by_end] = np.repeat(_log_sums(2.0 * log_q[by_end], into), into)
        log_q = log_q - 0.25 * balance * (from_start + to_end)
    return csr_array((log_q, edges.indices, edges.indptr), edges.shape)


def _log_sums(log_values: FloatArray, counts: IntArray) -> FloatArray:
    """Logarithms of the sums of consecutive groups of so many values; 0 for empty groups."""
    some = counts > 0
    sums = np.zeros(len(counts))
    sums[some] = np.logaddexp.reduceat(log_values, (np.cumsum(counts) - counts)[some])
    return sums


def _read_shares(weights: Any, lengths: int) -> FloatArray:
    if weights is None:
        return np.zeros(lengths)
    shares = np.asarray(weights, dtype=np.float64)
    if shares.shape != (lengths,) or not (np.isfinite(shares).all() and (shares >= 0.0).all() and shares.any()):
        raise DiversetError(
            f"length_weights is {weights!r}; give {lengths} nonnegative numbers, one for each length from "
            "min_length to length"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares))


def _with_profile(chain: ThreadChain, log_shares: FloatArray) -> ThreadChain:
    """Log-qualities of lengths such that each has its share of the summed squared quality."""
    masses = chain.log_masses()
    possible = (masses > -math.inf) & (log_shares > -math.inf)
    if not possible.any():
        raise ImpossibleEventError("no thread has a length with a positive weight in length_weights")
    # What does not exist needs no weight; a share of zero is as good as forbidden, in a range that squares survive.
    profile = np.where(possible, 0.5 * (log_shares - np.where(possible, masses, 0.0)), 0.0)
    low = float(profile[possible].min()) - 300.0
    profile[(masses > -math.inf) & ~possible] = low
    return ThreadChain(chain.nodes, chain.edges, chain.features, chain.length, chain.min_length, profile)


def _node_features(features: Any, rho: float, dim: int | None, rng: np.random.Generator, method: str) -> FloatArray:
    """Features of the nodes with the constant one, projected."""
    n, D = features.shape
    if dim is None:
        if is_sparse(features):
            check_fits_in_memory(8 * n * D, what="the dense form of the features", remedy="project them")
            features = features.toarray()
        return np.asarray(features) if rho == 0.0 else np.column_stack([features, np.full(n, rho)])
    Z = np.asarray(project(features, dim, rng, method=method), dtype=np.float64)
    if rho > 0.0:
        # The constant feature has a row of its own in the projection, drawn like the others.
        Z = Z + project(np.full((1, 1), rho), dim, rng, method=method)
    return Z


def _smoothed(features: FloatArray, edges: Any, rounds: int) -> FloatArray:
    """Means over every node and the nodes before and after it, again and again. O(rounds edges d)."""
    if rounds == 0:
        return features
    from scipy.sparse import csr_array

    near = csr_array((np.ones(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
    size = 1.0 + np.diff(edges.indptr) + np.bincount(edges.indices, minlength=edges.shape[0])
    for _ in range(rounds):
        features = (features + near @ features + near.T @ features) / size[:, None]
    return np.asarray(features)
