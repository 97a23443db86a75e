r"""Sets of threads of different events: the structured DPP whose features are those of events.

Every step of a thread stays inside one event. For threads y and z of the events e(y) and e(z) the kernel is

.. math::

    L_{yz} = q(y)\, S_{e(y)\,e(z)}\, q(z), \qquad
    q^2(y) = w^2_{e(y)}\, p(y), \qquad p(y) \propto \exp\Bigl(2 \sum_r a(y_r) + 2 \sum_r b(y_{r-1}, y_r)\Bigr),

where p sums to one over the threads of each event. The features of a thread depend on its event alone, so that two
threads of one event have parallel features and probability 0 together. Where every document belongs to one event,
**no document is in two threads of a set**. With ``shared=True`` a document may belong to several events; a thread is
then a path together with its event, and a set of paths has the summed probability of its assignments to events.

The k-DPP over all threads factorises: the events follow the k-DPP with kernel :math:`w_e S_{ef} w_f`, and given the
events, the threads are independent, each with law p. Draws are exact, and cost one pass of messages over the edges.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import ImpossibleEventError, LabelError, SizeError
from diverset.numerics.validation import as_generator, as_real, check_count

if TYPE_CHECKING:
    from diverset.core import KDPP

__all__ = ["EventModel", "EventPaths"]


@dataclass(frozen=True, eq=False)
class EventPaths:
    """The threads of one event: paths of `length` nodes along edges that lead to later nodes.

    Parameters
    ----------
    nodes : ndarray of int64
        Documents of the event, in order of time.
    weights : ndarray of shape (m,)
        a, the log-quality of each.
    edges : csr_array of shape (m, m)
        b, the log-quality of each step; every edge leads from a lower to a higher place.
    length : int
        Nodes of a thread.
    starts, ends : ndarray of bool of shape (m,), optional
        Where threads may begin and end; anywhere by default.
    """

    nodes: IntArray
    weights: FloatArray
    edges: Any
    length: int
    starts: Any = None
    ends: Any = None

    @cached_property
    def _from(self) -> IntArray:
        return np.repeat(np.arange(len(self.nodes)), np.diff(self.edges.indptr))

    def _backward(self, scale: float, reduce: Any) -> list[FloatArray]:
        """Messages from the end: entry r is over the nodes at place r, for the part of the thread from there on."""
        own = scale * self.weights
        messages = [own if self.ends is None else np.where(self.ends, own, -np.inf)]
        for _ in range(self.length - 1):
            rest = np.full(len(own), -np.inf)
            reduce.at(rest, self._from, scale * self.edges.data + messages[0][self.edges.indices])
            messages.insert(0, own + rest)
        if self.starts is not None:
            messages[0] = np.where(self.starts, messages[0], -np.inf)
        return messages

    @cached_property
    def _sums(self) -> list[FloatArray]:
        with np.errstate(invalid="ignore"):
            return self._backward(2.0, np.logaddexp)

    @cached_property
    def log_total(self) -> float:
        """Logarithm of the summed squared quality of all threads; ``-inf`` if there is none."""
        return float(np.logaddexp.reduce(self._sums[0]))

    def log_prob(self, places: IntArray) -> float:
        """Log-probability of a thread, given by places, among the threads of the event."""
        if len(places) != self.length:
            return -np.inf
        at = np.nonzero((self._from == places[:-1, None]) & (self.edges.indices == places[1:, None]))[1]
        if len(at) < self.length - 1:
            return -np.inf
        return 2.0 * float(self.weights[places].sum() + self.edges.data[at].sum()) - self.log_total

    def best(self) -> tuple[IntArray, float]:
        """The most probable thread, by places, and its log-quality; exact (Viterbi)."""
        messages = self._backward(1.0, np.maximum)
        return self._follow(messages, 1.0, lambda log_p: int(np.argmax(log_p))), float(messages[0].max())

    def sample(self, rng: np.random.Generator) -> IntArray:
        """Draw a thread, by places."""

        def draw(log_p: FloatArray) -> int:
            p = np.exp(log_p - log_p.max())
            return int(rng.choice(len(p), p=p / p.sum()))

        return self._follow(self._sums, 2.0, draw)

    def _follow(self, messages: list[FloatArray], scale: float, pick: Any) -> IntArray:
        at = pick(messages[0])
        found = [at]
        for message in messages[1:]:
            row = slice(self.edges.indptr[at], self.edges.indptr[at + 1])
            options = self.edges.indices[row]
            at = int(options[pick(scale * self.edges.data[row] + message[options])])
            found.append(at)
        return np.array(found, dtype=np.int64)

    def node_marginals(self) -> FloatArray:
        """Probability that a thread of the event passes through each of its nodes."""
        own = 2.0 * self.weights
        forward = own if self.starts is None else np.where(self.starts, own, -np.inf)
        total = np.zeros(len(own))
        for r, message in enumerate(self._sums):
            if r > 0:
                rest = np.full(len(own), -np.inf)
                with np.errstate(invalid="ignore"):
                    np.logaddexp.at(rest, self.edges.indices, forward[self._from] + 2.0 * self.edges.data)
                forward = own + rest
            # Both messages hold the node's own weight.
            total += np.exp(forward + message - own - self.log_total)
        return total

    def longest(self, most: int) -> int:
        """Number of nodes on the longest path, at most `most`."""
        messages = replace(self, length=most, starts=None)._backward(1.0, np.maximum)
        begin = slice(None) if self.starts is None else self.starts
        return next((most - r for r, message in enumerate(messages) if np.isfinite(message[begin]).any()), 0)

    def through(self, place: int) -> EventPaths:
        """The threads that pass through a node: none starts after it, ends before it, or jumps over it."""
        kept = ~((self._from < place) & (self.edges.indices > place))
        edges = csr_array((self.edges.data[kept], (self._from[kept], self.edges.indices[kept])), self.edges.shape)
        at = np.arange(len(self.nodes))
        return replace(self, edges=edges, starts=at <= place, ends=at >= place)


class EventModel:
    r"""Random sets of k threads of k different events; the law is that of the module's head.

    Parameters
    ----------
    paths : sequence of EventPaths
        The threads of each event; events share no document, unless `shared`.
    k : int
        Number of threads.
    weights : array_like of shape (n_events,), optional
        w, how much each event matters; 1 by default.
    similarity : array_like of shape (n_events, n_events), optional
        S, positive semidefinite with ones on the diagonal; the identity by default.
    shared : bool
        Whether a document may belong to several events.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from diverset.threads import EventModel, EventPaths
    >>> steps = csr_array(np.triu(np.ones((3, 3)), 1))
    >>> events = [EventPaths(np.array(nodes), np.zeros(3), steps, 2) for nodes in ([0, 2, 4], [1, 3, 5])]
    >>> model = EventModel(events, k=2)
    >>> [thread.tolist() for thread in model.best()]
    [[0, 2], [1, 3]]
    >>> round(float(np.exp(model.log_prob([[0, 2], [3, 5]]))), 4)
    0.1111
    """

    def __init__(
        self, paths: Sequence[EventPaths], *, k: int, weights: Any = None, similarity: Any = None, shared: bool = False
    ) -> None:
        self.paths = tuple(paths)
        self.k = check_count(k, name="k")
        if self.k > (n := len(self.paths)):
            raise SizeError(f"k is {self.k}, but there are only {n} events; ask for fewer threads")
        w = np.ones(n) if weights is None else as_real(weights, name="weights", shape=(n,))
        S = np.eye(n) if similarity is None else as_real(similarity, name="similarity", shape=(n, n))
        self._L = S * np.outer(w, w)
        #: The events of each document, with its place in each.
        self._at: dict[int, dict[int, int]] = {}
        for e, event in enumerate(self.paths):
            if not np.isfinite(event.log_total):
                raise ImpossibleEventError(f"event {e} has no thread of {event.length} documents")
            for j, i in enumerate(event.nodes.tolist()):
                self._at.setdefault(i, {})[e] = j
        if not shared and any(len(places) > 1 for places in self._at.values()):
            raise LabelError("a document is in two events; every document belongs to one event (or pass shared=True)")

    def __repr__(self) -> str:
        return f"EventModel({len(self.paths)} events, {len(self._at):,} documents, k={self.k})"

    @cached_property
    def events(self) -> KDPP:
        """The k-DPP of the events."""
        from diverset.core import DPP, KDPP

        return KDPP(DPP(self._L), self.k)

    def log_prob(self, threads: Sequence[Any]) -> float:
        """Log-probability that a draw consists of exactly these threads."""
        found = [tuple(int(i) for i in thread) for thread in threads]
        if len(found) != self.k:
            return -np.inf
        options = [self._log_probs(thread) for thread in found]
        # Assignments of threads to different events; equal threads can be swapped, which gives the same set.
        sets = {
            frozenset(zip(events, found, strict=True)): sum(own[e] for own, e in zip(options, events, strict=True))
            for events in itertools.product(*options)
            if len(set(events)) == self.k
        }
        if len(self.paths) > self.k:
            sets = {S: value + float(self.events.log_prob(sorted(e for e, _ in S))) for S, value in sets.items()}
        return float(np.logaddexp.reduce(list(sets.values()))) if sets else -np.inf

    def _log_probs(self, thread: tuple[int, ...]) -> dict[int, float]:
        """Log-probability of a thread in each event that has it."""
        known = [self._at.get(i, {}) for i in thread]
        events = set(known[0]).intersection(*known[1:]) if known else set()
        values = {e: self.paths[e].log_prob(np.array([at[e] for at in known])) for e in sorted(events)}
        return {e: value for e, value in values.items() if value > -np.inf}

    def node_marginals(self, n: int) -> FloatArray:
        """Expected number of threads of a draw that pass through each of n documents.

        Where no document is shared, this is the probability that some thread passes through it.
        """
        total = np.zeros(n)
        for event, p in zip(self.paths, self.events.inclusion_probabilities, strict=True):
            total[event.nodes] += p * event.node_marginals()
        return total

    def sample(self, *, rng: RNGLike = None, through: int | None = None) -> list[IntArray]:
        """Draw a set of threads, each as positions of documents.

        With `through`, the thread of that document's event (the first one listed, if it has several) passes through it.
        """
        generator = as_generator(rng)
        paths, chosen = self._given(through)
        law = self.events.condition(include=chosen) if chosen else self.events
        events = sorted({*law.sample(rng=generator).tolist(), *chosen})
        return [paths[e].nodes[paths[e].sample(generator)] for e in events]

    def best(self, *, through: int | None = None) -> list[IntArray]:
        """The most probable events, and in each the most probable thread; `through` as for :meth:`sample`.

        The threads are exact (Viterbi). So are the events if there are k of them; of more, greedy picks improved by
        exchanges are taken, which is a heuristic.
        """
        paths, chosen = self._given(through)
        events: Sequence[int] = range(len(paths))
        if len(paths) > self.k:
            from diverset.inference import map_local_search

            dpp = self.events.dpp.condition(include=chosen) if chosen else self.events.dpp
            more = self.k - len(chosen)
            events = sorted({*(map_local_search(dpp, more).indices.tolist() if more else []), *chosen})
        return [paths[e].nodes[paths[e].best()[0]] for e in events]

    def _given(self, through: int | None) -> tuple[tuple[EventPaths, ...], list[int]]:
        """The paths of the events, one of them given a document, and that event."""
        if through is None:
            return self.paths, []
        if int(through) not in self._at:
            raise LabelError(f"document {through} is in no event of the model")
        e, place = next(iter(self._at[int(through)].items()))
        only = self.paths[e].through(place)
        only = replace(only, length=only.longest(only.length))
        return (*self.paths[:e], only, *self.paths[e + 1 :]), [e]
