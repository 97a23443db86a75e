"""The threads experiment on a tiny stand-in for its data, and without any."""

import gzip
import json
from datetime import date, timedelta

import numpy as np
import pytest

from experiments.threads import __main__ as experiment
from experiments.threads.piles import Event, make_piles
from experiments.threads.report import _label_places, coherence_table, days_table, human_table, piles_tables
from experiments.threads.systems import OURS, SYSTEMS, score_piles

#: Eight stories with words of their own: each word stays below the share that is too common.
WORDS = {
    story: [f"{story}{letter}" for letter in "abcdefghijkl"]
    for story in "flood trial vote comet virus strike fire game".split()
}


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def collection(name, rng, n=96):
    articles, days = [], {}
    for i in range(n):
        story = list(WORDS)[i % 8]
        day = f"2011-{1 + i // 28:02d}-{1 + i % 28:02d}"
        sentences = [" ".join([story, *rng.choice(WORDS[story], size=7)]) for _ in range(3)]
        articles.append({"collection": name, "id": f"{name}/{i}", "date": day, "sentences": sentences})
        if i % 5 == 0:
            days[day] = [" ".join([story, *rng.choice(WORDS[story], size=5)])]
    entries = [{"date": day, "sentences": said} for day, said in sorted(days.items())]
    return articles, {"collection": name, "timeline": "t", "entries": entries}


@pytest.mark.slow
def test_human_timelines(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    made = [collection(name, rng) for name in ("bpoil_a", "other_b", "other_c")]
    write(tmp_path / "timeline17" / "articles.jsonl.gz", [row for articles, _ in made for row in articles])
    write(tmp_path / "timeline17" / "timelines.jsonl.gz", [timeline for _, timeline in made])
    monkeypatch.setattr(experiment, "GRID", {"beta": [1.0, 2.0], "threshold": [0.05]})
    systems = {name: call for name, call in experiment.SYSTEMS.items() if name != "DTM"}
    monkeypatch.setattr(experiment, "SYSTEMS", systems)
    out = tmp_path / "out"
    assert experiment.main(["--data", str(tmp_path), "--out", str(out), "--parts", "timeline17"]) == 0
    assert "1 collections choose the settings, 2 are reported" in capsys.readouterr().out
    results = json.loads((out / "threads_timeline17.json").read_text())
    assert set(results) == set(systems)
    for found in results.values():
        assert all(len(values) == 2 for values in found.values())
    assert "drawn less k-means" in (out / "threads_human.rst").read_text()
    assert len(json.loads((out / "threads_search.json").read_text())["tried"]) == 2


def test_missing_data_are_named(tmp_path, capsys):
    read = list(experiment.PARTS)
    assert experiment.main(["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--parts", *read]) == 0
    said = capsys.readouterr().err
    for name in read:
        assert f"{name}: skipped" in said


def test_piles_hold_what_they_say_and_every_system_is_scored():
    rng = np.random.default_rng(0)
    events = []
    for j, story in enumerate(WORDS):
        rows = [
            (date(2011, 1, 1) + timedelta(days=i), story, " ".join([story, *rng.choice(WORDS[story], size=9)]))
            for i in range(200)
        ]
        events.append(Event(story, tuple(rows), frozenset({rows[10][0], rows[20][0]}) if j < 6 else frozenset()))
    piles = make_piles(events, 1, [0])
    assert [pile.k for pile in piles] == [3] * 4 + [6] * 4 + [8] * 4
    assert len({pile.name for pile in piles}) == 12
    again = make_piles(events, 1, [0])
    assert all(a.corpus.texts == b.corpus.texts for a, b in zip(piles, again, strict=True))
    other = {text for pile in make_piles(events, 0, [0]) for text in pile.corpus.texts}
    assert not other & {text for pile in piles for text in pile.corpus.texts}
    results = {}
    for name in (OURS, "k-means of the whole pile"):
        results[name] = score_piles(name, SYSTEMS[name][1][-1], piles[:1])
        assert results[name][0].told == 3
    means, gaps = piles_tables(results)
    assert "one-to-one purity" in means
    assert f"{OURS} less" in gaps


def test_labels_cover_no_thread_and_no_other_label():
    rng = np.random.default_rng(0)
    for _ in range(20):
        threads = [rng.random(2) + 0.05 * rng.standard_normal((5, 2)) for _ in range(3)]
        places = _label_places(threads, 0.2, 0.05)
        for t, (x, y) in enumerate(places):
            for points in threads:
                assert not ((np.abs(points - (x, y)) < (0.1, 0.025)).all(axis=1)).any()
            assert all(abs(x - a) >= 0.2 or abs(y - b) >= 0.05 for a, b in places[:t])


def test_tables_carry_intervals():
    names = [f"{m} {p}" for m in ("rouge-1", "rouge-2", "rouge-su4") for p in ("f", "precision", "recall")]
    names += ["cosine", "date F1", "concat R1", "agree R1", "align R1", "coherence", "strangers found"]
    systems = {"k-SDPP, drawn": 30.0, "k-means": 20.0}
    results = {system: {name: [value, value + 2.0] for name in names} for system, value in systems.items()}
    assert "31.0 (30.0 to 32.0)" in human_table(results)
    assert "+10.0 (+10.0 to +10.0)" in human_table(results)
    assert "+10.0 (+10.0 to +10.0)" in days_table(results)
    assert "21.000 (20.000 to 22.000)" in coherence_table(results)
