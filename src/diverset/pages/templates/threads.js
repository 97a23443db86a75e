const timeline = get("timeline"), axis = get("axis"), map = get("map"), search = get("filter");
const lanes = [...timeline.querySelectorAll(".lane")];
const [low, high] = data.span, whole = Math.max(high - low, 1e-9), PAD = 12, DAY = 86400;
const start = [low - 0.03 * whole, high + 0.03 * whole];
let [from, to] = start;
const hidden = new Set();
const itemOf = (dot) => data.threads[dot.dataset.thread].items[dot.dataset.item];
const dotAt = (t, r, attributes) => {
  const item = data.threads[t].items[r], name = `Thread ${t + 1}, ${item.day}: ${item.title}`;
  return svg("circle", { class: "item", role: "button", "aria-label": name, tabindex: r ? -1 : 0, "data-thread": t,
    "data-item": r, ...attributes });
};
const row = (dot) => get(`item-${dot.dataset.thread}-${dot.dataset.item}`);
const twins = (t, r) => document.querySelectorAll(`.item[data-thread="${t}"][data-item="${r}"]`);
const words = (dot) => {
  if (dot.dataset.item === undefined) return [element("b", "", dot.dataset.title)];
  const item = itemOf(dot), about = data.threads[dot.dataset.thread].words.slice(0, 4).join(" ");
  return [element("b", "", item.title), `${item.day}, thread ${+dot.dataset.thread + 1}: ${about}`];
};
const light = (dot, on) => {
  if (dot.dataset.item === undefined) return;
  for (const each of [row(dot), ...twins(dot.dataset.thread, dot.dataset.item)]) each.classList.toggle("lit", on);
};
const open = (dot) => { if (dot.dataset.item !== undefined) go(row(dot)); };

// Items of the timeline, made once and moved when the view changes; a line is dashed if the time between is unusually long.
data.threads.forEach((thread, t) => {
  const strip = lanes[t].querySelector("svg");
  thread.runs = thread.items.slice(1).map((item) => svg("line", { class: item.gap ? "run gap" : "run", y1: 12, y2: 12 }));
  thread.dots = thread.items.map((item, r) => dotAt(t, r, { cy: 12, r: 6.5 }));
  strip.append(svg("line", { class: "rail", x1: "0", x2: "100%", y1: 12, y2: 12 }), ...thread.runs, ...thread.dots);
});
const width = () => axis.getBoundingClientRect().width - 2 * PAD;
const place = (when) => PAD + (when - from) / (to - from) * width();
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const ticks = () => {
  // The finest step whose labels fit beside each other.
  const room = width() / 76, span = to - from, found = [];
  if (!data.dates) {
    const raw = span / room, base = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= raw);
    for (let x = Math.ceil(from / step) * step; x <= to; x += step) found.push([x, String(+x.toPrecision(6))]);
    return found;
  }
  const steps = [[1, "h"], [3, "h"], [6, "h"], [1, "d"], [2, "d"], [7, "d"], [14, "d"], [1, "m"], [2, "m"], [3, "m"],
    [6, "m"], [1, "y"], [2, "y"], [5, "y"], [10, "y"], [50, "y"]];
  const size = { h: 3600, d: DAY, m: 30.4 * DAY, y: 365.25 * DAY };
  const [count, unit] = steps.find(([c, u]) => c * size[u] * room >= span) || [100, "y"];
  const first = new Date(from * 1000), year = first.getUTCFullYear();
  const down = (number) => Math.floor(number / count) * count;
  for (let i = 0; i < 400 * count; i += count) {
    const at = unit === "y" ? Date.UTC(down(year) + i, 0) : unit === "m" ? Date.UTC(year, down(first.getUTCMonth()) + i)
      : (down(from / size[unit]) + i) * size[unit] * 1000;
    if (at / 1000 > to) break;
    if (at / 1000 < from) continue;
    const d = new Date(at), month = MONTHS[d.getUTCMonth()], day = `${d.getUTCDate()} ${month}`;
    const hour = String(d.getUTCHours()).padStart(2, "0");
    const labels = { y: String(d.getUTCFullYear()), m: `${month} ${d.getUTCFullYear()}`, d: day, h: `${day} ${hour}h` };
    found.push([at / 1000, labels[unit]]);
  }
  return found;
};
const draw = () => {
  for (const thread of data.threads) {
    const places = thread.items.map((item) => place(item.at).toFixed(1));
    thread.dots.forEach((dot, r) => dot.setAttribute("cx", places[r]));
    thread.runs.forEach((run, r) => { run.setAttribute("x1", places[r]); run.setAttribute("x2", places[r + 1]); });
  }
  axis.replaceChildren();
  const edge = width() + 2 * PAD;
  let taken = 0;
  for (const [when, label] of ticks()) {
    const x = place(when), half = 3.5 * label.length;
    axis.append(svg("line", { x1: x, x2: x, y1: 0, y2: 6 }));
    // A label at an edge moves inwards, unless another one is there.
    const middle = Math.min(Math.max(x, half), edge - half);
    if (middle - half < taken) continue;
    taken = middle + half + 4;
    const text = svg("text", { x: middle, y: 20 });
    text.textContent = label;
    axis.append(text);
  }
};
const view = (begin, size) => {
  from = Math.min(Math.max(begin, start[0]), start[1] - size);
  to = from + size;
  draw();
};
const pan = (share) => view(from + share * (to - from), to - from);
const zoom = (factor, centre = (from + to) / 2) => {
  const size = Math.min(Math.max((to - from) * factor, whole / 400), start[1] - start[0]);
  view(centre - (centre - from) / (to - from) * size, size);
};
const reset = () => view(start[0], start[1] - start[0]);
get("zoom-in").addEventListener("click", () => zoom(0.6));
get("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
get("zoom-all").addEventListener("click", reset);
const when = (x) => from + (x - axis.getBoundingClientRect().left - PAD) / width() * (to - from);
timeline.addEventListener("wheel", (event) => {
  // Without a key the wheel scrolls the page.
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
  if (after.length === 1) return pan((before[0] - after[0]) / width());
  const [a, b] = [Math.abs(before[0] - before[1]), Math.abs(after[0] - after[1])];
  if (a > 4 && b > 4) zoom(a / b, when((after[0] + after[1]) / 2));
});
for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, (event) => fingers.delete(event.pointerId));

// The map: places are in percent; labels keep out of each other's way.
const drawMap = () => {
  map.replaceChildren();
  const box = map.getBoundingClientRect();
  const at = (p) => [p[0] / 100 * box.width, p[1] / 100 * box.height];
  for (const doc of data.documents) {
    const [x, y] = at(doc), dot = svg("circle", { class: "doc", cx: x, cy: y, r: 2.5 });
    dot.dataset.title = doc[2];
    map.append(dot);
  }
  const taken = data.threads.flatMap((thread) => thread.items.map((item) => at(item.place)))
    .map(([x, y]) => [x - 6, y - 6, x + 6, y + 6]);
  data.threads.forEach((thread, t) => {
    const group = svg("g", { class: "t", style: `--c: ${thread.colour}`, "data-thread": t });
    const points = thread.items.map((item) => at(item.place)), label = svg("text", {});
    label.textContent = `${t + 1} ${thread.words.slice(0, box.width < 500 ? 2 : 3).join(" ")}`;
    group.append(svg("polyline", { points: points.map((p) => p.join(",")).join(" ") }),
      ...points.map(([x, y], r) => dotAt(t, r, { cx: x, cy: y, r: 5.5 })), label);
    map.append(group);
    const size = label.getBBox();
    const [cx, cy] = [0, 1].map((axis) => points.reduce((sum, p) => sum + p[axis], 0) / points.length);
    let best = null;
    for (let ring = 1; ring < 24 && !best; ring++)
      for (let turn = 0; turn < 8 && !best; turn++) {
        const angle = turn * Math.PI / 4 - Math.PI / 2;
        const x = Math.min(Math.max(cx - size.width / 2 + Math.cos(angle) * ring * 18, 4), box.width - size.width - 4);
        const y = Math.min(Math.max(cy + Math.sin(angle) * ring * 18 - 10, size.height), box.height - 4);
        const room = [x, y - size.height, x + size.width, y + 4];
        if (taken.every((o) => room[2] < o[0] || room[0] > o[2] || room[3] < o[1] || room[1] > o[3])) best = room;
      }
    if (!best) { label.remove(); return; }
    taken.push(best);
    label.setAttribute("x", best[0]);
    label.setAttribute("y", best[3] - 4);
  });
  show();
};

const keys = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: reset };
const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
addEventListener("keydown", (event) => {
  const dot = pointOf(event), step = steps[event.key];
  if (timeline.contains(event.target) && keys[event.key]) { keys[event.key](); event.preventDefault(); return; }
  if (event.target === timeline && step && step[1]) { pan(0.15 * step[1]); event.preventDefault(); return; }
  if (!step || !dot || dot.dataset.item === undefined) return;
  event.preventDefault();
  const home = timeline.contains(dot) ? timeline : map;
  let t = +dot.dataset.thread;
  do t += step[0]; while (step[0] && data.threads[t] && hidden.has(t));
  if (!data.threads[t]) return;
  const items = data.threads[t].items, r = Math.min(Math.max(+dot.dataset.item + step[1], 0), items.length - 1);
  const time = items[r].at;
  if (home === timeline && (time < from || time > to)) view(time - (to - from) / 2, to - from);
  home.querySelector(`.item[data-thread="${t}"][data-item="${r}"]`).focus();
});

// Filter by word or headline, and hide threads by their chips.
const show = () => {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  data.threads.forEach((thread, t) => {
    const byWords = thread.words.join(" ").toLowerCase().includes(wanted);
    const hits = thread.items.map((item) => byWords || item.title.toLowerCase().includes(wanted));
    const off = hidden.has(t) || !hits.some(Boolean);
    shown += !off;
    for (const part of [lanes[t], get(`card-${t}`), map.querySelector(`g[data-thread="${t}"]`)])
      part.classList.toggle("off", off);
    hits.forEach((hit, r) => {
      for (const each of [get(`item-${t}-${r}`), ...twins(t, r)]) each.classList.toggle("dim", !hit);
    });
  });
  get("count").textContent = `${shown} of ${data.threads.length} threads`;
};
search.addEventListener("input", show);
for (const chip of document.querySelectorAll(".chip"))
  chip.addEventListener("click", () => {
    const t = +chip.dataset.thread, on = hidden.delete(t);
    if (!on) hidden.add(t);
    chip.setAttribute("aria-pressed", String(on));
    show();
  });
draw();
drawMap();
addEventListener("resize", () => { draw(); drawMap(); });
