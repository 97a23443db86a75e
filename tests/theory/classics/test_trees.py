"""Spanning trees: all trees of small graphs, two samplers against the law, and the kernel by random walks."""

import math
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import reference
from diverset.theory.classics import SpanningTrees

GRAPHS = {
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "one-edge": [("a", "b")],
    "tree": [(0, 1), (1, 2), (1, 3)],
    "complete-4": list(nx.complete_graph(4).edges),
    "house": [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 2)],
    "weighted": [(0, 1, 0.3), (1, 2, 2.0), (2, 0, 1.0), (2, 3, 5.0), (3, 0, 0.1)],
    "parallel-and-loop": [(0, 1, 1.0), (0, 1, 3.0), (1, 1, 7.0), (1, 2, 1.0), (0, 2, 0.5)],
    "bipartite": list(nx.complete_bipartite_graph(2, 3).edges),
}


def trees_by_listing(trees):
    """Every set of n - 1 edges that joins all nodes, with the product of its weights."""
    n = len(trees.nodes)
    found = {}
    for chosen in combinations(range(len(trees.edges)), n - 1):
        graph = nx.MultiGraph()
        graph.add_nodes_from(trees.nodes)
        graph.add_edges_from(trees.edges[e] for e in chosen)
        if nx.is_connected(graph):
            found[frozenset(chosen)] = float(np.prod(trees.weights[list(chosen)]))
    return found


@pytest.mark.parametrize("name", GRAPHS)
def test_the_kernel_knows_all_trees(name):
    trees = SpanningTrees(GRAPHS[name])
    weights = trees_by_listing(trees)
    assert trees.log_total_weight == pytest.approx(np.log(sum(weights.values())), abs=1e-12)
    law = reference.normalized(weights)
    for A, p in reference.law_from_K(trees.kernel).items():
        assert law.get(A, 0.0) == pytest.approx(p, abs=1e-13)


def with_zeros(law, n):
    return {A: law.get(A, 0.0) for A in reference.subsets(range(n))}


def smallest_of_random_weights(trees, rng):
    """A natural mistake: the minimum spanning tree of random weights is not uniform."""
    graph = nx.Graph()
    for e, (u, v) in enumerate(trees.edges):
        graph.add_edge(u, v, weight=rng.random(), number=e)
    return np.array([d["number"] for _, _, d in nx.minimum_spanning_tree(graph).edges(data=True)])


@pytest.mark.parametrize("name", ["house", "weighted", "parallel-and-loop", "complete-4"])
@pytest.mark.parametrize("method", ["wilson", "aldous-broder"])
def test_walks_draw_trees_by_their_weights(name, method):
    trees = SpanningTrees(GRAPHS[name], method=method)
    law = with_zeros(reference.normalized(trees_by_listing(trees)), len(trees.edges))
    assert reference.law_p_value(trees.sample(10_000, rng=0), law) > 1e-4


@pytest.mark.parametrize("name", ["house", "weighted", "complete-4"])
def test_the_dpp_draws_the_same_trees(name):
    trees = SpanningTrees(GRAPHS[name])
    law = with_zeros(reference.normalized(trees_by_listing(trees)), len(trees.edges))
    assert reference.law_p_value(trees.dpp.sample(10_000, rng=1), law) > 1e-4


def test_the_count_test_rejects_trees_that_are_not_uniform():
    trees = SpanningTrees(GRAPHS["house"])
    rng = np.random.default_rng(0)
    law = with_zeros(reference.normalized(trees_by_listing(trees)), len(trees.edges))
    assert reference.law_p_value([smallest_of_random_weights(trees, rng) for _ in range(4_000)], law) < 1e-4
    # Nor does the walk that ignores weights pass for the one that heeds them.
    weighted = SpanningTrees(GRAPHS["weighted"])
    law = with_zeros(reference.normalized(trees_by_listing(weighted)), len(weighted.edges))
    plain = SpanningTrees([edge[:2] for edge in GRAPHS["weighted"]])
    assert reference.law_p_value(plain.sample(10_000, rng=0), law) < 1e-4


@pytest.mark.parametrize("method", ["wilson", "aldous-broder"])
def test_a_window_on_a_larger_graph(method):
    """Eight edges of a grid of 6 x 6, too many trees to list: their law is that of a block of the kernel."""
    trees = SpanningTrees(nx.grid_2d_graph(6, 6), method=method)
    window = trees.find([((2, 2), (2, 3)), ((2, 3), (2, 4)), ((2, 2), (3, 2)), ((3, 2), (3, 3)), ((2, 3), (3, 3)),
                         ((0, 0), (0, 1)), ((0, 0), (1, 0)), ((5, 5), (5, 4))])  # fmt: skip
    law = reference.law_from_K(trees.kernel[np.ix_(window, window)])
    draws = [np.flatnonzero(np.isin(window, Y)) for Y in trees.sample(2_000, rng=2)]
    assert reference.law_p_value(draws, law) > 1e-4
    half = reference.law_from_K(np.diag(trees.kernel.diagonal()[window]))
    assert reference.law_p_value(draws, half) < 1e-4


@pytest.mark.parametrize("name", ["house", "weighted"])
def test_entries_are_expected_passages_of_a_random_walk(name):
    """K_ef sqrt(w_e / w_f): signed passages of f by a walk from the tail of e until it reaches the head."""
    trees = SpanningTrees(GRAPHS[name])
    position = {node: i for i, node in enumerate(trees.nodes)}
    tails, heads = np.array([[position[node] for node in edge] for edge in trees.edges]).T
    n, w = len(trees.nodes), trees.weights
    P = np.zeros((n, n))
    for u, v, weight in zip(tails, heads, w, strict=True):
        P[u, v] += weight
        P[v, u] += weight
    degree = P.sum(axis=1)
    P /= degree[:, None]
    for e, (u, v) in enumerate(zip(tails, heads, strict=True)):
        others = [i for i in range(n) if i != v]
        visits = np.zeros(n)
        visits[others] = np.linalg.inv(np.eye(n - 1) - P[np.ix_(others, others)])[others.index(u)]
        passages = (visits / degree)[tails] * w - (visits / degree)[heads] * w
        assert passages * np.sqrt(w[e] / w) == pytest.approx(trees.kernel[e], abs=1e-12)


def test_networkx_graphs_and_edge_lists_agree():
    graph = nx.Graph()
    graph.add_weighted_edges_from(GRAPHS["weighted"])
    from_networkx = SpanningTrees(graph)
    listed = SpanningTrees([(u, v, d["weight"]) for u, v, d in graph.edges(data=True)])
    assert np.array_equal(from_networkx.kernel, listed.kernel)
    assert np.array_equal(SpanningTrees(graph, weight="length").weights, np.ones(5))
    multi = nx.MultiGraph(graph)
    multi.add_edge(0, 1, weight=2.0)
    assert len(SpanningTrees(multi).edges) == 6
    assert [from_networkx.edges[e] for e in from_networkx.find([(1, 0)])] == [(0, 1)]


def test_networkx_counts_the_same_trees():
    graph = nx.petersen_graph()
    assert np.exp(SpanningTrees(graph).log_total_weight) == pytest.approx(2000.0)


def test_a_single_node_has_the_empty_tree():
    graph = nx.Graph()
    graph.add_node("a")
    trees = SpanningTrees(graph)
    assert trees.sample(rng=0).tolist() == []
    assert trees.log_total_weight == 0.0
    loop = SpanningTrees([(0, 0)])
    assert loop.dpp.inclusion_probabilities.tolist() == [0.0]


def test_bad_input():
    with pytest.raises(ValueError, match="no path leads from 0 to 2"):
        SpanningTrees([(0, 1), (2, 3)])
    with pytest.raises(ValueError, match="weight -1"):
        SpanningTrees([(0, 1, -1)])
    with pytest.raises(ValueError, match=r"edge 1 is \(3,\)"):
        SpanningTrees([(0, 1), (3,)])
    with pytest.raises(ValueError, match="directed"):
        SpanningTrees(nx.DiGraph([(0, 1)]))
    with pytest.raises(ValueError, match="no nodes"):
        SpanningTrees([])
    with pytest.raises(ValueError, match="method is 'kruskal'"):
        SpanningTrees([(0, 1)], method="kruskal")
    with pytest.raises(ValueError, match="no edge 0 - 9"):
        SpanningTrees([(0, 1)]).find([(0, 9)])


def exact_tree_law(edges):
    """Law of the spanning trees from the products of their weights alone."""
    nodes = sorted({node for u, v, _ in edges for node in (u, v)})
    law = {}
    for tree in combinations(range(len(edges)), len(nodes) - 1):
        cluster = {node: node for node in nodes}
        for e in tree:
            u, v = (cluster[node] for node in edges[e][:2])
            cluster = {node: v if c == u else c for node, c in cluster.items()}
        if len(set(cluster.values())) == 1:
            law[frozenset(tree)] = math.prod(Fraction(edges[e][2]) for e in tree)
    total = sum(law.values())
    return {tree: float(weight / total) for tree, weight in law.items()}


@pytest.mark.parametrize("heavy", [1, 10**4, 10**7, 10**9, 10**30])
@pytest.mark.parametrize("method", ["wilson", "aldous-broder"])
def test_weights_of_any_range(heavy, method):
    edges = [("a", "b", heavy), ("b", "c", 1), ("c", "a", 1), ("c", "d", heavy), ("d", "a", 2), ("a", "b", 3)]
    law = exact_tree_law(edges)
    trees = SpanningTrees(edges, method=method)
    K = trees.kernel
    assert np.abs(K @ K - K).max() < 1e-14
    for tree, p in law.items():
        assert np.exp(trees.dpp.log_prob(tree)) == pytest.approx(p, abs=1e-12)
    total = sum(math.prod(edges[e][2] for e in tree) for tree in law)
    assert trees.log_total_weight == pytest.approx(math.log(total), rel=1e-14)
    if heavy != 10**4 or method == "wilson":
        draws = trees.sample(2_000 if heavy < 10**5 else 5_000, rng=0)
        assert reference.law_p_value(draws, law) > 1e-4
        # Equal weights are another law.
        assert reference.law_p_value(draws, exact_tree_law([(u, v, 1) for u, v, _ in edges])) < 1e-4
