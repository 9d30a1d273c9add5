// Builds the page from its data: sections of blocks.
const BLOCKS = {
  lead: (block) => el("p", { class: "lead" }, typeset(block.text)),
  text: (block) => el("p", { class: "note" }, typeset(block.text)),
  warning: (block) => el("p", { class: "warn", role: "note" }, block.text),
  code: (block) => el("div", { class: "block" }, ...caption(block), el("pre", { tabindex: 0 }, block.text)),
  facts: (block) => el("dl", { class: "facts block" }, block.items.map(([name, value, small]) => el("div", {}, el("dt", {}, name), el("dd", {}, formatted(value), small ? el("small", {}, typeset(small)) : null)))),
  grid: (block, data) => el("div", { class: "grid block" }, block.blocks.map((inner) => make(inner, data))),
  choice, table, lines, intervals, heat, parallel, surrogate,
  replay: (block, data) => replay(block, data.names),
};

// One of several blocks, picked by the reader.
function choice(block, data) {
  const stage = el("div", {});
  const show = (i) => stage.replaceChildren(make(block.options[i].block, data));
  const picker = el("select", { onchange: (event) => show(Number(event.target.value)) },
    block.options.map((option, i) => el("option", { value: i }, option.name)));
  show(0);
  return el("div", { class: "block choice" }, el("label", { class: "no-print" }, `${block.label} `, picker), stage);
}

function make(block, data) {
  const node = BLOCKS[block.kind](block, data);
  if (block.wide) node.classList.add("wide");
  return node;
}

function build(data) {
  const main = document.querySelector("main");
  const nav = document.querySelector("header.top nav");
  main.append(el("h1", {}, data.title), el("p", { class: "sub" }, data.subtitle));
  data.sections.forEach((section, i) => {
    const id = `s${i}`;
    if (section.short) nav.append(el("a", { href: `#${id}` }, section.short));
    const box = el("section", { class: "card", id, "aria-labelledby": `${id}h` }, el("h2", { id: `${id}h` }, section.title));
    main.append(box);
    for (const block of section.blocks) box.append(make(block, data));
  });
  document.querySelector("footer").textContent = data.footer;
  document.title = data.title;
}

wireTheme();
build(JSON.parse(document.getElementById("data").textContent));
document.documentElement.dataset.ready = "";
