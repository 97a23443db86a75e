"""Pairwise MRFs: listing and messages against the definition, draws, and what no DPP can do."""

import math

import networkx as nx
import numpy as np
import pytest

import diverset as dv
import reference
from diverset.theory.mrf import PairwiseMRF
from kernels_for_tests import wishart


def law_of(w, edges):
    """By the definition alone."""
    weights = {}
    for Y in reference.subsets(range(len(w))):
        pairs = sum(value for (i, j), value in edges.items() if {i, j} <= Y)
        weights[Y] = math.exp(sum(w[i] for i in Y) + pairs)
    return reference.normalized(weights)


def random_case(graph, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=len(graph)), {(u, v): float(rng.normal(-1.0, 1.5)) for u, v in graph.edges}


CASES = {
    "chain": random_case(nx.path_graph(5), 0),
    "star": random_case(nx.star_graph(4), 1),
    "forest": random_case(nx.Graph([(0, 1), (2, 3)]), 2),
    "cycle": random_case(nx.cycle_graph(5), 3),
    "complete": random_case(nx.complete_graph(5), 4),
    "no-edge": (np.array([0.3, -1.0]), {}),
    "one-item": (np.array([0.5]), {}),
}


@pytest.mark.parametrize("method", ["enumeration", "messages"])
@pytest.mark.parametrize("name", CASES)
def test_answers_agree_with_the_definition(name, method):
    w, edges = CASES[name]
    mrf = PairwiseMRF(w, edges, method=method)
    law = law_of(w, edges)
    for Y, p in law.items():
        assert math.exp(mrf.log_prob(Y)) == pytest.approx(p, rel=1e-12)
        assert mrf.law()[sum(1 << i for i in Y)] == pytest.approx(p, rel=1e-12)
    n = len(w)
    for i in range(n):
        assert mrf.inclusion_probabilities[i] == pytest.approx(reference.probability(law, [i]), rel=1e-12)
        for j in range(i):
            both = reference.probability(law, [i, j])
            assert mrf.probability(include=[i, j]) == pytest.approx(both, rel=1e-12)
            gap = both - reference.probability(law, [i]) * reference.probability(law, [j])
            assert mrf.covariance(i, j) == pytest.approx(gap, abs=1e-13)
    if n > 2:
        assert mrf.probability([0], [1, 2]) == pytest.approx(reference.probability(law, [0], [1, 2]), rel=1e-12)


@pytest.mark.parametrize("method", ["enumeration", "messages"])
def test_draws_follow_the_law(method):
    w, edges = CASES["cycle"]
    law = law_of(w, edges)
    draws = PairwiseMRF(w, edges, method=method).sample(10_000, rng=0)
    assert reference.law_p_value(draws, law) > 1e-4
    tree = dict(list(edges.items())[:-1])
    assert reference.law_p_value(PairwiseMRF(w, tree, method=method).sample(10_000, rng=0), law) < 1e-4


def test_long_chains_by_messages():
    """Hard-core-like chain: the transfer matrix gives the normaliser."""
    n, w = 300, -3.0
    mrf = PairwiseMRF(np.zeros(n), {(i, i + 1): w for i in range(n - 1)})
    assert mrf.method == "messages"
    transfer = np.array([[1.0, 1.0], [1.0, math.exp(w)]])
    vector, log_z = np.ones(2), 0.0
    for _ in range(n - 1):
        vector = transfer @ vector
        log_z, vector = log_z + math.log(vector.sum()), vector / vector.sum()
    assert mrf.log_normalizer == pytest.approx(log_z + math.log(vector.sum()), rel=1e-12)
    assert len(mrf.sample(3, rng=0)) == 3
    with pytest.raises(dv.errors.TooLargeError, match="at most 20 items can be listed"):
        mrf.law()


def test_two_items_are_the_same_in_both_models():
    """Any law of two items with a nonpositive covariance is a DPP's and an MRF's."""
    L = np.array([[2.0, 0.7], [0.7, 0.5]])
    w = np.log(np.diagonal(L))
    mrf = PairwiseMRF(w, {(0, 1): math.log(np.linalg.det(L)) - w.sum()})
    assert mrf.law() == pytest.approx(dv.law(dv.DPP(L)), rel=1e-12)


def test_three_nodes_with_a_positive_correlation():
    """w_12, w_13 < 0 and w_23 = 0: nodes 2 and 3 attract, which no DPP allows."""
    mrf = PairwiseMRF([0.5, 0.2, -0.3], {(0, 1): -1.5, (0, 2): -2.5})
    assert mrf.covariance(1, 2) > 0.01
    assert mrf.covariance(0, 1) < -0.01
    for seed in range(20):
        law = reference.law_from_L(wishart(3, 4, seed))
        for i, j in ((0, 1), (0, 2), (1, 2)):
            both = reference.probability(law, [i, j])
            assert both <= reference.probability(law, [i]) * reference.probability(law, [j]) + 1e-12


def test_kinds_of_graph():
    assert PairwiseMRF(*CASES["chain"]).is_tree
    assert PairwiseMRF(*CASES["forest"]).is_tree
    assert not PairwiseMRF(*CASES["cycle"]).is_tree
    assert PairwiseMRF([0.0, 0.0], {(0, 1): 1.0}).is_associative
    assert not PairwiseMRF([0.0, 0.0], {(0, 1): -1.0}).is_associative


def test_matrices_and_mappings_agree():
    w, edges = CASES["complete"]
    W = np.zeros((5, 5))
    for (i, j), value in edges.items():
        W[i, j] = W[j, i] = value
    assert np.array_equal(PairwiseMRF(w, W).law(), PairwiseMRF(w, edges).law())


@pytest.mark.parametrize(
    ("w", "edges", "message"),
    [
        ([0.0, np.nan], {}, r"node_weights\[1\] is nan"),
        ([0.0, 0.0], {(0, 5): 1.0}, "names item 5"),
        ([0.0, 0.0], {(0, 0): 1.0}, "more than once"),
        ([0.0, 0.0], {(0, 1): np.inf}, "is inf; it must be finite"),
        ([0.0, 0.0], {(0, 1): 1.0, (1, 0): 2.0}, "given twice"),
        ([0.0, 0.0], np.zeros((3, 3)), r"shape \(3, 3\)"),
        ([0.0, 0.0], [[0.0, 1.0], [2.0, 0.0]], "not symmetric"),
    ],
)
def test_bad_input(w, edges, message):
    with pytest.raises(ValueError, match=message):
        PairwiseMRF(w, edges)


def test_bad_questions():
    mrf = PairwiseMRF([0.0, 0.0], {(0, 1): -1.0})
    with pytest.raises(ValueError, match="method is 'gibbs'"):
        PairwiseMRF([0.0], {}, method="gibbs")
    with pytest.raises(ValueError, match="item 1 is in both"):
        mrf.probability([1], [1])
    with pytest.raises(ValueError, match="a pair is two items"):
        mrf.covariance(1, 1)
