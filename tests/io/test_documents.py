"""Documents from every kind of file, and files made to harm."""

import gzip
import io
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.io.documents import html_text, markdown_text, read_documents
from diverset.text.cluster import as_cluster
from diverset.threads.corpus import read_corpus

ROWS = [
    {"id": f"d{i}", "date": f"2020-01-{i + 1:02d}", "title": f"Title {i}", "text": f"The mill burned, part {i}."}
    for i in range(4)
]


def write(path, rows=ROWS):
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), path)
        return path
    mark = {"csv": ",", "tsv": "\t"}.get(kind)
    if mark:
        lines = [mark.join(rows[0]), *(mark.join(f'"{cell}"' for cell in row.values()) for row in rows)]
        text = "\n".join(lines)
    else:
        text = json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, rows))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


NAMES = [f"a.{kind}" for kind in "csv tsv json jsonl ndjson parquet csv.gz tsv.gz json.gz jsonl.gz".split()]


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_table_serves_summaries_and_threads(tmp_path, name):
    path = write(tmp_path / name)
    cluster = as_cluster([path])
    assert [document.name for document in read_documents(path)] == [row["title"] for row in ROWS]
    assert len(cluster) == 4
    corpus, rows, notes = read_corpus(path)
    assert corpus.ids == ("d0", "d1", "d2", "d3")
    assert corpus.texts[0] == "Title 0. The mill burned, part 0."
    assert rows.tolist() == [0, 1, 2, 3]
    assert notes == []


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_serve_both(library):
    frame = pytest.importorskip(library).DataFrame(ROWS)
    assert [document.text for document in read_documents(frame)] == [row["text"] for row in ROWS]
    assert read_corpus(frame)[0].titles[3] == "Title 3"


def test_columns_of_sentences_serve_both(tmp_path):
    rows = [{"id": i, "date": "2020-01-01", "sentences": [f"The mill {i} burned.", "It was old."]} for i in range(2)]
    path = write(tmp_path / "a.jsonl", rows)
    assert read_documents(path)[1].text == ["The mill 1 burned.", "It was old."]
    assert read_corpus(path)[0].texts[1] == "The mill 1 burned. It was old."


def test_folders_serve_both(tmp_path):
    (tmp_path / "2020-01-01.txt").write_text("One mill.")
    (tmp_path / "20200102-b.md").write_text("# Two\n\nmills")
    (tmp_path / "2020_01_03.html.gz").write_bytes(gzip.compress(b"<p>Three mills"))
    (tmp_path / "undated.txt").write_text("No date.")
    (tmp_path / ".hidden.txt").write_text("no")
    write(tmp_path / "x.jsonl", ROWS[:1])
    assert len(read_documents([tmp_path])) == 5
    corpus, _, notes = read_corpus(tmp_path)
    assert sorted(map(str, corpus.times.astype("datetime64[D]"))) == ["2020-01-01"] * 2 + ["2020-01-02", "2020-01-03"]
    assert notes == ["1 document left out: undated.txt: its name contains no date such as 2005-02-24"]


def test_links_sources_and_time_zones_are_kept(tmp_path):
    row = {"time": "2020-01-15T23:00:00-05:00", "body": "x y", "url": "http://a", "publisher": "P", "headline": "H"}
    (document,) = read_documents(write(tmp_path / "a.jsonl", [row]))
    assert (str(document.date), document.zone) == ("2020-01-16T04:00:00", "-05:00")
    assert (document.url, document.source, document.title) == ("http://a", "P", "H")
    corpus = read_corpus(tmp_path / "a.jsonl")[0]
    assert (corpus.links, corpus.sources) == (("http://a",), ("P",))


def test_a_file_with_bad_dates_is_used_and_the_first_reason_told(tmp_path):
    rows = [{**ROWS[0], "id": i, "date": "soon" if i % 20 == 7 else "2020-01-05"} for i in range(40)]
    corpus, kept, notes = read_corpus(write(tmp_path / "a.jsonl", rows))
    assert len(corpus) == 38
    assert 7 not in kept
    assert notes == ["2 documents left out: a.jsonl, row 8 (line 8): 'soon' is no date in a form that is known"]
    with pytest.raises(DiversetError, match="no document has a date"):
        read_corpus(write(tmp_path / "a.jsonl", [{**row, "date": ""} for row in ROWS]))
    ambiguous = [{**row, "date": f"0{i + 3}/02/2020"} for i, row in enumerate(ROWS)]
    path = write(tmp_path / "a.csv", ambiguous)
    with pytest.raises(DiversetError, match="can mean two days; --day-first or --date-format"):
        read_corpus(path)
    assert str(read_corpus(path, day_first=True)[0].times[0])[:10] == "2020-02-03"
    assert str(read_corpus(path, date_format="%m/%d/%Y")[0].times[0])[:10] == "2020-03-02"


def test_texts_are_found_by_their_words_and_the_guess_is_told(tmp_path):
    rows = [{"when": "2020-01-01", "tag": "x", "story": "The old mill burned down."}]
    notes = []
    (document,) = read_documents(write(tmp_path / "a.csv", rows), notes=notes)
    assert document.text == "The old mill burned down."
    assert notes == ["taking 'story' as the text; --text names another column"]
    assert read_documents(tmp_path / "a.csv", text="tag")[0].text == "x"
    with pytest.raises(DiversetError, match="has no column 'none'"):
        read_documents(tmp_path / "a.csv", text="none")


def test_encodings_are_those_of_the_bytes_or_of_the_option(tmp_path):
    (tmp_path / "a.html").write_bytes('<meta charset="iso-8859-2"><p>łódź'.encode("iso-8859-2"))
    (tmp_path / "b.html").write_bytes('<meta charset="nonsense"><p>café'.encode())
    (tmp_path / "c.txt").write_bytes("łódź".encode("iso-8859-2"))
    notes = []
    assert [d.text.strip() for d in read_documents([tmp_path / "a.html", tmp_path / "b.html"])] == ["łódź", "café"]
    assert read_documents(tmp_path / "c.txt", encoding="iso-8859-2", notes=notes)[0].text == "łódź"
    assert notes == []
    read_documents(tmp_path / "c.txt", notes=notes)
    assert "was read as cp1252" in notes[0]


def test_own_pages_pipes_and_binary_files_in_a_folder_are_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("One mill.")
    (tmp_path / "page.html").write_text('<html><head><meta name="generator" content="diverset"></head><p>Two')
    (tmp_path / "random.txt").write_bytes(np.random.default_rng(0).bytes(3000))
    (tmp_path / "link.txt").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.txt")
    notes = []
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(read_documents, tmp_path, notes=notes).result(timeout=20)
    assert [document.text for document in found] == ["One mill."]
    assert len(notes) == 1
    assert notes[0].startswith("4 files left out: cannot read")
    with pytest.raises(DiversetError, match="is a page that diverset wrote"):
        read_documents(tmp_path / "page.html")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(DiversetError, match="only regular files are read"):
        read_documents(tmp_path)


def test_a_folder_has_one_limit_of_bytes(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("word " * 100)
    notes = []
    assert len(read_documents(tmp_path, max_bytes=1200, notes=notes)) == 2
    assert "c.txt has 500 bytes, and at most 200 are read" in notes[0]


@pytest.mark.parametrize(
    "unit",
    [
        "<a ", "<", "[", "![", "[a](", "[a][", "<!--", "<!", "</", '<a b="', "<a '", "&#9", "&#", "&", "<script>",
        "<head>", "`", "```\n", "~~~\n```\n", "# ", "#", "|", "| ", "\n|", "*", "- ", "_ ", "\n[", "\n> ", "---\n", " ",
        "\t\n", "=\n", "(", "[a]((", "<p", "<svg>", "< a", '="', "= ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("strip", [html_text, markdown_text])
def test_markup_takes_linear_time(unit, strip):
    text = unit * (1_000_000 // len(unit))
    for full in (text, text + "x", f"<p {text}", f"# {text}x"):
        begin = time.process_time()
        strip(full)
        assert time.process_time() - begin < 1.0


def test_pages_are_read_as_browsers_show_them():
    assert html_text("<p title='a>b'>x").split() == ["x"]
    assert html_text("<p don't>x</p>y").split() == ["x", "y"]
    assert html_text("1 < 2 &lt; 3").split() == ["1", "<", "2", "<", "3"]
    assert html_text("a<!-- <p>no --> b").split() == ["a", "b"]
    assert html_text("<SCRIPT>if (a < b) '<p>no'</SCRIPT>yes").split() == ["yes"]
    assert html_text("<style>p > a {}</style >yes<br/>no<p>maybe").split() == ["yes", "no", "maybe"]
    assert html_text(f"&#{'9' * 5000};x&#x{'f' * 5000};&eacute;").split() == ["x", "é"]


def test_links_with_brackets_and_parentheses_leave_their_text():
    text = "[![logo](a.png)](b) see [x (y)](http://a/b_(c)) and [z][1]\n\n[1]: http://z\n"
    assert markdown_text(text).split() == ["see", "x", "(y)", "and", "z"]


def test_standard_input_holds_any_of_them():
    for text, expected in (
        ("A mill.", "A mill."), ("<html><p>A mill.", "A mill."), ('[{"text": "A mill."}]', "A mill."),
        ('{"text": "A mill."}\n', "A mill."),
    ):  # fmt: skip
        assert [d.text.strip() for d in read_documents([], io.StringIO(text))] == [expected]
