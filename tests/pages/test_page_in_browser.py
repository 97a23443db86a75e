"""The page of ``diverset select`` in a real browser: slider, pointer, keys, and the width of a telephone."""

import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pytest
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here"),
]

# Run inside the page; what it finds out is left in the document as JSON.
SCRIPT = """
<script>
addEventListener("load", async () => {
  const found = {};
  const byId = (id) => document.getElementById(id);
  const tip = byId("tip"), knob = byId("knob");
  const map = document.querySelector(".map");
  const marks = () => [...map.querySelectorAll(".pick")];
  const key = (name) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const x = (point) => { const b = (point.querySelector("circle") || point).getBoundingClientRect();
    return b.left + b.width / 2; };
  const turn = (value) => { knob.value = value; knob.dispatchEvent(new Event("input", { bubbles: true })); };
  const seen = () => ({
    names: [...document.querySelectorAll("ol.list > li b")].map((b) => b.textContent),
    onMap: marks().map((mark) => mark.getAttribute("aria-label").replace(/^Pick \\d+: /, "")),
    bars: document.querySelectorAll(".curve rect").length,
    command: byId("command").textContent,
    now: byId("now").textContent,
    spoken: knob.getAttribute("aria-valuetext"),
    canGoBack: !byId("back").disabled,
    top: knob.getBoundingClientRect().top + scrollY,
    hiddenDots: [...map.querySelectorAll(".dot")].filter((dot) => dot.style.display === "none").length,
  });
  found.settings = [seen()];
  for (const value of [0, 10, 20]) { turn(value); found.settings.push(seen()); }
  byId("back").click();
  found.settings.push(seen());
  found.focusBack = document.activeElement === knob;
  turn(0);
  const left = document.querySelector(".trade .now").getBoundingClientRect().left;
  const box = knob.getBoundingClientRect();
  found.lineUnderThumb = Math.abs(left - (box.left + 12)) < 2;
  found.knobIsTall = box.height >= 32;
  const panel = document.querySelector(".dial").getBoundingClientRect();
  found.insidePanel = [...document.querySelectorAll(".dial *")].every((each) => {
    const own = each.getBoundingClientRect();
    return own.left >= panel.left && own.right <= panel.right;
  });
  byId("back").click();

  const picks = marks(), dot = map.querySelector(".dot:not([style*=none])");
  found.hiddenAtFirst = tip.hidden;
  dot.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
  found.hover = tip.textContent;
  found.tipInside = tip.getBoundingClientRect().left >= 0 && tip.getBoundingClientRect().right <= innerWidth;
  dot.dispatchEvent(new PointerEvent("pointerout", { bubbles: true, pointerType: "mouse" }));
  found.hiddenAfter = tip.hidden;
  picks[0].focus();
  found.focus = tip.textContent;
  found.litInList = byId("pick-1").classList.contains("lit");
  const before = x(document.activeElement);
  key("ArrowRight");
  found.movedRight = x(document.activeElement) > before;
  found.tipFollows = !tip.hidden;
  picks[1].focus();
  key("Enter");
  found.opened = document.activeElement.id;
  picks[2].focus();
  key("Escape");
  found.escaped = tip.hidden;
  found.tabbable = picks.every((pick) => pick.tabIndex === 0);
  found.scriptsRun = typeof window.owned === "undefined";
  found.noMarkup = document.querySelectorAll("li b i, li script, #tip i").length === 0;
  byId("copy").click();
  await new Promise((done) => setTimeout(done, 50));
  found.selected = getSelection().toString();
  found.wider = document.documentElement.scrollWidth - innerWidth;
  const report = document.createElement("pre");
  report.id = "found";
  report.textContent = JSON.stringify(found);
  document.body.append(report);
});
</script>
"""


def open_in_browser(page, tmp_path, width):
    """Run the script in a page, and return what it found."""
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", SCRIPT + "</body>"), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += [f"--window-size={width},900", "--virtual-time-budget=3000", "--dump-dom", page.as_uri()]
    dom = subprocess.run([BROWSER, *options], capture_output=True, text=True, timeout=120, check=True).stdout
    return json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))


@pytest.mark.parametrize("width", [1100, 360])
def test_slider_pointer_and_keys(tmp_path, monkeypatch, width):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, 3)), 3)
    quality = np.round(rng.random(60), 3)
    bad = "<i>item</i><script>window.owned=1</script>"
    rows = [f"{bad} {i},{x},{y},{z},{q}" for i, ((x, y, z), q) in enumerate(zip(X.tolist(), quality, strict=True))]
    (tmp_path / "a b.csv").write_text("name,x,y,z,score\n" + "\n".join(rows))
    arguments = ["select", "a b.csv", "-k", "3", "--features", "x,y,z", "--similarity", "cosine", "--quality", "score"]
    arguments += ["--id", "name", "--diversity", "0.6"]
    result = CliRunner().invoke(app, [*arguments, "-o", "page.html"])
    assert result.exit_code == 0, result.output
    found = open_in_browser(tmp_path / "page.html", tmp_path, width)

    dials = [0.6, 0.0, 0.5, 1.0, 0.6]
    settings = found.pop("settings")
    assert len({seen["top"] for seen in settings}) == 1  # the slider stays under the finger
    for seen, dial in zip(settings, dials, strict=True):
        expected = dv.select(X, 3, quality=quality, diversity=dial)
        assert seen["names"] == [f"{bad} {i}" for i in expected]
        assert seen["onMap"] == seen["names"]
        assert seen["bars"] == 3
        assert seen["hiddenDots"] == 3
        assert seen["canGoBack"] == (dial != 0.6)
        assert f"redundancy {expected.redundancy:.2f}" in seen["now"]
        kept = "the best by quality alone" if dial == 0.0 else f"keeps {expected.kept:.0%} of quality"
        assert seen["now"].startswith(kept)
        assert seen["spoken"] == f"diversity {dial:g}: {kept}"
        assert f"--diversity {dial}" in seen["command"]
        assert seen["command"].startswith("diverset select 'a b.csv' -k 3 --quality score")
    assert found.pop("selected").startswith("diverset select 'a b.csv'")
    assert found.pop("hover").startswith(bad)
    assert re.match(re.escape(bad) + r" \d+ \(score 0\.\d+\)", found.pop("focus"))
    assert found.pop("opened") == "pick-2"
    assert found.pop("wider") <= 0
    assert all(found.values()), found
