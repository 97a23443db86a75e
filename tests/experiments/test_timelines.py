"""Scores of timelines against the package tilse 0.2.1, and the search over settings."""

import datetime
import random
import re
import sys

import numpy as np
import pytest

from diverset.errors import DiversetError
from experiments.threads.search import Tuning, tune
from experiments.threads.timeline_scores import date_score, text_cosine, timeline_rouge


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


def test_text_cosine():
    X = np.random.default_rng(0).random((5, 4))
    both = X[[1, 3]].sum(axis=0)
    wanted = both @ X[0] / np.linalg.norm(both) / np.linalg.norm(X[0])
    assert text_cosine(X, np.array([1, 3]), X[0]) == pytest.approx(wanted, rel=1e-12)


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
    assert re.search(r"Trying settings .*━.* 3/3 .*elapsed 0:00:00 left 0:00:00", shown)
    tune(lambda beta: beta, {"beta": [1, 2, 3]}, show=False)
    assert capsys.readouterr() == ("", "")


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
