"""The thread command: files in, threads out, and one line for what is wrong."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from diverset.apps.demo_threads import run_demo_threads
from diverset.cli import app

ITEMS = [
    ("bridge", ["crack", "girder", "ferry", "harbour", "welder"]),
    ("comet", ["probe", "orbit", "dust", "lander", "antenna"]),
    ("wheat", ["rust", "field", "farmer", "spore", "flour"]),
]


def write_corpus(path, n=36, **changes):
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for i in range(n):
            name, words = ITEMS[i % 3]
            row = {
                "id": f"d{i}",
                "date": f"2020-01-{1 + i // 2:02d} {8 + i % 2:02d}:00",
                "title": f"{name} <b>{i}</b>",
                "text": " ".join([name, *rng.choice(words, size=6)]),
            }
            row.update(changes.get(f"row{i}", {}))
            file.write(json.dumps(row) + "\n")
    return path


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*arguments):
        return CliRunner().invoke(app, ["thread", *map(str, arguments)])

    return call


OPTIONS = ("-k", 3, "-r", 4, "--max-share", 0.5, "--max-similarity", 1.0)


def test_json_markdown_and_page(run, tmp_path):
    write_corpus(tmp_path / "news.jsonl")
    for kind in ("json", "md", "html"):
        result = run("news.jsonl", *OPTIONS, "-o", f"threads.{kind}")
        assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "threads.json").read_text())
    assert len(found["threads"]) == 3
    for thread in found["threads"]:
        assert len(thread["items"]) == 4
        assert set(thread["items"][0]) == {"id", "time", "title"}
        names = {item["title"].split()[0] for item in thread["items"]}
        assert len(names) == 1
        assert names <= set(thread["words"])
        times = [item["time"] for item in thread["items"]]
        assert times == sorted(times)
    page = (tmp_path / "threads.html").read_text()
    assert set(map(len, re.findall(r"<time>(.*?)</time>", page))) == {10}  # hours would run into the headlines
    assert "<b>3</b>" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "\\<b\\>" in (tmp_path / "threads.md").read_text()
    assert len(list((tmp_path / "cache" / "diverset").iterdir())) == 1


def test_the_seed_decides_and_the_cache_changes_nothing(run, tmp_path):
    write_corpus(tmp_path / "news.jsonl")
    outputs = []
    for arguments in (("--no-cache",), (), ()):
        assert run("news.jsonl", *OPTIONS, "--sample", "--seed", 4, *arguments, "-o", "t.json").exit_code == 0
        outputs.append((tmp_path / "t.json").read_text())
    assert outputs[0] == outputs[1] == outputs[2]
    run("news.jsonl", *OPTIONS, "--sample", "--seed", 5, "-o", "t.json")
    assert (tmp_path / "t.json").read_text() != outputs[0]
    kept = next((tmp_path / "cache" / "diverset").iterdir())
    kept.write_bytes(kept.read_bytes()[:100])  # damaged: made anew
    run("news.jsonl", *OPTIONS, "--sample", "--seed", 4, "-o", "t.json")
    assert (tmp_path / "t.json").read_text() == outputs[0]


def test_a_thread_through_a_document_and_unequal_lengths(run, tmp_path):
    write_corpus(tmp_path / "news.jsonl")
    result = run("news.jsonl", *OPTIONS, "--through", "d10", "--min-length", 2, "-o", "t.json")
    assert result.exit_code == 0, result.output
    threads = json.loads((tmp_path / "t.json").read_text())["threads"]
    assert any(item["id"] == "d10" for thread in threads for item in thread["items"])
    assert run("news.jsonl", *OPTIONS, "--through", "x").exit_code == 2


def test_csv_and_folders(run, tmp_path):
    rows = [json.loads(line) for line in write_corpus(tmp_path / "news.jsonl").read_text().splitlines()]
    lines = ["key,when,head,story"] + [f"{r['id']},{r['date']},{r['title']},{r['text']}" for r in rows]
    (tmp_path / "news.csv").write_text("\n".join(lines))
    result = run(
        "news.csv", *OPTIONS, "--time", "when", "--text", "story", "--title", "head", "--id", "key", "-o", "c.json"
    )
    assert result.exit_code == 0, result.output
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, row in enumerate(rows):
        (folder / f"2020-01-{1 + i // 2:02d}-{i}.txt").write_text(f"{row['title']}\n{row['text']}\n")
    result = run("texts", *OPTIONS, "-o", "f.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "f.json").read_text())["threads"][0]["items"][0]["time"].startswith("2020-01-")


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({"row4": {"date": "32 Foo"}}, (), r"news.jsonl, row 5 (line 5): column 'date' is '32 Foo', which is no date"),
        ({"row4": {"date": None}}, (), "row 5 (line 5): column 'date' is blank, which is no date"),
        ({"row7": {"id": "d2"}}, ("--id", "id"), "row 3 (line 3) and row 8 (line 8) have the same 'id', 'd2'"),
        ({}, ("-r", 30), "no path of the graph has 30 nodes: the longest has 12"),
        ({}, ("-k", 60), "dimensions"),
        ({}, ("--time", "day"), "has no column 'day'"),
        ({}, ("--balance", 2), "Invalid value for '--balance'"),
        ({}, ("--smoothing", -1), "Invalid value for '--smoothing'"),
        ({}, ("-o", "x.csv"), "must end in .html, .json or .md"),
        ({}, ("--threshold", 0.999999), "no path of the graph has 4 nodes"),
        ({f"row{i}": {"text": " ", "title": " "} for i in range(36)}, (), "is empty in every row"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, changes, arguments, message):
    write_corpus(tmp_path / "news.jsonl", **changes)
    result = run("news.jsonl", *OPTIONS, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_empty_texts_are_left_out_with_a_remark(run, tmp_path):
    write_corpus(tmp_path / "news.jsonl", row3={"text": "", "title": ""})
    result = run("news.jsonl", *OPTIONS)
    assert result.exit_code == 0
    assert "1 documents left out, since their text is empty: row 4 (line 4) is the first" in result.output


def test_too_few_threads(run, tmp_path):
    write_corpus(tmp_path / "news.jsonl", n=9)
    result = run("news.jsonl", "-k", 30, "-r", 3, "--max-share", 0.5)
    assert result.exit_code == 2
    assert "k is 30, but the graph has only" in result.output


def test_files_without_dates_or_texts(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    result = run("a.csv")
    assert result.exit_code == 2
    assert "no column of times by its name; say which with --time" in result.output
    folder = tmp_path / "texts"
    folder.mkdir()
    assert "has no .txt files" in run("texts").output
    (folder / "note.txt").write_text("hello")
    assert "its name holds no date" in run("texts").output


def test_the_demo_finds_the_six_stories_and_the_weather(tmp_path):
    result = run_demo_threads(output=tmp_path / "demo.html")
    first = {words[0] for words in result.words}
    assert len(result.threads) == 7
    assert first == {"bridge", "drivers", "halcyon", "ilvane", "roofer", "showers", "wheat"}
    assert (tmp_path / "demo.html").stat().st_size > 20_000
