"""The law of sets of threads of different events, against the list of all threads and all sets of k."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse
from scipy import stats

from diverset.errors import ImpossibleEventError, LabelError, SizeError
from diverset.threads import EventModel, EventPaths


def small_events(seed=0, sizes=(5, 4, 5), lengths=(3, 2, 3)):
    """Events of a few documents each, whose numbers are mixed, with random qualities."""
    rng = np.random.default_rng(seed)
    numbers = np.split(rng.permutation(sum(sizes)), np.cumsum(sizes)[:-1])
    paths = []
    for nodes, m, length in zip(numbers, sizes, lengths, strict=True):
        forward = np.triu(rng.random((m, m)) < 0.7, 1)
        forward[np.arange(m - 1), np.arange(1, m)] = True
        edges = scipy.sparse.csr_array(np.where(forward, rng.uniform(0.1, 1.0, (m, m)), 0.0))
        paths.append(EventPaths(nodes, rng.uniform(0, 1, m), edges, length))
    B = rng.standard_normal((len(sizes), 4))
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    return paths, rng.uniform(0.5, 2.0, len(sizes)), B


def all_threads(paths):
    """Every thread with its event and its log-quality, by trying every choice of nodes."""
    for e, event in enumerate(paths):
        dense = event.edges.toarray()
        for places in itertools.combinations(range(len(event.nodes)), event.length):
            steps = list(itertools.pairwise(places))
            if all(dense[a, b] != 0 for a, b in steps):
                log_q = event.weights[list(places)].sum() + sum(dense[a, b] for a, b in steps)
                yield e, tuple(event.nodes[list(places)].tolist()), float(log_q)


def law(paths, weights, B, k):
    """The k-DPP over all threads, from determinants of its kernel."""
    threads = list(all_threads(paths))
    q = np.array([log_q for *_, log_q in threads])
    event = np.array([e for e, *_ in threads])
    for e in range(len(paths)):
        q[event == e] -= 0.5 * np.log(np.exp(2.0 * q[event == e]).sum())
    features = np.exp(q)[:, None] * weights[event][:, None] * B[event]
    L = features @ features.T
    minors = {S: np.linalg.det(L[np.ix_(S, S)]) for S in itertools.combinations(range(len(L)), k)}
    total = sum(minors.values())
    exact = {}
    for S, m in minors.items():
        # A sorted tuple, since two threads of different events may run along the same documents.
        found = tuple(sorted(threads[i][1] for i in S))
        exact[found] = exact.get(found, 0.0) + m / total
    return exact


@pytest.fixture(scope="module")
def small():
    paths, weights, B = small_events()
    return EventModel(paths, k=2, weights=weights, similarity=B @ B.T), law(paths, weights, B, 2)


def test_the_law_is_that_of_the_structured_dpp(small):
    model, exact = small
    for threads, p in exact.items():
        if p > 1e-12:
            assert model.log_prob(list(threads)) == pytest.approx(math.log(p), abs=1e-9)
        else:
            assert model.log_prob(list(threads)) == -np.inf
    assert sum(p for p in exact.values() if p > 1e-12) == pytest.approx(1.0)


def test_no_set_has_a_document_twice(small):
    model, exact = small
    twice = [p for threads, p in exact.items() if len(set().union(*threads)) < sum(map(len, threads))]
    assert len(twice) > 20
    assert max(map(abs, twice)) < 1e-12
    for seed in range(50):
        places = np.concatenate(model.sample(rng=seed))
        assert len(set(places.tolist())) == len(places)


def fit(counts, exact, least=8.0):
    n = sum(counts.values())
    observed, expected = [0], [0.0]
    for threads in sorted(exact, key=exact.get):
        if expected[-1] >= least:
            observed.append(0)
            expected.append(0.0)
        observed[-1] += counts.get(threads, 0)
        expected[-1] += n * exact[threads]
    assert len(expected) > 10
    return stats.chisquare(observed, np.array(expected) * (n / sum(expected))).pvalue


def counted(model, n, **given):
    rng = np.random.default_rng(3)
    counts = {}
    for _ in range(n):
        threads = tuple(sorted(tuple(thread.tolist()) for thread in model.sample(rng=rng, **given)))
        counts[threads] = counts.get(threads, 0) + 1
    return counts


def test_draws_follow_the_law_and_no_other(small):
    model, exact = small
    counts = counted(model, 1500)
    possible = {threads: p for threads, p in exact.items() if p > 1e-12}
    assert set(counts) <= set(possible)
    assert fit(counts, possible) > 1e-3
    # A twin that draws the events alike, whatever their weights, is told apart.
    twin = EventModel(small_events()[0], k=2)
    assert fit(counted(twin, 1500), possible) < 1e-6


def test_the_law_given_a_document(small):
    model, exact = small
    document = int(model.paths[0].nodes[2])
    given = {S: p for S, p in exact.items() if p > 1e-12 and any(document in thread for thread in S)}
    total = sum(given.values())
    assert model.node_marginals(14)[document] == pytest.approx(total)
    counts = counted(model, 1000, through=document)
    assert fit(counts, {S: p / total for S, p in given.items()}) > 1e-3


def test_node_marginals(small):
    model, exact = small
    expected = np.zeros(14)
    for threads, p in exact.items():
        for thread in threads:
            expected[list(thread)] += p
    np.testing.assert_allclose(model.node_marginals(14), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_thread_of_each_event_is_exact(seed):
    paths, weights, B = small_events(seed)
    model = EventModel(paths, k=3, weights=weights, similarity=B @ B.T)
    best = {e: max((t for t in all_threads(paths) if t[0] == e), key=lambda t: t[2])[1] for e in range(3)}
    assert [tuple(thread.tolist()) for thread in model.best()] == [best[e] for e in range(3)]
    # With every event told, this is the most probable set of all.
    exact = law(paths, weights, B, 3)
    assert tuple(sorted(best.values())) == max(exact, key=exact.get)
    document = int(paths[1].nodes[3])
    through = model.best(through=document)
    wanted = max((t for t in all_threads(paths) if document in t[1]), key=lambda t: t[2])[1]
    assert wanted in [tuple(thread.tolist()) for thread in through]


@pytest.fixture(scope="module")
def overlapping():
    """Three events of four documents each, of which neighbouring events have two in common, with equal steps."""
    rng = np.random.default_rng(5)
    full = scipy.sparse.csr_array(np.triu(np.ones((4, 4)), 1))
    paths = []
    for nodes in ([0, 1, 2, 3], [2, 3, 4, 5], [1, 2, 3, 6]):
        edges = scipy.sparse.csr_array((rng.uniform(0.1, 1.0, 6), full.indices, full.indptr), shape=(4, 4))
        paths.append(EventPaths(np.array(nodes), rng.uniform(0, 1, 4), edges, 2))
    B = rng.standard_normal((3, 4))
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    weights = rng.uniform(0.5, 2.0, 3)
    return EventModel(paths, k=2, weights=weights, similarity=B @ B.T, shared=True), law(paths, weights, B, 2)


def test_the_law_with_shared_documents(overlapping):
    model, exact = overlapping
    possible = {threads: p for threads, p in exact.items() if p > 1e-12}
    assert sum(possible.values()) == pytest.approx(1.0)
    both = [S for S in possible if len(set().union(*S)) < sum(map(len, S))]
    assert len(both) > 20
    assert any(S[0] == S[1] for S in both)
    for threads in itertools.combinations_with_replacement(itertools.combinations(range(7), 2), 2):
        p = possible.get(tuple(sorted(threads)), 0.0)
        assert np.exp(model.log_prob(list(threads))) == pytest.approx(p, abs=1e-12)
    expected = np.zeros(7)
    for threads, p in possible.items():
        for thread in threads:
            expected[list(thread)] += p
    np.testing.assert_allclose(model.node_marginals(7), expected, atol=1e-9)
    assert fit(counted(model, 1500), possible) > 1e-3


def test_bad_models():
    paths, _, _ = small_events()
    with pytest.raises(SizeError, match="k is 4, but there are only 3 events"):
        EventModel(paths, k=4)
    with pytest.raises(LabelError, match="a document is in two events"):
        EventModel([paths[0], paths[0]], k=1)
    none = EventPaths(np.arange(2), np.zeros(2), scipy.sparse.csr_array((2, 2)), 2)
    with pytest.raises(ImpossibleEventError, match="event 0 has no thread of 2 documents"):
        EventModel([none], k=1)
    model = EventModel(paths, k=2)
    with pytest.raises(LabelError, match="document 99 is in no event"):
        model.best(through=99)
    assert model.log_prob([[99, 98], [1]]) == -np.inf
    assert none.longest(2) == 1
