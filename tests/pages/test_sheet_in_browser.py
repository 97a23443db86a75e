"""The contact sheet in a real browser: images are shown, chosen ones large, and nothing is wider than a telephone."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from typer.testing import CliRunner

from diverset.cli import app
from images_for_tests import save, scene

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here"),
]

# The page allows no script, so this one comes with a policy that does; the images must load under both.
SCRIPT = """
<script>
addEventListener("load", () => {
  const found = {};
  const entries = [...document.querySelectorAll(".picks > li")];
  const box = (element) => element.getBoundingClientRect();
  found.shown = [...document.images].every((image) => image.naturalWidth > 0);
  found.picks = entries.length;
  found.larger = entries.every((entry) => [...entry.querySelectorAll(".small img")].every(
    (small) => box(small).height * 3 < box(entry.querySelector(".large")).height));
  found.beneath = entries.every((entry) => [...entry.querySelectorAll(".small img")].every(
    (small) => box(small).top >= box(entry.querySelector("figcaption")).bottom - 1));
  found.apart = entries.every((one, i) => entries.every((other, j) => i === j || box(one).right <= box(other).left + 1
    || box(other).right <= box(one).left + 1 || box(one).bottom <= box(other).top + 1
    || box(other).bottom <= box(one).top + 1));
  found.small = document.querySelectorAll(".small img").length;
  found.copies = document.querySelectorAll(".small .copy").length;
  found.ranks = entries.map((entry) => entry.querySelector(".rank").textContent);
  found.named = [...document.images].every((image) => image.alt);
  found.wider = document.documentElement.scrollWidth - innerWidth;
  found.columns = new Set(entries.map((entry) => Math.round(box(entry).left))).size;
  const report = document.createElement("pre");
  report.id = "found";
  report.textContent = JSON.stringify(found);
  document.body.append(report);
});
</script>
"""


@pytest.mark.parametrize(("width", "columns"), [(1200, 3), (500, 1)])
def test_the_sheet(tmp_path, monkeypatch, width, columns):
    monkeypatch.chdir(tmp_path)
    for i in range(11):
        name = "a-very-long-name-without-any-space-in-it-" * 3 if i == 3 else "picture"
        save(tmp_path / "f" / f"{name}{i}.png", scene(i, 120 + 20 * (i % 3), 160))
    save(tmp_path / "f" / "again.jpg", scene(0, 120, 160), quality=80)
    result = CliRunner().invoke(app, ["images", "f", "-k", "4", "--no-cache", "-o", "sheet.html"])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    page = tmp_path / "page.html"
    opened = text.replace("img-src data:", "img-src data:; script-src 'unsafe-inline'").replace(
        "</body>", SCRIPT + "</body>"
    )
    # Only the load of eager images delays the event that the script waits for.
    page.write_text(opened.replace(' loading="lazy"', ""), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += [f"--window-size={width},900", "--virtual-time-budget=3000", "--dump-dom", page.as_uri()]
    dom = subprocess.run([BROWSER, *options], capture_output=True, text=True, timeout=120, check=True).stdout
    found = json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert found.pop("ranks") == ["1", "2", "3", "4"]
    assert found.pop("picks") == 4
    assert found.pop("small") == 8
    assert found.pop("copies") == 1
    assert found.pop("columns") == columns
    assert found.pop("wider") <= 0
    assert all(found.values()), found
