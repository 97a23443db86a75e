"""The experiment on selection: its readers on small made-up files, and its numbers on queries with known answers."""

import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from diverset.errors import DiversetError
from experiments import tables
from experiments.selection import data, defaults, report, scores, verdict
from experiments.selection.__main__ import main
from experiments.selection.data import Query, ambiguous, read_data_set
from experiments.selection.defaults import Setting
from experiments.selection.texts import REGROUPED, Texts, Topic, regrouped, with_common

DATA = Path(os.environ.get("DIVERSET_DATA", Path(__file__).parents[3] / "shared" / "data"))


def write_lines(path, records):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def div400(tmp_path):
    """Two queries with 3 and 4 photos; one of them is not relevant."""
    folder = tmp_path / "div400"
    folder.mkdir()
    rng = np.random.default_rng(0)
    arrays = {name: rng.random((7, 5)).astype(np.float32) for name in data.DESCRIPTORS}
    np.savez(folder / "div400_features.npz", topic_ptr=np.array([0, 3, 7]), **arrays)
    clusters = [["c1", None, "c1"], ["c1", "c2", "c3", "c1"]]
    write_lines(
        folder / "div400_topics.jsonl.gz",
        [
            {"query": f"q{t}", "photos": [{"id": i, "cluster": cluster} for i, cluster in enumerate(photos)]}
            for t, photos in enumerate(clusters)
        ],
    )
    return tmp_path


def test_photos_keep_flickrs_order_and_their_clusters(div400):
    first, second = read_data_set("div400", div400)
    assert first.name == "q0"
    assert first.features.shape == (3, 25)
    assert first.quality.tolist() == pytest.approx([1.0, 2 / 3, 1 / 3])
    assert first.judgements == {0: {"c1"}, 2: {"c1"}}
    assert second.judgements == {0: {"c1"}, 1: {"c2"}, 2: {"c3"}, 3: {"c1"}}
    both = np.vstack([first.features, second.features])
    # Every descriptor counts the same: the squares of its columns sum to one on average.
    assert (both**2).sum(axis=1).mean() == pytest.approx(len(data.DESCRIPTORS))
    assert both.mean(axis=0) == pytest.approx(np.zeros(25), abs=1e-7)


def test_features_of_another_length_are_refused(div400):
    with np.load(div400 / "div400" / "div400_features.npz") as arrays:
        changed = {**arrays, "topic_ptr": np.array([0, 4, 7])}
    np.savez(div400 / "div400" / "div400_features.npz", **changed)
    with pytest.raises(DiversetError, match="q0 has 3 photos and 4 rows"):
        read_data_set("div400", div400)


@pytest.fixture
def cranfield(tmp_path):
    """Nine documents about three things; three queries, each with three relevant documents."""
    folder = tmp_path / "ir_cranfield"
    folder.mkdir()
    things = ["wings", "rockets", "bridges"]
    documents = [
        {"id": 10 * t + i, "title": thing, "text": f"{thing} number{i}"}
        for t, thing in enumerate(things)
        for i in range(3)
    ]
    documents.append({"id": 99, "title": "soup", "text": "soup recipes"})
    write_lines(folder / "documents.jsonl.gz", documents)
    write_lines(folder / "queries.jsonl.gz", [{"id": t, "text": f"about {thing}"} for t, thing in enumerate(things)])
    rows = [(t, 10 * t + i, 3) for t in range(3) for i in range(3)]
    # A code of -1 is dropped; a relevant document that no search finds counts for recall.
    rows += [(0, 11, -1), (1, 99, 4), (2, 12345, 2)]
    with (folder / "qrels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("query", "doc", "code"), *rows])
    return tmp_path


def test_three_queries_become_an_ambiguous_one(cranfield):
    pytest.importorskip("sklearn")
    found = read_data_set("ir_cranfield", cranfield)
    (query,) = ambiguous(found)
    assert sorted(query.name.split(" / ")) == ["0", "1", "2"]
    assert query.features.shape[0] == 9  # the soup is no candidate
    assert query.quality == pytest.approx(query.features @ query.vector)
    assert (np.diff(query.quality) <= 0.0).all()
    assert len(found.single) == 3
    assert sorted(query.judgements) == list(range(10))
    assert query.judgements[9] == {"1"}
    assert sorted(min(about) for about in query.judgements.values()) == ["0"] * 3 + ["1"] * 4 + ["2"] * 3


def test_single_topics_are_merged_by_other_groupings():
    single = [Topic(f"t{i}", [f"question {i}"], {i: {f"t{i}"}, 9: {f"t{i}"}}) for i in range(7)]
    texts = Texts(["text"] * 10, single, single[:1])
    found = regrouped(texts)
    assert found.single == single
    assert found.merged[0] == single[0]
    assert len(found.merged) == 1 + 2 * len(REGROUPED)  # seven topics make two groups of three
    for topic in found.merged[1:]:
        names = topic.name.split(" / ")
        assert len(set(names)) == 3
        assert topic.questions == [f"question {name[1:]}" for name in names]
        assert topic.relevant == {9: set(names)} | {int(name[1:]): {name} for name in names}
    assert len({topic.name for topic in found.merged}) > len(REGROUPED)


def test_bm25_by_hand():
    pytest.importorskip("sklearn")
    texts = Texts(["apple apple pear", "apple plum", "plum plum plum plum"], [], [])
    found = texts.query(Topic("t", ["apple"], {0: {"t"}, 2: {"t"}}), scorer="BM25")
    idf = np.log(1 + 1.5 / 2.5)
    lengths = np.array([3, 2]) / 3
    counts = np.array([2, 1])
    assert found.quality == pytest.approx(idf * counts * 2.2 / (counts + 1.2 * (0.25 + 0.75 * lengths)))
    assert found.judgements == {0: {"t"}, 2: {"t"}}  # the third text is not found, and stands behind the candidates


def test_a_common_vector_moves_all_cosines():
    pytest.importorskip("sklearn")
    texts = Texts(["apple pear", "plum apple", "nuts plum apple"], [], [])
    topic = Topic("t", ["apple"], {})
    for vectors in defaults.VECTORS:
        plain = texts.query(topic, vectors=vectors)
        moved = texts.query(topic, vectors=vectors, common=1.5)
        assert (moved.plain != plain.features).sum() == 0
        assert (moved.quality == plain.quality).all()
    sparse = with_common(texts.query(topic), 1.5)
    before, after = (cosines(X) for X in (sparse.plain, sparse.features))
    # The added direction is orthogonal to the rest, so each cosine c becomes (c + 1.5^2) / (1 + 1.5^2).
    assert after == pytest.approx((before + 2.25) / 3.25)


def cosines(X):
    A = X.toarray()
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    return A @ A.T


def test_a_story_does_not_find_itself(tmp_path):
    pytest.importorskip("sklearn")
    folder = tmp_path / "reuters21578"
    folder.mkdir()
    words = {"gold": "bullion mine", "grain": "wheat silo", "ship": "harbour vessel"}
    stories = [
        {"title": f"{code} news of day{i}", "body": f"{text} {code}", "topics": [code]}
        for i in range(100)
        for code, text in words.items()
    ]
    write_lines(folder / "reuters21578.jsonl.gz", stories)
    found = read_data_set("reuters21578", tmp_path)
    assert len(found.single) == 60
    for topic in found.single[:5]:
        (hidden,) = topic.hidden
        assert hidden not in topic.relevant
        assert len(topic.relevant) == 99
    query = ambiguous(found)[0]
    assert len(set().union(*query.judgements.values())) == 3
    assert found.merged[0].hidden


@pytest.fixture
def trec(tmp_path):
    folder = tmp_path / "trec_web_diversity"
    folder.mkdir()
    rows = [(2009, 1, s, f"page{s}{i}", 1) for s in (1, 2) for i in range(5)]
    rows += [(2009, 1, 1, "page20", 2), (2009, 2, 1, "alone", 1), (2014, 3, 0, "plain", 1)]
    with gzip.open(folder / "diversity_qrels_positive.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([("year", "topic", "subtopic", "doc", "grade"), *rows])
    topics = [{"year": y, "topic": t, "query": f"topic {t}"} for y, t in [(2009, 1), (2009, 2), (2014, 3)]]
    write_lines(folder / "topics.jsonl.gz", topics)
    return tmp_path


def test_pages_are_simulated_for_topics_with_subtopics(trec):
    (query,) = read_data_set("trec_web_diversity", trec)
    assert query.name == "topic 1"
    assert query.features.shape == (20, data.DIMENSION)  # ten relevant pages, ten that are not
    assert sorted(query.judgements) == list(range(10))
    assert query.judgements[5] == {"1", "2"}  # page20
    X = query.features / np.linalg.norm(query.features, axis=1, keepdims=True)
    S = X @ X.T
    same = S[:5, :5][np.triu_indices(5, 1)].mean()
    assert same > S[:5, 6:10].mean() + 0.1
    assert np.ptp(query.quality) == pytest.approx(1.0)
    again = read_data_set("trec_web_diversity", trec)[0]
    assert (again.features == query.features).all()


@pytest.mark.parametrize("name", data.DATA_SETS)
def test_missing_data_are_named(name, tmp_path):
    if name.startswith("ir_"):
        pytest.importorskip("sklearn")
    with pytest.raises(DiversetError, match=rf"{name}.* is missing; say with --data"):
        read_data_set(name, tmp_path)


def test_missing_data_are_skipped_with_a_message(tmp_path, capsys):
    pytest.importorskip("sklearn")
    assert main(["--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "out")]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("is missing; say with --data") == len(data.DATA_SETS)
    assert "none of the data sets is there" in captured.err
    assert list((tmp_path / "out").iterdir()) == []


def easy_query(seed):
    """Twenty items: ten relevant ones in two clusters, the larger with the higher scores."""
    rng = np.random.default_rng(seed)
    about = [0] * 8 + [1] * 2 + [None] * 10
    axes = np.eye(3)[[2 if a is None else a for a in about]]
    quality = np.array([0.9] * 8 + [0.8] * 2 + [0.1] * 10) + 0.01 * rng.random(20)
    judgements = {i: {a} for i, a in enumerate(about) if a is not None}
    return Query(f"q{seed}", np.hstack([axes, 0.3 * rng.standard_normal((20, 20))]), quality, judgements)


def test_measures_of_a_known_ranking():
    query = easy_query(0)
    precision, ndcg = scores.measure([0, 1, 10, 11, 12, 13, 14, 15, 16, 17], query)
    assert precision == 0.2
    assert 0.0 < ndcg < 1.0
    assert scores.measure([0, 8, 1, 9, *range(2, 8)], query) == pytest.approx([1.0, 1.0])


def test_intervals_hold_the_mean_and_shrink_with_the_number_of_queries():
    rng = np.random.default_rng(0)
    few, many = rng.normal(0.3, 1.0, size=25), rng.normal(0.3, 1.0, size=400)
    for values in (few, many):
        low, high = tables.interval(values)
        # Against the normal interval, which the bootstrap approaches.
        half = 1.96 * values.std() / np.sqrt(len(values))
        assert low == pytest.approx(values.mean() - half, abs=0.25 * half)
        assert high == pytest.approx(values.mean() + half, abs=0.25 * half)
    assert tables.interval(few) == tables.interval(few)


def test_no_query_chooses_its_own_dial():
    table = np.zeros((3, len(scores.METRICS), 10))
    table[1, scores.ALPHA] = 0.5
    table[2, scores.ALPHA, 0] = 100.0  # one query loves the third setting, and alone decides for all folds but its own
    assert scores.tuned_rows({"select": table}, "select").tolist() == [1, 2, 2, 2, 2] * 2


def test_the_dial_on_made_up_queries(tmp_path):
    pytest.importorskip("matplotlib")
    found = scores.run([easy_query(seed) for seed in range(6)])
    for method in ("MMR", "select", "max-min"):  # the dial at 0 is top-k
        assert (found[method][0] == found["top-k"][0]).all()
    assert found["select"][:, scores.ALPHA].mean(axis=1).max() > found["top-k"][0, scores.ALPHA].mean() + 0.01
    assert report.tuned_table({"div400": found}).count("\n   * - ") == 1 + len(scores.METHODS)
    tables.write_csv(tmp_path / "all.csv", report.HEADINGS, report.dial_rows({"div400": found}))
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(scores.METRICS) * (5 * len(scores.DIALS) + 2)
    assert all(float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in rows)
    report.draw(tmp_path / "all.svg", {"div400": found})
    assert (tmp_path / "all.svg").read_text().count("<svg") == 1


def test_score_scales_keep_the_ranking_and_its_ties():
    q = np.array([3.0, 7.0, 7.0, 1.0])
    for change in defaults.SCALES.values():
        changed = change(q)
        assert np.argsort(-changed, kind="stable").tolist() == [1, 2, 0, 3]
        assert changed[1] == changed[2]


def test_half_of_the_queries_are_held_back():
    assert defaults.held_back(9).sum() == 5
    assert (defaults.held_back(50) == defaults.held_back(50)).all()


def test_defaults_on_made_up_queries():
    methods = defaults.default_methods()
    queries = [easy_query(seed) for seed in range(4)]
    found = defaults.run_defaults("div400", queries, methods)
    assert {setting.common for setting, _ in found} == {False, True}
    top = found[Setting("div400", True, "own", "own", False), "top-k"]
    assert (top[3] == 1.0).all()
    ours = found[Setting("div400", True, "own", "own", False), "select"]
    expected = [scores.measure(list(methods["select"](query)), query)[1] for query in queries]
    assert ours[1] == pytest.approx(expected)
    rows = list(verdict.default_rows(found))
    assert len(rows) == len(found) * len(defaults.MEASURES)
    assert all(len(row) == len(verdict.HEADINGS) for row in rows)


def made_up(values):
    """Two queries each of two settings: top-k has precision 0.4 and two near-duplicates, "select" the given values."""
    found = {}
    for common in (False, True):
        single = Setting("ir_cisi", False, "BM25", "SVD", common)
        merged = Setting("ir_cisi", True, "cosine", "SVD", common)
        for setting in (single, merged):
            found[setting, "top-k"] = np.array([[0.4, 0.4], [0.5, 0.5], [2.0, 2.0], [1.0, 1.0]])
            found[setting, "select"] = np.repeat(np.array(values, dtype=float)[:, None], 2, axis=1)
    return found


def test_the_verdict_by_hand():
    overlaps = {
        "ir_cisi": {(n, "select", scale): 0.9 for n in defaults.POOLS for scale in defaults.SCALES},
    }
    overlaps["ir_cisi"][1000, "select", "minus rank"] = 0.8
    tables = verdict.default_tables(made_up([0.3, 0.52, 1.0, 0.8]), overlaps)
    cells = ["**select**", "0.75", "0.75", "+0.020", "+0.020", "0.50", "0.10"]
    assert tables["selection_verdict.rst"].endswith("   * - " + "\n     - ".join(cells) + "\n")
    # A figure that misses its aim is bold: precision below 0.85 and more than a third of the near-duplicates.
    bars = tables["selection_bars.rst"]
    assert "worst setting\n     - at least 0.85\n     - **0.75**\n     - **0.75**" in bars
    assert "mean of sets\n     - above 0\n     - +0.020\n     - +0.020" in bars
    assert "at most 1/3\n     - **0.50**" in bars
    assert "at most 0.15\n     - 0.10" in bars
    assert "**" not in verdict.default_tables(made_up([0.4, 0.52, 0.5, 0.8]), overlaps)["selection_bars.rst"]


def test_the_bars_are_for_the_mean_of_the_vectors():
    found = made_up([0.4, 0.51, 0.5, 0.8])
    found |= {
        (Setting(s.data, s.merged, s.scorer, "tf-idf", s.common), method): values - [[0.0], [0.012], [0.0], [0.0]]
        if method == "select"
        else values
        for (s, method), values in found.items()
    }
    bars = verdict.default_tables(found, {})["selection_bars.rst"]
    assert "top-k's, CISI\n     - at least -0.005\n     - +0.004\n     - +0.004" in bars
    assert "by vectors: CISI, SVD\n     -\n     - +0.010\n     - +0.010" in bars
    assert "by vectors: CISI, tf-idf\n     -\n     - -0.002\n     - -0.002" in bars
    assert "**" not in bars.split("spread")[0]
    for key in found:
        if key[0].vectors == "tf-idf" and key[1] == "select":
            found[key][1] -= 0.006
    bars = verdict.default_tables(found, {})["selection_bars.rst"]
    assert "top-k's, CISI\n     - at least -0.005\n     - +0.001\n     - +0.001" in bars
    assert "by vectors: CISI, tf-idf\n     -\n     - **-0.008**\n     - **-0.008**" in bars


def test_the_default_is_one_of_the_factors():
    ours, default = defaults.factor_methods()["1.2"], defaults.default_methods()["select"]
    for seed in range(5):
        assert ours(easy_query(seed)) == default(easy_query(seed))


def test_the_factors_by_hand():
    found = made_up([0.4, 0.52, 1.0, 1.0])
    # Two more merged queries, on which the gain of "1.2" is smaller.
    more = {(setting, method): values for (setting, method), values in found.items() if method == "top-k"}
    for factor in ("1", "1.1", "1.2", "1.3"):
        more |= {(setting, factor): values for (setting, method), values in found.items() if method == "select"}
    more = {
        (setting, method): np.hstack([values, values - [[0.0], [0.04 * (method == "1.2")], [0.0], [0.0]]])
        if setting.merged
        else values
        for (setting, method), values in more.items()
    }
    table = verdict.factor_table(found, more)
    assert "top-k's, CISI, 2 queries" + 4 * "\n     - +0.020" in table
    assert "with 2 more merged queries, CISI\n     - +0.020\n     - +0.020\n     - +0.000\n     - +0.020" in table
    assert "mean of sets" + 4 * "\n     - +0.0200" in table
    assert "share of top-k's" + 4 * "\n     - 0.50" in table
    assert "exactly the top-k" + 4 * "\n     - 100%" in table


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "queries"), [("div400", 50), ("ir_cranfield", 63), ("ir_cisi", 24), ("reuters21578", 60)]
)
def test_real_data_are_read(name, queries):
    if not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is missing")
    found = ambiguous(read_data_set(name, DATA))
    assert len(found) == queries
    assert all(np.isfinite(query.quality).all() and query.judgements for query in found)
    if name == "div400":  # as the data's own notes measured
        assert np.mean([scores.measure(range(10), query)[0] for query in found]) == pytest.approx(0.78, abs=5e-4)
