"""The thread command: files in, threads out, and one line for what is wrong."""

import inspect
import json
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app
from diverset.cli.demo import demo_threads
from diverset.cli.verbs import thread as command
from diverset.io.dates import parse_dates
from diverset.threads import example_news

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
                "title": f"{name} <b>{i}",
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


OPTIONS = ("-k", 3, "-r", 4)


def test_json_markdown_and_page(run, tmp_path):
    write_corpus(tmp_path / "news.jsonl")
    for kind in ("json", "md", "html"):
        result = run("news.jsonl", *OPTIONS, "-o", f"threads.{kind}")
        assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "threads.json").read_text())
    assert len(found["threads"]) == 3
    for thread in found["threads"]:
        assert len(thread["items"]) == 4
        assert {"id", "row", "time", "title"} <= set(thread["items"][0])
        names = {item["title"].split()[0] for item in thread["items"]}
        assert len(names) == 1
        assert names <= set(thread["words"])
        times = [item["time"] for item in thread["items"]]
        assert times == sorted(times)
    page = (tmp_path / "threads.html").read_text()
    assert set(map(len, re.findall(r"<time>(.*?)</time>", page))) == {10}  # hours would run into the headlines
    assert "<details><summary>" in page
    assert "<b>3" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "\\<b\\>" in (tmp_path / "threads.md").read_text()


def test_the_command_is_the_function(run, tmp_path):
    """Same defaults, same result; the seed decides."""
    write_corpus(tmp_path / "news.jsonl")
    found = dv.find_threads("news.jsonl", 3, 4)
    assert run("news.jsonl", *OPTIONS, "-o", "t.json").exit_code == 0
    written = json.loads((tmp_path / "t.json").read_text())
    assert [[item["row"] for item in thread["items"]] for thread in written["threads"]] == found.threads
    assert written["settings"]["beta"] == found.settings["beta"]
    given = inspect.signature(dv.find_threads).parameters
    translated = inspect.signature(command).parameters
    for name, parameter in translated.items():
        if name in given and name != "corpus":
            assert parameter.default == given[name].default, name
    draws = []
    for seed in (4, 4, 5):
        run("news.jsonl", *OPTIONS, "--method", "sample", "--seed", seed, "-o", "t.json")
        draws.append(json.loads((tmp_path / "t.json").read_text())["threads"])
    assert draws[0] == draws[1] != draws[2]


def test_hostile_titles_and_links_stay_text(run, tmp_path):
    evil = {"title": "<script>alert(1)</script>", "url": "javascript:alert(1)", "source": "<i>x</i>"}
    good = {"url": "https://example.org/a?b=1&c=2"}
    changes = {f"row{i}": evil if i % 2 else good for i in range(36)}
    write_corpus(tmp_path / "news.jsonl", **changes)
    assert run("news.jsonl", *OPTIONS, "-o", "t.html").exit_code == 0
    page = (tmp_path / "t.html").read_text()
    assert "<script>alert" not in page
    assert "javascript:alert" not in page
    assert "<i>x</i>" not in page
    assert 'href="https://example.org/a?b=1&amp;c=2"' in page


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
        (
            {f"row{i}": {"date": "32 Foo"} for i in range(36)},
            (),
            "no document has a date",
        ),
        (
            {"row7": {"id": "d2"}},
            ("--id", "id"),
            "row 3 (line 3) and news.jsonl, row 8 (line 8) have",
        ),
        ({}, ("-r", 30), "only 0 events of 36 documents have a thread of 15 documents; ask for fewer threads"),
        ({}, ("-k", 60), "k is 60, but only"),
        ({}, ("--time", "day"), "has no column 'day'"),
        ({}, ("--burst", -1), "Invalid value for '--burst'"),
        ({}, ("--events", 2), "events is 2, fewer than the 3 threads"),
        ({}, ("-o", "x.xls"), "must end in .html, .json"),
        ({f"row{i}": {"text": " ", "title": " "} for i in range(36)}, (), "the text is empty, and so are all others"),
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
    assert "1 document left out: news.jsonl, row 4 (line 4): the text is empty" in result.output


def test_rows_without_a_date_are_left_out_with_a_remark(run, tmp_path):
    write_corpus(tmp_path / "news.jsonl", row4={"date": "32 Foo"}, row9={"date": None})
    result = run("news.jsonl", *OPTIONS)
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    assert "2 documents left out: news.jsonl, row 5 (line 5): '32 Foo' is no date in a form that is known" in said


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2020-01-13", 13), ("2020-01-14T10:00:00Z", 14), ("2020-01-15T10:00:00+02:00", 15),
        ("Thu, 16 Jan 2020 10:00:00 GMT", 16), ("17 Jan 2020", 17), ("Jan. 18, 2020", 18), ("January 19, 2020", 19),
        ("2020/01/20", 20), ("2020-01-23 10:00:00", 23), ("24 January 2020 10:00", 24), ("2020-01-25 10:00 UTC", 25),
        ("20200126", 26), (1580083200, 27), (1580169600000, 28),
    ],
)  # fmt: skip
def test_dates_as_people_have_them(written, day):
    assert str(parse_dates([written]).times[0])[:10] == f"2020-01-{day}"


def test_files_without_dates_or_texts(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    result = run("a.csv")
    assert result.exit_code == 2
    assert "a.csv has no text: no column is called text" in result.output
    (tmp_path / "a.csv").write_text("text,y\nsome words,2\n")
    assert "there is no column of dates; no document has a date (--time names a column" in run("a.csv").output
    folder = tmp_path / "texts"
    folder.mkdir()
    assert "contains no file that can be read" in run("texts").output
    (folder / "note.txt").write_text("hello")
    assert "its name contains no date" in run("texts").output


def test_the_demo_tells_six_stories_without_the_weather(tmp_path):
    found = demo_threads(tmp_path / "demo.html", Console(file=StringIO()))
    _, stories = example_news()
    assert [len({stories[i] for i in thread}) for thread in found.threads] == [1] * 6
    assert len({stories[thread[0]] for thread in found.threads}) == 6
    assert [len(series) for series in found.series] == [32]
    assert (tmp_path / "demo.html").stat().st_size > 20_000
