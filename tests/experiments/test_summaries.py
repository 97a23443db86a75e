"""The experiment on summaries: splits that do not leak, intervals, tables, and a run on made-up clusters."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.text import Cluster, Summarizer
from experiments.summaries import packages, report, study
from experiments.summaries.data import HALVES, Fold, Task, at_random, by_topic, read_task

DATA = Path(os.environ.get("DIVERSET_DATA", Path(__file__).parents[3] / "shared" / "data"))


def check_folds(folds, n):
    tested = [t for fold in folds for t in fold.test]
    assert sorted(tested) == list(range(n))
    for fold in folds:
        parts = [set(fold.learn), set(fold.develop), set(fold.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == n
        assert all(parts)


def test_folds_are_apart():
    check_folds(at_random(23), 23)
    topics = [topic for half, _ in HALVES for topic in sorted(half)] * 3
    folds = by_topic(topics)
    check_folds(folds, len(topics))
    for fold in folds:
        learned, developed, tested = ({topics[t] for t in part} for part in (fold.learn, fold.develop, fold.test))
        assert not learned & developed
        assert not (learned | developed) & tested


def test_reader(tmp_path):
    (tmp_path / "opinosis").mkdir()
    with gzip.open(tmp_path / "opinosis" / "opinosis.jsonl.gz", "wt", encoding="utf-8") as file:
        for t in range(6):
            file.write(json.dumps({"id": t, "documents": [["A b c.", "D."]], "references": ["A b."]}) + "\n")
    task = read_task("opinosis", tmp_path)
    assert (len(task.clusters), task.max_bytes) == (6, 120)
    with pytest.raises(DiversetError, match="t17_daily"):
        read_task("t17_daily", tmp_path)


@pytest.mark.skipif(not (DATA / "t17_daily").exists(), reason="the public data are not here")
def test_the_topics_of_the_news_are_known():
    task = read_task("t17_daily", DATA)
    check_folds(task.folds, len(task.clusters))
    assert max(len(document) for cluster in task.clusters for document in cluster.documents) <= 12


def test_bootstrap_interval():
    values = np.random.default_rng(0).standard_normal(400)
    low, high = study.bootstrap(values.tolist())
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def made_up_clusters():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(40)])
    clusters = []
    for _ in range(6):
        documents = [[" ".join(rng.choice(words, 6)) + "." for _ in range(5)] for _ in range(3)]
        clusters.append(Cluster(documents, [documents[0][0] + " " + documents[1][0]]))
    return clusters


class Backwards(packages.PackageRival):
    """Stands in for a package: the last sentences are its best."""

    thresholds = (0.2, 0.1)

    def fit(self, clusters):
        return self

    def rank(self, cluster):
        return np.arange(len(cluster))[::-1]


@pytest.mark.slow
def test_a_run_fills_all_tables_and_goes_on_where_it_stopped(monkeypatch, tmp_path):
    monkeypatch.setattr(study, "POOL", 200)
    monkeypatch.setattr(study, "SIZES", (100, 200))
    monkeypatch.setattr(study, "package_rivals", lambda say: {"sumy-package": Backwards()})
    monkeypatch.setattr(report, "RISK", ("dpp-mbr100", "dpp-mbr200"))
    monkeypatch.setattr(
        report, "SYSTEMS", ("begin", "sumy-package", "lexrank-package", "dpp-greedy", "dpp-mbr100", "dpp-mbr200")
    )
    folds = [Fold([0, 1], [2], [3, 4, 5]), Fold([3, 4], [5], [0, 1, 2])]
    task = Task("made_up", made_up_clusters(), 60, folds)
    lines = []
    found = study.run(task, say=lines.append, keep=tmp_path)
    tables = report.tables("made_up", found)
    assert set(found.scores["dpp-mbr200"]) == set(found.drawing) == set(range(6))
    assert all(0 <= value <= 1 for scores in found.scores.values() for row in scores.values() for value in row)
    assert len(tables) == 3
    assert all(text.startswith(".. list-table::") for text in tables.values())
    systems = tables["summaries_made_up_systems.rst"]
    assert "sumy-package" in systems
    assert "lexrank-package" not in systems  # was not there
    oracle, random = (np.mean([row[0] for row in found.scores[name].values()]) for name in ("oracle", "random"))
    assert oracle > random

    # A second run reads what is kept, and runs only what is not.
    again = study.Study.from_json(found.to_json())
    assert (again.scores, again.seconds, again.drawing) == (found.scores, found.seconds, found.drawing)
    first, second = sorted(tmp_path.iterdir())
    part = study.Study.from_json(second.read_text())
    del part.drawing[1], part.scores["dpp-mbr100"][1]
    second.write_text(part.to_json())
    monkeypatch.setattr(study, "_compare", lambda *given: pytest.fail("both folds are there"))
    decode, left = study._decode_by_risk, []
    monkeypatch.setattr(study, "_decode_by_risk", lambda task, t, *rest: left.append(t) or decode(task, t, *rest))
    resumed = study.run(task, say=lines.append, keep=tmp_path)
    assert left == [[1]]
    assert resumed.scores == found.scores
    assert study.Study.from_json(second.read_text()).drawing.keys() == {0, 1, 2}
    assert first.name == "made_up_fold0_seed0.json"


def test_factors_are_scored_as_summaries_are():
    clusters = made_up_clusters()
    model = Summarizer(max_bytes=60).fit(clusters[:3])
    found = study.mean_f_of_factors(model, clusters[3:], 60)
    assert len(set(found)) > 1
    for scale, value in zip(study.SCALES, found, strict=True):
        model.set_params(greedy_scale=scale)
        expected = study.mean_f(clusters[3:], lambda c: model.summarize(c, max_bytes=60))
        assert value == pytest.approx(expected, abs=1e-12)


def test_a_missing_package_is_named_and_left_out(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(packages, "import_module", missing)
    lines = []
    assert packages.package_rivals(lines.append) == {}
    assert [line.split(":")[0] for line in lines] == ["lexrank-package", "sumy-package"]
    assert all("pip install" in line for line in lines)


def test_a_ranking_fills_the_budget():
    cluster = made_up_clusters()[0]
    summary = Backwards().summarize(cluster, max_sentences=2)
    assert summary.indices.tolist() == [len(cluster) - 2, len(cluster) - 1]
    assert Backwards().at(0.1).threshold == 0.1


@pytest.mark.parametrize("kind", [packages.LexrankPackage, packages.SumyPackage])
def test_packages_rank_every_sentence_once(kind):
    pytest.importorskip({"LexrankPackage": "lexrank", "SumyPackage": "sumy"}[kind.__name__])
    # The first sentence shares a word with each of the next three; no others share any.
    linked = [
        "Storm waters closed harbour ferries.",
        "Storm over night.",
        "Harbour lights dim.",
        "Ferries rusted away.",
    ]
    cluster = Cluster([linked, ["Cats sleep.", "Dogs bark.", "Birds sing.", "Bees hum."]])
    other = Cluster([["Trains run."], ["Planes fly."], ["Ships sail."]])
    rival = kind().fit([cluster, other])
    for threshold in kind.thresholds:
        ranking = rival.at(threshold).rank(cluster).tolist()
        assert sorted(ranking) == list(range(8))
        assert ranking[0] == 0
