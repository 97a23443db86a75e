"""Baselines, and what threads are worth by themselves."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from diverset.errors import DiversetError, SizeError
from diverset.threads import (
    ThreadGraph,
    ThreadModel,
    bootstrap_mean,
    coherence,
    document_graph,
    dtm_threads,
    example_news,
    greedy_threads,
    interlopers_found,
    kmeans_threads,
    story_score,
)


@pytest.fixture(scope="module")
def news():
    corpus, stories = example_news()
    return corpus, document_graph(corpus, threshold=0.15, max_similarity=0.8), stories


@pytest.fixture(scope="module")
def plain(news):
    return ThreadModel(news[1].graph, length=8, k=7, beta=(0.2, 2.0), rng=0)


@pytest.fixture(scope="module")
def model(news):
    return ThreadModel(news[1].graph, length=8, k=7, beta=(0.2, 2.0), smoothing=2, balance=0.5, rng=0)


def test_kmeans_takes_one_document_of_each_slice_and_cluster(news):
    corpus, graph, _ = news
    threads = np.array(kmeans_threads(graph.vectors, corpus.times, k=6, length=5, rng=0))
    slices = np.array_split(np.argsort(corpus.times, kind="stable"), 5)
    for r, part in enumerate(slices):
        assert set(threads[:, r]) <= set(part.tolist())
        assert len(set(threads[:, r])) == 6
    with pytest.raises(SizeError, match="fewer than the 60 threads"):
        kmeans_threads(graph.vectors, corpus.times, k=60, length=5)
    with pytest.raises(SizeError, match="cannot be cut into 300 slices"):
        kmeans_threads(graph.vectors, corpus.times, k=6, length=300)


def test_greedy_threads_share_no_node(plain):
    threads = list(greedy_threads(plain))
    nodes = np.concatenate(threads)
    assert len(set(nodes.tolist())) == len(nodes)
    weights = [weight(plain.graph, thread) for thread in threads]
    assert weights == sorted(weights, reverse=True)


def weight(graph: ThreadGraph, thread):
    along = sum(graph.edges[a, b] for a, b in itertools.pairwise(thread))
    return 0.2 * graph.weights[thread].sum() + 2.0 * along


def test_what_threads_are_worth_by_themselves(news, model):
    _, graph, _ = news
    rng = np.random.default_rng(0)
    ours = list(model.best())
    noise = [np.sort(rng.choice(len(news[0]), size=8, replace=False)) for _ in range(6)]
    assert coherence(graph.vectors, ours) > 3 * coherence(graph.vectors, noise)
    assert interlopers_found(graph.vectors, ours, rng=0) > 1.8
    assert interlopers_found(graph.vectors, noise, rng=0) < 1.0


def test_strangers_that_look_like_all_others_are_found_by_chance():
    apart = csr_array(np.eye(12))
    thread = np.arange(8)
    assert interlopers_found(apart, [thread], rng=0) == pytest.approx(2 * 2 / 10)
    assert interlopers_found(apart, [thread], n=4, trials=3, rng=0) == pytest.approx(4 * 4 / 12)
    # Six are alike, two stand alone as the strangers do: two of these four are pointed at.
    X = np.eye(12)
    X[:6] = np.eye(12)[0]
    assert interlopers_found(csr_array(X), [thread], rng=0) == pytest.approx(1.0)
    X[6:8] = np.eye(12)[0]
    assert interlopers_found(csr_array(X), [thread], rng=0) == 2.0


def test_scores_of_threads_whose_stories_are_known():
    stories = ["a", "a", "a", "b", "b", None, "c"]
    assert story_score([[0, 1], [3, 4]], stories) == (1.0, 1.0, 1.0)
    # Both tell the same story: pure, but one of them does not count.
    assert story_score([[0, 1], [1, 2]], stories) == (1.0, 0.5, 0.5)
    # A document without a story never helps; half is no majority.
    assert story_score([[0, 5], [3, 4]], stories) == (0.75, 0.75, 0.5)
    assert story_score([[5], [5]], stories) == (0.0, 0.0, 0.0)
    # A document of several stories counts for each.
    assert story_score([[0, 1], [1, 2]], [["a"], ["a", "b"], ["b"], []]) == (1.0, 1.0, 1.0)
    for threads, names in (([], stories), ([[0], []], stories), ([[0]], [None])):
        with pytest.raises(DiversetError, match="nothing to score"):
            story_score(threads, names)


def test_bootstrap():
    x = np.random.default_rng(0).normal(1.0, 2.0, size=100)
    found = bootstrap_mean(x, rng=1)
    assert found.mean == pytest.approx(x.mean())
    half = 1.96 * x.std() / 10
    assert (found.low, found.high) == pytest.approx((x.mean() - half, x.mean() + half), abs=0.05)
    assert found.above_zero > 0.999
    with pytest.raises(DiversetError, match="at least one number"):
        bootstrap_mean([])


def test_topics_of_bad_input_are_refused():
    pytest.importorskip("gensim", reason="gensim is not installed")
    documents = [["red", "dog"], ["cat"], ["red"], ["cow"]]
    with pytest.raises(DiversetError, match="k is -1"):
        dtm_threads(documents, np.arange(4), k=-1, length=2)
    with pytest.raises(DiversetError, match="1 documents and 4 times"):
        dtm_threads(documents[:1], np.arange(4), k=2, length=2)
