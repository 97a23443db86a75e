"""The experiment on summaries: splits that do not leak, rivals, intervals, and a run on made-up clusters."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.text import Cluster, Summarizer, default_summarizer
from experiments import tables
from experiments.summaries import packages, report, study, train_default, tuning
from experiments.summaries.data import DEVELOPMENT_EVENTS, KINDS, LEARNED, Item, read_items

DATA = Path(os.environ.get("DIVERSET_DATA", Path(__file__).parents[3] / "shared" / "data"))


def made_up_items(n=5):
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(40)])
    items = []
    for kind in KINDS:
        for t in range(n):
            documents = [["A " + " ".join(rng.choice(words, 6)) + "." for _ in range(5)] for _ in range(3)]
            cluster = Cluster(documents, [documents[0][0] + " " + documents[1][0]])
            items.append(Item(kind, str(t), cluster, t % 5, t % 2 == 0))
    return items


def test_reader(tmp_path):
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        with gzip.open(tmp_path / kind / f"{kind}.jsonl.gz", "wt", encoding="utf-8") as file:
            for t in range(6):
                record = {"id": t, "documents": [["A b c.", "D."]], "references": ["A b."]}
                record |= {"topic": "bpoil" if t < 3 else "H1N1"} if kind == "t17_daily" else {}
                file.write(json.dumps(record) + "\n")
    items = read_items(tmp_path)
    assert len(items) == 18
    assert [item.develops for item in items[:6]] == [False] * 3 + [True] * 3
    assert sorted(item.fold for item in items[6:12]) == [0, 0, 1, 2, 3, 4]
    assert "bpoil" not in DEVELOPMENT_EVENTS
    with pytest.raises(DiversetError, match="nowhere"):
        read_items(tmp_path / "nowhere")


def test_no_model_is_tested_on_what_it_learned_from(monkeypatch):
    items = made_up_items()
    seen = []

    class Spy:
        def fit(self, clusters, weights, limits):
            assert sum(weights) == pytest.approx(len(LEARNED))
            assert set(limits) <= set(KINDS.values())
            seen.append({id(cluster) for cluster in clusters})
            return seen[-1]

    monkeypatch.setattr(study, "Summarizer", Spy)
    model = study.learn(items)
    for item in items:
        assert id(item.cluster) not in model(item)
    assert len(seen) == 11  # five folds of two kinds, and all for the news
    news = {id(item.cluster) for item in items if item.kind == "t17_daily"}
    assert not news & set.union(*seen)


@pytest.mark.parametrize("name", [name for name in tuning.GRIDS if name != "lead"])
def test_rivals_prefer_what_documents_share(name):
    shared = "The bridge fell into the river on Monday morning."
    documents = [[shared, "Penguins juggle."], ["A bridge fell into a river on Monday.", "Tea is brewed."], [shared]]
    item = Item("opinosis", "", Cluster(documents, "-"), 0, True)
    found = {setting: [item.cluster.sentences[i] for i in chosen] for setting, chosen in tuning.GRIDS[name](item)}
    assert len(found) >= 16
    for sentences in found.values():
        assert sum(len(sentence.split()) for sentence in sentences) <= KINDS["opinosis"]
    assert np.mean(["bridge" in " ".join(sentences) for sentences in found.values()]) > 0.9


def test_settings_are_chosen_on_other_clusters_than_those_scored():
    items = made_up_items(2)
    keys = [study.key(item) for item in items]
    table = {
        "good on the first": {k: [1.0 if k.endswith("0") else 0.0, 0.0, 1.0] for k in keys},
        "good on the second": {k: [0.0 if k.endswith("0") else 0.9, 0.0, 1.0] for k in keys},
    }
    first, second = [item for item in items if item.develops], [item for item in items if not item.develops]
    assert tuning.tuned(table, first, second)[0] == "good on the first"
    assert {row[0] for row in report.halved(table, first, second).values()} == {0.0}


def test_intervals_weigh_kinds_alike():
    rng = np.random.default_rng(0)
    parts = [1.0 + rng.standard_normal(400), rng.standard_normal(100)]
    middle, low, high = tables.stratified_interval(parts)
    assert middle == pytest.approx((parts[0].mean() + parts[1].mean()) / 2)
    error = np.sqrt(parts[0].var() / 400 + parts[1].var() / 100) / 2
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


@pytest.mark.needs_compiled
def test_a_run_fills_all_tables_and_goes_on_where_it_stopped(monkeypatch, tmp_path):
    items = made_up_items(4)
    monkeypatch.setattr(study, "FEWER_DRAWS", 20)
    monkeypatch.setattr(tuning, "FEWER_DRAWS", 20)
    monkeypatch.setattr(tuning, "package_rivals", lambda say: {})
    for name in [name for name in tuning.OURS if name not in ("as shipped", "stop words 1", "trained by dpp-budget")]:
        monkeypatch.delitem(tuning.OURS, name)
    kept = {study.DEFAULT, "random", "oracle", "--method greedy", "all qualities alike"}
    every = study.own_systems
    monkeypatch.setattr(study, "own_systems", lambda items: {k: v for k, v in every(items).items() if k in kept})
    lines = []
    found = study.run(items, tmp_path, lines.append)
    grids = tuning.run_grids(items, tmp_path, lines.append)
    assert set(found) == kept
    assert set(grids) == {*tuning.GRIDS, tuning.OWN, tuning.OTHER}
    assert all(0.0 <= value <= 1.0 for scores in found.values() for row in scores.values() for value in row)
    mean = {name: np.mean([row[0] for row in scores.values()]) for name, scores in found.items()}
    assert mean["oracle"] > mean["random"]
    written = report.tables(found, grids, items)
    assert len(written) == 8
    assert all(text.startswith(".. list-table::") for text in written.values())
    assert "TextRank" in written["summaries_verdict.rst"]
    monkeypatch.setattr(study, "score_system", lambda *given: pytest.fail("all are there"))
    monkeypatch.setattr(tuning, "rouge", lambda *given: pytest.fail("all are there"))
    assert study.run(items, tmp_path, lines.append) == found
    assert tuning.run_grids(items, tmp_path, lines.append) == grids


def test_a_missing_package_is_named_and_left_out(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(packages, "import_module", missing)
    lines = []
    assert packages.package_rivals(lines.append) == {}
    assert all("pip install" in line for line in lines)
    assert len(lines) == 2


@pytest.mark.parametrize("kind", [packages.LexrankPackage, packages.SumyPackage])
def test_packages_rank_every_sentence_once(kind):
    pytest.importorskip({"LexrankPackage": "lexrank", "SumyPackage": "sumy"}[kind.__name__])
    linked = [
        "Storm waters closed harbour ferries.",
        "Storm over night.",
        "Harbour lights dim.",
        "Ferries rusted away.",
    ]
    cluster = Cluster([linked, ["Cats sleep.", "Dogs bark.", "Birds sing.", "Bees hum."]])
    other = Cluster([["Trains run."], ["Planes fly."], ["Ships sail."]])
    ranking = kind().fit([cluster, other]).rank(cluster).tolist()
    assert sorted(ranking) == list(range(8))
    assert ranking[0] == 0


@pytest.mark.skipif(not (DATA / "opinosis").exists(), reason="the public data are not here")
def test_the_shipped_model_is_what_training_gives(tmp_path):
    assert train_default.main(["--data", str(DATA), "--out", str(tmp_path / "model.json")]) == 0
    made, shipped = Summarizer.load(tmp_path / "model.json"), default_summarizer()
    np.testing.assert_allclose(made.coef_, shipped.coef_, atol=1e-9)
    assert made.card_ == shipped.card_
