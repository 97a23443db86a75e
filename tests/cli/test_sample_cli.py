"""``diverset sample``: random sets of rows, and the probabilities it says they have."""

import csv
import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app

ROWS = np.array([[1.0, 0.0, 0.2], [0.9, 0.1, 0.2], [0.0, 1.0, 0.5], [0.3, 0.3, 1.0], [0.5, -1.0, 0.1]])
SCORES = np.array([0.9, 0.8, 0.1, 0.5, 0.4])
RANKS = np.array([1.0, 2.0, 5.0, 3.0, 4.0])


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    lines = [f"{'abcde'[i]},{SCORES[i]},{','.join(map(str, row))}" for i, row in enumerate(ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,score,x,y,z", *lines]) + "\n")
    base = ["sample", "rows.csv", "--features", "x,y,z", "--similarity", "cosine", "--quality", "score"]
    return lambda *arguments: CliRunner().invoke(app, [*base, *arguments])


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def probabilities(k, diversity, kept=range(5), given=()):
    """The law by its formula, over all sets of k rows of `kept`."""
    X = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    S, w = X @ X.T, (1 - diversity) / diversity
    sets = list(itertools.combinations(kept, k))
    weight = RANKS ** (-1.2 * w / math.log(2))  # exp(w z) with z = -1.2 log2(rank)
    mass = [weight[list(Y)].prod() * np.linalg.det(S[np.ix_([*Y, *given], [*Y, *given])]) for Y in sets]
    return dict(zip(sets, np.array(mass) / sum(mass), strict=True))


@pytest.mark.parametrize("diversity", [0.2, 0.5, 1.0])
def test_the_law_is_its_formula(diversity):
    law = dv.selection_law(ROWS, 2, quality=SCORES, diversity=diversity)
    for Y, p in probabilities(2, diversity).items():
        assert math.exp(law.log_prob(Y)) == pytest.approx(p, rel=1e-9)


def test_the_law_beside_rows_shown_and_without_others():
    law = dv.selection_law(ROWS, 2, quality=SCORES, given=[4], exclude=[0], min_quality=0.2)
    assert law.items.tolist() == [1, 3]
    law = dv.selection_law(ROWS, 1, quality=SCORES, given=[4], exclude=[0])
    for Y, p in probabilities(1, 0.5, kept=(1, 2, 3), given=(4,)).items():
        assert math.exp(law.log_prob(Y)) == pytest.approx(p, rel=1e-9)


def test_sets_come_as_often_as_they_say(run, tmp_path):
    result = run("-k", "2", "-n", "3000", "--seed", "1", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    assert "And 2,995 more; -o writes them all." in result.output
    rows = read(tmp_path / "o.csv")
    sets = [tuple("abcde".index(row["id"]) for row in rows[i : i + 2]) for i in range(0, len(rows), 2)]
    assert [row["draw"] for row in rows] == [str(1 + i // 2) for i in range(6000)]
    exact = probabilities(2, 0.5)
    counts = Counter(sets)
    assert set(counts) <= set(exact)
    assert chisquare([counts[Y] for Y in exact], [3000 * p for p in exact.values()]).pvalue > 1e-3
    # A law that takes no notice of the similarities would be told from ours.
    w = {Y: math.exp(SCORES[list(Y)].sum()) for Y in exact}
    assert chisquare([counts[Y] for Y in exact], [3000 * x / sum(w.values()) for x in w.values()]).pvalue < 1e-6
    for row, Y in zip(rows[::2], sets, strict=True):
        assert math.exp(float(row["log_prob"])) == pytest.approx(exact[Y], rel=1e-9)
    chance = {row["id"]: float(row["chance"]) for row in rows}
    for i, name in enumerate("abcde"):
        assert chance[name] == pytest.approx(sum(p for Y, p in exact.items() if i in Y), rel=1e-9)


def test_one_set_is_that_of_select(run, tmp_path):
    assert run("-k", "3", "--seed", "5", "-o", "o.jsonl").exit_code == 0
    drawn = [json.loads(line)["id"] for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    picks = dv.select(ROWS, 3, quality=SCORES, method="sample", rng=5)
    assert drawn == ["abcde"[i] for i in picks]
    page = run("-k", "3", "--seed", "5", "-o", "o.html")
    assert page.exit_code == 0, page.output
    assert "Log-probability" in (tmp_path / "o.html").read_text()


def test_a_seed_is_made_up_and_said(run):
    first = run("-k", "2")
    seed = first.output.split("Seed ")[1].split()[0]
    assert run("-k", "2", "--seed", seed).output == first.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-k", "4"), "rank 3"),
        (("-k", "9"), "k = 9, but rows.csv has 5 rows"),
        (("-n", "0"), "the number of draws is 0; it must be at least 1"),
        (("-k", "2", "-n", "2", "-o", "o.html"), "a page shows one set, not 2"),
        (("-k", "2", "--diversity", "0"), "diversity is 0"),
        (("-k", "2", "--diversity", "7"), "diversity is 7"),
        (("-k", "2", "--given", "zz"), "zz"),
        (("-k", "2", "-o", "o.txt"), ".txt"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run, arguments, said):
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.startswith("diverset: error:")
    assert len(result.stderr.splitlines()) == 1


def test_repeated_sets_are_pointed_out(run):
    result = run("-k", "2", "-n", "4", "--diversity", "0.02", "--seed", "0")
    assert result.exit_code == 0, result.output
    assert "the 4 sets hold 1 different one: the likeliest has probability 1" in result.stderr
    assert "different" not in run("-k", "2", "-n", "2", "--diversity", "1", "--seed", "3").stderr


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--scale", "standard"], {"scale": "standard"}),
        (["--scale", "none", "--diversity", "0.3"], {"scale": None, "diversity": 0.3}),
        (["--lower-is-better"], {"lower_is_better": True}),
        (["--min-quality", "0.4"], {"min_quality": 0.4}),
    ],
)
def test_the_command_draws_from_the_law_of_python(run, tmp_path, arguments, options):
    result = run("-k", "0.4", "-n", "5", "--seed", "2", *arguments, "-o", "o.csv")
    assert result.exit_code == 0, result.output
    law = dv.selection_law(ROWS, 2, quality=SCORES, **options)
    drawn = [["abcde"[i] for i in each] for each in law.sample(5, rng=2)]
    assert [row["id"] for row in read(tmp_path / "o.csv")] == [name for each in drawn for name in each]
    chances = dict(zip(law.items.tolist(), law.inclusion_probabilities.tolist(), strict=True))
    for row in read(tmp_path / "o.csv"):
        assert float(row["chance"]) == pytest.approx(chances["abcde".index(row["id"])])


@pytest.mark.parametrize("keep", [0.1, 0.8])
def test_keep_finds_the_dial(run, tmp_path, keep):
    best = dv.select(ROWS, 2, quality=SCORES, keep=keep)
    dial = max(best.diversity, 0.01)  # at 0 there would be nothing to draw
    result = run("-k", "2", "--keep", str(keep), "--seed", "1", "-o", "o.csv")
    assert f"diversity is {dial:.3g}, at which the best set keeps {best.kept:.0%} of quality" in result.stderr
    law = dv.selection_law(ROWS, 2, quality=SCORES, diversity=dial)
    assert [row["id"] for row in read(tmp_path / "o.csv")] == ["abcde"[i] for i in law.sample(rng=1)]


def test_columns_of_that_name_stay(run, tmp_path):
    (tmp_path / "rows.csv").write_text("id,score,x,y,z,draw\na,1,1,0,0,north\nb,1,0,1,0,south\n")
    result = run("-k", "2", "--seed", "0", "-o", "o.csv")
    assert "ours are diverset_draw, diverset_chance and diverset_log_prob" in result.stderr
    assert [row["draw"] for row in read(tmp_path / "o.csv")] == ["north", "south"]
