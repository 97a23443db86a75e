r"""Pairwise Markov random fields over subsets, what a DPP is most often compared with.

.. math::  \Pr(Y) \propto \exp\Big( \sum_{i \in Y} w_i + \sum_{i<j \in Y} w_{ij} \Big)

([KuleszaTaskar2012]_, section 3.2.1). Negative :math:`w_{ij}` repel. Sums over all sets are taken by listing them, or
by belief propagation: on trees in time linear in the number of items, on other graphs exponential in their treewidth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError, TooLargeError
from diverset.numerics.validation import as_number, as_real_or_complex, check_finite, check_size, find_positions
from diverset.structured.graph import FactorGraph
from diverset.structured.quality_model import QualityModel

__all__ = ["PairwiseMRF"]

#: Largest ground set whose subsets are listed.
MAX_LISTED = 20
#: By default subsets are listed up to here: faster than messages.
_LISTED_BY_DEFAULT = 12
_METHODS = ("auto", "enumeration", "messages")


class PairwiseMRF:
    r"""Random set with log-linear weights of items and of pairs.

    Parameters
    ----------
    node_weights : array_like of shape (n_items,)
        :math:`w_i`, log-odds of an item on its own.
    edge_weights : mapping from (i, j) to float, or array_like of shape (n_items, n_items)
        :math:`w_{ij}`; pairs left out, and zeros of a symmetric matrix, are no edges.
    method : {"auto", "enumeration", "messages"}
        Listing all subsets (at most 20 items), or passing messages on a tree or junction tree. Both are exact;
        ``"auto"`` lists up to 12 items.

    Examples
    --------
    Items 1 and 2 both avoid item 0, and come together more often than chance: no DPP can do that.

    >>> mrf = PairwiseMRF([0.0, 0.0, 0.0], {(0, 1): -2.0, (0, 2): -2.0})
    >>> round(mrf.covariance(1, 2), 4), round(mrf.covariance(0, 1), 4)
    (0.0267, -0.0702)
    >>> mrf.is_tree, mrf.is_associative
    (True, False)
    """

    def __init__(
        self,
        node_weights: ArrayLike,
        edge_weights: Mapping[tuple[int, int], float] | ArrayLike,
        *,
        method: str = "auto",
    ) -> None:
        w = as_real_or_complex(node_weights, name="node_weights", ndim=1)
        check_finite(w, name="node_weights")
        self.node_weights: FloatArray = np.array(w, dtype=np.float64)
        self.node_weights.flags.writeable = False
        self.edges = _read_edges(edge_weights, len(w))
        if method not in _METHODS:
            raise DiversetError(f"method is {method!r}; choose one of {', '.join(_METHODS)}")
        self.method = method
        if method == "auto":
            self.method = "enumeration" if len(w) <= _LISTED_BY_DEFAULT else "messages"

    def __repr__(self) -> str:
        return f"PairwiseMRF(n_items={self.n_items}, {len(self.edges)} edges, method={self.method!r})"

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.node_weights)

    @property
    def is_associative(self) -> bool:
        r"""Whether every :math:`w_{ij} \ge 0`: then the mode is tractable on any graph, and nothing repels."""
        return all(w >= 0.0 for w in self.edges.values())

    @cached_property
    def is_tree(self) -> bool:
        """Whether the edges form no cycle, so that belief propagation is linear in the number of items."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        pairs = np.array(list(self.edges), dtype=np.int64).reshape(-1, 2)
        graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(self.n_items, self.n_items))
        # A graph with n nodes and c components has no cycle if it has n - c edges.
        n_components, _ = connected_components(graph, directed=False)
        return bool(len(pairs) == self.n_items - n_components)

    def log_weight(self, Y: Iterable[int]) -> float:
        """Unnormalised log-probability of a set."""
        chosen = set(self._positions(Y).tolist())
        nodes = float(self.node_weights[sorted(chosen)].sum())
        return nodes + sum(w for (i, j), w in self.edges.items() if i in chosen and j in chosen)

    def log_prob(self, Y: Iterable[int]) -> float:
        """Log-probability that the random set is exactly `Y`."""
        return self.log_weight(Y) - self.log_normalizer

    @cached_property
    def log_normalizer(self) -> float:
        """Log of the sum of the weights of all sets."""
        return self._log_sum(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def _positions(self, labels: Iterable[int], name: str = "the set") -> IntArray:
        return find_positions(labels, np.arange(self.n_items), name=name)

    def _log_sum(self, inside: IntArray, outside: IntArray) -> float:
        """Log of the summed weights of the sets that hold all of `inside` and none of `outside`."""
        if self.method == "messages":
            return self._beliefs(inside, outside).log_normalizer if self.n_items else 0.0
        masks = np.arange(2**self.n_items)
        must = sum(1 << int(i) for i in inside)
        must_not = sum(1 << int(i) for i in outside)
        logs = self._log_weights[((masks & must) == must) & ((masks & must_not) == 0)]
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum()))

    @cached_property
    def _log_weights(self) -> FloatArray:
        """Log-weight of every set; bit i of the index says whether item i is in."""
        n = self.n_items
        if n > MAX_LISTED:
            raise TooLargeError(
                f"listing all subsets of {n} items takes 2**{n} steps; at most {MAX_LISTED} items can be listed "
                '(method="messages" needs no list)'
            )
        inside = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        logs: FloatArray = inside @ self.node_weights
        for (i, j), w in self.edges.items():
            logs += w * (inside[:, i] & inside[:, j])
        return logs

    def law(self) -> FloatArray:
        """Probability of every subset, of shape (2**n_items,), indexed as :func:`diverset.law` is."""
        return np.asarray(np.exp(self._log_weights - self.log_normalizer), dtype=np.float64)

    def _beliefs(self, inside: Sequence[int] | IntArray = (), outside: Sequence[int] | IntArray = ()) -> QualityModel:
        """The field as a factor graph, with some items fixed."""
        graph = FactorGraph([2] * self.n_items)
        states = np.stack([np.zeros(self.n_items), self.node_weights], axis=1)
        states[np.asarray(inside, dtype=np.int64), 0] = -np.inf
        states[np.asarray(outside, dtype=np.int64), 1] = -np.inf
        for i, state in enumerate(states):
            graph.add_factor([i], log_quality=state)
        for (i, j), w in self.edges.items():
            graph.add_factor([i, j], log_quality=[[0.0, 0.0], [0.0, w]])
        return QualityModel(graph)

    def probability(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> float:
        """Probability that all of `include` and none of `exclude` appear."""
        inside, outside = self._positions(include, "include"), self._positions(exclude, "exclude")
        if len(np.intersect1d(inside, outside)):
            raise DiversetError(f"item {np.intersect1d(inside, outside)[0]} is in both include and exclude")
        return math.exp(min(self._log_sum(inside, outside) - self.log_normalizer, 0.0))

    @cached_property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to appear, of shape (n_items,)."""
        n = self.n_items
        if self.method == "messages":
            return np.array([belief[1] for belief in self._beliefs().part_marginals()]) if n else np.zeros(0)
        return np.array([self.law()[(np.arange(2**n) >> i) & 1 == 1].sum() for i in range(n)])

    def covariance(self, i: int, j: int) -> float:
        r"""Covariance :math:`\Pr(i, j \in Y) - \Pr(i \in Y)\Pr(j \in Y)` of two items' indicators."""
        p = self.inclusion_probabilities
        first, second = (int(self._positions([x])[0]) for x in (i, j))
        if first == second:
            raise DiversetError(f"a pair is two items, and both are {first}")
        return self.probability(include=[first, second]) - float(p[first] * p[second])

    def sample(self, size: int, *, rng: RNGLike = None) -> list[IntArray]:
        """Draw independent sets, exactly.

        Parameters
        ----------
        size : int
            How many.
        rng : int, Generator or None
            Seed or generator.
        """
        count, generator = check_size(size, name="size"), np.random.default_rng(rng)
        if self.method == "messages" and self.n_items:
            return [np.flatnonzero(states) for states in self._beliefs().sample(count, rng=generator)]
        p = self.law()
        masks = generator.choice(len(p), size=count, p=p / p.sum())
        return [np.flatnonzero((mask >> np.arange(self.n_items)) & 1) for mask in masks]


def _read_edges(edges: Any, n: int) -> dict[tuple[int, int], float]:
    """Edges (i, j), i < j, with their weights, from a mapping or a symmetric matrix."""
    if not isinstance(edges, Mapping):
        W = as_real_or_complex(edges, name="edge_weights", ndim=2)
        if W.shape != (n, n):
            raise KernelError(f"edge_weights has shape {W.shape}; {n} items need ({n}, {n})")
        if not np.array_equal(W, W.T):
            raise KernelError("edge_weights is not symmetric; pass (W + W.T) / 2 if that is what you mean")
        edges = {(i, j): W[i, j] for i in range(n) for j in range(i + 1, n) if W[i, j] != 0.0}
    found: dict[tuple[int, int], float] = {}
    for pair, w in edges.items():
        i, j = find_positions(pair, np.arange(n), name=f"the edge {pair}").tolist()
        value = as_number(w, name=f"the weight of edge {pair}")
        if not math.isfinite(value):
            raise DiversetError(f"the weight of edge {pair} is {value}; it must be finite")
        if (i, j) in found:
            raise DiversetError(f"the edge {pair} is given twice, in both directions")
        found[i, j] = value
    return found
