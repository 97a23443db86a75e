r"""A thread through given nodes: the law of a set of threads, one of which passes through all of them.

In a graph without cycles the threads through a, placed in an order that all edges follow, are those that begin no
later than a, end no earlier, and use no edge that jumps over the place of a. So the threads A through given nodes are
again all threads of a graph, and sums over them are message passing.

A set is drawn by its thread through the nodes first: y with probability proportional to :math:`\Pr(y \in Y)`, y in A,
then the others given y. That is the law of the k-DPP times :math:`|Y \cap A|`; keeping the set with probability
:math:`1/|Y \cap A|` leaves exactly the law given :math:`Y \cap A \ne \emptyset`. Threads through one node are alike,
and two of them in one set are rare.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.core.spectrum import Spectrum
from diverset.errors import ImpossibleEventError, LabelError
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import check_size
from diverset.structured.space import StructureSpace
from diverset.structured.walk import WalkPlan, draw_structures

if TYPE_CHECKING:
    from diverset.threads.model import ThreadModel, ThreadSet

__all__ = ["ThreadsThrough"]


class ThreadsThrough:
    """Sets of k threads, one of which passes through given nodes; made by :meth:`ThreadModel.through`.

    Parameters
    ----------
    model : ThreadModel
        The law without the condition.
    nodes : int or sequence of int
        Nodes that one thread passes through.
    """

    def __init__(self, model: ThreadModel, nodes: Any) -> None:
        given = np.atleast_1d(np.asarray(nodes))
        n = model.graph.n_nodes
        if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) == 0:
            raise LabelError(f"nodes is {nodes!r}; give a node number or a sequence of them (graph.node(label))")
        if not 0 <= int(given.min()) <= int(given.max()) < n:
            raise LabelError(f"node {int(given.max())} is not one of 0 to {n - 1}")
        order = model.graph.order
        self.model, self.nodes = model, np.unique(given)[np.argsort(order[np.unique(given)])]
        if len(self.nodes) > model.length:
            raise ImpossibleEventError(f"a thread has at most {model.length} nodes; {len(self.nodes)} were given")
        try:
            self._graph = model._chain.factor_graph(**self._restriction(order))
            self._space = StructureSpace(self._graph)
            possible = self._space.log_Z > -np.inf
        except ValueError:
            possible = False
        if not possible:
            named = ", ".join(repr(model.graph.labels[i]) for i in self.nodes)
            raise ImpossibleEventError(f"no thread of {model.length} nodes passes through {named}")

    def _restriction(self, order: IntArray) -> dict[str, Any]:
        edges = self.model.graph.edges
        places = order[self.nodes]
        start, end = np.repeat(order, np.diff(edges.indptr)), order[edges.indices]
        # An edge jumps over a place if fewer of the places lie below its start than strictly below its end.
        jumps = np.searchsorted(places, start, side="right") < np.searchsorted(places, end, side="left")
        return {"kept_edges": ~jumps, "starts": order <= places[0], "ends": order >= places[-1]}

    def __repr__(self) -> str:
        return f"ThreadsThrough({self.model!r}, nodes={self.nodes.tolist()})"

    @cached_property
    def probability(self) -> float:
        r"""Probability that a set of the model has a thread through the nodes.

        .. math::  1 - e_k(\lambda') / e_k(\lambda),

        where :math:`\lambda'` are the eigenvalues of C without the threads through the nodes.
        """
        whole = self.model.structured
        space = whole._space
        rest = space.moment - self._space.moment * np.exp(self._space.log_Z - space.log_Z)
        values = np.linalg.eigvalsh((rest + rest.T) / 2.0)
        floor = 4.0 * max(len(rest), 8) * EPS * float(np.trace(space.moment))
        spectrum = Spectrum.from_likelihood(values, floor)
        if spectrum.rank < self.model.k:
            return 1.0
        scaled = Spectrum(whole._spectrum.log_odds - space.log_Z - whole.dpp._log_factor)
        log_none = _log_symmetric(spectrum, self.model.k) - _log_symmetric(scaled, self.model.k)
        return float(np.clip(-np.expm1(log_none), 0.0, 1.0))

    def passes(self, thread: IntArray) -> bool:
        """Whether a thread passes through all the nodes."""
        return bool(np.isin(self.nodes, thread).all())

    @overload
    def sample(self, n: None = None, *, rng: RNGLike = None) -> ThreadSet: ...
    @overload
    def sample(self, n: int, *, rng: RNGLike = None) -> list[ThreadSet]: ...
    def sample(self, n: int | None = None, *, rng: RNGLike = None) -> ThreadSet | list[ThreadSet]:
        """Draw one set, or a list of `n`; the thread through the nodes comes first."""
        generator = self.model._rng if rng is None else np.random.default_rng(rng)
        count = 1 if n is None else check_size(n, name="n")
        sets = [self._draw(generator) for _ in range(count)]
        return sets[0] if n is None else sets

    @cached_property
    def _plan(self) -> WalkPlan:
        return WalkPlan.of(self._space.tree, self.model.structured._vectors)

    def _draw(self, rng: np.random.Generator) -> ThreadSet:
        whole, chain = self.model.structured, self.model._chain
        mass = whole._weights() * np.maximum(self._plan.masses(), 0.0)
        while True:
            n = rng.choice(len(mass), size=1, p=mass / mass.sum())
            first = self._space.decode(draw_structures(self._plan, n, rng))
            rest = whole.condition(include=first).sample(rng=rng)
            rows = np.concatenate([first, rest]) if len(rest) else first
            alike = sum(self.passes(thread) for thread in chain.threads(rows))
            if rng.random() * alike < 1.0:
                return self.model._set(rows)

    def best(
        self, *, n_starts: int = 16, rng: RNGLike = 0, progress: Callable[[int, int], None] | None = None
    ) -> ThreadSet:
        """A set of high probability whose first thread passes through the nodes."""
        from diverset.threads.best import best_threads

        return best_threads(self.model, n_starts=n_starts, rng=rng, through=self, progress=progress)


def _log_symmetric(spectrum: Spectrum, k: int) -> float:
    r""":math:`\log e_k` of the eigenvalues."""
    return spectrum.log_normalizer + spectrum.log_size_probability(k)
