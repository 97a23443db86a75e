// Shared by the pages with points: makers of elements, and tips. A page defines words(point), light(point, on) and
// open(point). Nothing of the data is ever read as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const get = (id) => document.getElementById(id);
const svg = (name, attributes) => {
  const made = document.createElementNS(document.querySelector("svg").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const element = (name, kind, ...children) => {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.append(...children);
  return made;
};
const tip = get("tip");
let current = null;
const pointOf = (event) => event.target.closest && event.target.closest("[data-row], .item, .doc");
const hide = () => {
  if (current) light(current, false);
  current = null;
  tip.hidden = true;
};
const tell = (point) => {
  hide();
  current = point;
  tip.replaceChildren(...words(point));
  tip.hidden = false;
  light(point, true);
  const box = (point.querySelector("circle") || point).getBoundingClientRect();
  const left = box.left + box.width / 2 - tip.offsetWidth / 2, above = box.top - tip.offsetHeight - 8;
  tip.style.left = Math.min(Math.max(left, 8), innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = (above > 4 ? above : box.bottom + 8) + "px";
};
for (const kind of ["pointerover", "focusin"])
  addEventListener(kind, (event) => { const point = pointOf(event); if (point) tell(point); });
addEventListener("pointerout", (event) => { if (event.pointerType !== "touch" && pointOf(event)) hide(); });
addEventListener("focusout", (event) => { if (pointOf(event)) hide(); });
addEventListener("scroll", () => { if (document.activeElement !== current) hide(); }, { passive: true });
addEventListener("keydown", (event) => {
  const point = pointOf(event);
  if (event.key === "Escape") hide();
  if (point && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); open(point); }
});
addEventListener("click", (event) => {
  const point = pointOf(event);
  if (!point) return;
  if (event.detail && matchMedia("(hover: none)").matches) tell(point);  // a first tap shows the tip
  else open(point);
});
const go = (line) => {
  if (!line) return;
  line.scrollIntoView({ block: "center" });
  line.focus({ preventScroll: true });
};
