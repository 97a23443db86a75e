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

__all__ = ["best_threads"]

#: Gains within this of each other are alike: the search stops.
_PROGRESS = 1e-9
_MOST_ROUNDS = 50


class _Search:
    """Coordinate ascent over the nodes of one thread."""

    def __init__(self, model: ThreadModel) -> None:
        self.nodes, self.edges = model._nodes, model._edges
        self.back = self.edges.T.tocsr()

    def _row(self, matrix: Any, node: int) -> tuple[IntArray, FloatArray]:
        part = slice(matrix.indptr[node], matrix.indptr[node + 1])
        return matrix.indices[part].astype(np.int64), matrix.data[part]

    def _options(self, thread: IntArray, r: int) -> tuple[IntArray, FloatArray]:
        """Nodes that can stand at position r, and the log-qualities of their edges to both neighbours."""
        if r == 0 and len(thread) == 1:
            return np.arange(len(self.nodes)), np.zeros(len(self.nodes))
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
        log_q = float(self.nodes[thread].sum())
        for a, b in itertools.pairwise(thread.tolist()):
            nodes, weights = self._row(self.edges, a)
            log_q += float(weights[np.searchsorted(nodes, b)])
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
                nodes, log_q = self._options(thread, r)
                if len(nodes) == 0:
                    continue
                now = int(np.flatnonzero(nodes == thread[r])[0])
                others = X[thread].sum(axis=0) - X[thread[r]]
                with np.errstate(divide="ignore"):
                    gain = 2.0 * (log_q + self.nodes[nodes]) + np.log(row_norms_squared(X[nodes] + others))
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
    progress : callable, optional
        Called with the number of threads found and the number of all threads.

    Notes
    -----
    A heuristic twice over: greedy in the threads, and a local search for each. One pass of messages per thread.
    """
    starts = check_count(n_starts, name="n_starts")
    generator = np.random.default_rng(rng)
    whole, search = model.structured, _Search(model)
    X = model._features
    chosen = np.zeros((0, model.length), dtype=np.int64)
    rest = whole.dpp
    for i in range(model.k):
        if progress is not None:
            progress(i, model.k)
        found = [rows[0] for rows in rest.of_size(1).sample(starts, rng=generator)]
        if i == 0:
            found.append(QualityModel(whole._space.graph).n_best(1)[0])
        improved = [search.improve(thread, X) for thread in found]
        improved = [pair for pair in improved if not (chosen == pair[0]).all(axis=1).any()]
        thread = max(improved, key=lambda pair: pair[1])[0]
        chosen = np.concatenate([chosen, thread[None, :]])
        if i + 1 < model.k:
            rest = rest.condition(include=thread[None, :])
            X = _without(X, X[thread].sum(axis=0))
    return model._set(chosen, whole.log_prob(chosen))


def _without(X: FloatArray, direction: FloatArray) -> FloatArray:
    """Features without their component along one direction."""
    unit = direction / np.sqrt(direction @ direction)
    return np.asarray(X - np.outer(X @ unit, unit))
