"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const svg = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const get = (id) => document.getElementById(id);
  const tip = get("tip"), timeline = get("timeline"), axis = get("axis"), map = get("map");
  const lanes = [...timeline.querySelectorAll(".lane")];
  const low = data.span[0], high = data.span[1], whole = Math.max(high - low, 1e-9), PAD = 12;
  let from = low - 0.03 * whole, to = high + 0.03 * whole;
  const start = [from, to];

  // Items of the timeline, made once and moved when the view changes.
  const items = [];
  data.threads.forEach((thread, t) => {
    const strip = lanes[t].querySelector("svg");
    const rail = svg("line", { class: "rail", x1: "0", x2: "100%", y1: 12, y2: 12 });
    strip.append(rail);
    // A line between neighbours; dashed where the time between them is unusually long.
    thread.runs = thread.items.slice(1).map((item) => {
      const run = svg("line", { class: item.gap ? "run gap" : "run", y1: 12, y2: 12 });
      strip.append(run);
      return run;
    });
    thread.items.forEach((item, r) => {
      const name = `Thread ${t + 1}, ${item.day}: ${item.title}`;
      const dot = svg("circle", { class: "item", cy: 12, r: 6.5, role: "button", "aria-label": name, tabindex: r ? -1 : 0,
        "data-thread": t, "data-item": r });
      strip.append(dot);
      item.dot = dot;
      items.push([item, t, r]);
    });
  });
  const width = () => axis.getBoundingClientRect().width - 2 * PAD;
  const place = (when) => PAD + (when - from) / (to - from) * width();
  const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  const DAY = 86400;
  const tickMaker = () => {
    // The finest step whose labels fit beside each other.
    const room = width() / 76, span = to - from, ticks = [];
    if (!data.dates) {
      const raw = span / room, base = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= raw);
      for (let x = Math.ceil(from / step) * step; x <= to; x += step) ticks.push([x, String(+x.toPrecision(6))]);
      return ticks;
    }
    const steps = [[1, "h"], [3, "h"], [6, "h"], [1, "d"], [2, "d"], [7, "d"], [14, "d"], [1, "m"], [2, "m"], [3, "m"],
      [6, "m"], [1, "y"], [2, "y"], [5, "y"], [10, "y"], [50, "y"]];
    const size = { h: 3600, d: DAY, m: 30.4 * DAY, y: 365.25 * DAY };
    const [count, unit] = steps.find(([c, u]) => c * size[u] * room >= span) || [100, "y"];
    const first = new Date(from * 1000);
    const two = (n) => String(n).padStart(2, "0");
    for (let i = 0; i < 400; i++) {
      let at;
      if (unit === "y") at = Date.UTC(Math.floor(first.getUTCFullYear() / count) * count + i * count, 0);
      else if (unit === "m") at = Date.UTC(first.getUTCFullYear(), Math.floor(first.getUTCMonth() / count) * count + i * count);
      else if (unit === "d") at = (Math.floor(from / DAY / count) + i) * count * DAY * 1000;
      else at = (Math.floor(from / 3600 / count) + i) * count * 3600 * 1000;
      if (at / 1000 > to) break;
      if (at / 1000 < from) continue;
      const d = new Date(at);
      const month = MONTHS[d.getUTCMonth()];
      ticks.push([at / 1000, unit === "y" ? String(d.getUTCFullYear())
        : unit === "m" ? `${month} ${d.getUTCFullYear()}`
        : unit === "d" ? `${d.getUTCDate()} ${month}` : `${d.getUTCDate()} ${month} ${two(d.getUTCHours())}h`]);
    }
    return ticks;
  };
  const draw = () => {
    for (const [item] of items) item.dot.setAttribute("cx", place(item.at).toFixed(1));
    for (const thread of data.threads) {
      thread.runs.forEach((run, r) => {
        run.setAttribute("x1", place(thread.items[r].at));
        run.setAttribute("x2", place(thread.items[r + 1].at));
      });
    }
    axis.replaceChildren();
    const edge = width() + 2 * PAD;
    let taken = 0;
    for (const [when, label] of tickMaker()) {
      const x = place(when);
      axis.append(svg("line", { x1: x, x2: x, y1: 0, y2: 6 }));
      const half = 3.5 * label.length;
      // A label at an edge moves inwards, unless another one is there.
      const middle = Math.min(Math.max(x, half), edge - half);
      if (middle - half < taken) continue;
      taken = middle + half + 4;
      const text = svg("text", { x: middle, y: 20 });
      text.textContent = label;
      axis.append(text);
    }
  };
  const zoom = (factor, centre) => {
    const middle = centre === undefined ? (from + to) / 2 : centre;
    const least = whole / 400, most = start[1] - start[0];
    const size = Math.min(Math.max((to - from) * factor, least), most);
    const share = (middle - from) / (to - from);
    from = middle - share * size;
    to = from + size;
    pan(0);
  };
  const pan = (share) => {
    const size = to - from;
    from = Math.min(Math.max(from + share * size, start[0]), start[1] - size);
    to = from + size;
    draw();
  };
  get("zoom-in").addEventListener("click", () => zoom(0.6));
  get("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  get("zoom-all").addEventListener("click", () => { [from, to] = start; draw(); });
  const when = (x) => from + (x - axis.getBoundingClientRect().left - PAD) / width() * (to - from);
  timeline.addEventListener("wheel", (event) => {
    // Without a key the wheel scrolls the page, as everywhere.
    if (!(event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    zoom(Math.exp(0.0025 * (event.deltaY || event.deltaX)), when(event.clientX));
  }, { passive: false });
  const fingers = new Map();
  timeline.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, event.clientX); });
  addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = [...fingers.values()];
    fingers.set(event.pointerId, event.clientX);
    const after = [...fingers.values()];
    if (after.length === 1) pan((before[0] - after[0]) / width());
    else {
      const [a, b] = [Math.abs(before[0] - before[1]), Math.abs(after[0] - after[1])];
      if (a > 4 && b > 4) zoom(a / b, when((after[0] + after[1]) / 2));
    }
  });
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, (event) => fingers.delete(event.pointerId));

  // The map: places are in percent; labels keep out of each other's way.
  const drawMap = () => {
    map.replaceChildren();
    const box = map.getBoundingClientRect();
    const at = (p) => [p[0] / 100 * box.width, p[1] / 100 * box.height];
    for (const doc of data.documents) {
      const [x, y] = at(doc);
      const dot = svg("circle", { class: "doc", cx: x, cy: y, r: 2.5 });
      dot.dataset.title = doc[2];
      map.append(dot);
    }
    const taken = [];
    for (const thread of data.threads)
      for (const item of thread.items) {
        const [x, y] = at(item.place);
        taken.push([x - 6, y - 6, x + 6, y + 6]);
      }
    data.threads.forEach((thread, t) => {
      const group = svg("g", { class: "t", style: `--c: ${thread.colour}`, "data-thread": t });
      const points = thread.items.map((item) => at(item.place));
      group.append(svg("polyline", { points: points.map((p) => p.join(",")).join(" ") }));
      thread.items.forEach((item, r) => {
        const name = `Thread ${t + 1}, ${item.day}: ${item.title}`;
        group.append(svg("circle", { class: "item", cx: points[r][0], cy: points[r][1], r: 5.5, "data-thread": t,
          "data-item": r, role: "button", tabindex: r ? -1 : 0, "aria-label": name }));
      });
      const label = svg("text", {});
      label.textContent = `${t + 1} ${thread.words.slice(0, box.width < 500 ? 2 : 3).join(" ")}`;
      group.append(label);
      map.append(group);
      const size = label.getBBox();
      const cx = points.reduce((s, p) => s + p[0], 0) / points.length;
      const cy = points.reduce((s, p) => s + p[1], 0) / points.length;
      let best = null;
      for (let ring = 1; ring < 24 && !best; ring++)
        for (let turn = 0; turn < 8 && !best; turn++) {
          const angle = turn * Math.PI / 4 - Math.PI / 2;
          const x = Math.min(Math.max(cx - size.width / 2 + Math.cos(angle) * ring * 18, 4), box.width - size.width - 4);
          const y = Math.min(Math.max(cy + Math.sin(angle) * ring * 18 - 10, size.height), box.height - 4);
          const place = [x, y - size.height, x + size.width, y + 4];
          if (taken.every((o) => place[2] < o[0] || place[0] > o[2] || place[3] < o[1] || place[1] > o[3])) best = place;
        }
      if (!best) { label.remove(); return; }
      taken.push(best);
      label.setAttribute("x", best[0]);
      label.setAttribute("y", best[3] - 4);
    });
    show();
  };

  // Tips, and light on the same item in all views.
  const row = (dot) => get(`item-${dot.dataset.thread}-${dot.dataset.item}`);
  const twins = (dot) => document.querySelectorAll(`.item[data-thread="${dot.dataset.thread}"][data-item="${dot.dataset.item}"]`);
  let current = null;
  const hide = () => {
    if (current && current.dataset.item !== undefined) {
      row(current).classList.remove("lit");
      for (const twin of twins(current)) twin.classList.remove("lit");
    }
    current = null;
    tip.hidden = true;
  };
  const tell = (dot) => {
    hide();
    current = dot;
    const head = document.createElement("b");
    if (dot.dataset.item === undefined) head.textContent = dot.dataset.title;
    else {
      const thread = data.threads[dot.dataset.thread], item = thread.items[dot.dataset.item];
      head.textContent = item.title;
      tip.replaceChildren();
      row(dot).classList.add("lit");
      for (const twin of twins(dot)) twin.classList.add("lit");
      tip.append(`${item.day}, thread ${+dot.dataset.thread + 1}: ${thread.words.slice(0, 4).join(" ")}`);
    }
    if (dot.dataset.item === undefined) tip.replaceChildren(head); else tip.prepend(head);
    tip.hidden = false;
    const box = dot.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(box.left + box.width / 2 - own.width / 2, 6), innerWidth - own.width - 6);
    const above = box.top - own.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : box.bottom + 8}px`;
  };
  const dotOf = (event) => event.target.closest && event.target.closest(".item, .doc");
  addEventListener("pointerover", (event) => { const dot = dotOf(event); if (dot) tell(dot); });
  addEventListener("pointerout", (event) => { if (dotOf(event) && current === dotOf(event)) hide(); });
  addEventListener("focusin", (event) => { const dot = dotOf(event); if (dot) tell(dot); });
  addEventListener("focusout", (event) => { if (dotOf(event)) hide(); });
  addEventListener("scroll", hide, { passive: true });
  const open = (dot) => { const line = row(dot); line.scrollIntoView({ block: "center" }); line.focus({ preventScroll: true }); };
  addEventListener("click", (event) => {
    const dot = dotOf(event);
    if (dot && dot.dataset.item !== undefined) open(dot);
  });
  addEventListener("keydown", (event) => {
    const dot = dotOf(event);
    if (event.key === "Escape") { hide(); return; }
    const inside = timeline.contains(event.target);
    if (inside && (event.key === "+" || event.key === "=")) { zoom(0.6); event.preventDefault(); return; }
    if (inside && event.key === "-") { zoom(1 / 0.6); event.preventDefault(); return; }
    if (inside && event.key === "0") { [from, to] = start; draw(); event.preventDefault(); return; }
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (event.target === timeline && step && step[1]) { pan(0.15 * step[1]); event.preventDefault(); return; }
    if (!dot || dot.dataset.item === undefined) return;
    if (event.key === "Enter" || event.key === " ") { open(dot); event.preventDefault(); return; }
    if (!step) return;
    event.preventDefault();
    const home = timeline.contains(dot) ? timeline : map;
    let t = +dot.dataset.thread, r = +dot.dataset.item + step[1];
    do t += step[0]; while (step[0] && data.threads[t] && hidden.has(t));
    if (!data.threads[t]) return;
    r = Math.min(Math.max(r, 0), data.threads[t].items.length - 1);
    const next = home.querySelector(`.item[data-thread="${t}"][data-item="${r}"]`);
    if (next) {
      const when = data.threads[t].items[r].at;
      if (home === timeline && (when < from || when > to)) { const size = to - from; from = when - size / 2; to = from + size; pan(0); }
      next.focus();
    }
  });

  // Which threads and items are shown.
  const hidden = new Set();
  const search = get("filter"), count = get("count");
  const show = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    data.threads.forEach((thread, t) => {
      const byWords = thread.words.join(" ").toLowerCase().includes(wanted);
      const hits = thread.items.map((item) => byWords || item.title.toLowerCase().includes(wanted));
      const off = hidden.has(t) || !hits.some(Boolean);
      shown += !off;
      lanes[t].classList.toggle("off", off);
      get(`card-${t}`).classList.toggle("off", off);
      const group = map.querySelector(`g[data-thread="${t}"]`);
      if (group) group.classList.toggle("off", off);
      thread.items.forEach((item, r) => {
        get(`item-${t}-${r}`).classList.toggle("dim", !hits[r]);
        for (const twin of twins({ dataset: { thread: t, item: r } })) twin.classList.toggle("dim", !hits[r]);
      });
    });
    count.textContent = `${shown} of ${data.threads.length} threads`;
  };
  search.addEventListener("input", show);
  for (const chip of document.querySelectorAll(".chip"))
    chip.addEventListener("click", () => {
      const t = +chip.dataset.thread, on = hidden.has(t);
      if (on) hidden.delete(t); else hidden.add(t);
      chip.setAttribute("aria-pressed", String(on));
      show();
    });
  draw();
  drawMap();
  addEventListener("resize", () => { draw(); drawMap(); });
})();
