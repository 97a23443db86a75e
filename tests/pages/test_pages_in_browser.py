"""Every page in a real browser: no error, hostile text stays text, and all folded lists open."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app
from images_for_tests import save, scene

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here"),
]
BAD = "<script>window.owned=1</script><img src=x onerror=window.owned=1>\"'{{7*7}}"
WATCH = """<script>
window.faults = [];
addEventListener("error", (event) => window.faults.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => window.faults.push(event.violatedDirective));
for (const kind of ["error", "warn"]) console[kind] = (...words) => window.faults.push(words.join(" "));
</script>"""
SCRIPT = """<script>
addEventListener("load", () => {
  for (const summary of document.querySelectorAll("summary")) summary.click();
  const folded = [...document.querySelectorAll("details")];
  const found = {
    faults: window.faults,
    owned: typeof window.owned !== "undefined",
    folded: folded.length,
    closed: folded.filter((each) => !each.open).length,
    text: document.body.innerText,
    wider: document.documentElement.scrollWidth - innerWidth,
    links: [...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href")),
    generator: document.querySelector("meta[name=generator]").content,
  };
  const report = document.createElement("pre");
  report.id = "found";
  report.textContent = JSON.stringify(found);
  document.body.append(report);
});
</script>"""


def look_at(page, tmp_path, width=360, scheme=1):
    """What a browser makes of a page; 0 is the dark scheme."""
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    if "script-src" not in text:  # pages without a script allow none; ours comes with a policy that does
        text = text.replace("img-src data:", "img-src data:; script-src 'unsafe-inline'")
    text = text.replace("<main>", WATCH + "<main>", 1).replace("</body>", SCRIPT + "</body>")
    opened = page.with_name(f"opened-{page.name}")
    opened.write_text(text, encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += [f"--blink-settings=preferredColorScheme={scheme}", f"--window-size={width},900"]
    options += ["--virtual-time-budget=3000", "--dump-dom", opened.as_uri()]
    dom = subprocess.run([BROWSER, *options], capture_output=True, text=True, timeout=120, check=True).stdout
    found = json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert found["faults"] == []
    assert not found["owned"]
    assert found["closed"] == 0
    assert found["wider"] <= 0
    assert found["generator"] == "diverset"
    assert all(re.match(r"#|\./|https?://", link) for link in found["links"]), found["links"]
    return found


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with Path("a&b.jsonl").open("w") as file:
        for i in range(40):
            row = {"id": f"{BAD} {i}", f"te{BAD}xt": f"{BAD} {' '.join(rng.choice(list('abcdefghij'), 5))} word{i % 7}"}
            row |= {
                f"sc{BAD}ore": float(rng.random()),
                "url": "javascript:alert(1)" if i % 2 else "https://example.org/x",
            }
            file.write(json.dumps(row) + "\n")
    return ["a&b.jsonl", "-k", "5", "--text", f"te{BAD}xt", "--quality", f"sc{BAD}ore", "--id", "id"]


@pytest.mark.parametrize("verb", ["select", "sample", "compare"])
@pytest.mark.parametrize("scheme", [0, 1])
def test_rows_of_a_hostile_table(rows, tmp_path, verb, scheme):
    result = CliRunner().invoke(app, [verb, *rows, "--seed", "1", "-o", "page.html", "-q"])
    assert result.exit_code == 0, result.output
    found = look_at(tmp_path / "page.html", tmp_path, scheme=scheme)
    assert BAD in found["text"]
    if verb != "compare":
        assert "https://example.org/x" in found["links"]


def test_a_summary_of_hostile_documents(tmp_path):
    texts = [f"The mill {BAD} burned on Friday. Nobody was hurt. Item {i} is new." for i in range(400)]
    from diverset.text import Cluster

    dv.summarize(Cluster(texts, names=[f"{BAD} {i}" for i in range(400)]), 20, n_draws=50).save(tmp_path / "page.html")
    found = look_at(tmp_path / "page.html", tmp_path)
    assert "{{7*7}}" in found["text"]
    assert found["folded"] > 300  # documents that hold no chosen sentence can be opened
    assert "Item 399 is new." in found["text"]


def test_threads_of_hostile_items(tmp_path):
    from diverset.threads import Corpus, example_news

    news, _ = example_news()
    titles = [f"{BAD} {title}" for title in news.titles]
    links = ["javascript:alert(1)" if i % 2 else "https://example.org/x" for i in range(len(news))]
    corpus = Corpus(news.texts, news.times, titles=titles, links=links)
    dv.find_threads(corpus, k=4).save(tmp_path / "page.html")
    found = look_at(tmp_path / "page.html", tmp_path)
    assert BAD in found["text"]
    assert "https://example.org/x" in found["links"]


def test_images_with_hostile_names(tmp_path):
    folder = tmp_path / "f"
    for i in range(4):
        save(folder / f"<b>{i} javascript:x&'{{{{1}}}}.png", scene(i, 60, 80))
    dv.pick_images(folder, 2, cache=False).save(tmp_path / "page.html")
    found = look_at(tmp_path / "page.html", tmp_path)
    assert "<b>0 javascript:x&'{{1}}.png" in found["text"] or "<b>1 javascript" in found["text"]


def test_a_selection_and_a_comparison_of_arrays(tmp_path):
    rng = np.random.default_rng(0)
    X, quality = rng.normal(size=(50, 4)), rng.random(50)
    dv.select(X, 5, quality=quality).save(tmp_path / "select.html")
    assert "Diversity 0.5" in look_at(tmp_path / "select.html", tmp_path)["text"]
    dv.select(X @ X.T, 5, similarity="precomputed").save(tmp_path / "matrix.html")
    look_at(tmp_path / "matrix.html", tmp_path)
    dv.map_greedy(dv.DPP.from_features(X), k=3).save(tmp_path / "map.html")
    look_at(tmp_path / "map.html", tmp_path)
    dv.compare(X, 5, quality=quality).save(tmp_path / "compare.html")
    look_at(tmp_path / "compare.html", tmp_path)


def test_the_index_of_the_demo_and_what_it_links(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["demo", "-o", "demo.png"]).exit_code == 0
    found = look_at(tmp_path / "demo-index.html", tmp_path)
    links = {link for link in found["links"] if link.startswith("./")}
    assert links == {"./demo.png", "./demo-summary.html", "./demo-threads.html"}
    assert all((tmp_path / link).exists() for link in links)
    assert "invented" in found["text"]
