"""``diverset select`` as a new user would run it."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app

TOPICS = [
    ("cats", "cats sleep all day and purr at night", 0.9),
    ("cats2", "cats sleep all the day and purr at night", 0.8),
    ("stars", "stars burn hydrogen into helium", 0.5),
    ("bread", "bread needs flour water salt and time", 0.6),
    ("rivers", "rivers carry silt down to the sea", 0.4),
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory, 100 columns wide, and return its result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return lambda *arguments, stdin=None: CliRunner().invoke(app, list(arguments), input=stdin)


@pytest.fixture
def texts(tmp_path):
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text", "score"), *TOPICS])
    return tmp_path / "texts.csv"


@pytest.fixture
def points(tmp_path):
    """Thirty rows in a plane, with scores, groups and prices."""
    rng = np.random.default_rng(5)
    rows = ["name,x,y,score,kind,price"]
    for i in range(30):
        x, y = rng.normal(size=2) * (1.0, 100.0)
        rows.append(f"p{i},{x:.4f},{y:.4f},{rng.random():.3f},{'ab'[i % 2]},{1 + i % 3}")
    (tmp_path / "points.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "points.csv"


def picked(path, column):
    with path.open(newline="") as file:
        return [row[column] for row in csv.DictReader(file)]


def columns_of(path, *names):
    with path.open(newline="") as file:
        return np.array([[float(row[name]) for name in names] for row in csv.DictReader(file)])


def test_near_copies_give_way(run, texts, tmp_path):
    result = run("select", "texts.csv", "-k", "3", "--text", "text", "--quality", "score", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert picked(tmp_path / "out.csv", "id") == ["cats", "bread", "stars"]
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "text", "score", "rank", "gain"]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert re.search(r"1 +cats +0\.9 +0\.000 +cats sleep all day", result.stdout)
    assert "Written to out.csv" in result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"texts.csv", "out.csv"}


def test_long_texts_are_cut_to_the_width(run, tmp_path):
    (tmp_path / "a.csv").write_text(f"id,text,score\na,{'word ' * 100},1\nb,other,2\n")
    lines = run("select", "a.csv", "--text", "text", "--quality", "score").stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.rstrip().endswith("…") for line in lines)


def test_control_characters_do_not_reach_the_terminal(run, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "a\\u001b[31m", "text": "red\\u001b[2J [bold]x[/bold] \\ud800"}\n')
    result = run("select", "a.jsonl", "--text", "text", "-k", "1")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    assert "[bold]x[/bold]" in result.stdout


def test_output_in_ascii(run, tmp_path):
    (tmp_path / "a.csv").write_text(f"id,text\né,{'fünf Wörter ' * 20}\n", encoding="utf-8")
    command = [sys.executable, "-m", "diverset", "select", "a.csv", "--text", "text", "-k", "1"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=environment)
    assert "f?nf W?rter" in done.stdout


def test_columns_are_standardised_and_compared_by_distance(run, points, tmp_path):
    result = run("select", "points.csv", "-k", "5", "--features", "x,y", "--quality", "score", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    X = columns_of(points, "x", "y")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = dv.select(X, 5, quality=columns_of(points, "score")[:, 0], similarity="rbf")
    assert picked(tmp_path / "o.csv", "name") == [f"p{i}" for i in expected]
    gains = [float(gain) for gain in picked(tmp_path / "o.csv", "gain")]
    assert gains == pytest.approx(expected.gains.tolist())


def test_a_named_similarity_takes_columns_as_they_are(run, points, tmp_path):
    result = run("select", "points.csv", "-k", "4", "--features", "x:y", "--similarity", "dot", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    expected = dv.select(columns_of(points, "x", "y"), 4, similarity="dot")
    assert picked(tmp_path / "o.csv", "name") == [f"p{i}" for i in expected]


def test_embeddings_and_npy_give_what_the_library_gives(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "items.csv").write_text("name\n" + "".join(f"n{i}\n" for i in range(40)))
    expected = dv.select(X, 5).indices.tolist()
    assert run("select", "x.npy", "-k", "5", "-o", "a.jsonl").exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["index"] for row in rows] == expected
    result = run("select", "items.csv", "-k", "5", "--embeddings", "x.npy", "-o", "b.csv")
    assert result.exit_code == 0, result.output
    assert picked(tmp_path / "b.csv", "name") == [f"n{i}" for i in expected]


def test_prefixes_and_vectors_name_the_same_features(run, tmp_path):
    X = np.random.default_rng(1).normal(size=(20, 4)).round(3)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "e0", "e1", "e2", "e3"), *([i, *x] for i, x in enumerate(X))])
    with (tmp_path / "b.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": i, "e": x.tolist()}) + "\n" for i, x in enumerate(X))
    assert (
        run("select", "a.csv", "-k", "4", "--features", "e*", "--similarity", "cosine", "-o", "a.jsonl").exit_code == 0
    )
    assert run("select", "b.jsonl", "-k", "4", "--features", "e", "-o", "c.jsonl").exit_code == 0
    by_default = run("select", "b.jsonl", "-k", "4", "-o", "d.jsonl")
    assert "the vectors in e" in by_default.stderr
    ids = [
        [json.loads(line)["id"] for line in (tmp_path / name).read_text().splitlines()]
        for name in ("a.jsonl", "c.jsonl", "d.jsonl")
    ]
    assert ids[0] == ids[1] == ids[2] == dv.select(X, 4).indices.tolist()


def test_parquet_in_and_out(run, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(TOPICS, columns=["id", "text", "score"])
    frame.to_parquet(tmp_path / "a.parquet")
    result = run("select", "a.parquet", "-k", "3", "--text", "text", "--quality", "score", "-o", "b.parquet")
    assert result.exit_code == 0, result.output
    out = pandas.read_parquet(tmp_path / "b.parquet")
    assert out["id"].tolist() == ["cats", "bread", "stars"]
    assert out["rank"].tolist() == [1, 2, 3]
    assert out["score"].dtype == frame["score"].dtype


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_standard_input(run, kind):
    out = io.StringIO()
    if kind == "csv":
        csv.writer(out).writerows([("id", "text", "score"), *TOPICS])
    else:
        out.writelines(json.dumps(dict(zip(("id", "text", "score"), row, strict=True))) + "\n" for row in TOPICS)
    result = run("select", "-", "-k", "2", "--text", "text", "--quality", "score", stdin=out.getvalue())
    assert result.exit_code == 0, result.output
    assert re.search(r"1 +cats .*\n +2 +bread ", result.stdout)


def test_without_names_numeric_columns_are_used_and_said(run, points):
    result = run("select", "points.csv", "-k", "3", "--quality", "score", "--cost", "price", "--budget", "9")
    assert result.exit_code == 0, result.output
    assert "comparing rows by the numeric columns: x, y; --text" in result.stderr


def test_without_names_or_numbers_the_longest_text_is_used(run, texts):
    result = run("select", "texts.csv", "-k", "2", "--quality", "score")
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "diverset: note: comparing rows by the words of text; --text or --features name other columns\n"
    )


def test_an_id_is_no_feature(run, tmp_path):
    (tmp_path / "a.csv").write_text("id,user_id,title,score\n1,5,apples,1\n2,5,pears,2\n")
    result = run("select", "a.csv", "-k", "1", "--quality", "score")
    assert "words of title" in result.stderr


def test_rows_without_words_are_left_out_and_counted(run, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\na,one two\nb,\nc,...\nd,n/a\ne,three\n")
    result = run("select", "a.csv", "-k", "5", "--text", "text", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    assert "3 rows left out, since they have no words in text: row 2 (line 3) is the first" in result.stderr
    assert sorted(picked(tmp_path / "o.csv", "id")) == ["a", "e"]


def test_a_small_file_is_picked_whole_unless_more_is_asked_for(run, texts, tmp_path):
    result = run("select", "texts.csv", "--text", "text", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert len(picked(tmp_path / "o.csv", "id")) == 5


def test_rows_that_cannot_be_compared_are_no_rows_to_pick(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,text\na,one\nb,\nc,two\n")
    result = run("select", "t.csv", "-k", "3", "--text", "text", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    assert "k = 3, but only 2 rows can be compared; all are picked" in result.stderr


def test_groups_budget_quality_and_window_limit_the_picks(run, points, tmp_path):
    base = ["select", "points.csv", "-k", "6", "--features", "x,y", "--quality", "score", "-o", "o.csv"]
    assert run(*base, "--group", "kind", "--per-group", "2").exit_code == 0
    kinds = picked(tmp_path / "o.csv", "kind")
    assert sorted(kinds) == ["a", "a", "b", "b"]
    result = run(*base, "--group", "kind", "--per-group", "2")
    assert "only 4 of 6 rows could be picked" in result.stderr
    assert run(*base, "--cost", "price", "--budget", "7").exit_code == 0
    assert sum(map(float, picked(tmp_path / "o.csv", "price"))) <= 7
    assert run(*base, "--min-quality", "0.6").exit_code == 0
    assert min(map(float, picked(tmp_path / "o.csv", "score"))) >= 0.6
    assert run(*base, "--window", "1").exit_code == 0


def test_what_was_shown_is_kept_away_from(run, texts, tmp_path):
    base = ["select", "texts.csv", "--text", "text", "--quality", "score"]
    assert run(*base, "-k", "1", "-o", "first.csv").exit_code == 0
    (tmp_path / "shown.txt").write_text("cats\nof another day\n")
    for given in ("first.csv", "cats", "shown.txt"):
        result = run(*base, "-k", "1", "--given", given, "-o", "next.csv")
        assert result.exit_code == 0, result.output
        assert picked(tmp_path / "next.csv", "id") == ["bread"]
        assert ("1 of 2 ids are not in texts.csv" in result.stderr) == (given == "shown.txt")
    assert run(*base, "-k", "1", "--exclude", "cats", "-o", "next.csv").exit_code == 0
    assert picked(tmp_path / "next.csv", "id") == ["cats2"]


def test_rows_without_ids_count_from_one(run, points, tmp_path):
    result = run("select", "points.csv", "-k", "30", "--features", "x,y", "--exclude", "1,30", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    assert set(picked(tmp_path / "o.csv", "name")) == {f"p{i}" for i in range(1, 29)}


@pytest.mark.parametrize("method", ["sample", "local-search", "exact"])
def test_other_methods(run, points, method):
    base = ["select", "points.csv", "-k", "4", "--features", "x,y", "--quality", "score", "--seed", "3"]
    if method != "sample":
        pytest.importorskip(f"diverset.inference.{method.replace('-', '_')}")
    first, second = run(*base, "--method", method), run(*base, "--method", method)
    assert first.exit_code == 0, first.output
    assert first.stdout == second.stdout


def test_columns_called_rank_stay(run, tmp_path):
    (tmp_path / "a.csv").write_text("id,rank,text\na,7,one\nb,8,two\n")
    result = run("select", "a.csv", "-k", "2", "--text", "text", "-o", "o.csv")
    assert "ours are diverset_rank and diverset_gain" in result.stderr
    assert sorted(picked(tmp_path / "o.csv", "rank")) == ["7", "8"]
    assert picked(tmp_path / "o.csv", "diverset_rank") == ["1", "2"]


@pytest.fixture
def scored(tmp_path):
    """Forty rows with vectors; half of them nearly the same, and those score best. Returns vectors and scores."""
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=16) + 0.3 * rng.normal(size=(20, 16)), rng.normal(size=(20, 16))])
    quality = np.concatenate([0.5 + 0.5 * rng.random(20), 0.7 * rng.random(20)])
    lines = [json.dumps({"id": f"i{i}", "e": X[i].tolist(), "score": quality[i]}) for i in range(40)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines) + "\n")
    return X, quality


ITEMS = ["select", "items.jsonl", "--features", "e", "--quality", "score"]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--diversity", "0.8"], {"diversity": 0.8}),
        (["--scale", "standard"], {"scale": "standard"}),
        (["--scale", "none"], {"scale": None}),
        (["--keep", "0.8"], {"keep": 0.8}),
        (["--lower-is-better"], {"lower_is_better": True}),
        (["--lower-is-better", "--min-quality", "0.6"], {"lower_is_better": True, "min_quality": 0.6}),
        (["--method", "local-search", "--scale", "standard"], {"method": "local-search", "scale": "standard"}),
        (["--given", "i3,i4", "--exclude", "i9"], {"given": [3, 4], "exclude": [9]}),
    ],
)
def test_the_command_gives_what_python_gives(run, scored, tmp_path, arguments, options):
    X, quality = scored
    for k, value in (("8", 8), ("0.2", 0.2), ("20%", 0.2)):
        result = run(*ITEMS, "-k", k, *arguments, "-o", "out.csv")
        assert result.exit_code == 0, result.output
        expected = dv.select(X, value, quality=quality, **options)
        assert picked(tmp_path / "out.csv", "id") == [f"i{i}" for i in expected]
        assert f"keeps {expected.kept:.0%} of what the best {len(expected)} have over the average row" in (
            " ".join(result.stdout.split())
        )
        assert f"redundancy {expected.redundancy:.2f}, before {expected.redundancy_before:.2f}" in (
            " ".join(result.stdout.split())
        )
        assert result.stderr == "".join(f"diverset: note: {note}\n" for note in expected.notes)


def test_notes_are_remarks_and_no_python_warnings(texts):
    command = [sys.executable, "-m", "diverset", "select", str(texts), "--text", "text", "--quality", "score"]
    result = subprocess.run([*command, "-k", "3", "--diversity", "0.001"], capture_output=True, text=True, check=True)
    assert result.stderr == ("diverset: note: the picks are the best 3 by quality alone, although diversity is 0.001\n")


def test_the_unit_of_the_scores_does_not_matter(run, scored, tmp_path):
    X, quality = scored
    found = []
    for scale, values in (
        ("rank", quality), ("rank", np.exp(9 * quality)), ("standard", quality), ("standard", 100 * quality + 7)
    ):  # fmt: skip
        lines = [json.dumps({"id": f"i{i}", "e": X[i].tolist(), "score": values[i]}) for i in range(40)]
        (tmp_path / "items.jsonl").write_text("\n".join(lines) + "\n")
        assert run(*ITEMS, "--scale", scale, "-k", "8", "-o", "out.csv").exit_code == 0
        found.append(picked(tmp_path / "out.csv", "id"))
    assert found[0] == found[1]
    assert found[2] == found[3]


def test_rows_of_zeros_are_unlike_the_others_and_said(run, tmp_path):
    np.save(tmp_path / "zero.npy", np.array([[1.0, 0.0], [0.0, 0.0], [0.9, 0.1], [0.0, 0.0]]))
    result = run("select", "zero.npy", "-k", "2")
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "diverset: note: 2 rows have 0 for all features, index 1 is the first; they count as unlike every other row\n"
    )


def test_the_end_of_the_rank_is_pointed_out(run, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\na,one\nb,one\nc,two\n")
    result = run("select", "a.csv", "-k", "3", "--text", "text")
    assert result.exit_code == 0, result.output
    assert "from pick 3 on, every row left was a combination (or a copy) of earlier ones" in result.stderr
    assert "no volume" in result.stdout


BAD_ROWS = "id,text,score\na,one,1\nb,two,{}\nc,three,3\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], r"cannot read none\.csv: there is no such file"),
        (["texts.csv", "--quality", "scor"], "no column 'scor'; its columns are 'id', 'text' and 'score'"),
        (["texts.csv", "--text", "body"], "no column 'body'"),
        (["texts.csv", "--features", "f*"], r"no column 'f\*'"),
        (["texts.csv", "--features", "score,text"], r"row 1 \(line 2\): column 'text' is 'cats sleep"),
        (["texts.csv", "--features", "score:id"], "comes after"),
        (["texts.csv", "--id", "key"], "no column 'key'"),
        (["texts.csv", "--text", "text", "--group", "g", "--per-group", "1"], "no column 'g'"),
        (["empty.csv"], r"empty\.csv is empty"),
        (["header.csv"], "has a header and no rows"),
        (["blank.csv", "--quality", "score"], r"row 2 \(line 3\): column 'score' is blank"),
        (["na.csv", "--quality", "score"], r"row 2 \(line 3\): column 'score' is 'n/a'"),
        (["nan.csv", "--quality", "score"], r"row 2 \(line 3\): column 'score' is 'NaN'"),
        (["word.csv", "--quality", "score"], r"row 2 \(line 3\): column 'score' is 'good'"),
        (["ragged.csv"], r"ragged\.csv, line 3: 2 fields where the header has 3"),
        (["broken.jsonl"], r"broken\.jsonl, line 2: not valid JSON"),
        (["texts.csv", "-k", "0"], "k = 0; it must be at least 1"),
        (["texts.csv", "-k", "-4"], "k = -4; it must be at least 1"),
        (["texts.csv", "-k", "99", "--text", "text"], r"k = 99, but texts\.csv has 5 rows"),
        (["single.csv", "-k", "2"], r"k = 2, but single\.csv has 1 row"),
        (["texts.csv", "-k", "many"], "-k is 'many'; give a number of rows, or a share"),
        (["texts.csv", "-k", "1.5"], "-k is '1.5'; a share of the rows is above 0 and at most 1"),
        (["texts.csv", "-k", "0%"], "-k is '0%'; a share"),
        (["texts.csv", "-k", "nan"], "-k is 'nan'; a share"),
        (["texts.csv", "--text", "text", "--quality", "score", "--keep", "2"], r"keep is 2\.0; it is a share"),
        (["texts.csv", "--text", "text", "--keep", "0.9"], "--keep needs --quality"),
        (["texts.csv", "--text", "text", "--lower-is-better"], "--lower-is-better needs --quality"),
        (["texts.csv", "--quality", "score", "--keep", "0.9", "--diversity", "0.5"], "not both"),
        (["texts.csv", "--text", "text", "--quality", "score", "--scale", "magic"], "--scale"),
        (["twice.csv"], r"twice\.csv: the header has the column 'score' twice; give columns different names"),
        (["folder.csv"], r"cannot read folder\.csv: it is a folder"),
        (["latin.csv"], r"latin\.csv, line 3: not UTF-8 text, though other lines are; save the file in one encoding"),
        (["torn.parquet"], r"torn\.parquet is not a Parquet file, or is damaged"),
        (["noextension"], r"cannot tell what noextension holds by its name"),
        (["texts.csv", "--features", "text"], r"column 'text' is 'cats sleep"),
        (["huge.csv", "--features", "x"], r"row 2 \(line 3\): column 'x' is 'inf'"),
        (["flat.npy"], r"flat\.npy has shape \(5,\)"),
        (["objects.npy"], "pickled Python objects"),
        (["short.npy", "--quality", "score"], "an NPY file holds features only"),
        (["texts.csv", "--embeddings", "short.npy"], r"short\.npy has 4 rows and texts\.csv has 5"),
        (["texts.csv", "--embeddings", "none.npy"], r"cannot read none\.npy"),
        (["notes.docx"], r"must end in \.csv"),
        (["texts.csv", "--text", "text", "--features", "score"], "--text and --features both"),
        (["texts.csv", "--features", "score", "--model", "m"], "--model embeds text"),
        (["texts.csv", "--text", "text", "-o", "missing/out.csv"], r"cannot write missing/out\.csv"),
        (["texts.csv", "--text", "text", "-o", "out.docx"], r"out\.docx: its name must end in .*\.html"),
        (["texts.csv", "--text", "text", "-o", "."], "its name must end in"),
        (["texts.csv", "--text", "text", "--diversity", "2"], r"diversity is 2\.0; it lies between 0"),
        (["texts.csv", "--text", "text", "--diversity", "nan"], "diversity is nan"),
        (["texts.csv", "--text", "text", "--diversity", "lots"], "--diversity"),
        (["texts.csv", "--similarity", "close"], "--similarity"),
        (["texts.csv", "--method", "magic"], "--method"),
        (["texts.csv", "--text", "text", "--given", "dogs"], "--given: 'dogs' is no id of texts.csv"),
        (["nan.csv", "--text", "text", "--id", "score", "--exclude", "9"], "--exclude: '9' is no score"),
        (["texts.csv", "--cost", "score"], "--cost and --budget go together"),
        (["texts.csv", "--text", "text", "--cost", "score", "--budget", "-1"], "budget"),
        (["cheap.csv", "--text", "text", "--cost", "score", "--budget", "5"], r"row 2 \(line 3\): the cost is 0"),
        (["texts.csv", "--group", "id"], "--group and --per-group go together"),
        (["texts.csv", "--text", "text", "--min-quality", "1"], "--min-quality needs --quality"),
        (["texts.csv", "--text", "text", "--window", "-1"], "window"),
        (["speechless.csv", "--text", "text"], "column 'text' has no words in any row"),
        (["nothing.csv"], "no column to compare rows by"),
        (["texts.csv", "--colour"], "--colour"),
        ([], "FILE"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(run, texts, tmp_path, arguments, message):
    for name, cell in {"blank": "", "na": "n/a", "nan": "NaN", "word": "good", "cheap": "0"}.items():
        (tmp_path / f"{name}.csv").write_text(BAD_ROWS.format(cell))
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("id,text\n")
    (tmp_path / "ragged.csv").write_text("a,b,c\n1,2,3\n1,2\n")
    (tmp_path / "speechless.csv").write_text("id,text\na,\nb,!\n")
    (tmp_path / "nothing.csv").write_text("id\na\nb\n")
    (tmp_path / "single.csv").write_text("id,x\na,1\n")
    (tmp_path / "twice.csv").write_text("id,score,score\na,1,2\n")
    (tmp_path / "huge.csv").write_text("id,x\na,1\nb,inf\n")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "latin.csv").write_bytes("id,text\na,caf\xe9\n".encode() + "b,caf\xe9\n".encode("latin-1"))
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "noextension").write_text("id,x\na,1\n")
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\n{"a": 2,}\n')
    (tmp_path / "notes.docx").write_text("x")
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.save(tmp_path / "short.npy", np.eye(4))
    np.save(tmp_path / "objects.npy", np.array([[None, {}]], dtype=object), allow_pickle=True)
    before = set(tmp_path.iterdir())
    result = run("select", *arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.fullmatch(r"diverset: error: [^\n]+\n", result.stderr)
    assert re.search(message, result.stderr)
    assert set(tmp_path.iterdir()) == before


def test_a_file_that_may_not_be_read_is_named(run, texts, monkeypatch):
    def refuse(path, *options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("diverset.io.files.os.open", refuse)
    result = run("select", "texts.csv", "--text", "text")
    assert result.exit_code == 2
    assert result.stderr == "diverset: error: cannot read texts.csv: permission denied\n"


def test_a_read_only_directory_is_refused_before_the_work(run, texts, monkeypatch):
    monkeypatch.setattr("os.access", lambda *arguments: False)
    result = run("select", "texts.csv", "--text", "text", "-o", "o.csv")
    assert result.exit_code == 2
    assert re.fullmatch(r"diverset: error: cannot write o\.csv: no permission[^\n]+\n", result.stderr)


def test_texts_are_compared_without_scikit_learn(run, texts, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    result = run("select", "texts.csv", "--text", "text")
    assert result.exit_code == 0, result.output


def test_models(run, texts, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    result = run("select", "texts.csv", "--text", "text", "--model", "tiny")
    assert result.exit_code == 2
    assert "pip install sentence-transformers" in result.stderr

    class Encoder:
        def __init__(self, name):
            if name != "tiny":
                raise OSError(f"{name} is not a local folder\nand more")

        def encode(self, texts, **options):
            return np.array([[len(text), text.count("a"), 1.0] for text in texts])

    module = type(sys)("sentence_transformers")
    module.SentenceTransformer = Encoder
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    result = run("select", "texts.csv", "--text", "text", "--model", "tiny", "-k", "2", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    X = [[len(text), text.count("a"), 1.0] for _, text, _ in TOPICS]
    assert picked(tmp_path / "o.csv", "id") == [TOPICS[i][0] for i in dv.select(X, 2)]
    result = run("select", "texts.csv", "--text", "text", "--model", "huge")
    assert result.stderr == "diverset: error: cannot load the model huge: huge is not a local folder\n"


@pytest.mark.parametrize("command", ["select", "sample", "compare"])
def test_help_shows_an_example(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert re.search(rf"Example: +diverset {command} papers\.csv", result.output)
