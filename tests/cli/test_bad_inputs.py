"""Input that no command can use: one clear line, exit code 2, nothing half-written; and files made to harm."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import diverset
from diverset.cli import app

NEWS = Path(diverset.__file__).parent / "data" / "news.jsonl"
TEXTS = [f"The old mill at the river burned for hour {i}, said witness number {i * 7}." for i in range(20)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


def write_news(path, texts=TEXTS, **cells):
    rows = [{"id": f"d{i}", "date": f"2020-01-{1 + i % 28:02d}", "text": text, **cells} for i, text in enumerate(texts)]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def one_line(result, message, code=2):
    assert result.exit_code == code, result.output
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("diverset: error: ")
    assert message in result.stderr


COMMANDS = {
    "select": ("select", "{}", "--text", "text"),
    "summarize": ("summarize", "{}"),
    "thread": ("thread", "{}"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", np.random.default_rng(0).bytes(4000), "not a text file"),
        ("a.jsonl", np.random.default_rng(1).bytes(4000), "not a text file"),
        ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(50), "not a text file"),
        ("a.csv", b"date,text\n2020-01-01,caf\xc3\xa9\n2020-01-02,caf\xe9\n", "though other lines are"),
        ("a.csv.gz", b"no gzip", "not a gzip file"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"date,text\n", "no rows"),
        ("a.csv", b"date,text\n1,2,3\n", "line 2: 3 fields"),
        ("a.jsonl", b'{"text": ', "line 1: not valid JSON"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.parquet", b"no parquet", "not a Parquet file"),
        ("a.xlsx", b"x", "must end in"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(run, tmp_path, command, name, content, message):
    (tmp_path / name).write_bytes(content)
    result = run(*(part.format(name) for part in COMMANDS[command]), "-o", "out.html")
    if content == b"":
        message = {"summarize": "no sentence", "thread": "no documents"}.get(command, message)
    one_line(result, message)
    assert sorted(os.listdir(tmp_path)) == [name]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_not_there_a_folder_and_a_pipe(run, tmp_path, command):
    parts = COMMANDS[command]
    one_line(run(*(part.format("none.csv") for part in parts)), "no such file")
    os.mkfifo(tmp_path / "pipe.csv")
    one_line(run(*(part.format("pipe.csv") for part in parts)), "it is a pipe; only regular files are read")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    one_line(run(*(part.format("zero.csv") for part in parts)), "it is a device; only regular files are read")
    (tmp_path / "folder").mkdir()
    one_line(run(*(part.format("folder") for part in parts)), "folder")


@pytest.mark.parametrize("command", COMMANDS)
def test_outputs_that_cannot_be_written(run, tmp_path, command):
    write_news(tmp_path / "a.jsonl")
    before = (tmp_path / "a.jsonl").read_bytes()
    parts = [part.format("a.jsonl") for part in COMMANDS[command]]
    one_line(run(*parts, "-o", "nowhere/out.html"), "nowhere is not an existing directory")
    one_line(run(*parts, "-o", "out.xyz"), "must end in")
    (tmp_path / "page.html").symlink_to(tmp_path / "a.jsonl")
    one_line(run(*parts, "-o", "page.html"), "it is an input, and would be overwritten; --force allows that")
    assert (tmp_path / "a.jsonl").read_bytes() == before
    (tmp_path / "page.html").unlink()
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl"]


def test_an_input_is_overwritten_with_force_only(run, tmp_path):
    write_news(tmp_path / "a.jsonl")
    one_line(run("select", "a.jsonl", "-k", 3, "-o", "a.jsonl"), "--force allows that")
    assert run("select", "a.jsonl", "-k", 3, "-o", "a.jsonl", "--force").exit_code == 0
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("select", "a.jsonl", "--text", "colour"), "has no column 'colour'; its columns are 'id', 'date' and 'text'"),
        (("select", "a.jsonl", "--quality", "colour"), "has no column 'colour'"),
        (("summarize", "a.jsonl", "--text", "colour"), "has no column 'colour'"),
        (("thread", "a.jsonl", "--time", "colour"), "has no column 'colour'"),
        (("select", "a.jsonl", "-k", "1000"), "k = 1000"),
        (("thread", NEWS, "-k", "1000"), "1000"),
        (("images", "empty"), "holds no images"),
        (("summarize", "empty"), "contains no file that can be read"),
        (("thread", "empty"), "contains no file that can be read"),
        (("select", "a.jsonl", "--encoding", "klingon"), "no encoding 'klingon'"),
        (("select", "a.jsonl", "--given", ",".join(f"x{i}" for i in range(200))), "'x0' is no id of a.jsonl"),
    ],
)
def test_requests_that_the_input_cannot_meet(run, tmp_path, arguments, message):
    write_news(tmp_path / "a.jsonl")
    (tmp_path / "empty").mkdir()
    result = run(*arguments)
    one_line(result, message)
    advised = [word.strip(".,;:()") for word in result.stderr.split() if word.startswith("--")]
    shown = run(arguments[0], "--help").output
    assert all(option in shown for option in advised), advised


def test_one_document(run, tmp_path):
    write_news(tmp_path / "a.jsonl", TEXTS[:1])
    assert run("select", "a.jsonl", "--text", "text").exit_code == 0
    assert run("summarize", "a.jsonl").exit_code == 0
    one_line(run("thread", "a.jsonl"), "document")


def test_documents_that_are_all_the_same(run, tmp_path):
    write_news(tmp_path / "a.jsonl", TEXTS[:1] * 20)
    assert run("select", "a.jsonl", "--text", "text", "-k", 5).exit_code == 0
    result = run("summarize", "a.jsonl")
    assert (result.exit_code, result.stdout.strip()) == (0, TEXTS[0])
    one_line(run("thread", "a.jsonl"), "")


def test_long_lists_of_ids_are_no_file_names(run, tmp_path):
    write_news(tmp_path / "a.jsonl", [f"{text} More words {i}." for i, text in enumerate(TEXTS * 15)])
    given = ",".join(f"d{i}" for i in range(100))
    result = run("select", "a.jsonl", "-k", 3, "--text", "text", "--given", given)
    assert result.exit_code == 0, result.output


def test_files_in_another_encoding_are_read_with_a_remark(run, tmp_path):
    rows = "".join(f"{i},2020-01-0{1 + i % 9},café number {i} burned down at night\n" for i in range(9))
    (tmp_path / "a.csv").write_bytes(f"id,date,text\n{rows}".encode("cp1252"))
    for command in ("select", "summarize"):
        result = run(command, "a.csv")
        assert result.exit_code == 0, result.output
        assert "a.csv is not UTF-8 and was read as cp1252; --encoding names another encoding" in result.stderr
        assert "café" in result.stdout
        assert "cp1252" not in run(command, "a.csv", "--encoding", "cp1252").stderr


def test_an_output_page_in_the_input_folder_is_not_read_on_the_next_run(run, tmp_path):
    (tmp_path / "f").mkdir()
    for i, text in enumerate(TEXTS[:3]):
        (tmp_path / "f" / f"{i}.txt").write_text(text)
    first = run("summarize", "f", "-o", "f/page.html")
    assert first.exit_code == 0, first.output
    plain = run("summarize", "f")
    assert plain.exit_code == 0
    assert "page.html is a page that diverset wrote" in plain.stderr
    (tmp_path / "f" / "page.html").unlink()
    assert run("summarize", "f").stdout == plain.stdout
    assert run("summarize", "f", "-o", "f/page.html").exit_code == 0
    assert run("summarize", "f", "-o", "f/page.html").exit_code == 0  # its own page may be replaced


def test_formulas_come_out_as_text(run, tmp_path):
    rows = [{"id": i, "text": f"=HYPERLINK({i})", "x": i} for i in range(4)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("select", "a.jsonl", "--features", "x", "-k", 2, "-o", "out.csv").exit_code == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert all("'=HYPERLINK" in line for line in lines)


def test_a_bomb_is_refused(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"text\n" + b"x" * 10_000_000))
    monkeypatch.setenv("DIVERSET_MAX_BYTES", "1000000")
    one_line(run("select", "a.csv.gz"), "and at most 1,000,000 are read; set DIVERSET_MAX_BYTES")


@pytest.mark.parametrize("command", ["thread", "images"])
def test_without_a_home_directory_the_work_goes_on(run, tmp_path, monkeypatch, command):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "missing" / "home"))
    (tmp_path / "missing").touch()
    if command == "images":
        image = pytest.importorskip("PIL.Image")
        pytest.importorskip("cv2")
        (tmp_path / "f").mkdir()
        for i in range(3):
            noise = np.random.default_rng(i).integers(0, 255, (60, 60, 3), dtype=np.uint8)
            image.fromarray(noise).save(tmp_path / "f" / f"{i}.png")
        result = run("images", "f", "-k", 2)
        assert "working without a cache" in result.stderr
    else:
        names = ["mill fire river", "comet probe orbit", "wheat rust field"]
        texts = [f"{names[i % 3]} {names[i % 3].split()[i % 2]} story" for i in range(36)]
        write_news(tmp_path / "a.jsonl", [f"{text} part {i}" for i, text in enumerate(texts)])
        result = run("thread", "a.jsonl", "-k", 2, "-r", 3)
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
