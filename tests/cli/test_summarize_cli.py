"""``diverset summarize``: files of every kind in, a short text out, and bad input in one line."""

import json
import re
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app
from diverset.cli.demo import demo_summary
from diverset.errors import DiversetError
from diverset.io.documents import html_text, markdown_text, read_documents

FIRST = "The old mill burned down on Friday. Nobody was hurt. Firemen from three towns came. The owner is insured."
SECOND = "A fire destroyed the old mill. Three towns sent their firemen. The mayor thanked them on Saturday."


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, ["summarize", *map(str, arguments)], input=stdin)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "articles"
    (place / "more").mkdir(parents=True)
    (place / "a.txt").write_text(FIRST)
    (place / "more" / "b.md").write_text(f"# Fire\n\n{SECOND} See [more](x.html).\n\n```\ncode says no\n```\n")
    (place / "c.html").write_text("<html><head><title>t</title><body><p>The <b>mill</b> was old.<script>no()</script>")
    (place / "d.jsonl").write_text(json.dumps({"title": "D", "text": "A mill is a mill."}) + "\n\n")
    (place / "picture.png").write_bytes(b"\x89PNG\x00\x01")
    return place


def test_the_summary_is_printed_alone(folder):
    found = run(folder, "--max-words", 20)
    assert found.exit_code == 0, found.output
    text = found.stdout.strip()
    assert 0 < len(text.split()) <= 20
    everything = " ".join([FIRST, SECOND, "Fire See more. The mill was old. A mill is a mill."])
    assert set(text.split()) <= set(everything.split())
    assert "code" not in text
    assert "no()" not in text


@pytest.mark.parametrize("method", ["coverage", "greedy", "mbr", "sample"])
def test_methods_and_budgets(folder, tmp_path, method):
    out = tmp_path / "s.txt"
    asked = [folder, "--max-bytes", 120, "--method", method, "--draws", 50, "--seed", 1, "-o", out]
    assert run(*asked).exit_code == 0
    text = out.read_bytes()
    assert 0 < len(text) - 1 <= 120  # but for the line's end
    assert run(*asked).exit_code == 0
    assert out.read_bytes() == text


def test_markdown_holds_the_summary_alone(folder, tmp_path):
    out = tmp_path / "s.md"
    assert run(folder, "--max-sentences", 2, "-o", out, "--quiet").output == ""
    printed = run(folder, "--max-sentences", 2).stdout
    assert out.read_text(encoding="utf-8").split() == printed.split()


def test_json_tells_why(folder, tmp_path):
    out = tmp_path / "s.json"
    assert run(folder, "--max-words", 20, "--method", "mbr", "--draws", 50, "--seed", 0, "-o", out).exit_code == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["limit"] == {"words": 20}
    assert report["documents"] == ["a.txt", "c.html", "D", "more/b.md"]
    assert report["summary"] == " ".join(sentence["sentence"] for sentence in report["sentences"])
    assert report["draws"]["within_limit"] == 50 <= report["draws"]["made"]
    assert all(0 < sentence["inclusion_probability"] < 1 for sentence in report["sentences"])


def test_the_page_marks_sentences_and_escapes(tmp_path):
    nasty = tmp_path / "<b>.txt"
    nasty.write_text("<script>alert(1)</script> is in the text. Another sentence is here. {{title}} stays.")
    out = tmp_path / "s.html"
    assert run(nasty, "--max-sentences", 2, "-o", out).exit_code == 0
    page = out.read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert page.count("<mark ") == 2
    assert "{{title}} stays." in page
    assert "Why these sentences" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)  # loads nothing


def test_standard_input():
    found = run("--max-words", 8, stdin=FIRST)
    assert found.exit_code == 0
    assert 0 < len(found.stdout.split()) <= 8
    page = run("-", "--max-words", 8, stdin="<!doctype html><p>One sentence here.</p>")
    assert page.stdout.strip() == "One sentence here."


def test_json_lines_from_standard_input():
    lines = [json.dumps({"title": "a", "text": FIRST}), "", json.dumps({"title": "b", "text": SECOND})]
    found = run("--max-sentences", 1, stdin="\n".join(lines))
    assert found.exit_code == 0
    assert found.stdout.strip() in f"{FIRST} {SECOND}"
    # A text may begin with a brace or a number all the same.
    for text in ("{not JSON} is how it begins.", "7", '"Well," he said.', "[" * 5000):
        found = run("--max-words", 20, stdin=text)
        assert found.exit_code == 0
        assert found.stdout.strip() == text


def test_empty_documents_among_others(tmp_path):
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "b.jsonl").write_text(
        '{"text": ""}\n{"text": "One sentence is here."}\n{"sentences": []}\n{"body": null}'
    )
    (tmp_path / "c.html").write_text("<html></html>")
    found = run(tmp_path)
    assert (found.exit_code, found.stdout.strip()) == (0, "One sentence is here.")
    (tmp_path / "b.jsonl").write_text('{"text": ""}')
    found = run(tmp_path)
    assert found.exit_code == 2
    assert "no sentence" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no such file"),
        (["{folder}/picture.png"], "must end in"),
        (["{folder}", "-o", "x.pdf"], "x.pdf"),
        (["{folder}", "--max-words", "3", "--max-bytes", "3"], "one limit"),
        (["{folder}", "--max-words", "0"], "max_words"),
        (["{folder}", "--method", "best"], "best"),
        (["{folder}", "--update-since", "nowhere"], "no such file"),
        (["{empty}"], "contains no file"),
        (["{empty}/blank.txt"], "no sentence"),
        (["{empty}/bad.jsonl"], "line 2: not valid JSON"),
        (["{empty}/no.jsonl"], "has no text"),
        (["{empty}/zero.txt"], "zero bytes"),
        (["{folder}", "--model", "{folder}/a.txt"], "not a summarizer file"),
    ],
)
def test_bad_input_is_one_line(folder, tmp_path, arguments, message):
    empty = tmp_path / "empty"
    empty.mkdir()
    if "/" in arguments[0] and "{empty}" in arguments[0]:
        (empty / "blank.txt").write_text(" \n\n")
        (empty / "bad.jsonl").write_text('{"text": "a"}\n{')
        (empty / "no.jsonl").write_text('{"colour": "red"}')
        (empty / "zero.txt").write_bytes(b"a\x00b")
    found = run(*(argument.format(folder=folder, empty=empty) for argument in arguments))
    assert found.exit_code == 2
    assert found.stderr.count("\n") == 1
    assert message in found.stderr


def test_encodings(tmp_path):
    for name, encoding in {"a": "cp1252", "b": "utf-8-sig", "c": "utf-16"}.items():
        (tmp_path / f"{name}.txt").write_bytes("Café.".encode(encoding))
    documents = read_documents([str(tmp_path)])
    assert [document.text for document in documents] == ["Café."] * 3
    assert [document.name for document in documents] == ["a.txt", "b.txt", "c.txt"]


def test_json_lines_hold_texts_or_sentences(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('"plain"\n{"sentences": ["a", "b"], "id": 7}\n{"body": "x"}\n')
    documents = read_documents([str(path)])
    assert [document.text for document in documents] == ["plain", ["a", "b"], "x"]
    assert [document.name for document in documents] == ["x.jsonl, line 1", "7", "x.jsonl, line 3"]
    path.write_text('{"text": 3}')
    with pytest.raises(DiversetError, match="line 1 has no text"):
        read_documents([str(path)])


def test_dates_come_from_records_and_names(tmp_path):
    (tmp_path / "2020-02-01_b.txt").write_text("The mill was rebuilt by the owner.")
    (tmp_path / "x.jsonl").write_text(
        '{"text": "The mill burned down at night.", "date": "2020-01-31"}\n{"text": "No date.", "date": "soon"}'
    )
    dates = [str(document.date)[:10] for document in read_documents([str(tmp_path)])]
    assert dates == ["2020-02-01", "2020-01-31", "None"]
    (tmp_path / "x.jsonl").write_text('{"text": "The mill burned down at night.", "date": "2020-01-31"}')
    found = run(tmp_path, "--method", "mbr")
    assert found.stdout.strip() == "The mill burned down at night. The mill was rebuilt by the owner."


def test_the_command_is_the_function(folder, tmp_path):
    (tmp_path / "read.txt").write_text(FIRST)
    known = tmp_path / "read.txt"
    for flags, options in [
        ([], {}),
        (["--max-words", 12], {"max_words": 12}),
        (["--max-bytes", 80, "--method", "mbr", "--draws", 70], {"max_bytes": 80, "method": "mbr", "n_draws": 70}),
        (["--query", "the mayor", "--max-words", 12], {"query": "the mayor", "max_words": 12}),
        (["--update-since", known, "--max-words", 12], {"update_since": known, "max_words": 12}),
        (["--method", "sample", "--seed", 4], {"method": "sample", "rng": 4}),
    ]:
        found = run(folder, *flags)
        assert found.exit_code == 0, found.output
        assert found.stdout.split() == dv.summarize(folder, **options).text.split()


def test_web_pages_without_closing_tags():
    page = "<title>T</title><h1>Head<p>One.<p>Two &amp; <i>three</i>.<nav>Home</nav><br>Four"
    assert html_text(page).split() == ["T", "Head", "One.", "Two", "&", "three.", "Four"]
    assert html_text("<head><title>T</title><p>One").split() == ["One"]


def test_markdown_marks_go():
    text = "---\na: b\n---\n# Title #\n\n> quoted *text* and `code`\n\n| a | b |\n|---|---|\n\n"
    text += "![x](y) [link](z) snake_case"
    assert markdown_text(text).split() == ["Title", "quoted", "text", "and", "code", "link", "snake_case"]


def test_demo_summary(tmp_path):
    out = StringIO()
    page = tmp_path / "demo.html"
    summary = demo_summary(page, Console(file=out, width=80))
    assert 30 <= len(summary.text.split()) <= 50
    assert "Page written" in out.getvalue()
    assert "P(in)" in out.getvalue()
    assert page.exists()
