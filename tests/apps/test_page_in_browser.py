"""The page in a real browser: what pointer and keys do, and that nothing is wider than a telephone."""

import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pytest
from typer.testing import CliRunner

from diverset.cli import app

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here"),
]

# Run inside the page; what it finds out is left in the document as JSON.
SCRIPT = """
<script>
addEventListener("load", () => {
  const found = {};
  const tip = document.getElementById("tip");
  const map = document.querySelector(".map");
  const picks = [...map.querySelectorAll(".pick")];
  const dot = map.querySelector(".dot");
  const key = (name) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const x = (point) => { const b = (point.querySelector("circle") || point).getBoundingClientRect();
    return b.left + b.width / 2; };
  found.hiddenAtFirst = tip.hidden;
  dot.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
  found.hover = tip.textContent;
  found.tipInside = tip.getBoundingClientRect().left >= 0 && tip.getBoundingClientRect().right <= innerWidth;
  dot.dispatchEvent(new PointerEvent("pointerout", { bubbles: true, pointerType: "mouse" }));
  found.hiddenAfter = tip.hidden;
  picks[0].focus();
  found.focus = tip.textContent;
  found.litInList = document.getElementById("pick-1").classList.contains("lit");
  const before = x(document.activeElement);
  key("ArrowRight");
  found.movedRight = x(document.activeElement) > before;
  found.afterArrow = tip.textContent === document.activeElement.dataset.label + document.activeElement.dataset.text;
  picks[1].focus();
  key("Enter");
  found.opened = document.activeElement.id;
  picks[2].focus();
  key("Escape");
  found.escaped = tip.hidden;
  found.tabbable = picks.every((pick) => pick.tabIndex === 0);
  found.names = picks.map((pick) => pick.getAttribute("aria-label"));
  found.wider = document.documentElement.scrollWidth - innerWidth;
  const report = document.createElement("pre");
  report.id = "found";
  report.textContent = JSON.stringify(found);
  document.body.append(report);
});
</script>
"""


@pytest.mark.parametrize("width", [1100, 400])
def test_pointer_and_keys(tmp_path, monkeypatch, width):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"item {i},{rng.normal():.3f},{rng.normal():.3f},{rng.random():.3f}" for i in range(60)]
    (tmp_path / "a.csv").write_text("name,x,y,score\n" + "\n".join(rows))
    arguments = ["select", "a.csv", "-k", "5", "--features", "x,y", "--quality", "score", "--id", "name"]
    result = CliRunner().invoke(app, [*arguments, "-o", "page.html"])
    assert result.exit_code == 0, result.output
    page = tmp_path / "page.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", SCRIPT + "</body>"), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += [f"--window-size={width},900", "--virtual-time-budget=3000", "--dump-dom", page.as_uri()]
    dom = subprocess.run([BROWSER, *options], capture_output=True, text=True, timeout=120, check=True).stdout
    found = json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert found.pop("hover").startswith("item ")
    assert re.match(r"item \d+ \(score 0\.\d+\)", found.pop("focus"))
    assert found.pop("opened") == "pick-2"
    names = found.pop("names")
    assert [name.split(":")[0] for name in names] == [f"Pick {rank}" for rank in range(1, 6)]
    assert found.pop("wider") <= 0
    assert all(found.values()), found
