"""The page of ``diverset select``: what is in the file. What a browser makes of it is in test_page_in_browser.py."""

import csv
import json
import re
import shlex
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app
from diverset.pages.base import principal_plane

SCRIPT = '<script>alert("x")</script><!--'


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory, 100 columns wide, and return its result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.fixture
def items(tmp_path):
    """Sixty rows in groups that are alike; returns their vectors and scores."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 5))[rng.integers(0, 6, 60)] + 0.3 * rng.normal(size=(60, 5))
    quality = rng.random(60)
    lines = [json.dumps({"id": f"i{i}", "e": X[i].tolist(), "score": quality[i], "price": 1}) for i in range(60)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines) + "\n")
    return X, quality


BASE = ["select", "items.jsonl", "-k", "8", "--features", "e", "--quality", "score"]


def data_of(path):
    """What the script of a page reads."""
    source = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', source, re.DOTALL)[1])


def labels(data, setting):
    return [data["rows"][i][0] for i in data["settings"][setting]["picks"]]


def test_every_stop_of_the_dial_is_what_select_picks(run, items, tmp_path):
    X, quality = items
    result = run(*BASE, "-o", "page.html")
    assert result.exit_code == 0, result.output
    data = data_of(tmp_path / "page.html")
    assert len(data["settings"]) == 21
    assert data["chosen"] == 10
    for i, setting in enumerate(data["settings"]):
        expected = dv.select(X, 8, quality=quality, diversity=i / 20)
        assert labels(data, i) == [f"i{j}" for j in expected]
        assert setting["kept"] == pytest.approx(expected.kept, abs=1e-4)
        assert setting["redundancy"] == pytest.approx(expected.redundancy, abs=1e-4)
        assert setting["gains"] == pytest.approx(expected.gains, abs=1e-4)
    assert labels(data, 0) == [f"i{j}" for j in np.argsort(-quality)[:8]]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--keep", "0.8"],
        ["--scale", "standard", "--given", "i3,i 4", "--min-quality", "0.2"],
        ["--lower-is-better", "--window", "2", "--id", "id"],
        ["--cost", "price", "--budget", "5", "--diversity", "0.33"],
    ],
)
def test_the_command_on_the_page_gives_these_picks(run, items, tmp_path, arguments):
    (tmp_path / "i 4").write_text("i5\n")  # a file of ids whose name needs quotes
    arguments = ["i 4" if word == "i3,i 4" else word for word in arguments]
    assert run(*BASE, *arguments, "-o", "page.html").exit_code == 0
    data = data_of(tmp_path / "page.html")
    assert len(data["settings"]) == 21
    for stop in (0, 7, data["chosen"], 20):
        command = shlex.split(data["settings"][stop]["command"])
        assert command[0] == "diverset"
        result = run(*command[1:], "-o", "out.csv")
        assert result.exit_code == 0, result.output
        with (tmp_path / "out.csv").open(newline="") as file:
            assert [row["id"] for row in csv.DictReader(file)] == labels(data, stop)


def test_a_dial_that_was_found_has_a_stop_of_its_own(run, items, tmp_path):
    X, quality = items
    assert run(*BASE, "--keep", "0.7", "-o", "page.html").exit_code == 0
    data = data_of(tmp_path / "page.html")
    expected = dv.select(X, 8, quality=quality, keep=0.7)
    assert labels(data, data["chosen"]) == [f"i{j}" for j in expected]
    assert data["settings"][data["chosen"]]["dial"] == f"{expected.diversity:.3g}"
    dials = [float(setting["dial"]) for setting in data["settings"]]
    assert dials == sorted(dials)
    assert (dials[0], dials[-1], len(dials)) == (0.0, 1.0, 21)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"Chosen: {expected.diversity:.3g} keeps {expected.kept:.0%}</button>" in page


@pytest.mark.parametrize("diversity", ["0", "0.004", "0.996", "1"])
def test_the_ends_of_the_dial_stay(run, items, tmp_path, diversity):
    assert run(*BASE, "--diversity", diversity, "-o", "page.html").exit_code == 0
    data = data_of(tmp_path / "page.html")
    dials = [setting["dial"] for setting in data["settings"]]
    assert (dials[0], dials[-1], len(dials)) == ("0", "1", 21)
    assert dials[data["chosen"]] == diversity


class Page(HTMLParser):
    """What a browser would make of a page, as far as the tests look."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], ""
        self.stack = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend((tag, name, value) for name, value in attrs)
        if tag not in ("meta", "circle", "rect", "path", "use", "line", "input"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend((tag, name, value) for name, value in attrs)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.text += data

    def values(self, name):
        return [value for _, attribute, value in self.attributes if attribute == name]


def check_offline(page, source):
    assert page.tags.count("script") <= 2
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name in ("src", "action") or name.startswith("on")]
    assert all(value.startswith(("#", "./")) for value in page.values("href"))  # parts of the page, and the input
    assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|XMLHttp|innerHTML|document\.write", source)
    assert "default-src 'none'" in "".join(filter(None, page.values("content")))
    assert page.stack == []


def test_the_page_escapes_everything(run, tmp_path):
    names = ["cats purr all day", "cats purr all night", "stars burn", "bread needs flour", "rivers carry silt"]
    rows = [{"id": f"{SCRIPT}{i}", "te<b>xt": f'{SCRIPT} {{{{body}}}} & {name}', "sc\"'<ore": 5 - i}
            for i, name in enumerate(names)]  # fmt: skip
    (tmp_path / "a&b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run(
        "select", "a&b.jsonl", "-k", "3", "--text", "te<b>xt", "--quality", "sc\"'<ore", "--given", f"{SCRIPT}4",
        "-o", "page.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(source)
    check_offline(page, source)
    assert "alert" not in page.tags
    assert source.count("<script") == 2
    assert "<!--" not in source
    assert "b" not in page.tags
    assert "3 of 5 rows of a&b.jsonl" in page.text
    data = data_of(tmp_path / "page.html")
    assert data["given"] == 1
    assert data["rows"][0][0] == f"{SCRIPT}4"
    assert sorted(row[1] for row in data["rows"]) == sorted(row["te<b>xt"] for row in rows)
    assert data["quality"] == "sc\"'<ore"


def test_the_page_without_quality_or_texts(run, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(12, 3)))
    result = run("select", "x.npy", "-k", "12", "-o", "page.html")
    assert result.exit_code == 0, result.output
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    check_offline(Page(source), source)
    assert len(data_of(tmp_path / "page.html")["settings"]) == 1
    assert 'id="knob"' not in source  # without quality there is nothing to trade


@pytest.mark.parametrize("rows", ["1,1,5\n", "1,1,-5\n1,1,-5\n", "1e300,1,0\n-1e300,2,0\n"])
def test_the_page_of_odd_tables(run, tmp_path, rows):
    (tmp_path / "a.csv").write_text("x,y,score\n" + rows)
    result = run("select", "a.csv", "--features", "x,y", "--quality", "score", "-o", "page.html")
    assert result.exit_code == 0, result.output
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    check_offline(Page(source), source)
    assert not re.search(r'"(nan|inf|-inf)%?"|NaN|Infinity', source.split("<script>")[0])


def test_large_pages_draw_a_part_and_say_so(run, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(4000, 2)))
    assert run("select", "x.npy", "-k", "5", "-o", "page.html").exit_code == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "not picked (3,005 of 4,000 rows drawn)" in page.text
    assert len(data_of(tmp_path / "page.html")["rows"]) == 3005


def test_long_texts_do_not_make_a_long_page(run, tmp_path):
    rng = np.random.default_rng(0)
    with (tmp_path / "long.jsonl").open("w") as file:
        for i in range(600):
            text = "一二三四五 " * 2000 if i % 2 else f"short {i}"
            row = {"id": i, "text": text, "e": rng.normal(size=4).tolist(), "score": rng.random()}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    assert (
        run("select", "long.jsonl", "-k", "100", "--features", "e", "--quality", "score", "-o", "p.html").exit_code == 0
    )
    assert (tmp_path / "p.html").stat().st_size < 4_000_000
    texts = [row[1] for row in data_of(tmp_path / "p.html")["rows"]]
    assert sum(text.startswith("short") and not text.endswith("…") for text in texts) == 300


@pytest.mark.slow
def test_the_page_of_a_hundred_thousand_rows_is_below_5_mb(run, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    n = 100_000
    words = [" ".join(f"word{j}" for j in row) for row in rng.integers(0, 5000, (n, 60)).tolist()]
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rng.normal(size=32 * n)), 32)
    columns = {"id": [f"row-{i}" for i in range(n)], "e": vectors, "score": rng.random(n), "text": words}
    parquet.write_table(pyarrow.table(columns), tmp_path / "big.parquet")
    for k in ("10", "2000"):
        result = run("select", "big.parquet", "-k", k, "--features", "e", "--quality", "score", "-o", "page.html")
        assert result.exit_code == 0, result.output
        assert (tmp_path / "page.html").stat().st_size < 5_000_000
        assert len(data_of(tmp_path / "page.html")["settings"]) == 21


@pytest.mark.parametrize("shape", [(60, 5), (5, 60), (450, 420)])
def test_the_plane_is_that_of_the_svd(shape):
    rng = np.random.default_rng(2)
    X = rng.normal(size=shape)
    X[:, 0] *= 30.0
    X[:, 1] *= 10.0
    plane, share = principal_plane(X)
    U, sigma, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert np.abs(plane) == pytest.approx(np.abs(U[:, :2] * sigma[:2]), abs=1e-6 * sigma[0])
    assert share == pytest.approx((sigma[:2] ** 2).sum() / (sigma**2).sum())
    assert principal_plane(np.zeros((3, 2)))[1] == 1.0
    sparse, same = principal_plane(scipy.sparse.csr_array(X))
    assert np.abs(sparse) == pytest.approx(np.abs(U[:, :2] * sigma[:2]), abs=1e-5 * sigma[0])
    assert same == pytest.approx(share)
