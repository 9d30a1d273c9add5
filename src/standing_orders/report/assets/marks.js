// Intervals, heat maps, parallel coordinates, curves of x and y.
const TEXT = 6.6; // pixels a character of the small font, roughly
const cut = (text, room) => (text.length * TEXT <= room ? text : `${text.slice(0, Math.max(1, Math.floor(room / TEXT) - 1))}\u2026`);

// One row each: a dot with its interval; `level` draws a reference line.
function intervals(block) {
  const node = el("figure", { class: "block chart", "data-chart": "intervals" });
  const draw = (width) => {
    const rows = block.rows, isNarrow = width < 480, step = isNarrow ? 40 : 25;
    const longest = Math.max(...rows.map((row) => row.name.length)) * TEXT + 12;
    const left = isNarrow ? 8 : Math.min(longest, width * 0.42);
    const height = rows.length * step + 44;
    const x = extent(rows.map((row) => [row.mean, row.low, row.high]), { include: block.include ?? [] });
    const right = width - 112;
    const sx = scale(x[0], x[1], left, right);
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" }, svg("title", {}, block.title ?? ""));
    const axis = svg("g", { class: "axis", "aria-hidden": "true" });
    const bottom = rows.length * step + 6;
    for (const value of ticks(x[0], x[1], Math.max(2, (right - left) / 80))) {
      axis.append(svg("line", { class: "grid-line", x1: sx(value), x2: sx(value), y1: 2, y2: bottom }));
      axis.append(svg("text", { x: sx(value), y: bottom + 15, "text-anchor": "middle" }, block.format === "percent" ? `${number(100 * value, 0)} %` : short(value)));
    }
    if (block.x) axis.append(svg("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, block.x));
    picture.append(axis);
    if (isNumber(block.level)) {
      const rule = svg("line", { x1: sx(block.level), x2: sx(block.level), y1: 2, y2: bottom, "stroke-width": 1.3 });
      rule.style.stroke = "var(--muted)";
      picture.append(rule);
    }
    rows.forEach((row, i) => picture.append(intervalRow(block, row, { i, y: i * step + (isNarrow ? 28 : step / 2 + 4), left, width, sx, isNarrow })));
    node.replaceChildren(...caption(block), picture, ...below(block));
    light(link.pinned);
  };
  const light = (key) => {
    for (const row of node.querySelectorAll("[data-key]")) row.classList.toggle("faint", key !== null && node.dataset.linked !== undefined && row.dataset.key !== key);
  };
  if (block.rows.some((row) => row.key !== undefined)) {
    node.dataset.linked = "";
    link.listen(light);
  }
  responsive(node, draw);
  return node;
}

function intervalRow(block, row, { y, left, width, sx, isNarrow }) {
  const show = (value) => formatted(value, block.format);
  const paint = isNumber(row.paint) ? colour(row.paint) : `var(--${row.tone ?? "blue"})`;
  const text = `${row.name}\n${show(row.mean)}${isNumber(row.low) ? `, ${block.level_name ?? "95 %"} ${show(row.low)} to ${show(row.high)}` : ""}${row.note ? `\n${row.note}` : ""}`;
  const group = svg("g", { "data-key": row.key, ...linked(row.key) });
  if (isNumber(row.low)) {
    const line = svg("line", { x1: sx(row.low), x2: sx(row.high), y1: y, y2: y, "stroke-width": 3, "stroke-linecap": "round" });
    line.style.stroke = paint;
    line.style.strokeOpacity = 0.45;
    group.append(line);
  }
  if (isNumber(row.mean)) {
    const dot = svg("circle", { cx: sx(row.mean), cy: y, r: 5 });
    dot.style.fill = paint;
    group.append(dot);
  }
  const spread = isNumber(row.error) ? ` \u00b1 ${number(row.error, 1)}` : "";
  const name = isNarrow ? svg("text", { class: "halo", x: 2, y: y - 12 }, cut(row.name, width - 4)) : svg("text", { x: left - 10, y: y + 4, "text-anchor": "end" }, cut(row.name, left - 12));
  group.append(
    name,
    svg("text", { class: "dim", x: width - 104, y: y + 4 }, block.format === "percent" ? show(row.mean) : `${number(row.mean, 1)}${spread}`),
    svg("rect", { class: "hit", x: 0, y: y - 12, width, height: 24, ...hover(text) }),
  );
  return group;
}

// Mixes --low and --high by the share of the range that a value stands for.
function heat(block) {
  const node = el("figure", { class: "block chart", "data-chart": "heat" });
  const flat = block.values.flat().filter(isNumber);
  const [low, high] = block.range ?? [Math.min(...flat), Math.max(...flat)];
  const draw = (width) => {
    const left = Math.min(Math.max(...block.rows.map((name) => name.length)) * TEXT + 14, width * 0.34);
    const size = (width - left - 2) / block.columns.length;
    const tall = clamp(size * 0.62, 26, 46);
    const height = block.rows.length * tall + 40;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" }, svg("title", {}, block.title ?? ""));
    block.columns.forEach((name, j) => picture.append(svg("text", { class: "dim", x: left + (j + 0.5) * size, y: 14, "text-anchor": "middle" }, cut(name, size))));
    block.rows.forEach((name, i) => {
      picture.append(svg("text", { x: left - 8, y: 22 + (i + 0.5) * tall + 4, "text-anchor": "end" }, cut(name, left - 8)));
      block.columns.forEach((column, j) => {
        const value = block.values[i][j];
        const share = isNumber(value) ? clamp((value - low) / (high - low || 1), 0, 1) : 0;
        const cell = svg("rect", { x: left + j * size + 1, y: 22 + i * tall + 1, width: size - 2, height: tall - 2, rx: 4, ...hover(`${name}, ${column}\n${formatted(value, block.format)}${block.counts ? `\nn = ${block.counts[i][j]}` : ""}`) });
        cell.style.fill = `color-mix(in oklab, var(--high) ${(100 * share).toFixed(1)}%, var(--low))`;
        const text = svg("text", { x: left + (j + 0.5) * size, y: 22 + (i + 0.5) * tall + 4, "text-anchor": "middle", "pointer-events": "none" }, cut(formatted(value, block.format), size));
        picture.append(cell, text);
      });
    });
    node.replaceChildren(...caption(block), picture, ...below(block));
  };
  responsive(node, draw);
  return node;
}

// Five places and what came of them; a line for each order. Brush an axis to filter.
function parallel(block) {
  const node = el("figure", { class: "block chart", "data-chart": "parallel" });
  const brushes = new Map();
  let lit = null;
  const draw = (width) => {
    const isWide = width >= 500, height = 300, top = isWide ? 26 : 38, bottom = height - 30;
    const [left, right] = isWide ? [66, 66] : [78, 26];
    const at = (i) => left + (i * (width - left - right)) / (block.axes.length - 1);
    const scales = block.axes.map((axis, i) => axis.values
      ? scale(0, axis.values.length - 1, top + 10, bottom - 10)
      : scale(...reach(axis, block.rows.map((row) => row.values[i])), bottom, top));
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" }, svg("title", {}, block.title ?? ""));
    const inside = (row) => [...brushes].every(([i, [a, b]]) => isNumber(row.values[i]) && scales[i](row.values[i]) >= a && scales[i](row.values[i]) <= b);
    const ranked = [...block.rows].sort((a, b) => (a.key === lit) - (b.key === lit));
    for (const row of ranked) picture.append(parallelLine(row, { scales, at, lit, visible: inside(row), block }));
    block.axes.forEach((axis, i) => picture.append(parallelAxis(axis, i, { x: at(i), scale: scales[i], top, bottom, brushes, wide: isWide, redraw: () => draw(width) })));
    node.replaceChildren(...caption(block), picture, ...below(block));
  };
  responsive(node, draw);
  link.listen((key) => { lit = key; draw(Math.floor(node.clientWidth)); });
  return node;
}

// What an axis covers; a share is never below 0 nor above 1, and a hundredth is no gulf.
function reach(axis, values) {
  const [low, high] = extent([values], { pad: 0 });
  if (axis.format !== "percent") return [low, high];
  const top = clamp(high, 0.01, 1);
  return [clamp(low, 0, top - 0.01), top];
}

function parallelLine(row, { scales, at, lit, visible, block }) {
  const points = row.values.map((value, i) => (isNumber(value) ? `${at(i).toFixed(1)} ${scales[i](value).toFixed(1)}` : null)).filter(Boolean);
  const shade = clamp(row.share ?? 0.5, 0, 1);
  const isFaint = !visible || (lit !== null && lit !== row.key);
  const line = svg("path", {
    d: `M${points.join("L")}`, class: `series${isFaint ? " faint" : ""}${lit === row.key ? " lit" : ""}`, "data-key": row.key,
    ...linked(row.key), ...hover(`${row.name}\n${block.axes.map((axis, i) => (axis.values ? null : `${axis.name} ${formatted(row.values[i], axis.format)}`)).filter(Boolean).join("\n")}`),
    onpointerleave: () => { tip.hide(); link.show(null); },
  });
  line.style.stroke = `color-mix(in oklab, var(--s0) ${(100 * shade).toFixed(0)}%, var(--s1))`;
  return line;
}

function parallelAxis(axis, i, { x, scale: map, top, bottom, brushes, wide, redraw }) {
  const group = svg("g", { class: "axis" });
  group.append(svg("line", { x1: x, x2: x, y1: top, y2: bottom }));
  group.append(svg("text", { x, y: wide || i % 2 ? 12 : 26, "text-anchor": "middle" }, wide ? axis.name : axis.short ?? axis.name));
  if (axis.values) {
    axis.values.forEach((name, value) => { if (wide || i === 0) group.append(svg("text", { class: "halo", x: x + (i === 0 ? -6 : 5), y: map(value) + 4, "text-anchor": i === 0 ? "end" : "start" }, name)); });
  } else {
    const [low, high] = map.domain;
    group.append(svg("text", { class: "halo", x, y: bottom + (wide || i % 2 ? 14 : 26), "text-anchor": "middle" }, formatted(low, axis.format)));
    if (wide) group.append(svg("text", { class: "halo", x: x + 5, y: top + 10 }, formatted(high, axis.format)));
  }
  const brush = brushes.get(i);
  if (brush) {
    const box = svg("rect", { x: x - 8, width: 16, y: brush[0], height: Math.max(brush[1] - brush[0], 2) });
    box.style.fill = "var(--blue)";
    box.style.fillOpacity = 0.25;
    group.append(box);
  }
  group.append(brushArea(x, i, { top, bottom, brushes, redraw }));
  return group;
}

// Drag along an axis to keep only the lines that cross it there; a click lets them all back.
function brushArea(x, i, { top, bottom, brushes, redraw }) {
  let from = null;
  const area = svg("rect", { class: "hit", x: x - 9, width: 18, y: top, height: bottom - top, cursor: "ns-resize" });
  area.addEventListener("pointerdown", (event) => { from = event.offsetY; area.setPointerCapture(event.pointerId); });
  area.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const [a, b] = [Math.min(from, event.offsetY), Math.max(from, event.offsetY)];
    if (b - a < 4) brushes.delete(i); else brushes.set(i, [a, b]);
    from = null;
    redraw();
  });
  return area;
}

// A table whose columns sort; rows with a key are linked.
function table(block) {
  const node = el("div", { class: "block" });
  let by = null, up = true;
  const draw = () => {
    const rows = block.rows.map((cells, i) => ({ cells, key: block.keys?.[i], mark: block.marked?.[i] }));
    if (by !== null) {
      const sign = up ? 1 : -1;
      rows.sort((a, b) => sign * order(a.cells[by], b.cells[by]));
    }
    const head = block.columns.map((column, j) => el("th", { class: column.num ? "num" : null, scope: "col", "aria-sort": by === j ? (up ? "ascending" : "descending") : null },
      el("button", { type: "button", onclick: () => { up = by === j ? !up : !column.num; by = j; draw(); } }, column.name, by === j ? (up ? " \u2191" : " \u2193") : "")));
    const body = rows.map((row) => el("tr", { "data-key": row.key, class: row.mark ? "tie" : null, ...linked(row.key) },
      row.cells.map((cell, j) => el("td", { class: block.columns[j].num ? "num" : block.columns[j].wrap ? "wrap" : null }, formatted(cell, block.columns[j].format)))));
    node.replaceChildren(...caption(block), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": block.title ?? "table" },
      el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body))), ...(block.note ? [el("p", { class: "caption" }, block.note)] : []));
    light(link.pinned);
  };
  const light = (key) => {
    for (const row of node.querySelectorAll("tr[data-key]")) row.classList.toggle("lit", key !== null && row.dataset.key === String(key));
  };
  link.listen(light);
  draw();
  return node;
}

function order(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}
