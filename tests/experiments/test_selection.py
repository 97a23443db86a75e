"""The experiment on selection: its readers on small made-up files, and its numbers on queries with known answers."""

import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from diverset.errors import DiversetError
from experiments.selection import data, report, scores
from experiments.selection.__main__ import main
from experiments.selection.data import Query, read_data_set

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
    (query,) = read_data_set("ir_cranfield", cranfield)
    assert sorted(query.name.split(" / ")) == ["0", "1", "2"]
    assert query.features.shape[0] == 9  # the soup is no candidate
    assert query.quality.max() == 1.0
    assert (np.diff(query.quality) <= 0.0).all()
    assert sorted(query.judgements) == list(range(10))
    assert query.judgements[9] == {"1"}
    assert sorted(min(about) for about in query.judgements.values()) == ["0"] * 3 + ["1"] * 4 + ["2"] * 3


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
    assert captured.err.count(": skipped: ") == len(data.DATA_SETS)
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
    recall, precision, f1, ndcg = scores.measure([0, 1, 10, 11, 12, 13, 14, 15, 16, 17], query, 10)
    assert (recall, precision) == (0.5, 0.2)
    assert f1 == pytest.approx(2 * 0.5 * 0.2 / 0.7)
    assert 0.0 < ndcg < 1.0
    assert scores.measure([0, 8, 1, 9, *range(2, 8)], query, 10) == pytest.approx([1.0, 1.0, 1.0, 1.0])


def test_candidates_are_described():
    query = Query("q", np.repeat(np.eye(5), [1, 1, 1, 1, 6], axis=0), np.ones(10), {i: {0} for i in range(4, 9)})
    found = scores.describe([query, query])
    assert found["candidates"] == 10.0
    assert found["mean cosine"] == pytest.approx(15 / 45)  # the pairs among six equal items
    assert found["relevant, oddest fifth"] == 0.0
    assert found["relevant, the others"] == pytest.approx(5 / 8)
    table = report.candidates_table({"div400": found}, {"div400": 2})
    assert "   * - div400\n     - 2\n     - 10\n     - 0.33\n" in table


def test_intervals_hold_the_mean_and_shrink_with_the_number_of_queries():
    rng = np.random.default_rng(0)
    few, many = rng.normal(0.3, 1.0, size=25), rng.normal(0.3, 1.0, size=2500)
    for values in (few, many):
        low, high = scores.interval(values)
        # Against the normal interval, which the bootstrap approaches.
        half = 1.96 * values.std() / np.sqrt(len(values))
        assert low == pytest.approx(values.mean() - half, abs=0.25 * half)
        assert high == pytest.approx(values.mean() + half, abs=0.25 * half)
    assert scores.interval(few) == scores.interval(few)


def test_no_query_chooses_its_own_dial():
    table = np.zeros((3, len(scores.METRICS), 10))
    at = scores.METRICS.index("alpha-nDCG")
    table[1, at] = 0.5
    table[2, at, 0] = 100.0  # one query loves the third setting, and alone decides for all folds but its own
    found = scores.tuned_dials({("select", 10): table}, "select")
    assert found.tolist() == [1, 2, 2, 2, 2] * 2
    assert scores.tuned({("select", 10): table}, "select", "alpha-nDCG", 10)[0] == 0.5


def test_the_whole_run_on_made_up_queries(tmp_path):
    pytest.importorskip("matplotlib")
    queries = [easy_query(seed) for seed in range(6)]
    found = scores.run(queries)
    recall = scores.METRICS.index("subtopic recall")
    for method in ("MMR", "select", "max-min"):  # the dial at 0 is top-k
        assert (found[method, 10][0] == found["top-k", 10][0]).all()
    assert (found["select", 10][5, recall] == 1.0).all()
    assert (found["top-k", 10][0] == found["top-k", 10][-1]).all()
    text = report.tables("div400", found)
    assert sorted(text) == ["selection_div400_dial.rst", "selection_div400_tuned.rst"]
    assert text["selection_div400_dial.rst"].count("\n   * - ") == 3 * (1 + len(scores.DIALS))
    assert "Cluster recall at 10" in text["selection_div400_dial.rst"]
    assert text["selection_div400_tuned.rst"].count("\n   * - ") == 2 * (1 + len(scores.METHODS))
    report.write_csv(tmp_path / "all.csv", {"div400": found})
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(scores.METRICS) * (5 * len(scores.DIALS) + 2)
    assert all(float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in rows)
    report.draw(tmp_path / "all.svg", {"div400": found})
    assert (tmp_path / "all.svg").read_text().count("<svg") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "queries"), [("div400", 50), ("ir_cranfield", 63), ("ir_cisi", 24)])
def test_real_data_are_read(name, queries):
    if not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is missing")
    found = read_data_set(name, DATA)
    assert len(found) == queries
    assert all(np.isfinite(query.quality).all() and query.judgements for query in found)
    if name == "div400":  # as the data's own notes measured
        recall = [scores.measure(range(10), query, 10)[0] for query in found]
        assert np.mean(recall) == pytest.approx(0.394, abs=5e-4)
