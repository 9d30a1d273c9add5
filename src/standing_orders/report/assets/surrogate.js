// What the surrogate believed of all orders after each visit, scrubbed by hand.
function surrogate(block) {
  const node = el("figure", { class: "block chart", "data-chart": "surrogate" });
  const count = block.moments.length;
  const slider = el("input", { type: "range", min: 0, max: count - 1, value: count - 1, step: 1, "aria-label": "visits so far" });
  const said = el("p", { class: "caption" });
  const stage = el("div", {});
  const places = block.orders.map((_, i) => i).sort((a, b) => block.moments[count - 1].mean[b] - block.moments[count - 1].mean[a]);
  const draw = (width) => {
    const moment = block.moments[Number(slider.value)];
    const all = block.moments.flatMap((m) => [m.mean.map((v, i) => v - m.std[i]), m.mean.map((v, i) => v + m.std[i])]);
    const { picture, box, sx, sy } = frame(width, 280, { x: [-1, block.orders.length], y: extent(all), xLabel: "orders, best by the last belief first", yLabel: "expected return", xFormat: () => "" });
    picture.append(svg("title", {}, "the surrogate's mean and spread for each order"));
    const size = Math.max(1.4, ((box.right - box.left) / block.orders.length) * 0.36);
    places.forEach((id, x) => picture.append(...surrogateMark(block, moment, id, { x: sx(x), sy, size })));
    const last = moment.visited.length ? moment.visited[moment.visited.length - 1] : null;
    const about = last === null ? "before the first visit"
      : `after ${moment.visited.length} ${moment.visited.length === 1 ? "visit" : "visits"}, last: ${block.orders[last]}${isNumber(moment.regret) ? `; the best mean seen is ${number(moment.regret, 2)} below the best of the end` : ""}`;
    said.replaceChildren(...breakable(about));
    stage.replaceChildren(picture);
  };
  node.append(...caption(block), stage, slider, said, ...below(block));
  responsive(stage, draw);
  slider.addEventListener("input", () => draw(Math.floor(stage.clientWidth)));
  link.listen((key) => {
    for (const mark of stage.querySelectorAll("[data-key]")) mark.classList.toggle("faint", key !== null && mark.dataset.key !== String(key));
  });
  return node;
}

function surrogateMark(block, moment, id, { x, sy, size }) {
  const mean = moment.mean[id], std = moment.std[id], isVisited = moment.visited.includes(id);
  const bar = svg("line", { x1: x, x2: x, y1: sy(mean - std), y2: sy(mean + std), "stroke-width": Math.max(1, size) });
  bar.style.stroke = isVisited ? "var(--blue)" : "var(--clean-line)";
  bar.style.strokeOpacity = 0.55;
  const dot = svg("circle", { cx: x, cy: sy(mean), r: isVisited ? size + 1.2 : size });
  dot.style.fill = isVisited ? "var(--blue)" : "var(--muted)";
  const text = `${block.orders[id]}\n${number(mean, 1)} \u00b1 ${number(std, 1)}${isVisited ? "\nvisited" : "\nnot visited"}`;
  return [svg("g", { "data-key": id, ...linked(String(id)), ...hover(text), onpointerleave: () => { tip.hide(); link.show(null); } }, bar, dot)];
}
