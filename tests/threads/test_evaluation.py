"""Scores of timelines against the package tilse 0.2.1, and what threads are worth by themselves."""

import datetime
import itertools
import random
import re
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from diverset.errors import DiversetError, SizeError
from diverset.threads import (
    ThreadGraph,
    ThreadModel,
    Tuning,
    bootstrap_mean,
    coherence,
    date_score,
    document_graph,
    dtm_threads,
    example_news,
    greedy_threads,
    interlopers_found,
    kmeans_threads,
    story_score,
    text_cosine,
    time_slices,
    timeline_rouge,
    tune,
)


def timelines(seed):
    rnd = random.Random(seed)
    words = [f"w{i}" for i in range(8)]
    start = datetime.date(2011, 2, 1)

    def one(days):
        return {
            start + datetime.timedelta(days=d): [
                " ".join(rnd.choice(words) for _ in range(rnd.randint(2, 6))) for _ in range(rnd.randint(1, 2))
            ]
            for d in rnd.sample(range(20), days)
        }

    return one(6), [one(5), one(9)]


# Computed by tilse 0.2.1, TimelineRougeEvaluator with its own counting, without stemming and stop words: concat,
# agreement, align_date_costs, align_date_content_costs_many_to_one.
TILSE = [
    (0, "concat", 1, 0.628205128205, 0.777777777778, 0.695035460993),
    (0, "concat", 2, 0.302631578947, 0.377049180328, 0.335766423358),
    (0, "agree", 1, 0.243589743590, 0.301587301587, 0.269503546099),
    (0, "agree", 2, 0.060606060606, 0.081632653061, 0.069565217391),
    (0, "align", 1, 0.250000000000, 0.309523809524, 0.276595744681),
    (0, "align", 2, 0.060606060606, 0.081632653061, 0.069565217391),
    (0, "align-many", 1, 0.262820512821, 0.387301587302, 0.313143644161),
    (0, "align-many", 2, 0.060606060606, 0.085714285714, 0.071005917160),
    (1, "concat", 1, 0.755319148936, 0.825581395349, 0.788888888889),
    (1, "concat", 2, 0.304347826087, 0.333333333333, 0.318181818182),
    (1, "agree", 1, 0.095744680851, 0.104651162791, 0.100000000000),
    (1, "agree", 2, 0.0, 0.0, 0.0),
    (1, "align", 1, 0.131205673759, 0.143410852713, 0.137037037037),
    (1, "align", 2, 0.004065040650, 0.004629629630, 0.004329004329),
    (1, "align-many", 1, 0.152482269504, 0.253488372093, 0.190420086130),
    (1, "align-many", 2, 0.010162601626, 0.032561728395, 0.015490558835),
]


@pytest.mark.parametrize(("seed", "mode", "n", "precision", "recall", "f"), TILSE)
def test_timeline_rouge_is_that_of_tilse(seed, mode, n, precision, recall, f):
    predicted, references = timelines(seed)
    score = timeline_rouge(predicted, references, mode=mode, n=n, analyzer=str.split)
    assert score == pytest.approx((precision, recall, f), abs=1e-11)


def test_dates_are_those_of_tilse():
    for seed, wanted in ((0, (2 / 3, 1 / 3, 4 / 9)), (1, (2 / 3, 4 / 11, 8 / 17))):
        predicted, references = timelines(seed)
        assert date_score(predicted, set().union(*references)) == pytest.approx(wanted)
    assert date_score([], []) == (0.0, 0.0, 0.0)


def test_rouge_of_timelines_stems_and_drops_stop_words():
    day = datetime.date(2011, 1, 1)
    score = timeline_rouge({day: "The ships were sinking"}, [{day: ["A ship", "sinks"]}], mode="agree")
    assert score == (1.0, 1.0, 1.0)
    with pytest.raises(DiversetError, match="mode is 'x'"):
        timeline_rouge({}, [], mode="x")


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
    slices = time_slices(corpus.times, 5)
    for r, part in enumerate(slices):
        assert set(threads[:, r]) <= set(part.tolist())
        assert len(set(threads[:, r])) == 6
    with pytest.raises(SizeError, match="fewer than the 60 threads"):
        kmeans_threads(graph.vectors, corpus.times, k=60, length=5)
    with pytest.raises(SizeError, match="cannot be cut into 300 slices"):
        time_slices(corpus.times, 300)


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
    X = graph.vectors.toarray()
    target = X[10:20].sum(axis=0)
    nodes = np.array([11, 14])
    both = X[nodes].sum(axis=0)
    wanted = both @ target / np.linalg.norm(both) / np.linalg.norm(target)
    assert text_cosine(graph.vectors, nodes, target) == pytest.approx(wanted, rel=1e-6)


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
    for threads, names in (([], stories), ([[0], []], stories), ([[0]], [None])):
        with pytest.raises(DiversetError, match="nothing to score"):
            story_score(threads, names)


def test_the_search_shows_a_bar_on_a_terminal_only(capsys, monkeypatch):
    tune(lambda beta: beta, {"beta": [1, 2, 3]})
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    tune(lambda beta: beta, {"beta": [1, 2, 3]})
    out, err = capsys.readouterr()
    assert out == ""
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err)
    assert re.search(r"Trying settings .*━.* 3/3 .*gone 0:00:00 left 0:00:00", shown)
    tune(lambda beta: beta, {"beta": [1, 2, 3]}, show=False)
    assert capsys.readouterr() == ("", "")


def test_bootstrap():
    x = np.random.default_rng(0).normal(1.0, 2.0, size=100)
    found = bootstrap_mean(x, rng=1)
    assert found.mean == pytest.approx(x.mean())
    half = 1.96 * x.std() / 10
    assert (found.low, found.high) == pytest.approx((x.mean() - half, x.mean() + half), abs=0.05)
    assert found.above_zero > 0.999
    with pytest.raises(DiversetError, match="at least one number"):
        bootstrap_mean([])


def test_a_search_is_saved_and_taken_up(tmp_path):
    calls = []

    def score(beta, threshold):
        calls.append((beta, threshold))
        return -abs(beta - 2) - threshold

    path = tmp_path / "search.json"
    grid = {"beta": [1, 2], "threshold": [0.1, 0.2]}
    found = tune(score, grid, output=path)
    assert found.best == {"beta": 2, "threshold": 0.1}
    assert len(calls) == 4
    again = tune(score, grid | {"beta": [1, 2, 3]}, output=path)
    assert len(calls) == 6
    assert Tuning.load(path).tried == again.tried
    path.write_text("{}")
    with pytest.raises(DiversetError, match="holds no search"):
        tune(score, grid, output=path)
    with pytest.raises(DiversetError, match="grid is empty"):
        tune(score, {"beta": []})


def test_topics_of_bad_input_are_refused():
    pytest.importorskip("gensim", reason="gensim is not installed")
    documents = [["red", "dog"], ["cat"], ["red"], ["cow"]]
    with pytest.raises(DiversetError, match="k is -1"):
        dtm_threads(documents, np.arange(4), k=-1, length=2)
    with pytest.raises(DiversetError, match="1 documents and 4 times"):
        dtm_threads(documents[:1], np.arange(4), k=2, length=2)
