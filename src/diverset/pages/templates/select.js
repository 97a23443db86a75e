"use strict";
(() => {
  // Rows are [label, text, x, y, quality, share of the bar, rank by quality, address]; nothing of it is ever read as HTML.
  const data = JSON.parse(document.getElementById("data").textContent);
  const [LABEL, TEXT, X, Y, QUALITY, SHARE, RANK, LINK] = [0, 1, 2, 3, 4, 5, 6, 7];
  const map = document.querySelector(".map");
  const curve = document.querySelector(".curve");
  const list = document.querySelector("ol.list");
  const tip = document.getElementById("tip");
  const knob = document.getElementById("knob");
  const byId = (id) => document.getElementById(id);
  const shape = (name, attributes) => {
    const made = document.createElementNS(map.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const element = (name, kind, ...children) => {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    made.append(...children);
    return made;
  };
  const cut = (text, length) => {
    if (text.length <= length) return text;
    const part = text.slice(0, length), space = part.lastIndexOf(" ");
    return (space > length / 2 ? part.slice(0, space) : part) + " …";
  };
  const named = (row) => row[QUALITY] === null ? row[LABEL] : `${row[LABEL]} (${data.quality} ${row[QUALITY]})`;
  const percent = (share) => Math.round(100 * share) + "%";

  // The map: every row once, and the picks of the present setting above them.
  const dots = data.rows.map((row, i) => map.appendChild(shape("circle", {
    class: i < data.given ? "shown" : "dot", cx: row[X] + "%", cy: row[Y] + "%", r: i < data.given ? 7 : 4,
    tabindex: -1, "data-row": i })));
  const above = map.appendChild(shape("g", {}));
  const mark = (i, rank) => {
    const row = data.rows[i], text = cut(row[TEXT], 120);
    const group = shape("g", { class: "pick", tabindex: 0, role: "button", "data-row": i, "data-rank": rank,
      "aria-label": `Pick ${rank}: ${row[LABEL]}${text && text !== row[LABEL] ? ": " + text : ""}` });
    const label = shape("text", { x: row[X] + "%", y: row[Y] + "%", dy: ".35em" });
    label.textContent = rank;
    group.append(shape("circle", { cx: row[X] + "%", cy: row[Y] + "%", r: 11 }), label);
    return group;
  };
  const top = new Set(data.settings[0].picks);
  const entry = (i, rank, gain, setting) => {
    const row = data.rows[i], title = element(row[LINK] ? "a" : "span", "", row[LABEL]);
    if (row[LINK] && /^http/i.test(row[LINK])) { title.href = row[LINK]; title.rel = "noopener noreferrer"; }
    const head = element("div", "head", element("b", "", title));
    if (row[QUALITY] !== null) {
      const bar = element("span", "bar", element("span"));
      bar.firstChild.style.width = row[SHARE] + "%";
      bar.setAttribute("aria-hidden", "true");
      head.append(bar);
    }
    const numbers = row[QUALITY] === null ? [] : [`${data.quality} ${row[QUALITY]}, no. ${row[RANK].toLocaleString("en")}`];
    head.append(element("span", "numbers", [...numbers, `gain ${gain.toFixed(3)}`].join(", ")));
    if (knob && setting && top.has(i)) head.append(element("span", "also", "also in top-k"));
    const body = element("div", "body", cut(row[TEXT], 320));
    if (row[TEXT].length > 360)
      body.append(element("details", "", element("summary", "", "The whole text"), row[TEXT]));
    const made = element("li", "", element("span", "rank", String(rank)), head, body);
    made.id = "pick-" + rank;
    made.tabIndex = -1;
    made.addEventListener("pointerenter", () => light(rank, true));
    made.addEventListener("pointerleave", () => light(rank, false));
    return made;
  };
  const light = (rank, on) => {
    for (const each of [byId("pick-" + rank), above.querySelector(`[data-rank="${rank}"]`)])
      if (each) each.classList.toggle("lit", on);
  };

  let current = null;
  const hide = () => {
    if (current && current.dataset.rank) light(current.dataset.rank, false);
    current = null;
    tip.hidden = true;
  };
  const show = (setting) => {
    const { dial, picks, gains, kept, redundancy, command } = data.settings[setting];
    hide();
    const picked = new Set(picks);
    dots.forEach((dot, i) => { if (i >= data.given) dot.style.display = picked.has(i) ? "none" : ""; });
    above.replaceChildren(...picks.map((i, at) => mark(i, at + 1)));
    list.replaceChildren(...picks.map((i, at) => entry(i, at + 1, gains[at], setting)));
    byId("command").textContent = command;
    if (curve) {
      curve.querySelectorAll("rect").forEach((bar) => bar.remove());
      const rows = picks.map((i) => data.rows[i]);
      curve.append(...rows.map((row) => shape("rect", { x: 100 * (row[RANK] - 1) / data.n + "%",
        y: 100 - row[SHARE] + "%", height: row[SHARE] + "%", width: data.bar + "%" })));
      const best = rows.filter((row) => row[RANK] <= rows.length).length;
      const deepest = Math.max(0, ...rows.map((row) => row[RANK])).toLocaleString("en");
      const words = `${best} of the ${rows.length} picks are among the ${rows.length} best; the deepest is no. ${deepest} ` +
        `of ${data.n.toLocaleString("en")}`;
      curve.setAttribute("aria-label", words);
      byId("depth").textContent = words;
    }
    if (!knob) return;
    const at = 100 * setting / (data.settings.length - 1), first = data.settings[0];
    const what = setting === 0 ? "the best by quality alone" : `keeps ${percent(kept)} of quality`;
    byId("value").textContent = dial;
    byId("now").textContent = `${what}; redundancy ${redundancy.toFixed(2)}` +
      (setting === 0 ? "" : `, top-k has ${first.redundancy.toFixed(2)}`);
    knob.setAttribute("aria-valuetext", `diversity ${dial}: ${what}`);
    const line = document.querySelector(".trade .now");
    line.setAttribute("x1", at);
    line.setAttribute("x2", at);
    byId("back").disabled = setting === data.chosen;
  };
  if (knob) {
    knob.addEventListener("input", () => show(Number(knob.value)));
    byId("back").addEventListener("click", () => { knob.value = data.chosen; show(data.chosen); knob.focus(); });
    knob.value = data.chosen;  // a browser may remember another place when a page is loaded again
  }
  show(data.chosen);

  const copy = byId("copy");
  copy.addEventListener("click", async () => {
    const code = byId("command");
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    let done = false;
    try { await navigator.clipboard.writeText(code.textContent); done = true; }
    catch { done = document.execCommand("copy"); }
    copy.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  });

  // Reading the map, by pointer and by keys.
  const middle = (point) => {
    const box = (point.querySelector("circle") || point).getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const tell = (point) => {
    hide();
    current = point;
    const row = data.rows[point.dataset.row];
    tip.replaceChildren(element("b", "", named(row)), cut(row[TEXT], 240));
    tip.hidden = false;
    if (point.dataset.rank) light(point.dataset.rank, true);
    const [x, y] = middle(point);
    const left = Math.min(Math.max(8, x - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
    const over = y - tip.offsetHeight - 16;
    tip.style.left = left + "px";
    tip.style.top = (over > 4 ? over : y + 18) + "px";
  };
  const target = (event) => event.target.closest("[data-row]");
  const open = (point) => {
    const found = point.dataset.rank && byId("pick-" + point.dataset.rank);
    if (!found) return;
    found.scrollIntoView({ behavior: "smooth", block: "center" });
    found.focus({ preventScroll: true });
  };
  map.addEventListener("pointerover", (event) => { const point = target(event); if (point) tell(point); });
  map.addEventListener("pointerout", (event) => { if (event.pointerType === "mouse") hide(); });
  map.addEventListener("focusin", (event) => { const point = target(event); if (point) tell(point); });
  map.addEventListener("focusout", hide);
  map.addEventListener("click", (event) => {
    const point = target(event);
    if (!point) hide();
    else if (event.detail && matchMedia("(hover: none)").matches) tell(point);
    else open(point);
  });
  const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  map.addEventListener("keydown", (event) => {
    const point = target(event);
    if (event.key === "Escape") hide();
    if (!point) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(point); }
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    // The nearest point on that side, sideways distance counting double.
    const [x, y] = middle(point);
    let best = null, least = Infinity;
    for (const other of map.querySelectorAll("[data-row]")) {
      if (other === point || other.style.display === "none") continue;
      const [u, v] = middle(other);
      const ahead = (u - x) * way[0] + (v - y) * way[1];
      const aside = Math.abs((u - x) * way[1]) + Math.abs((v - y) * way[0]);
      if (ahead > .5 && ahead + 2 * aside < least) { least = ahead + 2 * aside; best = other; }
    }
    if (best) best.focus();
  });
  addEventListener("scroll", () => { if (document.activeElement !== current) hide(); }, { passive: true });
})();
