"""The page of threads in a real browser: it opens, hovers, zooms, pans, filters, and obeys the keys."""

import json
import re
import shutil
import subprocess
from html import unescape
from io import StringIO

import pytest
from rich.console import Console

from diverset.cli.demo import demo_threads

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here"),
]
WATCH = """<script>
window.faults = [];
addEventListener("error", (event) => window.faults.push(String(event.message)));
for (const kind of ["error", "warn"]) console[kind] = (...words) => window.faults.push(words.join(" "));
</script>"""
SCRIPT = """
<script>
addEventListener("load", () => {
  const found = {};
  const by = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const tip = by("#tip"), timeline = by("#timeline"), map = by("#map");
  const key = (name) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const over = (dot) => dot.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  const out = (dot) => dot.dispatchEvent(new PointerEvent("pointerout", { bubbles: true }));
  const places = () => all("#timeline .item").map((dot) => +dot.getAttribute("cx"));
  const spread = () => { const p = places(); return p[7] - p[0]; };
  found.lanes = all(".lane").length;
  found.dots = all("#timeline .item").length;
  found.onMap = all("#map .item").length;
  found.grey = all("#map .doc").length;
  found.labels = all("#map text").length;
  const dot = by("#timeline .item");
  over(dot);
  found.hover = tip.textContent;
  found.lit = by("#item-0-0").classList.contains("lit") && by("#map .item").classList.contains("lit");
  const box = tip.getBoundingClientRect();
  found.tipInside = box.left >= 0 && box.right <= innerWidth && box.top >= 0;
  out(dot);
  found.hidden = tip.hidden;
  const before = spread();
  by("#zoom-in").click();
  found.zoomed = spread() / before;
  const left = places()[0];
  timeline.focus();
  key("ArrowRight");
  found.panned = places()[0] < left;
  key("0");
  found.back = Math.abs(spread() - before) < 0.01;
  key("+");
  found.byKey = spread() / before;
  by("#zoom-all").click();
  timeline.dispatchEvent(new WheelEvent("wheel", { deltaY: -200, ctrlKey: true, clientX: 200, bubbles: true,
    cancelable: true }));
  found.byWheel = spread() / before;
  timeline.dispatchEvent(new WheelEvent("wheel", { deltaY: -200, clientX: 200, bubbles: true, cancelable: true }));
  found.plainWheel = spread() / before;
  const x = places()[0];
  timeline.dispatchEvent(new PointerEvent("pointerdown", { pointerId: 1, clientX: 300, bubbles: true }));
  dispatchEvent(new PointerEvent("pointermove", { pointerId: 1, clientX: 280, bubbles: true }));
  dispatchEvent(new PointerEvent("pointerup", { pointerId: 1, bubbles: true }));
  found.dragged = places()[0] - x;
  by("#zoom-all").click();
  dot.focus();
  key("ArrowRight");
  found.walked = document.activeElement.dataset.thread + "-" + document.activeElement.dataset.item;
  key("ArrowDown");
  found.down = document.activeElement.dataset.thread + "-" + document.activeElement.dataset.item;
  found.focusTip = !tip.hidden;
  key("Enter");
  found.opened = document.activeElement.id;
  const more = by("#card-0 details");
  more.querySelector("summary").click();
  found.snippet = more.open && more.textContent.length > 80;
  const chip = by(".chip");
  chip.click();
  found.chipOff = [chip.getAttribute("aria-pressed"), by(".lane").classList.contains("off"),
    by("#card-0").classList.contains("off"), by("#map g").classList.contains("off")].join();
  chip.click();
  found.chipOn = by(".lane").classList.contains("off");
  const search = by("#filter");
  search.value = "halcyon";
  search.dispatchEvent(new Event("input"));
  found.filtered = by("#count").textContent;
  found.shown = all(".lane:not(.off)").length;
  search.value = "reward";
  search.dispatchEvent(new Event("input"));
  found.dimmed = all(".card:not(.off) li.dim").length > 0;
  search.value = "";
  search.dispatchEvent(new Event("input"));
  found.all = by("#count").textContent;
  found.named = all("#timeline .item").every((each) => each.getAttribute("aria-label"));
  found.wider = document.documentElement.scrollWidth - innerWidth;
  const ticks = all("#axis text").map((each) => each.getBoundingClientRect());
  found.ticks = ticks.length;
  found.ticksApart = ticks.every((each, i) => i === 0 || each.left > ticks[i - 1].right);
  found.faults = window.faults;
  const report = document.createElement("pre");
  report.id = "found";
  report.textContent = JSON.stringify(found);
  document.body.append(report);
});
</script>
"""


@pytest.mark.parametrize("width", [1200, 500])
def test_the_page_at_work(tmp_path, width):
    page = tmp_path / "page.html"
    threads = demo_threads(page, Console(file=StringIO()))
    inside = sum(map(len, threads.places))
    html = page.read_text(encoding="utf-8").replace("<main>", WATCH + "<main>").replace("</body>", SCRIPT + "</body>")
    page.write_text(html, encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += [f"--window-size={width},900", "--virtual-time-budget=3000", "--dump-dom", page.as_uri()]
    dom = subprocess.run([BROWSER, *options], capture_output=True, text=True, timeout=120, check=True).stdout
    found = json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert found.pop("faults") == []
    assert found.pop("lanes") == 6
    assert found.pop("dots") == found.pop("onMap") == inside
    assert found.pop("grey") == len(threads.kept) - inside
    assert found.pop("labels") == 6
    assert found.pop("hover").startswith(f"{threads.corpus.titles[threads.places[0][0]]}2030-1")
    assert found.pop("zoomed") == pytest.approx(1 / 0.6, rel=0.01)
    assert found.pop("byKey") == pytest.approx(1 / 0.6, rel=0.01)
    wheel = found.pop("byWheel")
    assert wheel > 1.5
    assert found.pop("plainWheel") == pytest.approx(wheel)
    assert found.pop("dragged") == pytest.approx(-20, abs=0.5)
    assert found.pop("walked") == "0-1"
    assert found.pop("down") == "1-1"
    assert found.pop("opened") == "item-1-1"
    assert found.pop("chipOff") == "false,true,true,true"
    assert found.pop("chipOn") is False
    assert found.pop("filtered") == "1 of 6 threads"
    assert found.pop("shown") == 1
    assert found.pop("all") == "6 of 6 threads"
    assert found.pop("wider") <= 0
    assert found.pop("ticks") >= 2
    assert all(found.values()), found
