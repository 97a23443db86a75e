"""Measures by subtopic: by hand, against ndeval, and on the judgements of the TREC Web Track."""

import csv
import gzip
import itertools
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from diverset import baselines
from diverset.errors import DiversetError, KernelError, LabelError
from diverset.metrics import alpha_ndcg, err_ia, precision_ia, subtopic_recall

DATA = Path(os.environ.get("DIVERSET_DATA", Path(__file__).parents[3] / "shared" / "data")) / "trec_web_diversity"
METRICS = [alpha_ndcg, err_ia, precision_ia, subtopic_recall]
# Two documents about subtopic 1, one about 2, one about both 2 and 3.
JUDGED = {"a": {1}, "b": {1}, "c": {2}, "d": {2, 3}}


def test_values_by_hand():
    ranking = ["a", "x", "d", "b"]
    assert subtopic_recall(ranking, JUDGED, 2) == pytest.approx(1 / 3)
    assert subtopic_recall(ranking, JUDGED, 3) == 1.0
    assert precision_ia(ranking, JUDGED, 3) == pytest.approx((1 / 3 + 1 / 3 + 1 / 3) / 3)
    assert precision_ia(ranking, JUDGED, 10) == pytest.approx((2 / 10 + 1 / 10 + 1 / 10) / 3)
    # Ideal: d (2), then a or b (1), then the other one or c (1/2 each).
    ideal = 2 + 1 / math.log2(3) + 0.5 / 2
    assert alpha_ndcg(ranking, JUDGED, 3) == pytest.approx((1 + 2 / 2) / ideal)
    assert alpha_ndcg(ranking, JUDGED, 4) == pytest.approx(
        (1 + 2 / 2 + 0.5 / math.log2(5)) / (ideal + 0.5 / math.log2(5))
    )
    assert alpha_ndcg(["a", "b"], JUDGED, 2, alpha=1.0) == pytest.approx(1 / (2 + 1 / math.log2(3)))
    # A relevant document satisfies half of the readers.
    assert err_ia(ranking, JUDGED, 4) == pytest.approx((1 / 2 + 1 / 4 * 1 / 4 + 1 / 2 * 1 / 3 + 1 / 2 * 1 / 3) / 3)


def test_grades_by_hand():
    judged = {"a": {"s": 2, "t": 1}, "b": {"s": 1, "t": 0, "u": -2}, "c": {"t": 2}}
    # Grade 2 of 2 satisfies 3/4, grade 1 of 2 satisfies 1/4; u has no relevant document and is left out.
    s = 1 / 4 + 1 / 2 * 3 / 4 * 3 / 4
    t = 1 / 2 * 1 / 4 + 1 / 3 * 3 / 4 * 3 / 4
    assert err_ia(["b", "a", "c"], judged) == pytest.approx((s + t) / 2)
    assert err_ia(["b", "a", "c"], judged, weights={"s": 3, "t": 1, "u": 9}) == pytest.approx((3 * s + t) / 4)
    assert err_ia(["a"], judged, max_grade=4) == pytest.approx((3 / 16 + 1 / 16) / 2)
    assert precision_ia(["b", "a"], judged, weights={"s": 3, "t": 1}) == pytest.approx((3 * 1 + 1 * 1 / 2) / 4)
    assert subtopic_recall(["b"], judged) == 0.5


def test_numbers_of_ndeval():
    """By pyndeval 0.0.8, the program of the TREC Web Track; its ideal ranking depends on how ties are broken."""
    judged = {"a": "1", "b": "12", "c": "34", "d": "12", "e": "12", "f": "13"}
    judged = {doc: set(subtopics) for doc, subtopics in judged.items()}
    ranking = ["d", "c", "b", "e", "a"]
    theirs = {
        alpha_ndcg: {2: 1.1070681006323602, 3: 1.017710467450658, 5: 0.9666422371213668},
        err_ia: {2: 0.6, 3: 0.6250000000000001, 5: 0.6323751891074131},
        precision_ia: {2: 0.5, 3: 0.5, 5: 0.45},
        subtopic_recall: {2: 1.0, 3: 1.0, 5: 1.0},
    }
    for metric, values in theirs.items():
        options = {"normalized": True} if metric is err_ia else {}
        for k, value in values.items():
            assert metric(ranking, judged, k, **options) == pytest.approx(value, rel=1e-14)
    assert alpha_ndcg(ranking, judged, 3, alpha=0.8) == pytest.approx(1.031200534054709, rel=1e-14)
    assert alpha_ndcg(ranking, judged, 5, alpha=0.8) == pytest.approx(1.0058525915861813, rel=1e-14)


def dcg_by_hand(order, G, alpha):
    total, seen = 0.0, dict.fromkeys(range(G.shape[1]), 0)
    for r, i in enumerate(order, start=1):
        for t in np.flatnonzero(G[i]):
            total += (1 - alpha) ** seen[t] / math.log2(1 + r)
            seen[t] += 1
    return total


@st.composite
def judged_rankings(draw):
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    G = np.array(draw(st.lists(st.lists(st.integers(0, 3), min_size=m, max_size=m), min_size=n, max_size=n)))
    ranking = draw(st.permutations(range(n)))[: draw(st.integers(0, n))]
    return G, ranking, draw(st.integers(1, 8)), draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))


@given(judged_rankings())
def test_properties(case):
    G, ranking, k, alpha = case
    scores = [metric(ranking, G, k) for metric in METRICS]
    assert min(scores) >= 0.0
    assert max(scores[1:]) <= 1.0
    assert err_ia(ranking, G, k) <= err_ia(ranking, G, k, normalized=True) <= 1.0 + 1e-12
    # Against the best ranking of all, which greedy search reaches up to its guarantee.
    best = max(dcg_by_hand(order, G, alpha) for order in itertools.permutations(range(len(G)), min(k, len(G))))
    found = alpha_ndcg(ranking, G, k, alpha)
    assert found <= 1 / (1 - 1 / math.e)
    if best:
        plain = dcg_by_hand(ranking[:k], G, alpha) / best
        assert plain - 1e-12 <= found <= plain / (1 - 1 / math.e) + 1e-12
    if ((G > 0).sum(axis=1) <= 1).all():
        assert found <= 1.0 + 1e-12
    # The names of subtopics do not matter, nor whether judgements are a table.
    turned = [metric(ranking, G[:, ::-1], k) for metric in METRICS]
    named = {i: {f"topic {t}": g for t, g in enumerate(row)} for i, row in enumerate(G.tolist())}
    for other in (turned, [metric(ranking, named, k) for metric in METRICS]):
        assert other == pytest.approx(scores, abs=1e-14)
    assert [metric(ranking, sparse.csr_array(G), k) for metric in METRICS] == scores


@given(judged_rankings())
def test_sets_booleans_and_grades_of_one_agree(case):
    G, ranking, k, alpha = case
    sets = {i: set(np.flatnonzero(row)) for i, row in enumerate(G)}
    for metric in METRICS:
        expected = metric(ranking, G > 0, k)
        assert metric(ranking, (G > 0).astype(int).tolist(), k) == expected
        assert metric(ranking, sets, k) == pytest.approx(expected, abs=1e-14)
    assert alpha_ndcg(ranking, G, k, alpha) == alpha_ndcg(ranking, G > 0, k, alpha)


@pytest.mark.parametrize("metric", METRICS)
def test_what_a_ranking_may_be(metric):
    G = np.eye(4)[:, :3]
    expected = metric([2, 0], G, 2)
    for ranking in (np.array([2, 0]), (2, 0), iter([2, 0]), np.array([2, 0], dtype=np.uint8)):
        assert metric(ranking, G, 2) == expected
    assert metric([2, 0], G) == expected
    chosen = baselines.top_k(np.eye(4), 2, quality=[3, 1, 4, 0])
    assert metric(chosen, G) == expected
    assert metric([], G, 3) == metric([], {}, 3) == metric(["a"], {}, 3) == 0.0
    assert metric([1], np.zeros((3, 2)), 3) == metric([], G) == 0.0


def test_weights_by_column():
    G = np.array([[1, 0, 0], [0, 0, 1]])
    assert precision_ia([0], G, weights=[1, 5, 3]) == pytest.approx(1 / 4)
    assert err_ia([1], G, weights=np.array([1, 5, 3])) == pytest.approx(3 / 4 * 1 / 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: alpha_ndcg(["a", "c", "a"], JUDGED), LabelError, "ranking names item 'a' more than once"),
        (lambda: alpha_ndcg([0, 2], np.eye(2)), LabelError, "ranking names item 2"),
        (lambda: alpha_ndcg([0, 0], np.eye(2)), LabelError, "ranking names item 0 more than once"),
        (lambda: alpha_ndcg("abc", JUDGED), LabelError, "ranking is the text 'abc'"),
        (lambda: alpha_ndcg(["a"], JUDGED, 0), DiversetError, "k is 0"),
        (lambda: alpha_ndcg(["a"], JUDGED, 2, alpha=1.5), DiversetError, "alpha is 1.5"),
        (lambda: alpha_ndcg(["a"], {"a": "12"}), DiversetError, "judgements['a'] is '12'"),
        (lambda: alpha_ndcg(["a"], {"a": 1}), DiversetError, "judgements['a'] is 1"),
        (lambda: alpha_ndcg(["a"], {"a": {"s": math.nan}}), DiversetError, "judgements['a']['s'] is nan"),
        (lambda: alpha_ndcg([0], [[1.0, np.inf]]), KernelError, "judgements[0, 1] is inf"),
        (lambda: alpha_ndcg([0], [1.0, 0.0]), KernelError, "judgements has shape (2,)"),
        (lambda: err_ia(["a"], {"a": {"s": 3}}, max_grade=2), DiversetError, "max_grade is 2.0; there is a grade of 3"),
        (lambda: err_ia(["a"], JUDGED, weights=[1, 2, 3]), DiversetError, "weights must be a mapping"),
        (lambda: err_ia(["a"], JUDGED, weights={1: 1, 2: 1}), DiversetError, "no entry for subtopic 3"),
        (lambda: err_ia(["a"], JUDGED, weights={1: 1, 2: -1, 3: 0}), DiversetError, "subtopic 2 is -1.0"),
        (lambda: err_ia([0], np.eye(2), weights=[1, 2, 3]), DiversetError, "weights has 3 entries for 2 subtopics"),
        (lambda: precision_ia([0], np.eye(2), weights=[0, 0]), DiversetError, "are 0; give one a positive weight"),
    ],
)
def test_what_is_wrong_is_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


@pytest.fixture(scope="module")
def web_track():
    """Judgements of every sixth query of the TREC Web Track, as document to subtopics to grades."""
    path = DATA / "diversity_qrels_positive.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is missing; set DIVERSET_DATA to the folder of data sets")
    queries = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            judged = queries.setdefault((row["year"], row["topic"]), {})
            judged.setdefault(row["doc"], {})[row["subtopic"]] = int(row["grade"])
    assert len(queries) > 250
    return list(queries.values())[::6]


def ideal_ranking(judged, k, alpha=0.5):
    """Greedy, in plain Python; of equal gains the greatest name, as in ndeval."""
    worth, left, order = {}, set(judged), []
    while left and len(order) < k:
        best = max(left, key=lambda doc: (sum(worth.get(t, 1.0) for t in judged[doc]), doc))
        left.remove(best)
        order.append(best)
        worth |= {t: worth.get(t, 1.0) * (1 - alpha) for t in judged[best]}
    return order


def test_web_track_ideal_rankings_score_one_and_random_ones_less(web_track):
    rng = np.random.default_rng(0)
    scores = []
    for judged in web_track:
        ideal = ideal_ranking(judged, 20)
        for k in (1, 5, 20):
            assert alpha_ndcg(ideal, judged, k) == pytest.approx(1.0, abs=1e-12)
        assert subtopic_recall(ideal, judged, 20) == 1.0
        docs = sorted(judged) + [f"not judged {i}" for i in range(len(judged))]
        shuffled = [docs[i] for i in rng.permutation(len(docs))]
        scores.append(alpha_ndcg(shuffled, judged, 20))
        assert 0.0 <= scores[-1] < 1.0
        for metric in (err_ia, precision_ia, subtopic_recall):
            assert 0.0 <= metric(shuffled, judged, 20) <= 1.0
    assert 0.3 < np.mean(scores) < 0.8
