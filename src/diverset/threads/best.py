r"""A set of threads of high probability, grown greedily.

The next thread should have the largest :math:`q^2(y)\,\|\phi^\perp(y)\|^2`, :math:`\phi^\perp` the part of its features
that is new; the square couples all positions, so that no dynamic programme finds it. As in
:func:`diverset.structured.best_set` the search starts from draws of exactly this law and from the thread of highest
quality, and improves each; but here only nodes that the graph offers at a position are looked at, its neighbours'
neighbours, so that a step costs a few rows of edges and not all nodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.numerics.linalg import row_norms_squared
from diverset.numerics.validation import check_count
from diverset.structured.quality_model import QualityModel

if TYPE_CHECKING:
    from diverset.threads.model import ThreadModel, ThreadSet
    from diverset.threads.through import ThreadsThrough

__all__ = ["best_threads"]

#: Gains within this of each other are alike: the search stops.
_PROGRESS = 1e-9
_MOST_ROUNDS = 50


class _Search:
    """Coordinate ascent over the nodes of one thread."""

    def __init__(self, model: ThreadModel, held: IntArray) -> None:
        self.chain = model._chain
        self.edges = self.chain.edges
        self.back = self.edges.T.tocsr()
        self.held = held

    def _row(self, matrix: Any, node: int) -> tuple[IntArray, FloatArray]:
        part = slice(matrix.indptr[node], matrix.indptr[node + 1])
        return matrix.indices[part].astype(np.int64), matrix.data[part]

    def _options(self, thread: IntArray, r: int) -> tuple[IntArray, FloatArray]:
        """Nodes that can stand at position r, and the log-qualities of their edges to both neighbours."""
        if r == 0 and len(thread) == 1:
            return np.arange(self.chain.n), np.zeros(self.chain.n)
        if r == 0:
            return self._row(self.back, int(thread[1]))
        nodes, log_q = self._row(self.edges, int(thread[r - 1]))
        if r == len(thread) - 1:
            return nodes, log_q
        others, other_q = self._row(self.back, int(thread[r + 1]))
        both, i, j = np.intersect1d(nodes, others, assume_unique=True, return_indices=True)
        return both, log_q[i] + other_q[j]

    def value(self, thread: IntArray, X: FloatArray) -> float:
        """Twice the log-quality plus the log of the squared length of the features, for a possible thread."""
        log_q = float(self.chain.nodes[thread].sum())
        for a, b in itertools.pairwise(thread.tolist()):
            nodes, weights = self._row(self.edges, a)
            log_q += float(weights[np.searchsorted(nodes, b)])
        if self.chain.stops:
            log_q += float(self.chain.profile[len(thread) - self.chain.min_length])
        total = X[thread].sum(axis=0)
        with np.errstate(divide="ignore"):
            return 2.0 * log_q + float(np.log(total @ total))

    def improve(self, thread: IntArray, X: FloatArray) -> tuple[IntArray, float]:
        """Change single nodes for the better until none can be; `X` are the features of nodes that count."""
        thread = thread.copy()
        value = self.value(thread, X)
        for _ in range(_MOST_ROUNDS):
            before = value
            for r in range(len(thread)):
                if thread[r] in self.held:
                    continue
                nodes, log_q = self._options(thread, r)
                if len(nodes) == 0:
                    continue
                now = int(np.flatnonzero(nodes == thread[r])[0])
                others = X[thread].sum(axis=0) - X[thread[r]]
                with np.errstate(divide="ignore"):
                    gain = 2.0 * (log_q + self.chain.nodes[nodes]) + np.log(row_norms_squared(X[nodes] + others))
                top = int(np.argmax(gain))
                if gain[top] > gain[now] + _PROGRESS:
                    value += float(gain[top] - gain[now])
                    thread[r] = nodes[top]
            if value <= before + _PROGRESS:
                break
        return thread, self.value(thread, X)


def best_threads(
    model: ThreadModel,
    *,
    n_starts: int = 16,
    rng: RNGLike = 0,
    through: ThreadsThrough | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ThreadSet:
    """Grow a set of k threads, each the best found beside those before it.

    Parameters
    ----------
    model : ThreadModel
        The law.
    n_starts : int
        Draws that the search for each thread starts from.
    rng : int, Generator or None
        Seed or generator of the draws.
    through : ThreadsThrough, optional
        What the first thread must pass through.
    progress : callable, optional
        Told how many threads of how many are found.

    Notes
    -----
    A heuristic twice over: greedy in the threads, and a local search for each. One pass of messages per thread.
    """
    starts = check_count(n_starts, name="n_starts")
    generator = np.random.default_rng(rng)
    chain, whole = model._chain, model.structured
    X = chain.features
    chosen: list[IntArray] = []
    rest = whole.dpp
    for i in range(model.k):
        if progress is not None:
            progress(i, model.k)
        forced = through is not None and i == 0
        if forced:
            assert through is not None
            found = [through.sample(rng=generator)[0] for _ in range(min(starts, 4))]
            found.append(_best_by_quality(chain, through._graph))
            search = _Search(model, through.nodes)
        else:
            draws = rest.of_size(1).sample(starts, rng=generator)
            found = [chain.threads(rows)[0] for rows in draws]
            if not chosen:
                found.append(_best_by_quality(chain, whole._space.graph))
            search = _Search(model, np.zeros(0, dtype=np.int64))
        taken = {tuple(thread.tolist()) for thread in chosen}
        improved = [search.improve(thread, X) for thread in found]
        improved = [pair for pair in improved if tuple(pair[0].tolist()) not in taken]
        thread = max(improved, key=lambda pair: pair[1])[0]
        chosen.append(thread)
        if len(chosen) < model.k:
            rest = rest.condition(include=chain.rows([thread]))
            X = _without(X, X[thread].sum(axis=0))
    return model._set(chain.rows(chosen), whole.log_prob(chain.rows(chosen)))


def _best_by_quality(chain: Any, graph: Any) -> IntArray:
    rows = QualityModel(graph).n_best(1)
    return np.asarray(chain.threads(rows)[0])


def _without(X: FloatArray, direction: FloatArray) -> FloatArray:
    """Features without what lies along one direction."""
    unit = direction / np.sqrt(direction @ direction)
    return np.asarray(X - np.outer(X @ unit, unit))
