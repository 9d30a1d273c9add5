// Axes and the line chart.
const COLOURS = 8;
const colour = (index) => `var(--s${index % COLOURS})`;
const dash = (index) => (index < COLOURS ? null : index % 2 ? "6 3" : "2 3");

function ticks(low, high, count) {
  const span = high - low || 1;
  const step = 10 ** Math.floor(Math.log10(span / count));
  const ratio = span / count / step;
  const size = step * (ratio >= 7 ? 10 : ratio >= 3.5 ? 5 : ratio >= 1.5 ? 2 : 1);
  const found = [];
  for (let i = Math.ceil(low / size - 1e-9); i * size <= high + 1e-9 * span; i += 1) found.push(i * size);
  return found;
}

function scale(low, high, from, to) {
  const span = high - low || 1;
  const map = (value) => from + ((value - low) / span) * (to - from);
  map.invert = (pixel) => low + ((pixel - from) / (to - from)) * span;
  map.domain = [low, high];
  return map;
}

function extent(values, { pad = 0.05, include = [] } = {}) {
  let low = Infinity, high = -Infinity;
  for (const value of [...include]) { low = Math.min(low, value); high = Math.max(high, value); }
  for (const list of values) {
    for (const value of list) {
      if (!isNumber(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return [0, 1];
  if (low === high) return include.length ? [low, low + 1] : [low - 0.5, high + 0.5];
  const room = pad * (high - low);
  return [low - room, high + room];
}

// Decimals that keep neighbouring ticks apart, the same for the whole axis.
const decimalsOf = (levels) => (levels.length < 2 ? undefined : clamp(Math.ceil(-Math.log10(Math.abs(levels[1] - levels[0])) - 1e-9), 0, 6));

const short = (value, places) => {
  const size = Math.abs(value);
  if (size >= 1e6) return `${number(value / 1e6, size >= 1e7 ? 0 : 1)} M`;
  if (size >= 1e4) return `${number(value / 1e3, 0)} k`;
  if (places !== undefined) return number(value, places);
  return number(Number(value.toPrecision(6)), Number.isInteger(Number(value.toPrecision(6))) ? 0 : undefined);
};

// A frame with both axes; gives the scales and the place to draw in.
function frame(width, height, { x, y, xLabel, yLabel, yFormat = short, xFormat = short, left = 58, top = yLabel ? 24 : 10 }) {
  const bottom = xLabel ? 42 : 26;
  const box = { left, right: width - 10, top, bottom: height - bottom };
  const sx = scale(x[0], x[1], box.left, box.right);
  const sy = scale(y[0], y[1], box.bottom, box.top);
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const axis = svg("g", { class: "axis", "aria-hidden": "true" });
  const levels = ticks(y[0], y[1], Math.max(3, (box.bottom - box.top) / 48));
  const places = decimalsOf(levels);
  for (const value of levels) {
    axis.append(svg("line", { class: "grid-line", x1: box.left, x2: box.right, y1: sy(value), y2: sy(value) }));
    axis.append(svg("text", { x: box.left - 7, y: sy(value) + 4, "text-anchor": "end" }, yFormat(value, places)));
  }
  for (const value of ticks(x[0], x[1], Math.max(2, (box.right - box.left) / 90))) {
    axis.append(svg("line", { x1: sx(value), x2: sx(value), y1: box.bottom, y2: box.bottom + 4 }));
    axis.append(svg("text", { x: sx(value), y: box.bottom + 18, "text-anchor": sx(value) > box.right - 16 ? "end" : "middle" }, xFormat(value)));
  }
  axis.append(svg("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  if (xLabel) axis.append(svg("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, xLabel));
  if (yLabel) axis.append(svg("text", { x: 2, y: 12 }, yLabel));
  picture.append(axis);
  return { picture, box, sx, sy };
}

function path(xs, ys, sx, sy) {
  let text = "", pen = false;
  for (let i = 0; i < xs.length; i += 1) {
    if (!isNumber(ys[i])) { pen = false; continue; }
    text += `${pen ? "L" : "M"}${sx(xs[i]).toFixed(1)} ${sy(ys[i]).toFixed(1)}`;
    pen = true;
  }
  return text;
}

function band(xs, low, high, sx, sy) {
  const there = xs.map((_, i) => i).filter((i) => isNumber(low[i]) && isNumber(high[i]));
  if (there.length < 2) return "";
  const up = there.map((i) => `${sx(xs[i]).toFixed(1)} ${sy(high[i]).toFixed(1)}`);
  const down = there.reverse().map((i) => `${sx(xs[i]).toFixed(1)} ${sy(low[i]).toFixed(1)}`);
  return `M${up.join("L")}L${down.join("L")}Z`;
}

// The index in a rising list that is nearest to a value.
function nearest(xs, value) {
  let low = 0, high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] < value) low = middle; else high = middle;
  }
  return Math.abs(xs[low] - value) <= Math.abs(xs[high] - value) ? low : high;
}

function swatch(index) {
  const line = svg("line", { x1: 1, x2: 17, y1: 6, y2: 6, "stroke-width": 3, "stroke-dasharray": dash(index) });
  line.style.stroke = colour(index);
  return svg("svg", { width: 18, height: 12, "aria-hidden": "true" }, line);
}

function legend(names, hidden, redraw) {
  if (names.length < 2) return null;
  return el("ul", { class: "legend" }, names.map((name, i) => el("li", {},
    el("button", {
      type: "button", "aria-pressed": String(!hidden.has(i)), title: "show or hide",
      onclick: () => { if (hidden.has(i)) hidden.delete(i); else hidden.add(i); redraw(); },
    }, swatch(i), el("span", {}, name)))));
}

// Lines over a common x; each series has x, y and perhaps low and high.
function lines(block) {
  const node = el("figure", { class: "block chart", "data-chart": "lines" });
  const hidden = new Set();
  let lit = null;
  const draw = (width) => {
    const height = block.height ?? clamp(width * 0.5, 210, 300);
    const shown = block.series.map((s, i) => ({ ...s, index: i })).filter((s) => !hidden.has(s.index));
    const x = extent(shown.map((s) => s.x), { pad: 0 });
    const y = block.range ?? extent(shown.flatMap((s) => [s.y, s.low ?? [], s.high ?? []]), { include: block.include });
    const yFormat = block.format === "percent" ? (v) => `${number(100 * v, 0)} %` : short;
    const { picture, box, sx, sy } = frame(width, height, { x, y, xLabel: block.x, yLabel: block.y, yFormat });
    picture.append(svg("title", {}, `${block.title ?? block.y}: ${block.series.map((s) => s.name).join(", ")}`));
    for (const level of block.levels ?? []) {
      const rule = svg("line", { x1: box.left, x2: box.right, y1: sy(level.value), y2: sy(level.value), "stroke-dasharray": "4 4" });
      rule.style.stroke = "var(--muted)";
      const above = sy(level.value) - 5;  // below where another line would cover it
      picture.append(rule, svg("text", { class: "dim halo", x: box.right, y: above > box.top + 12 ? above : above + 19, "text-anchor": "end" }, level.name));
    }
    for (const mark of block.marks ?? []) {
      const line = svg("line", { x1: sx(mark.x), x2: sx(mark.x), y1: box.top, y2: box.bottom, "stroke-dasharray": mark.good ? null : "2 4" });
      line.style.stroke = mark.good ? "var(--green)" : "var(--clean-line)";
      picture.append(line);
    }
    for (const series of shown) {
      const isFaint = lit !== null && series.key !== undefined && series.key !== lit;
      if (series.low) {
        const area = svg("path", { d: band(series.x, series.low, series.high, sx, sy), class: isFaint ? "faint" : null });
        area.style.fill = colour(series.index);
        area.style.fillOpacity = 0.16;
        picture.append(area);
      }
      const isLit = lit !== null && series.key === lit;
      const line = svg("path", {
        d: path(series.x, series.y, sx, sy), "data-series": series.name, "stroke-dasharray": dash(series.index),
        class: `series${isFaint ? " faint" : ""}${isLit ? " lit" : ""}`, ...linked(series.key),
      });
      line.style.stroke = colour(series.index);
      picture.append(line);
    }
    picture.append(crosshair(block, shown, { box, sx, sy }));
    node.replaceChildren(...caption(block), picture, legend(block.series.map((s) => s.name), hidden, () => draw(width)) ?? "", ...below(block));
  };
  responsive(node, draw);
  if (block.series.some((s) => s.key !== undefined)) {
    link.listen((key) => { lit = key; draw(Math.floor(node.clientWidth)); });
  }
  return node;
}

function crosshair(block, shown, { box, sx, sy }) {
  const group = svg("g", {});
  const line = svg("line", { y1: box.top, y2: box.bottom });
  line.style.stroke = "var(--muted)";
  const dots = shown.map((s) => { const dot = svg("circle", { r: 3.5 }); dot.style.fill = colour(s.index); return dot; });
  const cursor = svg("g", { visibility: "hidden" }, line, dots);
  const show = (value) => formatted(value, block.format);
  const move = (event) => {
    const at = sx.invert(event.offsetX);
    const texts = [];
    shown.forEach((series, i) => {
      if (!series.x.length) return;
      const j = nearest(series.x, at);
      const has = isNumber(series.y[j]);
      dots[i].setAttribute("visibility", has ? "inherit" : "hidden");
      if (!has) return;
      dots[i].setAttribute("cx", sx(series.x[j]));
      dots[i].setAttribute("cy", sy(series.y[j]));
      line.setAttribute("x1", sx(series.x[j]));
      line.setAttribute("x2", sx(series.x[j]));
      if (!texts.length) texts.push(`${block.x ?? "x"} ${short(series.x[j])}`);
      const spread = series.low && isNumber(series.low[j]) ? ` (${show(series.low[j])} to ${show(series.high[j])})` : "";
      texts.push(`${series.name}: ${show(series.y[j])}${spread}`);
    });
    for (const mark of block.marks ?? []) if (Math.abs(sx(mark.x) - event.offsetX) < 4) texts.push(mark.name);
    cursor.setAttribute("visibility", "visible");
    tip.show(event, texts.slice(0, 14).join("\n"));
  };
  const area = svg("rect", {
    class: "hit", x: box.left, y: box.top, width: Math.max(box.right - box.left, 0), height: Math.max(box.bottom - box.top, 0),
    onpointermove: move, onpointerleave: () => { cursor.setAttribute("visibility", "hidden"); tip.hide(); },
  });
  group.append(cursor, area);
  return group;
}

const caption = (block) => (block.title ? [el("h3", {}, block.title)] : []);
const below = (block) => (block.note ? [el("figcaption", { class: "caption" }, block.note)] : []);
