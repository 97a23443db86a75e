// Rows are [label, text, x, y, quality, share of the bar, rank by quality, address].
const [LABEL, TEXT, X, Y, QUALITY, SHARE, RANK, LINK] = [0, 1, 2, 3, 4, 5, 6, 7];
const map = document.querySelector(".map"), curve = document.querySelector(".curve");
const list = document.querySelector("ol.list"), knob = get("knob");
const cut = (text, length) => {
  if (text.length <= length) return text;
  const part = text.slice(0, length), space = part.lastIndexOf(" ");
  return (space > length / 2 ? part.slice(0, space) : part) + " …";
};
const words = (point) => {
  const row = data.rows[point.dataset.row];
  const name = row[QUALITY] === null ? row[LABEL] : `${row[LABEL]} (${data.quality} ${row[QUALITY]})`;
  return [element("b", "", name), cut(row[TEXT], 240)];
};
const lightRank = (rank, on) => {
  for (const each of [get("pick-" + rank), above.querySelector(`[data-rank="${rank}"]`)])
    if (each) each.classList.toggle("lit", on);
};
const light = (point, on) => { if (point.dataset.rank) lightRank(point.dataset.rank, on); };
const open = (point) => go(get("pick-" + point.dataset.rank));

// The map: every row once, and the picks of the present setting above them.
const dots = data.rows.map((row, i) => map.appendChild(svg("circle", {
  class: i < data.given ? "shown" : "dot", cx: row[X] + "%", cy: row[Y] + "%", r: i < data.given ? 7 : 4,
  tabindex: -1, "data-row": i })));
const above = map.appendChild(svg("g", {}));
const mark = (i, rank) => {
  const row = data.rows[i], text = cut(row[TEXT], 120);
  const group = svg("g", { class: "pick", tabindex: 0, role: "button", "data-row": i, "data-rank": rank,
    "aria-label": `Pick ${rank}: ${row[LABEL]}${text && text !== row[LABEL] ? ": " + text : ""}` });
  const label = svg("text", { x: row[X] + "%", y: row[Y] + "%", dy: ".35em" });
  label.textContent = rank;
  group.append(svg("circle", { cx: row[X] + "%", cy: row[Y] + "%", r: 11 }), label);
  return group;
};
const best = new Set(data.settings[0].picks);
const entry = (i, rank, gain, setting) => {
  const row = data.rows[i], title = element(row[LINK] ? "a" : "span", "", row[LABEL]);
  if (row[LINK] && /^http/i.test(row[LINK])) { title.href = row[LINK]; title.rel = "noopener noreferrer"; }
  const head = element("div", "head", element("b", "", title)), numbers = [`gain ${gain.toFixed(3)}`];
  if (row[QUALITY] !== null) {
    const bar = element("span", "bar", element("span"));
    bar.firstChild.style.width = row[SHARE] + "%";
    bar.setAttribute("aria-hidden", "true");
    head.append(bar);
    numbers.unshift(`${data.quality} ${row[QUALITY]}, no. ${row[RANK].toLocaleString("en")}`);
  }
  head.append(element("span", "numbers", numbers.join(", ")));
  if (knob && setting && best.has(i)) head.append(element("span", "also", "also in top-k"));
  const body = element("div", "body", cut(row[TEXT], 320));
  if (row[TEXT].length > 360)
    body.append(element("details", "", element("summary", "", "The whole text"), row[TEXT]));
  const made = element("li", "", element("span", "rank", String(rank)), head, body);
  made.id = "pick-" + rank;
  made.tabIndex = -1;
  made.addEventListener("pointerenter", () => lightRank(rank, true));
  made.addEventListener("pointerleave", () => lightRank(rank, false));
  return made;
};

const show = (setting) => {
  const { dial, picks, gains, kept, redundancy, command } = data.settings[setting];
  hide();
  const picked = new Set(picks);
  dots.forEach((dot, i) => { if (i >= data.given) dot.style.display = picked.has(i) ? "none" : ""; });
  above.replaceChildren(...picks.map((i, at) => mark(i, at + 1)));
  list.replaceChildren(...picks.map((i, at) => entry(i, at + 1, gains[at], setting)));
  get("command").textContent = command;
  if (curve) {
    curve.querySelectorAll("rect").forEach((bar) => bar.remove());
    const rows = picks.map((i) => data.rows[i]);
    curve.append(...rows.map((row) => svg("rect", { x: 100 * (row[RANK] - 1) / data.n + "%",
      y: 100 - row[SHARE] + "%", height: row[SHARE] + "%", width: data.bar + "%" })));
    const good = rows.filter((row) => row[RANK] <= rows.length).length;
    const deepest = Math.max(0, ...rows.map((row) => row[RANK])).toLocaleString("en");
    const says = `${good} of the ${rows.length} picks are among the ${rows.length} best; the deepest is no. ${deepest} ` +
      `of ${data.n.toLocaleString("en")}`;
    curve.setAttribute("aria-label", says);
    get("depth").textContent = says;
  }
  if (!knob) return;
  const what = setting === 0 ? "the best by quality alone" : `keeps ${Math.round(100 * kept)}% of quality`;
  get("value").textContent = dial;
  get("now").textContent = `${what}; redundancy ${redundancy.toFixed(2)}` +
    (setting === 0 ? "" : `, top-k has ${data.settings[0].redundancy.toFixed(2)}`);
  knob.setAttribute("aria-valuetext", `diversity ${dial}: ${what}`);
  for (const end of ["x1", "x2"])
    document.querySelector(".trade .now").setAttribute(end, 100 * setting / (data.settings.length - 1));
  get("back").disabled = setting === data.chosen;
};
if (knob) {
  knob.addEventListener("input", () => show(Number(knob.value)));
  get("back").addEventListener("click", () => { knob.value = data.chosen; show(data.chosen); knob.focus(); });
  knob.value = data.chosen;  // a browser may restore another value when the page is reloaded
}
show(data.chosen);

const copy = get("copy");
copy.addEventListener("click", async () => {
  const code = get("command");
  getSelection().selectAllChildren(code);
  let done = false;
  try { await navigator.clipboard.writeText(code.textContent); done = true; }
  catch { done = document.execCommand("copy"); }
  copy.textContent = done ? "Copied" : "Press Ctrl+C";
  setTimeout(() => { copy.textContent = "Copy"; }, 2000);
});

// Arrow keys move to the nearest point in their direction; sideways distance counts double.
const middle = (point) => {
  const box = (point.querySelector("circle") || point).getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
};
const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
map.addEventListener("keydown", (event) => {
  const point = pointOf(event), way = ways[event.key];
  if (!point || !way) return;
  event.preventDefault();
  const [x, y] = middle(point);
  let nearest = null, least = Infinity;
  for (const other of map.querySelectorAll("[data-row]")) {
    if (other === point || other.style.display === "none") continue;
    const [u, v] = middle(other);
    const ahead = (u - x) * way[0] + (v - y) * way[1];
    const aside = Math.abs((u - x) * way[1]) + Math.abs((v - y) * way[0]);
    if (ahead > .5 && ahead + 2 * aside < least) { least = ahead + 2 * aside; nearest = other; }
  }
  if (nearest) nearest.focus();
});
