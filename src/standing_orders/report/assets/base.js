// Helpers: elements (text only, never markup), numbers, theme, tooltip, linked highlighting.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) node.append(child);
    else node.append(...(node instanceof HTMLElement ? breakable(String(child)) : [String(child)]));
  }
  return node;
}

const el = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const MINUS = "\u2212";

// A number for people: as many decimals as its size asks for, a real minus sign.
function number(value, decimals) {
  if (!isNumber(value)) return "\u2013";
  const size = Math.abs(value);
  const places = decimals ?? (size >= 1000 || Number.isInteger(value) ? 0 : size >= 100 ? 1 : size >= 0.1 ? 2 : 3);
  const text = Math.abs(value).toLocaleString("en-GB", { minimumFractionDigits: places, maximumFractionDigits: places });
  return value < 0 && Number(value.toFixed(places)) !== 0 ? MINUS + text : text;
}

// A real minus sign before every negative number of a text.
const typeset = (text) => text.replace(/(^|[\s(])-(?=\d)/g, `$1${MINUS}`);

// A text with room to break the line inside an order; what is copied stays as it is written.
const IN_ORDER = /(?<=\b(?:defender|enterprise|op_server|op_host|user)[>,])(?=(?:defender|enterprise|op_server|op_host|user)\b)/;
const breakable = (text) => text.split(IN_ORDER).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));

const percent = (value, decimals = 1) => (isNumber(value) ? `${number(100 * value, decimals)} %` : "\u2013");
const FORMATS = { number, percent, whole: (v) => number(v, 0), one: (v) => number(v, 1), two: (v) => number(v, 2) };
const formatted = (value, format) =>
  typeof value === "string" ? typeset(value) : value === null || value === undefined ? "\u2013"
    : typeof value === "boolean" ? (value ? "yes" : "no") : (FORMATS[format] ?? number)(value);

// ------------------------------------------------------------------------------------- theme
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  const button = document.getElementById("theme");
  if (button) button.textContent = name === "dark" ? "Light" : "Dark";
}

function wireTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const current = () => chosen ?? (dark.matches ? "dark" : "light");
  setTheme(current());
  dark.addEventListener("change", () => setTheme(current()));
  document.getElementById("theme").addEventListener("click", () => {
    chosen = current() === "dark" ? "light" : "dark";
    setTheme(chosen);
  });
  addEventListener("beforeprint", () => setTheme("light"));
  addEventListener("afterprint", () => setTheme(current()));
}

// ----------------------------------------------------------------------------------- tooltip
const tip = {
  show(event, text) {
    const box = document.getElementById("tip");
    box.textContent = text;
    box.style.visibility = "visible";
    const { width, height } = box.getBoundingClientRect();
    box.style.left = `${clamp(event.clientX + 14, 4, innerWidth - width - 4)}px`;
    const above = event.clientY - height - 12;
    box.style.top = `${above > 4 ? above : event.clientY + 18}px`;
  },
  hide() { document.getElementById("tip").style.visibility = "hidden"; },
};
const hover = (text) => ({
  onpointermove: (event) => tip.show(event, typeof text === "function" ? text(event) : text),
  onpointerleave: () => tip.hide(),
});

// ------------------------------------------------------------------------ linked highlighting
// Everything with the same key lights up together: a row, a line, a cell.
const link = {
  listeners: [], pinned: null,
  listen(callback) { this.listeners.push(callback); },
  show(key) { for (const listen of this.listeners) listen(key ?? this.pinned); },
  pin(key) { this.pinned = this.pinned === key ? null : key; this.show(this.pinned); },
};
const linked = (key) => key === undefined || key === null ? {} : {
  onpointerenter: () => link.show(key), onpointerleave: () => link.show(null), onclick: () => link.pin(key),
};

// Draws again whenever the width of its box changes: charts keep their font size on a phone.
function responsive(node, draw) {
  let width = 0;
  const look = () => {
    const now = Math.floor(node.clientWidth);
    if (now > 0 && now !== width) { width = now; draw(now); }
  };
  new ResizeObserver(look).observe(node);
  requestAnimationFrame(look);
}
