"""Threads against their list: every path of small graphs, its kernel, and all sets of k."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse
from scipy import stats

from diverset.errors import DiversetError, KernelError, LabelError, SizeError
from diverset.threads import ThreadGraph, ThreadModel


def small_graph(n=7, seed=0, density=0.6, features=4):
    rng = np.random.default_rng(seed)
    forward = np.triu(rng.random((n, n)) < density, 1)
    forward[np.arange(n - 1), np.arange(1, n)] = True
    edges = scipy.sparse.csr_array(np.where(forward, rng.uniform(0.1, 1.0, (n, n)), 0.0))
    return ThreadGraph(edges, rng.standard_normal((n, features)), weights=rng.uniform(0, 1, n))


def paths(graph, length):
    """All paths with this number of nodes, by trying every sequence."""
    dense = graph.edges.toarray() != 0
    for nodes in itertools.combinations(range(graph.n_nodes), length):
        for y in itertools.permutations(nodes):
            if all(dense[a, b] for a, b in itertools.pairwise(y)):
                yield y


def kernel(graph, threads, beta, features):
    """L from the definition."""
    q = []
    for y in threads:
        w = sum(beta[0] * graph.weights[v] for v in y)
        w += sum(beta[1] * graph.edges[a, b] for a, b in itertools.pairwise(y))
        q.append(math.exp(w))
    phi = np.array([features[list(y)].sum(axis=0) for y in threads])
    B = np.array(q)[:, None] * phi
    return B @ B.T


def law_of(L, k):
    minors = {S: np.linalg.det(L[np.ix_(S, S)]) for S in itertools.combinations(range(len(L)), k)}
    total = sum(minors.values())
    return {S: m / total for S, m in minors.items()}


@pytest.mark.parametrize(("beta", "length", "rho"), [(0.7, 3, 0.0), ((1.5, 0.4), 3, 0.8), (0.7, 4, 0.3)])
def test_the_law_of_sets(beta, length, rho):
    graph = small_graph()
    model = ThreadModel(graph, length=length, k=2, beta=beta, projection=None, rho=rho)
    threads = list(paths(graph, length))
    features = np.column_stack([graph.features, np.full(graph.n_nodes, rho)])
    both = beta if isinstance(beta, tuple) else (beta, beta)
    law = law_of(kernel(graph, threads, both, features), 2)
    for S, p in law.items():
        if p > 1e-12:
            assert model.log_prob([threads[i] for i in S]) == pytest.approx(math.log(p), abs=1e-8)
    mu = np.zeros(graph.n_nodes)
    for S, p in law.items():
        for i in S:
            mu[list(threads[i])] += p
    np.testing.assert_allclose(model.node_marginals(), mu, rtol=1e-8)
    seen = model.sample(2000, rng=1)
    at = {tuple(y): i for i, y in enumerate(threads)}
    counts = dict.fromkeys(law, 0)
    for draw in seen:
        counts[tuple(sorted(at[tuple(y.tolist())] for y in draw))] += 1
    assert fit(counts, law) > 1e-3
    # A twin that forgets the qualities is told apart.
    plain = law_of(kernel(graph, threads, (0.0, 0.0), features), 2)
    assert fit(counts, plain) < 1e-6


@pytest.mark.parametrize(("smoothing", "balance"), [(1, 0.0), (0, 0.5), (3, 1.0)])
def test_smoothed_features_and_balanced_edges(smoothing, balance):
    graph = small_graph()
    beta, n = (0.4, 1.3), graph.n_nodes
    features, W = graph.features, np.where(graph.edges.toarray() != 0, np.exp(2.6 * graph.edges.toarray()), 0.0)
    near = (W > 0) | (W.T > 0) | np.eye(n, dtype=bool)
    for _ in range(smoothing):
        features = np.array([features[near[i]].mean(axis=0) for i in range(n)])
    sums = np.sqrt(np.outer(W.sum(axis=1), W.sum(axis=0)))
    balanced = np.where(W > 0, np.log(W / np.where(W > 0, sums, 1.0) ** balance, where=W > 0, out=np.zeros_like(W)), 0)
    twin = ThreadGraph(
        scipy.sparse.csr_array((balanced[graph.edges.nonzero()], graph.edges.nonzero()), shape=(n, n)),
        features,
        weights=graph.weights,
    )
    model = ThreadModel(graph, length=3, k=2, beta=beta, projection=None, smoothing=smoothing, balance=balance)
    threads = list(paths(graph, 3))
    law = law_of(kernel(twin, threads, (0.4, 0.5), features), 2)
    plain = ThreadModel(graph, length=3, k=2, beta=beta, projection=None)
    for S, p in law.items():
        assert model.log_prob([threads[i] for i in S]) == pytest.approx(math.log(p), abs=1e-8)
    gap = max(abs(plain.log_prob([threads[i] for i in S]) - math.log(p)) for S, p in law.items())
    assert gap > 0.1


def test_balance_bounds_what_a_dense_region_weighs():
    """Sixteen nodes that all have edges outweigh four by far; balanced, by no more than four to one."""
    edges = np.zeros((20, 20))
    edges[:16, :16], edges[16:, 16:] = np.triu(np.ones((16, 16)), 1), np.triu(np.ones((4, 4)), 1)
    graph = ThreadGraph(edges, np.eye(20))

    def mass(nodes, balance):
        model = ThreadModel(graph, length=4, k=1, beta=(0.0, 3.0), projection=None, balance=balance)
        q = model._edges.toarray()
        return sum(
            math.exp(2.0 * sum(q[a, b] for a, b in itertools.pairwise(y))) for y in itertools.combinations(nodes, 4)
        )

    assert mass(range(16), 0.0) / mass(range(16, 20), 0.0) == pytest.approx(math.comb(16, 4))
    assert mass(range(16), 1.0) < 16.0
    assert 0.5 < mass(range(16), 1.0) / mass(range(16, 20), 1.0) < math.comb(16, 4) / 20
    # Large weights neither overflow nor vanish.
    huge = ThreadModel(graph, length=4, k=1, beta=(0.0, 2000.0), projection=None, balance=1.0)
    assert np.isfinite(huge._edges.data).all()


def fit(counts, law, least=8.0):
    """P-value of the counts of sets, which are pooled, the rarest first, until each pool expects enough."""
    n = sum(counts.values())
    observed, expected = [0], [0.0]
    for S in sorted(law, key=law.get):
        if expected[-1] >= least:
            observed.append(0)
            expected.append(0.0)
        observed[-1] += counts[S]
        expected[-1] += n * law[S]
    assert len(expected) > 10
    return stats.chisquare(observed, np.array(expected) * (n / sum(expected))).pvalue


@pytest.mark.parametrize("seed", range(4))
def test_best_is_nearly_the_mode(seed):
    graph = small_graph(seed=seed)
    model = ThreadModel(graph, length=3, k=2, beta=1.0, projection=None)
    threads = list(paths(graph, 3))
    mode = max(model.log_prob([a, b]) for a, b in itertools.combinations(threads, 2))
    best = model.best()
    assert best.log_prob == pytest.approx(model.log_prob(list(best)))
    assert best.log_prob > mode - 0.7


def test_projection_keeps_the_seed_and_the_inner_products():
    rng = np.random.default_rng(0)
    n = 40
    edges = scipy.sparse.csr_array(np.triu(rng.random((n, n)) < 0.2, 1).astype(float))
    features = scipy.sparse.csr_array((rng.random((n, 300)) < 0.1).astype(float))
    graph = ThreadGraph(edges, features)
    first = ThreadModel(graph, length=4, k=3, projection=20, rng=5)
    again = ThreadModel(graph, length=4, k=3, projection=20, rng=5)
    draws, same = first.sample(3), again.sample(3)
    assert [repr(x) for x in draws] == [repr(x) for x in same]
    assert repr(first.sample()) != repr(draws[0])
    assert repr(first.sample(rng=7)) == repr(first.sample(rng=7))
    wide = ThreadModel(graph, length=4, k=3, projection=20_000, rho=2.0, rng=1)._features
    exact = (features @ features.T).toarray() + 4.0
    assert np.abs(wide @ wide.T - exact).max() < 2.0


def test_from_networkx():
    networkx = pytest.importorskip("networkx")
    g = networkx.DiGraph()
    for name, day, x in [("a", 1, [1.0, 0.0]), ("b", 2, [0.0, 1.0]), ("c", 3, [1.0, 1.0])]:
        g.add_node(name, day=day, features=x, weight=0.5)
    g.add_edge("a", "b", weight=0.3)
    g.add_edge("b", "c")
    graph = ThreadGraph.from_networkx(g, time="day")
    assert graph.labels == ("a", "b", "c")
    assert graph.edges.toarray().tolist() == [[0, 0.3, 0], [0, 0, 1.0], [0, 0, 0]]
    assert graph.weights.tolist() == [0.5] * 3
    assert graph.node("c") == 2
    model = ThreadModel(graph, length=2, k=2, projection=None, rng=0)
    assert sorted(map(tuple, model.sample().labels)) == [("a", "b"), ("b", "c")]
    with pytest.raises(DiversetError, match=r"DiGraph"):
        ThreadGraph.from_networkx(g.to_undirected())


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_complex_graphs_are_refused(make):
    edges, F = np.triu(np.ones((3, 3)), 1), np.eye(3)
    for given in ({"edges": make(edges + 1j * edges), "features": F}, {"edges": edges, "features": make(F + 1j * F)}):
        with pytest.raises(KernelError, match="complex"):
            ThreadGraph(**given)
    with pytest.raises(KernelError, match="weights is complex"):
        ThreadGraph(edges, F, weights=np.ones(3) * 1j)


def test_bad_graphs():
    F = np.eye(3)
    with pytest.raises(DiversetError, match=r"cycle through 0, 1, 2"):
        ThreadGraph([[0, 1, 0], [0, 0, 1], [1, 0, 0]], F)
    with pytest.raises(DiversetError, match=r"cycle through 1"):
        ThreadGraph([[0, 1, 0], [0, 1, 0], [0, 0, 0]], F)
    with pytest.raises(DiversetError, match=r"from 'x' \(3\) to 'y' \(2\) goes back in time"):
        ThreadGraph([[0, 1, 0], [0, 0, 1], [0, 0, 0]], F, labels=["x", "y", "z"], times=[3, 2, 5])
    with pytest.raises(LabelError, match=r"'x' is given to two nodes"):
        ThreadGraph(np.triu(np.ones((3, 3)), 1), F, labels=["x", "y", "x"])
    with pytest.raises(KernelError, match=r"edges\[0, 1\] is nan"):
        ThreadGraph(scipy.sparse.csr_array(([np.nan], ([0], [1])), shape=(3, 3)), F)
    with pytest.raises(KernelError, match=r"features have 2 rows for 3 nodes"):
        ThreadGraph(np.triu(np.ones((3, 3)), 1), np.eye(2))
    with pytest.raises(KernelError, match=r"stored more than once"):
        ThreadGraph(scipy.sparse.coo_array(([1.0, 1.0], ([0, 0], [1, 1])), shape=(3, 3)), F)
    # Nodes of one time may follow each other as long as there is no way back.
    assert ThreadGraph(np.triu(np.ones((3, 3)), 1), F, times=[1, 1, 1]).longest == 3


def test_bad_models():
    graph = small_graph(n=5, density=0.0)
    with pytest.raises(SizeError, match=r"no path of the graph has 9 nodes: the longest has 5"):
        ThreadModel(graph, length=9, k=1)
    with pytest.raises(SizeError, match=r"k is 3, but the graph has only 2 threads"):
        ThreadModel(graph, length=4, k=3)
    with pytest.raises(SizeError, match=r"span only 1 dimensions"):
        ThreadModel(ThreadGraph(graph.edges, np.ones((5, 1))), length=2, k=2, projection=None).sample()
    with pytest.raises(LabelError, match=r"thread 0 has 3 nodes"):
        ThreadModel(graph, length=2, k=1).log_prob([[0, 1, 2]])
    with pytest.raises(DiversetError, match=r"the weight of an edge is 1e\+308"):
        ThreadModel(ThreadGraph(np.triu(np.full((3, 3), 1e308), 1), np.eye(3)), length=2, k=1, balance=0.5)
    with pytest.raises(DiversetError, match=r"balance is 1.5; give a number from 0"):
        ThreadModel(graph, length=2, k=1, balance=1.5)
    with pytest.raises(DiversetError, match=r"smoothing is -1"):
        ThreadModel(graph, length=2, k=1, smoothing=-1)
