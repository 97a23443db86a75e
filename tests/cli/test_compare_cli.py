"""``diverset compare``: a translation of options into ``dv.compare``, and what it prints and writes."""

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app
from diverset.metrics.compare import METHODS


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
            row = {"id": f"i{i}", "e": x.tolist(), "score": q, "title": f"<i>item</i> {i}", "clicks": int(i % 4 == 0)}
            file.write(json.dumps(row) + "\n")
    return X, quality


@pytest.fixture
def topics(tmp_path):
    """Eight queries of 20 rows, and judgements of which row is about which subtopic; returns what Python takes."""
    rng = np.random.default_rng(8)
    queries, lines, qrels = [], [], []
    for topic in range(8):
        about = rng.integers(0, 3, 20)
        X = np.eye(3)[about] + 0.3 * rng.normal(size=(20, 3))
        relevant = rng.random(20) < 0.5
        quality = relevant + rng.normal(size=20)
        for i in range(20):
            row = {"topic": topic, "doc_id": f"d{i}", "e": X[i].tolist(), "score": quality[i]}
            lines.append(json.dumps(row))
            if relevant[i]:
                qrels.append(f"{topic} {about[i]} d{i} 1")
        queries.append((X, quality, {f"d{i}": {str(about[i])} for i in np.flatnonzero(relevant)}))
    (tmp_path / "run.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "qrels.txt").write_text("\n".join(qrels) + "\n")
    return queries


BASE = ["compare", "items.jsonl", "-k", "4", "--features", "e", "--quality", "score"]
RUN = ["compare", "run.jsonl", "-k", "5", "--features", "e", "--quality", "score", "--query", "topic"]


def written(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--methods", "dpp, mmr", "--dials", "0.25,0.75"], {"methods": ["dpp", "mmr"], "dials": [0.25, 0.75]}),
        (["--scale", "none", "--keep", "0.5"], {"scale": None, "keep": 0.5}),
        (["--lower-is-better", "--min-quality", "0.7"], {"lower_is_better": True, "min_quality": 0.7}),
        (["--given", "i1", "--exclude", "i2,i3", "--seed", "7"], {"given": [1], "exclude": [2, 3], "rng": 7}),
        (["--similarity", "rbf"], {"similarity": "rbf"}),
        (["--clicked", "clicks"], {"judgements": [int(i % 4 == 0) for i in range(25)]}),
        (["-k", "0.2"], {"k": 0.2}),
    ],
)
def test_the_command_says_what_python_says(run, items, tmp_path, arguments, options):
    X, quality = items
    result = run(*BASE, *arguments, "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    expected = dv.compare(X, **({"k": 4, "quality": quality} | options))
    rows = written(tmp_path / "out.jsonl")
    for row, each, wanted in zip(rows, expected, expected.rows, strict=True):
        assert row.pop("picks") == [f"i{i}" for i in each.picks[0]]
        for name, value in wanted.items():
            if isinstance(value, float) and not np.isfinite(value):
                assert row[name] is None
            else:
                assert row[name] == (value if isinstance(value, str | bool) else pytest.approx(value))
    for each in expected.headline:
        assert re.search(rf"^ *[*]? *{re.escape(each.name)} +[-\d]", result.stdout, re.MULTILINE), each.name
    words = " ".join(result.stdout.split())
    for note in expected.notes:
        assert note in words


def test_all_methods_are_tried_by_default(run, items, tmp_path):
    result = run(*BASE, "-o", "out.jsonl")
    assert result.stderr == ""
    rows = written(tmp_path / "out.jsonl")
    assert list(dict.fromkeys(row["method"] for row in rows)) == list(METHODS)
    assert len(rows) == 5 * 10 + 2
    assert sum(row["chosen"] for row in rows) == 1


def test_queries_and_qrels(run, topics, tmp_path):
    result = run(*RUN, "--qrels", "qrels.txt", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    expected = dv.compare([(X, q, {int(d[1:]): s for d, s in J.items()}) for X, q, J in topics], 5)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row, each in zip(rows, expected, strict=True):
        for name in ("ndcg", "subtopic_recall", "precision"):
            assert float(row[name]) == pytest.approx(each.numbers[name])
        assert float(row["ndcg_gain_low"]) == pytest.approx(each.gains["ndcg"][1], abs=1e-9)
    assert "8 queries" in result.stdout
    words = " ".join(result.stdout.split())
    assert re.search(r"has the highest alpha-nDCG: 0\.\d+, [+-]0\.\d+ \[[+-]0\.\d+, [+-]0\.\d+\] against top-k", words)
    assert "on the other half" in words
    narrow = CliRunner().invoke(app, [*RUN, "--qrels", "qrels.txt"], env={"COLUMNS": "80"})
    assert max(map(len, narrow.stdout.splitlines())) <= 80
    assert "…" not in narrow.stdout


def test_one_topic_needs_no_query_column(run, items, tmp_path):
    (tmp_path / "qrels.txt").write_text("9 0 i0 1\n9 0 i8 2\n9 0 elsewhere 1\n")
    result = run(*BASE, "--qrels", "qrels.txt", "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    X, quality = items
    expected = dv.compare(X, 4, quality=quality, judgements={0: {"0": 1}, 8: {"0": 2}, 99: {"0": 1}})
    assert written(tmp_path / "out.jsonl")[3]["ndcg"] == pytest.approx(expected.settings[3].numbers["ndcg"])


def test_methods_that_equal_top_k_are_pointed_out(run, tmp_path):
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"id": i, "e": np.eye(6)[i].tolist(), "score": i}) + "\n" for i in range(6))
    )
    result = run("compare", "a.jsonl", "-k", "3", "--features", "e", "--quality", "score", "--dials", "0.2,0.5")
    assert "every method picks the same items as top-k at every setting of the dial" in result.stdout


def test_limits_and_small_files(run, items, tmp_path):
    for least, said in (("0.9", "only [1-3] of 4"), ("2", "only 0 of 4")):
        result = run(*BASE, "--min-quality", least)
        assert result.exit_code == 0, result.output
        assert re.search(f"{said} rows could be picked", result.stderr)
    assert "no item can be picked: the limits leave none" in result.stdout
    assert run(*BASE, "-k", "1", "-o", "out.jsonl").exit_code == 0
    assert "redundancy" not in written(tmp_path / "out.jsonl")[0]
    result = run(*BASE, "-k", "25", "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    assert written(tmp_path / "out.jsonl")[0]["log_volume"] is None  # 25 rows in 4 dimensions


@pytest.mark.parametrize("judged", [False, True])
def test_the_page(run, items, tmp_path, judged):
    result = run(*BASE, *(["--clicked", "clicks"] if judged else []), "-o", "out.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "52 ways to pick 4 of 25 rows in items.jsonl" in page
    assert "&lt;i&gt;item&lt;/i&gt;" in page
    assert "<i>" not in page
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|nan", page)
    assert page.count('<use href="#cloud"/>') == 7
    assert page.count('class="pick') == 7 * 4
    assert page.count('class="chosen-point"') == 2  # a ring and its words
    assert ("Scores along the dial" if judged else "What diversity costs") in page
    X, quality = items
    more = {"judgements": [int(i % 4 == 0) for i in range(25)]} if judged else {}
    assert f">chosen: {dv.compare(X, 4, quality=quality, **more).chosen.name}</text>" in page


def test_the_page_of_several_queries(run, topics, tmp_path):
    assert run(*RUN, "--qrels", "qrels.txt", "-o", "out.html").exit_code == 0
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "52 ways to pick 5 rows for each of 8 queries in run.jsonl" in page
    assert "cloud" not in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "dpp,magic"], "no method 'magic'; choose from dpp, mmr"),
        (["--methods", ","], "no methods named"),
        (["-k", "0"], "k = 0"),
        (["-k", "26"], r"k = 26, but items\.jsonl has 25 rows"),
        (["--dials", "2"], r"diversity is 2\.0"),
        (["--dials", "0.1,high"], "--dials names 'high'"),
        (["--keep", "7"], r"keep is 7\.0"),
        (["--quality", "title"], r"row 1 \(line 1\): column 'title' is '<i>item</i> 0'"),
        (["-o", "out.png"], r"its name must end in"),
        (["--text", "title"], "--text and --features both"),
        (["--given", "x9"], "'x9' is no id of items.jsonl"),
        (["--clicked", "title"], "column 'title' is '<i>item</i> 0'"),
        (["--clicked", "clicks", "--qrels", "two.txt"], "--qrels and --clicked both"),
        (["--qrels", "none.txt"], r"cannot read none\.txt"),
        (["--qrels", "two.txt"], r"two\.txt judges 2 topics; give the column of topics with --query"),
        (["--qrels", "other.txt"], r"no id of items\.jsonl is in other\.txt"),
        (["--qrels", "other.txt", "--query", "title"], "judges no row of items.jsonl under its title"),
        (["--query", "topic"], "no column 'topic'"),
        (["--measure", "ndcg"], "there are no judgements"),
        (["--clicked", "clicks", "--measure", "magic"], "measure is 'magic'"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(run, items, tmp_path, arguments, message):
    (tmp_path / "two.txt").write_text("1 0 i0 1\n2 0 i1 1\n")
    (tmp_path / "other.txt").write_text("1 0 elsewhere 1\n")
    before = set(tmp_path.iterdir())
    result = run(*BASE, *arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.fullmatch(r"diverset: error: [^\n]+\n", result.stderr)
    assert re.search(message, result.stderr)
    assert set(tmp_path.iterdir()) == before
