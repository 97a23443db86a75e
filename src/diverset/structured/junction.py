r"""Junction trees: parts on cycles are joined until the graph is a tree.

A junction tree is again a factor graph. It has two kinds of parts. The values of a *clique* are the allowed joint
values of a few original parts. A *separator* holds the parts that two neighbouring cliques share; factors between a
clique and a separator allow the joint values that agree. Each original factor becomes a factor of one clique. All exact
algorithms for factor trees apply. Their cost grows with the number of joint values of the largest clique.

Parts are eliminated in min-fill order: the next part is the one whose neighbours miss the fewest edges between them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import TooLargeError
from diverset.numerics.validation import check_count
from diverset.structured.graph import Factor, FactorGraph
from diverset.structured.potential import Potential

__all__ = ["JunctionTree", "junction_tree"]


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """A factor tree over cliques.

    Parameters
    ----------
    graph : FactorGraph
        The tree: cliques first, then separators.
    cliques : tuple of tuple of int
        Original parts in each clique.
    states : tuple of ndarray of shape (clique size, n_states)
        Joint values of each clique.
    home : tuple of (int, int)
        For each original part, a clique that holds it, and its place there.
    """

    graph: FactorGraph
    cliques: tuple[tuple[int, ...], ...]
    states: tuple[IntArray, ...]
    home: tuple[tuple[int, int], ...]

    @property
    def width(self) -> int:
        """Size of the largest clique less one: the treewidth found."""
        return max(len(c) for c in self.cliques) - 1

    def decode(self, values: IntArray) -> IntArray:
        """Structures from the values of the cliques."""
        return np.stack([self.states[c][place][values[:, c]] for c, place in self.home], axis=1)

    def part_sums(self, r: int, beliefs: list[FloatArray]) -> FloatArray:
        """Sums over the values of an original part, from those over the values of its clique."""
        c, place = self.home[r]
        at = self.states[c][place]
        return np.asarray(np.bincount(at, weights=beliefs[c], minlength=int(at.max()) + 1), dtype=np.float64)


def _eliminate(graph: FactorGraph) -> list[tuple[int, ...]]:
    """Cliques of the graph completed by min-fill, in the order of elimination."""
    neighbours: list[set[int]] = [set() for _ in graph.n_values]
    for factor in graph.factors:
        for r in factor.parts:
            neighbours[r].update(set(factor.parts) - {r})
    left = set(range(graph.n_parts))
    cliques: list[tuple[int, ...]] = []

    def missing(r: int) -> int:
        return sum(b not in neighbours[a] for a, b in itertools.combinations(neighbours[r], 2))

    while left:
        r = min(left, key=lambda r: (missing(r), math.prod(graph.n_values[s] for s in neighbours[r]), r))
        clique = {r} | neighbours[r]
        for a, b in itertools.combinations(neighbours[r], 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
        for s in neighbours[r]:
            neighbours[s].discard(r)
        left.discard(r)
        if not any(clique <= set(c) for c in cliques):
            cliques.append(tuple(sorted(clique)))
    return cliques


def _links(cliques: list[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Pairs of neighbouring cliques: a spanning forest with the largest separators, which is a junction tree."""
    from scipy.cluster.hierarchy import DisjointSet

    sets = [set(c) for c in cliques]
    pairs = [(len(sets[i] & sets[j]), i, j) for i, j in itertools.combinations(range(len(cliques)), 2)]
    joined = DisjointSet(range(len(cliques)))
    largest_first = sorted(pairs, key=lambda p: (-p[0], p[1], p[2]))
    return [(i, j) for shared, i, j in largest_first if shared and joined.merge(i, j)]


def junction_tree(graph: FactorGraph, *, max_states: int = 10_000_000) -> JunctionTree:
    """Turn a graph with cycles into a factor tree, by joining parts.

    Parameters
    ----------
    graph : FactorGraph
        With or without cycles.
    max_states : int
        Largest number of joint values of a clique, including those that a factor forbids.

    Raises
    ------
    TooLargeError
        If a clique has more joint values. The message names the induced width.

    Examples
    --------
    >>> import numpy as np
    >>> ring = FactorGraph([3, 3, 3, 3])
    >>> for r in range(4):
    ...     ring.add_factor([r, (r + 1) % 4], quality=np.eye(3) + 0.1)
    >>> junction_tree(ring).cliques
    ((0, 1, 3), (1, 2, 3))
    """
    limit = check_count(max_states, name="max_states")
    cliques = _eliminate(graph)
    for clique in cliques:
        size = math.prod(graph.n_values[r] for r in clique)
        if size > limit:
            width = max(len(c) for c in cliques) - 1
            raise TooLargeError(
                f"the cycles of the graph join parts {list(clique)}, {size:,} joint values; the induced width is "
                f"{width} and at most max_states = {limit:,} are allowed. Allow fewer values, remove factors that "
                "close cycles, or use loopy_belief_propagation, which is approximate"
            )
    homes: list[list[Factor]] = [[] for _ in cliques]
    for factor in graph.factors:
        c = next(i for i, clique in enumerate(cliques) if set(factor.parts) <= set(clique))
        homes[c].append(factor)

    states, potentials = [], []
    for clique, factors in zip(cliques, homes, strict=True):
        index = np.stack([i.ravel() for i in np.indices([graph.n_values[r] for r in clique])])
        log_q = np.zeros(index.shape[1])
        for factor in factors:
            log_q += factor.potential.log_quality_at(index[[clique.index(r) for r in factor.parts]].T)
        allowed = log_q > -np.inf
        # At least one state: message passing raises the error if nothing is allowed.
        keep = np.flatnonzero(allowed) if allowed.any() else np.arange(1)
        index, log_q = index[:, keep], log_q[keep]
        features = None
        for factor in factors:
            phi = factor.potential.features_at(index[[clique.index(r) for r in factor.parts]].T)
            if phi is not None:
                features = phi if features is None else features + phi
        states.append(index)
        name = f"clique {list(clique)}"
        potentials.append(Potential.read((len(log_q),), None, log_q, features, name))

    links = _links(cliques)
    shared = [tuple(sorted(set(cliques[i]) & set(cliques[j]))) for i, j in links]
    sizes = [math.prod(graph.n_values[r] for r in s) for s in shared]
    tree = FactorGraph([*(s.shape[1] for s in states), *sizes])
    for c, potential in enumerate(potentials):
        tree._factors.append(Factor((c,), potential, ""))
    for at, ((i, j), parts, size) in enumerate(zip(links, shared, sizes, strict=True)):
        for c in (i, j):
            rows = states[c][[cliques[c].index(r) for r in parts]]
            key = np.ravel_multi_index(tuple(rows), [graph.n_values[r] for r in parts])
            agree = Potential(
                (len(key), size), values=np.ones(len(key)), rows=(np.arange(len(key) + 1), key.astype(np.int64))
            )
            tree._factors.append(Factor((c, len(cliques) + at), agree, ""))
    places = {r: (c, clique.index(r)) for c, clique in reversed(list(enumerate(cliques))) for r in clique}
    home = tuple(places[r] for r in range(graph.n_parts))
    return JunctionTree(tree, tuple(cliques), tuple(states), home)
