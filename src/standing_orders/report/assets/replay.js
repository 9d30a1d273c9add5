// The player: episodes, time, both futures of a fork. The link `#ep=3&t=37` opens a moment.
const SPEEDS = [1, 2, 5, 10, 20];
const PAGE = 10;
const TENTHS = 10;

// Sums so far: what a track has earned at each moment, in points.
function soFar(track) {
  const sums = [0];
  for (const tenths of track.reward) sums.push(sums[sums.length - 1] + tenths);
  return sums.map((sum) => sum / TENTHS);
}

// An order with room to break the line.
const spaced = (text) => text.replaceAll(">", " \u203a ");

function readLink() {
  const found = new URLSearchParams(location.hash.slice(1));
  const whole = (name) => (/^\d+$/.test(found.get(name) ?? "") ? Number(found.get(name)) : null);
  return { episode: whole("ep"), moment: whole("t"), fork: whole("fork") };
}

function replay(block, names) {
  const node = el("div", { class: "block replay", tabindex: -1, "data-chart": "replay" });
  const state = { episode: 0, fork: null, t: 0, timer: null, speed: 5 };
  const episodes = block.episodes;
  const now = () => episodes[state.episode];
  const last = () => now().horizon;
  const parts = controls(block, state, { go, play, choose, chooseFork, setSpeed });
  let view = null;

  function go(t) {
    state.t = clamp(t, 0, last());
    if (state.t === last()) stop();
    parts.slider.value = state.t;
    parts.slider.setAttribute("aria-valuetext", `step ${state.t} of ${last()}`);
    parts.when.textContent = `step ${state.t} / ${last()}`;
    view.update(state.t);
    if (!state.timer) remember();
  }
  function stop() {
    clearInterval(state.timer);
    state.timer = null;
    parts.play.textContent = "Play";
    parts.play.setAttribute("aria-pressed", "false");
    remember();
  }
  function play() {
    if (state.timer) { stop(); return; }
    if (state.t >= last()) go(0);
    parts.play.textContent = "Pause";
    parts.play.setAttribute("aria-pressed", "true");
    state.timer = setInterval(() => go(state.t + 1), 1000 / state.speed);
  }
  function setSpeed(speed) {
    state.speed = speed;
    parts.speed.value = String(speed);
    if (state.timer) { clearInterval(state.timer); state.timer = setInterval(() => go(state.t + 1), 1000 / speed); }
  }
  function choose(index, t = 0, fork = null) {
    if (state.timer) stop();
    state.episode = clamp(index, 0, episodes.length - 1);
    parts.episode.value = String(state.episode);
    parts.fillForks(now());
    parts.slider.max = last();
    chooseFork(fork, t);
  }
  function chooseFork(fork, t = state.t) {
    state.fork = fork !== null && now().forks[fork] ? fork : null;
    parts.fork.value = state.fork === null ? "" : String(state.fork);
    view = futures(now(), state.fork === null ? null : now().forks[state.fork], names, go);
    parts.stage.replaceChildren(view.node);
    go(t);
  }
  // Only when time stands still: a browser refuses a page that rewrites its address all the time.
  function remember() {
    if (!state.ready) return;
    const fork = state.fork === null ? "" : `&fork=${state.fork}`;
    history.replaceState(null, "", `#ep=${state.episode}&t=${state.t}${fork}`);
  }
  function open() {
    const wanted = readLink();
    if (wanted.episode === null && wanted.moment === null) return false;
    choose(wanted.episode ?? 0, wanted.moment ?? 0, wanted.fork);
    return true;
  }
  node.append(parts.bar, parts.time, parts.stage, key(episodes));
  document.addEventListener("keydown", (event) => press(event, node, { go, play, setSpeed, state, last }));
  addEventListener("hashchange", () => { if (open()) node.scrollIntoView(); });
  if (!open()) choose(0);
  else requestAnimationFrame(() => node.scrollIntoView());
  state.ready = true;
  return node;
}

function press(event, node, { go, play, setSpeed, state, last }) {
  const at = event.target;
  const isElsewhere = at !== document.body && !node.contains(at);
  const types = at instanceof HTMLSelectElement || (at instanceof HTMLInputElement && at.type !== "range");
  if (isElsewhere || types || event.ctrlKey || event.metaKey || event.altKey) return;
  if (at === document.body && !isVisible(node)) return;
  const faster = SPEEDS[Math.min(SPEEDS.indexOf(state.speed) + 1, SPEEDS.length - 1)];
  const slower = SPEEDS[Math.max(SPEEDS.indexOf(state.speed) - 1, 0)];
  const does = {
    ArrowRight: () => go(state.t + 1), ArrowLeft: () => go(state.t - 1),
    PageDown: () => go(state.t + PAGE), PageUp: () => go(state.t - PAGE),
    Home: () => go(0), End: () => go(last()), "+": () => setSpeed(faster), "-": () => setSpeed(slower),
    " ": at instanceof HTMLButtonElement ? null : play, k: play,
  }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
}

function isVisible(node) {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 80 && top < innerHeight - 80;
}

function episodeName(episode) {
  return `${episode.label}: seed ${episode.number}, return ${number(soFar(episode).at(-1), 1)}`;
}

function controls(block, state, { go, play, choose, chooseFork, setSpeed }) {
  const button = (shape, label, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act },
    svg("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: shape, fill: "currentColor" })));
  const episode = el("select", { onchange: (event) => choose(Number(event.target.value)) },
    block.episodes.map((one, i) => el("option", { value: i }, episodeName(one))));
  const fork = el("select", { onchange: (event) => chooseFork(event.target.value === "" ? null : Number(event.target.value)) });
  const against = el("span", { class: "against" });
  const forkLabel = el("label", {}, "Fork", fork);
  const playButton = el("button", { type: "button", class: "play", "aria-pressed": "false", onclick: play }, "Play");
  const speed = el("select", { onchange: (event) => setSpeed(Number(event.target.value)) },
    SPEEDS.map((value) => el("option", { value, selected: value === state.speed }, `${value} steps/s`)));
  const slider = el("input", { type: "range", min: 0, max: 1, step: 1, value: 0, "aria-label": "step", oninput: (event) => go(Number(event.target.value)) });
  const when = el("output", { class: "when" });
  return {
    episode, fork, speed, slider, when, play: playButton,
    stage: el("div", {}),
    bar: el("div", { class: "bar no-print" }, el("label", {}, "Episode", episode), forkLabel, against),
    time: el("div", { class: "time no-print" }, el("div", { class: "bar" },
      button("M2 2h2.4v12H2zM14 2v12L5 8z", "to the start", () => go(0)), button("M12 2v12L4 8z", "one step back", () => go(state.t - 1)), playButton,
      button("M4 2v12l8 -6z", "one step on", () => go(state.t + 1)), button("M11.6 2H14v12h-2.4zM2 2v12l9 -6z", "to the end", () => go(Infinity)),
      el("label", {}, "Speed", speed), when), slider),
    fillForks(one) {
      against.textContent = [`${one.policy} against ${one.red}`, one.head_start ? `${one.head_start} steps ahead` : "", one.red_tempo > 1 ? `${one.red_tempo} actions a step` : ""].filter(Boolean).join(", ");
      fork.replaceChildren(el("option", { value: "" }, one.forks.length ? "as it was played" : "none recorded"),
        ...one.forks.map((f, i) => el("option", { value: i }, `from step ${f.at}: ${spaced(f.label)}`)));
      fork.disabled = !one.forks.length;
    },
  };
}

// One future, or two side by side: panels, actions, order, and the reward of both over time.
function futures(episode, fork, names, go) {
  const tracks = fork ? [episode, fork] : [episode];
  const views = tracks.map((track, i) => future(track, names, i, tracks.length > 1 ? (i ? `Forked at step ${fork.at}: ${spaced(fork.label)}` : `As it was played${track.order_text ? `: told ${spaced(track.order_text)}` : ""}`) : null));
  const chart = timeline(tracks, fork ? fork.at : null, go);
  return {
    node: el("div", {}, el("div", { class: tracks.length > 1 ? "futures two" : "futures" }, views.map((v) => v.node)), chart.node),
    update(t) { for (const one of views) one.update(t); chart.update(t); },
  };
}

function future(track, names, index, heading) {
  const truth = network(names, "truth", "What is true");
  const seen = network(names, "view", "What blue sees");
  const blue = el("span", {}), red = el("dd", {}), verdict = el("span", { class: "pill" });
  const order = track.order ? el("ol", { class: "order", "aria-label": "repair order" }) : null;
  const sums = soFar(track);
  const total = el("dd", {});
  const head = heading ? el("h3", {}, el("i", {}), el("span", {}, heading)) : null;
  if (head) head.firstChild.style.background = colour(index);
  const panel = (title, picture) => el("div", { class: "panel" }, el("h4", {}, title), picture);
  return {
    node: el("div", { class: "future", "data-future": index }, head,
      el("div", { class: "panels" }, panel("What is true", truth.node), panel("What blue sees", seen.node)),
      el("dl", { class: "said" }, el("div", {}, el("dt", { class: "b" }, "Blue"), el("dd", {}, blue, verdict)),
        el("div", {}, el("dt", { class: "r" }, "Red"), red), el("div", {}, el("dt", {}, "So far"), total)), order),
    update(t) {
      truth.update(track, t);
      seen.update(track, t);
      blue.textContent = t ? track.blue_text[t - 1] : "\u2013";
      red.textContent = t ? track.red_text[t - 1] : "holds User0 from the start";
      const judged = t ? track.verdict[t - 1] : 0;
      verdict.className = `pill v${judged}`;
      verdict.textContent = names.verdicts[judged];
      verdict.hidden = !judged;
      const earned = t ? track.reward[t - 1] / TENTHS : 0;
      total.textContent = `${number(sums[t], 1)} (this step ${number(earned, 1)})`;
      if (order) order.replaceChildren(...orderItems(track, names, t));
    },
  };
}

// The order with the types held before blue acted in this step: what its fix is judged by.
function orderItems(track, names, t) {
  const held = track.held[Math.max(t - 1, 0)];
  const top = track.order.find((type) => (held >> type) & 1);
  return track.order.map((type) => {
    const isHeld = (held >> type) & 1;
    const item = el("li", { class: `${isHeld ? "held" : ""}${type === top ? " top" : ""}`, title: type === top ? "held, and first in the order: to be repaired first" : isHeld ? "held" : "not held" },
      names.types[type], type === top ? " \u25c2 first" : isHeld ? " held" : "");
    return item;
  });
}

const VERDICT_TONE = [null, "muted", "green", "red"];

// Reward so far of each future, and a row of verdicts below; click or drag to go there.
function timeline(tracks, forkAt, go) {
  const node = el("div", { class: "timeline", "data-chart": "timeline" });
  let cursor = null, at = 0, sx = null;
  const sums = tracks.map((track) => soFar(track));
  const draw = (width) => {
    const height = 160 + 9 * tracks.length, steps = sums[0].length - 1;
    const made = frame(width, height, { x: [0, steps], y: extent(sums, { include: [0] }), xLabel: "step", yLabel: "reward so far, and the verdict on each fix", left: 52, top: 22 + 9 * tracks.length });
    sx = made.sx;
    const { picture, box } = made;
    tracks.forEach((track, i) => {
      const from = i ? forkAt : 0;
      const line = svg("path", { class: "series", d: path(sums[i].map((_, t) => t).slice(from), sums[i].slice(from), sx, made.sy) });
      line.style.stroke = colour(i);
      picture.append(line);
      track.verdict.forEach((judged, t) => { if (judged && t >= from) picture.append(tick(judged, sx(t + 1), 18, i)); });
    });
    if (forkAt !== null) {
      picture.append(svg("line", { x1: sx(forkAt), x2: sx(forkAt), y1: box.top, y2: box.bottom, stroke: "currentColor", "stroke-dasharray": "3 3" }));
      picture.append(svg("text", { x: sx(forkAt) + 5, y: box.bottom - 6 }, "fork"));
    }
    cursor = svg("line", { y1: 16, y2: box.bottom, "stroke-width": 2, "data-cursor": "" });
    cursor.style.stroke = "var(--ink)";
    const jump = (event) => { if (event.buttons) go(Math.round(sx.invert(event.offsetX))); };
    picture.append(cursor, svg("rect", { class: "hit", x: box.left - 4, y: 0, width: Math.max(0, box.right - box.left + 8), height: box.bottom, cursor: "pointer", onpointerdown: jump, onpointermove: jump }));
    picture.append(svg("title", {}, "reward so far, with the verdict on each fix"));
    node.replaceChildren(picture);
    update(at);
  };
  const update = (t) => {
    at = t;
    if (cursor) { cursor.setAttribute("x1", sx(t)); cursor.setAttribute("x2", sx(t)); }
  };
  responsive(node, draw);
  return { node, update };
}

function tick(judged, x, top, row) {
  const mark = svg("rect", { x: x - 2, y: top + row * 9, width: 4, height: 6, rx: 1 });
  mark.style.fill = `var(--${VERDICT_TONE[judged]})`;
  return mark;
}

function key(episodes) {
  const box = (name, fillName, lineName, dashed) => {
    const shape = svg("rect", { x: 1, y: 1, width: 16, height: 12, rx: 3, "stroke-dasharray": dashed ? "3 2" : null });
    shape.style.fill = `var(--${fillName})`;
    shape.style.stroke = `var(--${lineName})`;
    return el("span", {}, svg("svg", { width: 18, height: 14, "aria-hidden": "true" }, shape), name);
  };
  const ringed = (name, paint, dashed) => {
    const shape = svg("rect", { x: 2, y: 2, width: 14, height: 10, rx: 3, fill: "none", "stroke-width": 2, "stroke-dasharray": dashed ? "4 2" : null });
    shape.style.stroke = `var(--${paint})`;
    return el("span", {}, svg("svg", { width: 18, height: 14, "aria-hidden": "true" }, shape), name);
  };
  const hasChance = episodes.some((one) => one.chance);
  return el("div", {}, el("div", { class: "key" }, box("user shell", "user-fill", "user-line"), box("administrator", "admin-fill", "admin-line"),
    box("blue believes it compromised", "seen-fill", "seen-line"), box("unclear to blue", "doubt-fill", "muted", true),
    ringed("target of blue", "blue"), ringed("target of red", "red", true), hasChance ? box("P(held), what blue can know", "violet", "violet") : null),
  el("p", { class: "caption no-print" }, "Keys: space plays and pauses, arrows step, Page Up and Down go ten steps, Home and End go to both ends, + and \u2212 change the speed. The address of the page names the moment: a link such as #ep=0&t=37 opens it."));
}
