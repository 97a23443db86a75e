"""``diverset compare``: the numbers are those of the library, and the files hold them."""

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import diverset as dv
from diverset.apps.compare import METHODS
from diverset.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory, 120 columns wide, and return its result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.fixture
def items(tmp_path):
    """Twenty-five rows with vectors and scores; returns both."""
    rng = np.random.default_rng(4)
    X, quality = rng.normal(size=(25, 4)), rng.random(25)
    with (tmp_path / "items.jsonl").open("w") as file:
        for i, (x, q) in enumerate(zip(X, quality, strict=True)):
            file.write(json.dumps({"id": f"i{i}", "e": x.tolist(), "score": q, "title": f"<i>item</i> {i}"}) + "\n")
    return X, quality


BASE = ["compare", "items.jsonl", "-k", "4", "--features", "e", "--quality", "score"]


def test_all_methods_with_their_numbers(run, items, tmp_path):
    X, quality = items
    result = run(*BASE, "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    rows = {row["method"]: row for row in map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())}
    assert list(rows) == list(METHODS)
    ours = dv.select(X, 4, quality=quality)
    assert rows["dpp"]["picks"] == [f"i{i}" for i in ours]
    assert rows["dpp"]["log_volume"] == pytest.approx(ours.log_det)
    assert rows["dpp"]["overlap"] == 4
    mmr = dv.baselines.mmr(X, 4, quality=quality)
    assert rows["mmr"]["picks"] == [f"i{i}" for i in mmr]
    assert rows["mmr"]["sum_quality"] == pytest.approx(quality[mmr.indices].sum())
    assert rows["mmr"]["vendi_score"] == pytest.approx(dv.metrics.vendi_score(X[mmr.indices]))
    similarity = dv.metrics.mean_pairwise_similarity(X, mmr.indices, similarity="cosine")
    assert rows["mmr"]["mean_similarity"] == pytest.approx(similarity)
    assert rows["mmr"]["overlap"] == len(set(mmr) & set(ours))
    assert rows["top-k"]["sum_quality"] == max(row["sum_quality"] for row in rows.values())
    for name in METHODS:
        assert re.search(rf"^ *{name} +\d", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("similarity", ["rbf", "dot"])
def test_other_similarities_use_the_lengths_of_all_rows(run, items, tmp_path, similarity):
    X, _ = items
    result = run(*BASE[:-2], "--similarity", similarity, "--methods", "mmr, top-k", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    assert "sum of quality" not in result.stdout
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["mmr", "top-k"]
    mmr = dv.baselines.mmr(X, 4, similarity=similarity)
    assert json.loads(rows[0]["picks"]) == [f"i{i}" for i in mmr]
    volume = dv.metrics.log_volume(getattr(dv.kernels, similarity)(X), mmr.indices)
    assert float(rows[0]["log_volume"]) == pytest.approx(volume)


def test_limits_hold_for_every_method(run, items, tmp_path):
    _, quality = items
    result = run(*BASE, "--min-quality", "0.4", "--given", "i1", "--exclude", "i2,i3", "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    for line in (tmp_path / "out.jsonl").read_text().splitlines():
        picks = [int(name[1:]) for name in json.loads(line)["picks"]]
        assert not {1, 2, 3} & set(picks)
        assert quality[picks].min() >= 0.4


def test_the_seed_moves_only_the_random_picks(run, items, tmp_path):
    outputs = []
    for seed in ("1", "1", "2"):
        assert run(*BASE, "--seed", seed, "-o", "out.jsonl").exit_code == 0
        outputs.append((tmp_path / "out.jsonl").read_text().splitlines())
    assert outputs[0] == outputs[1]
    assert outputs[0][:-1] == outputs[2][:-1]
    assert outputs[0][-1] != outputs[2][-1]


def test_one_row_and_more_than_there_are(run, items, tmp_path):
    assert run(*BASE, "-k", "1", "-o", "out.jsonl").exit_code == 0
    row = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert row["mean_similarity"] is None
    result = run(*BASE, "-k", "26")
    assert result.exit_code == 2
    assert result.stderr == "diverset: error: k = 26, and items.jsonl has 25 rows; ask for fewer\n"
    result = run(*BASE, "-k", "25", "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    row = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert row["log_volume"] is None  # 25 rows in 4 dimensions
    assert "none" in result.stdout


def test_the_page(run, items, tmp_path):
    result = run(*BASE, "-o", "out.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "7 ways to pick 4 of 25 rows of items.jsonl" in page
    assert "&lt;i&gt;item&lt;/i&gt;" in page
    assert "<i>" not in page
    assert not re.search(r"https?:|//[a-z]|url\(|@import", page)
    assert page.count('<use href="#cloud"/>') == 7
    assert page.count('class="pick"') == 7 * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "dpp,magic"], "no method 'magic'; choose from dpp, mmr"),
        (["--methods", ","], "no methods named"),
        (["-k", "0"], "k = 0"),
        (["--diversity", "2"], r"diversity is 2\.0"),
        (["--quality", "title"], r"row 1 \(line 1\): column 'title' is '<i>item</i> 0'"),
        (["-o", "out.png"], r"its name must end in"),
        (["--text", "title"], "--text and --features both"),
        (["--given", "x9"], "'x9' is no id of items.jsonl"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(run, items, tmp_path, arguments, message):
    before = set(tmp_path.iterdir())
    result = run(*BASE, *arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.fullmatch(r"diverset: error: [^\n]+\n", result.stderr)
    assert re.search(message, result.stderr)
    assert set(tmp_path.iterdir()) == before
