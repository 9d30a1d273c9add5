// The network as three subnets of hosts: once as it is, once as blue sees it.
const CHIP = { width: 124, height: 46, gap: 9, left: 8, top: 32 };
const NET = { width: 454, height: 316, column: 157, inner: 140 };

function place(names, host) {
  const subnet = names.subnet_of_host[host];
  const row = names.hosts.slice(0, host).filter((_, h) => names.subnet_of_host[h] === subnet).length;
  return { x: subnet * NET.column + CHIP.left, y: CHIP.top + row * (CHIP.height + CHIP.gap) };
}

// Makes the drawing once; `update(track, t)` shows moment t of it. Kind: "truth" or "view".
function network(names, kind, label) {
  const picture = svg("svg", { viewBox: `0 0 ${NET.width} ${NET.height}`, role: "img", "data-panel": kind });
  const title = svg("title", {}, label);
  picture.append(title);
  names.subnets.forEach((name, i) => {
    picture.append(svg("rect", { class: "subnet", x: i * NET.column, y: 1, width: NET.inner, height: NET.height - 2, rx: 10 }));
    picture.append(svg("text", { class: "dim", x: i * NET.column + NET.inner / 2, y: 20, "text-anchor": "middle" }, name));
    if (i) picture.append(svg("path", { class: "wire", d: `M${i * NET.column - NET.column + NET.inner} 16h${NET.column - NET.inner}` }));
  });
  const arrow = svg("g", { "aria-hidden": "true" });
  const chips = names.hosts.map((name, host) => chip(names, name, host));
  picture.append(...chips.map((c) => c.node), arrow);
  return {
    node: picture,
    update(track, t) {
      chips.forEach((c, host) => (kind === "truth" ? showTruth : showView)(c, names, track, t, host));
      arrow.replaceChildren();
      if (kind === "truth" && t > 0) arrow.append(...redArrow(names, track, t));
      title.textContent = `${label}, step ${t}: ${chips.map((c) => c.said).filter(Boolean).join("; ") || "nothing"}`;
    },
  };
}

function chip(names, name, host) {
  const { x, y } = place(names, host);
  const node = svg("g", { class: "chip c0", transform: `translate(${x} ${y})` });
  const state = svg("text", { class: "state", x: 8, y: 34 });
  const extra = svg("g", {});
  const badge = svg("g", {});
  const ring = svg("rect", { x: -3, y: -3, width: CHIP.width + 6, height: CHIP.height + 6, rx: 9, visibility: "hidden" });
  node.append(svg("rect", { class: "body", width: CHIP.width, height: CHIP.height, rx: 7 }), svg("text", { class: "chip-name", x: 8, y: 18 }, name), state, extra, badge, ring);
  return { node, state, extra, badge, ring, host, name, said: "" };
}

function decoysAt(track, t) {
  const masks = new Array(13).fill(0);
  for (const [moment, host, mask] of track.decoys) {
    if (moment > t) break;
    masks[host] = mask;
  }
  return masks;
}

const ACCESS = ["", "user shell", "admin"];

function showTruth(c, names, track, t, host) {
  const access = Number(track.access[t][host]), sessions = Number(track.sessions[t][host]);
  const isFoothold = host === names.foothold && sessions <= 1;
  const shown = isFoothold ? "foothold" : access ? `${ACCESS[access]}${sessions > 1 ? ` \u00d7${sessions}` : ""}` : "";
  c.node.setAttribute("class", `chip ${isFoothold ? "c1" : `c${access}`}`);
  c.state.textContent = shown;
  c.said = shown ? `${c.name} ${shown}` : "";
  const mask = decoysAt(track, t)[host];
  const decoys = names.decoys.filter((_, i) => (mask >> i) & 1);
  c.extra.replaceChildren(...decoys.map((name, i) => decoyMark(i)));
  const isDown = names.hosts[host].startsWith("Op_Server") && !track.service[t];
  if (isDown) c.state.textContent = access === 1 ? "user, service down" : "service down";
  ring(c, track, t, host);
  const worth = names.values[host];
  tooltip(c, `${c.name} (${names.types[names.type_of_host[host]]}, worth ${number(worth, 1)} a step)\nred: ${shown || "nothing"}\ndecoys: ${decoys.join(", ") || "none"}`);
}

function decoyMark(i) {
  const mark = svg("path", { d: `M${CHIP.width - 9 - i * 11} 8l4.5 4.5l-4.5 4.5l-4.5 -4.5z` });
  mark.style.fill = "var(--green)";
  return mark;
}

const BELIEVED = ["", "unclear", "user?", "admin?"];

function showView(c, names, track, t, host) {
  const belief = Number(track.belief[t][host]), activity = Number(track.activity[t][host]);
  const chance = track.chance ? track.chance[t][host] : null;
  c.node.setAttribute("class", `chip ${belief >= 2 ? "seen" : belief === 1 ? "doubt" : "c0"}`);
  c.state.textContent = BELIEVED[belief];
  c.said = [BELIEVED[belief], activity ? names.activities[activity] : ""].filter(Boolean).join(" ");
  if (c.said) c.said = `${c.name} ${c.said}`;
  c.badge.replaceChildren(...(activity ? [alert(activity, names)] : []));
  c.extra.replaceChildren(...(chance === null ? [] : chanceBar(chance)));
  ring(c, track, t, host);
  tooltip(c, `${c.name}\nseen in this step: ${names.activities[activity]}\ncompromised by blue's table: ${names.beliefs[belief]}${chance === null ? "" : `\nP(held) from blue's history: ${chance} %`}`);
}

function alert(activity, names) {
  const text = svg("text", { x: CHIP.width - 8, y: 34, "text-anchor": "end", "font-weight": 700 }, names.activities[activity].toLowerCase());
  text.style.fill = activity === 2 ? "var(--red)" : "var(--amber)";
  return text;
}

function chanceBar(chance) {
  const back = svg("rect", { x: 8, y: 39.5, width: CHIP.width - 16, height: 3.5, rx: 1.75 });
  back.style.fill = "var(--line)";
  const front = svg("rect", { x: 8, y: 39.5, width: ((CHIP.width - 16) * chance) / 100, height: 3.5, rx: 1.75 });
  front.style.fill = "var(--violet)";
  return [back, front];
}

// Blue's target in this step is ringed in both panels, red's only in the truth.
function ring(c, track, t, host) {
  const isBlue = t > 0 && track.blue_host[t - 1] === host;
  c.ring.setAttribute("class", "ring-blue");
  c.ring.setAttribute("visibility", isBlue ? "visible" : "hidden");
}

function tooltip(c, text) {
  c.node.onpointermove = (event) => tip.show(event, text);
  c.node.onpointerleave = () => tip.hide();
}

// From the foothold, where all of red's actions start, to its target.
function redArrow(names, track, t) {
  const target = track.red_target[t - 1];
  if (target < 0) return [];
  const from = place(names, names.foothold);
  const start = { x: from.x + CHIP.width, y: from.y + CHIP.height / 2 };
  if (target >= 20) return subnetRing(names, target);
  const to = place(names, target);
  const ringed = svg("rect", { class: "ring-red", x: to.x - 6, y: to.y - 6, width: CHIP.width + 12, height: CHIP.height + 12, rx: 11 });
  if (target === names.foothold) return [ringed];
  const isSame = to.x === from.x;
  const end = isSame ? { x: to.x + CHIP.width + 6, y: to.y + CHIP.height / 2 } : { x: to.x - 6, y: to.y + CHIP.height / 2 };
  const bend = isSame ? 12 : 0;
  const d = isSame ? `M${start.x + 3} ${start.y}C${start.x + bend} ${start.y} ${end.x + bend} ${end.y} ${end.x + 1} ${end.y}`
    : `M${start.x + 3} ${start.y}C${start.x + 22} ${start.y} ${end.x - 22} ${end.y} ${end.x} ${end.y}`;
  const head = isSame ? `M${end.x} ${end.y}l7 -4v8z` : `M${end.x} ${end.y}l-8 -5v10z`;
  return [ringed, svg("path", { class: "arrow", d }), svg("path", { class: "arrow-head", d: head })];
}

function subnetRing(names, target) {
  const column = names.subnet_column[target - 20];
  return [svg("rect", { class: "ring-red", x: column * NET.column + 3, y: 4, width: NET.inner - 6, height: NET.height - 8, rx: 8 })];
}
