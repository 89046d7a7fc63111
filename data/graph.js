"use strict";
const find = id => document.getElementById(id);
const data = JSON.parse(find("data").textContent);
const svg = find("graph"), side = find("side"), box = find("search");
const {regions, nodes, edges} = data;
const PAD = 14, BAR = 24, GAP_X = 22, GAP_Y = 40, MOST = 1500, AUTO = 300;

// --- What is where --------------------------------------------------------

// Node i is item i, and region r is item ~r; ~-1, which is 0, would be a node,
// so the whole is named by "all".
const children = new Map([["all", []]]);
regions.forEach((r, i) => {
  children.set(i, []);
  children.get(r.parent < 0 ? "all" : r.parent).push({region: i});
});
nodes.forEach((n, i) => {
  n.i = i;
  n.in = [];
  n.out = [];
  children.get(n.region < 0 ? "all" : n.region).push({node: i});
});
edges.forEach(e => {
  nodes[e.from].out.push(e);
  nodes[e.to].in.push(e);
});
// Regions come before those in them, so one loop from the end adds all up.
regions.forEach(r => r.size = 0);
nodes.forEach(n => { if (n.region >= 0) regions[n.region].size++; });
for (let i = regions.length - 1; i >= 0; i--)
  if (regions[i].parent >= 0)
    regions[regions[i].parent].size += regions[i].size;
regions.forEach(r => r.depth = r.parent < 0 ? 0 : regions[r.parent].depth + 1);

// A large graph begins folded.
const folded = new Set();
if (nodes.length > AUTO)
  regions.forEach((r, i) => { if (r.size > AUTO || r.depth) folded.add(i); });

const shortType = t =>
  t.replace(/Tensor\[(\([^()]*\)|\?), (\w+)\]/g, "$1 $2");
const wide = (text, size) => text.length * size * .61;

// --- Layout ---------------------------------------------------------------

// The regions around a node from the outermost to the innermost that is drawn,
// and what stands for it: itself, or a folded region.
function chain(n) {
  const up = [];
  for (let r = n.region; r >= 0; r = regions[r].parent) up.push(r);
  up.reverse();
  const cut = up.findIndex(r => folded.has(r));
  return cut < 0 ? [...up.map(r => "r" + r), "n" + n.i]
                 : up.slice(0, cut + 1).map(r => "r" + r);
}

function nodeBox(n) {
  const lines = [n.label];
  if (n.detail) lines.push(n.detail);
  if (n.name) lines.push(n.name);
  let w = wide(n.label, 12);
  for (const l of lines.slice(1)) w = Math.max(w, wide(l, 10.5));
  const round = n.kind === "join";
  n.w = round ? 16 : Math.max(30, w + (n.kind === "choice" ? 40 : 20));
  n.h = round ? 16 : 12 + 15 * lines.length + (n.kind === "choice" ? 8 : 0);
  n.type_text = n.out.length && n.type ? shortType(n.type) : "";
  if (round && n.name) n.type_text = n.name + ": " + n.type_text;
  return {key: "n" + n.i, node: n, w: n.w, h: n.h,
          room: Math.max(n.w, wide(n.type_text, 10) + 6)};
}

// Layers by the longest way from above; an edge that would close a circle is
// passed over.  No recursion: a chain may be long.
function layer(items, links) {
  const outs = new Map(items.map(i => [i, []]));
  for (const l of links) outs.get(l.a).push(l);
  const state = new Map(), order = [];
  for (const first of items) {
    if (state.has(first)) continue;
    const stack = [[first, 0]];
    state.set(first, 1);
    while (stack.length) {
      const top = stack[stack.length - 1], out = outs.get(top[0]);
      if (top[1] === out.length) {
        state.set(top[0], 2);
        order.push(top[0]);
        stack.pop();
        continue;
      }
      const l = out[top[1]++];
      if (state.get(l.b) === 1) l.back = true;
      else if (!state.has(l.b)) {
        state.set(l.b, 1);
        stack.push([l.b, 0]);
      }
    }
  }
  for (const i of items) i.layer = 0;
  for (const i of order.reverse())
    for (const l of outs.get(i))
      if (!l.back) l.b.layer = Math.max(l.b.layer, i.layer + 1);
  // What only feeds others moves down to them: constants stand by their use.
  for (const i of order.slice().reverse()) {
    const out = outs.get(i).filter(l => !l.back);
    if (out.length && !links.some(l => l.b === i && !l.back))
      i.layer = Math.min(...out.map(l => l.b.layer)) - 1;
  }
}

// Long links get a bend in each layer that they pass.
function bend(items, links) {
  const layers = [];
  const put = i => (layers[i.layer] = layers[i.layer] || []).push(i);
  items.forEach(put);
  for (const l of links) {
    l.bends = [];
    if (l.back) continue;
    for (let y = l.a.layer + 1; y < l.b.layer; y++) {
      const b = {layer: y, w: 6, h: 0, room: 6, bend: true};
      put(b);
      l.bends.push(b);
    }
    const way = [l.a, ...l.bends, l.b];
    for (let i = 0; i + 1 < way.length; i++) {
      (way[i].down = way[i].down || []).push(way[i + 1]);
      (way[i + 1].up = way[i + 1].up || []).push(way[i]);
    }
  }
  return layers.filter(Boolean);
}

const mean = list => list.reduce((s, x) => s + x, 0) / list.length;

// Each layer in the order of the means of its neighbours, down and up.
function order(layers) {
  layers.forEach(l => l.forEach((i, k) => i.k = k));
  for (let round = 0; round < 8; round++) {
    const way = round % 2 ? "down" : "up";
    const list = round % 2 ? [...layers].reverse() : layers;
    for (const l of list) {
      for (const i of l)
        i.m = i[way] && i[way].length ? mean(i[way].map(j => j.k)) : i.k;
      l.sort((a, b) => a.m - b.m);
      l.forEach((i, k) => i.k = k);
    }
  }
}

// Each item as near to the mean of its neighbours as those beside it let it.
function place(layers) {
  for (const l of layers) {
    let x = 0;
    for (const i of l) {
      i.x = x + i.room / 2;
      x += i.room + GAP_X;
    }
  }
  const shift = (l, ways) => {
    for (const i of l) {
      const near = ways.flatMap(w => i[w] || []);
      i.want = near.length ? mean(near.map(j => j.x)) : i.x;
    }
    let edge = -Infinity;
    for (const i of l) {
      i.lo = Math.max(i.want, edge + i.room / 2);
      edge = i.lo + i.room / 2 + GAP_X;
    }
    edge = Infinity;
    for (const i of [...l].reverse()) {
      i.hi = Math.min(i.want, edge - i.room / 2);
      edge = i.hi - i.room / 2 - GAP_X;
    }
    for (const i of l) i.x = (i.lo + i.hi) / 2;
  };
  for (let round = 0; round < 6; round++) {
    layers.forEach(l => shift(l, ["up"]));
    [...layers].reverse().forEach(l => shift(l, ["down"]));
  }
  layers.forEach(l => shift(l, ["up", "down"]));
}

// The content of a region, around (0, 0); gives its size.
function arrange(id, linksOf, boxes) {
  const list = children.get(id), items = [];
  for (const c of list.slice(0, MOST)) {
    if (c.node !== undefined) items.push(nodeBox(nodes[c.node]));
    else items.push(boxes.get(c.region));
  }
  if (list.length > MOST)
    items.push({key: "more", more: list.length - MOST, w: 150, h: 30,
                room: 150});
  const at = new Map(items.map(i => [i.key, i]));
  const seen = new Map();
  for (const e of linksOf.get(id) || []) {
    const a = at.get(e.a), b = at.get(e.b);
    if (!a || !b) continue;
    const key = e.a + " " + e.b;
    if (!seen.has(key)) seen.set(key, {a, b, of: []});
    seen.get(key).of.push(e.edge);
  }
  const links = [...seen.values()];
  layer(items, links);
  const layers = bend(items, links);
  order(layers);
  place(layers);
  let y = 0, left = Infinity, right = -Infinity;
  for (const l of layers) {
    const h = Math.max(...l.map(i => i.h));
    for (const i of l) {
      i.y = y + (id === "all" ? i.h : h) / 2;
      left = Math.min(left, i.x - i.room / 2);
      right = Math.max(right, i.x + i.room / 2);
    }
    y += h + GAP_Y;
  }
  for (const l of layers) for (const i of l) i.x -= left;
  return {items, links, w: items.length ? right - left : 0,
          h: Math.max(0, y - GAP_Y)};
}

// Regions from the innermost out, each with the links between its children.
function layout() {
  const linksOf = new Map(), chains = nodes.map(chain);
  for (const e of edges) {
    const a = chains[e.from], b = chains[e.to];
    let k = 0;
    while (k < a.length && k < b.length && a[k] === b[k]) k++;
    if (k === a.length || k === b.length) continue;
    const id = k ? +a[k - 1].slice(1) : "all";
    if (!linksOf.has(id)) linksOf.set(id, []);
    linksOf.get(id).push({a: a[k], b: b[k], edge: e});
  }
  const boxes = new Map();
  for (let i = regions.length - 1; i >= 0; i--) {
    const r = regions[i], label = wide(r.label, 12) + 40;
    if (folded.has(i)) {
      const w = Math.max(label, 120);
      boxes.set(i, {key: "r" + i, region: i, w, h: 44, room: w});
      continue;
    }
    const inner = arrange(i, linksOf, boxes);
    const w = Math.max(inner.w + 2 * PAD, label);
    boxes.set(i, {key: "r" + i, region: i, inner, w,
                  h: inner.h + BAR + 2 * PAD, room: w});
  }
  return arrange("all", linksOf, boxes);
}

// --- Drawing --------------------------------------------------------------

const make = (name, attrs, parent) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const k in attrs) e.setAttribute(k, attrs[k]);
  if (parent) parent.appendChild(e);
  return e;
};
const write = (parent, x, y, text, cls, attrs) => {
  const t = make("text", {x, y, ...attrs, class: cls || ""}, parent);
  t.textContent = text;
  return t;
};

let world, view = {x: 0, y: 0, k: 1}, selected = null, hits = [], hit = -1;
let extent = {w: 1, h: 1};

function drawShape(n, g) {
  if (n.kind === "join") return make("circle", {class: "shape", r: 8}, g);
  if (n.kind === "choice") return make("path", {class: "shape",
    d: `M0,${-n.h / 2}L${n.w / 2},0L0,${n.h / 2}L${-n.w / 2},0Z`}, g);
  const round = /param|global|result/.test(n.kind) ? n.h / 2 : 5;
  return make("rect", {class: "shape", x: -n.w / 2, y: -n.h / 2, width: n.w,
                       height: n.h, rx: round}, g);
}

function drawNode(n, x, y, parent) {
  const cls = `node ${n.kind}${n.effects ? " does" : ""}`;
  const g = make("g", {class: cls, transform: `translate(${x},${y})`}, parent);
  n.x = x;
  n.y = y;
  n.g = g;
  drawShape(n, g);
  const name = n.kind === "join" ? "" : n.name;
  const lines = [[n.label, ""], [n.detail, "detail"], [name, "name"]]
    .filter(l => l[0]);
  lines.forEach((l, i) => write(g, 0, (i - (lines.length - 1) / 2) * 15, l[0],
                                l[1], {"text-anchor": "middle"}));
  make("title", {}, g).textContent =
    [n.label, n.type, n.effects].filter(Boolean).join("\n");
  g.addEventListener("click", ev => {
    ev.stopPropagation();
    select(n);
  });
}

function drawItems(a, dx, dy, back, front) {
  for (const i of a.items) {
    i.ax = dx + i.x;
    i.ay = dy + i.y;
    if (i.node) drawNode(i.node, i.ax, i.ay, front);
    else if (i.more)
      write(front, i.ax, i.ay, `… ${i.more} more`, "detail",
            {"text-anchor": "middle"});
    else drawRegion(i, back, front);
  }
  for (const l of a.links)
    for (const b of l.bends) {
      b.ax = dx + b.x;
      b.ay = dy + b.y;
    }
}

function drawRegion(i, back, front) {
  const r = regions[i.region], x = i.ax - i.w / 2, y = i.ay - i.h / 2;
  const g = make("g", {class: "region" + (r.depth ? " deep" : "") +
                       (i.inner ? "" : " folded")}, back);
  make("rect", {x, y, width: i.w, height: i.h, rx: 8}, g);
  write(g, x + 12, y + 14, (i.inner ? "▾ " : "▸ ") + r.label, "");
  if (!i.inner) write(g, x + 24, y + 31, `${r.size} nodes`, "");
  const bar = make("rect", {class: "bar", x, y, width: i.w,
                            height: i.inner ? BAR : i.h}, g);
  bar.addEventListener("click", ev => {
    ev.stopPropagation();
    toggle(i.region);
  });
  r.g = g;
  r.x = i.ax;
  r.y = i.ay;
  r.h = i.h;
  if (i.inner)
    drawItems(i.inner, x + (i.w - i.inner.w) / 2, y + BAR + PAD, back, front);
}

// A smooth way through the points, upright where it begins and ends.
function curve(points) {
  let d = `M${points[0][0]},${points[0][1]}`;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i], m = (y1 - y0) / 2;
    d += `C${x0},${y0 + m} ${x1},${y1 - m} ${x1},${y1}`;
  }
  return d;
}

function drawLinks(a, parent) {
  for (const i of a.items) if (i.inner) drawLinks(i.inner, parent);
  for (const l of a.links) for (const e of l.of) {
    const from = nodes[e.from], to = nodes[e.to];
    const start = l.a.node || !l.a.inner ? [l.a.ax, l.a.ay + l.a.h / 2]
                                         : [from.x, from.y + from.h / 2];
    const end = l.b.node || !l.b.inner ? [l.b.ax, l.b.ay - l.b.h / 2]
                                       : [to.x, to.y - to.h / 2];
    if (start[0] === undefined || end[0] === undefined) continue;
    const list = [start, ...l.bends.map(b => [b.ax, b.ay]), end];
    e.path = make("path", {class: "edge" + (e.control ? " control" : ""),
      d: curve(list), "marker-end": e.control ? "url(#effect)" : "url(#flow)"},
      parent);
    make("title", {}, e.path).textContent =
      e.control ? "evaluated before" : [e.port, e.type].filter(Boolean)
        .join(": ");
    if (e.port) {
      const p = list[list.length - 1];
      write(parent, p[0], p[1] - 14, e.port, "type");
    }
  }
}

function drawTypes(parent) {
  for (const n of nodes)
    if (n.g && n.type_text && n.kind !== "const")
      write(parent, n.x, n.y + n.h / 2 + 9, n.type_text, "type");
}

function draw() {
  const a = layout();
  for (const n of nodes) n.g = null;
  for (const r of regions) r.g = null;
  for (const e of edges) e.path = null;
  svg.textContent = "";
  const defs = make("defs", {}, svg);
  for (const id of ["flow", "effect"]) {
    const m = make("marker", {id, viewBox: "0 0 8 8", refX: 7, refY: 4,
      markerWidth: 7, markerHeight: 7, orient: "auto"}, defs);
    make("path", {d: "M0,0L8,4L0,8Z"}, m);
  }
  world = make("g", {}, svg);
  const back = make("g", {}, world), lines = make("g", {}, world);
  const front = make("g", {}, world);
  drawItems(a, PAD, PAD, back, front);
  drawLinks(a, lines);
  drawTypes(lines);
  extent = {w: a.w + 2 * PAD, h: a.h + 2 * PAD};
  mark();
  look();
}

// --- Looking around -------------------------------------------------------

function look() {
  world.setAttribute("transform",
    `translate(${view.x},${view.y}) scale(${view.k})`);
}

function fit() {
  const w = svg.clientWidth, h = svg.clientHeight;
  view.k = Math.min(1.4, w / extent.w, h / extent.h);
  // Rather legible than whole.
  if (view.k < .35) view.k = Math.min(.7, Math.max(.35, w / extent.w));
  view.x = Math.max(0, (w - extent.w * view.k) / 2);
  view.y = Math.max(0, (h - extent.h * view.k) / 2);
  look();
}

function zoom(by, x, y) {
  const k = Math.min(4, Math.max(.02, view.k * by));
  view.x = x - (x - view.x) * k / view.k;
  view.y = y - (y - view.y) * k / view.k;
  view.k = k;
  look();
}

function centre(x, y) {
  if (view.k < .5) view.k = .8;
  view.x = svg.clientWidth / 2 - x * view.k;
  view.y = svg.clientHeight / 2 - y * view.k;
  look();
}

// --- Folding --------------------------------------------------------------

// What was clicked stays where it is.
function toggle(r) {
  const before = regions[r], x = before.x, y = before.y - before.h / 2;
  if (folded.has(r)) folded.delete(r);
  else folded.add(r);
  draw();
  view.x += (x - before.x) * view.k;
  view.y += (y - (before.y - before.h / 2)) * view.k;
  look();
}

function foldAll(yes) {
  folded.clear();
  if (yes) regions.forEach((r, i) => folded.add(i));
  draw();
  fit();
}

function reveal(n) {
  let changed = false;
  for (let r = n.region; r >= 0; r = regions[r].parent)
    changed = folded.delete(r) || changed;
  if (changed) draw();
}

// --- Choosing -------------------------------------------------------------

function mark() {
  for (const n of nodes) if (n.g) {
    n.g.classList.toggle("at", n === selected);
    n.g.classList.toggle("hit", hits.includes(n));
  }
  for (const e of edges) if (e.path)
    e.path.classList.toggle("near", selected &&
      (nodes[e.from] === selected || nodes[e.to] === selected));
}

function row(parent, tag, text, cls) {
  const e = document.createElement(tag);
  e.textContent = text;
  if (cls) e.className = cls;
  parent.appendChild(e);
  return e;
}

function list(title, ends) {
  if (!ends.length) return;
  row(side, "h3", title);
  for (const [e, n] of ends) {
    const what = e.control ? "order" : e.port || "";
    const b = row(side, "button", (what ? what + ": " : "") +
      [n.label || "join", n.name].filter(Boolean).join(" "));
    if (e.type) b.title = e.type;
    b.addEventListener("click", () => go(n));
  }
}

function select(n) {
  selected = n;
  side.hidden = !n;
  side.textContent = "";
  if (n) {
    row(side, "h2", n.label || "join");
    if (n.detail) row(row(side, "p", ""), "code", n.detail);
    if (n.name) row(side, "p", "bound to " + n.name);
    if (n.type) row(row(side, "p", ""), "code", n.type);
    if (n.effects) row(side, "p", n.effects, "does");
    if (n.file) row(side, "p", `${n.file}:${n.line}:${n.column}`);
    list("comes from", n.in.map(e => [e, nodes[e.from]]));
    list("goes to", n.out.map(e => [e, nodes[e.to]]));
  }
  mark();
}

function go(n) {
  if (!n) return;
  reveal(n);
  select(n);
  if (n.g) centre(n.x, n.y);
}

// Arrows: along the edges, and to the next node of the same height.
function move(key) {
  if (!selected) return go(nodes.find(n => n.g));
  const n = selected;
  if (key === "ArrowUp" && n.in.length) go(nodes[n.in[0].from]);
  if (key === "ArrowDown" && n.out.length) go(nodes[n.out[0].to]);
  if (key !== "ArrowLeft" && key !== "ArrowRight") return;
  const way = key === "ArrowLeft" ? -1 : 1;
  const far = m => (m.x - n.x) * way + 3 * Math.abs(m.y - n.y);
  go(nodes.filter(m => m.g && (m.x - n.x) * way > 1)
    .sort((a, b) => far(a) - far(b))[0]);
}

function search() {
  const text = box.value.trim().toLowerCase();
  hits = !text ? [] : nodes.filter(n => [n.label, n.name, n.detail, n.type,
    n.effects].some(t => t && t.toLowerCase().includes(text)));
  hit = -1;
  find("found").textContent = text ? `${hits.length} found` : "";
  mark();
}

function next(way) {
  if (!hits.length) return;
  hit = (hit + way + hits.length) % hits.length;
  find("found").textContent = `${hit + 1} of ${hits.length}`;
  go(hits[hit]);
}

// --- Hands ----------------------------------------------------------------

box.addEventListener("input", search);
box.addEventListener("keydown", ev => {
  if (ev.key === "Enter") next(ev.shiftKey ? -1 : 1);
  if (ev.key === "Escape") {
    box.value = "";
    search();
    svg.focus();
  }
  ev.stopPropagation();
});
find("fold").addEventListener("click", () => foldAll(true));
find("unfold").addEventListener("click", () => foldAll(false));
find("fit").addEventListener("click", fit);
const middle = by => zoom(by, svg.clientWidth / 2, svg.clientHeight / 2);
find("in").addEventListener("click", () => middle(1.25));
find("out").addEventListener("click", () => middle(.8));
document.addEventListener("keydown", ev => {
  if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
  const does = {
    "/": () => box.focus(), "+": () => middle(1.25), "-": () => middle(.8),
    "0": fit, f: () => selected && selected.region >= 0
      ? toggle(selected.region) : foldAll(true),
    u: () => foldAll(false), n: () => next(1), p: () => next(-1),
    Escape: () => select(null),
  }[ev.key];
  if (does) does();
  else if (ev.key.startsWith("Arrow")) move(ev.key);
  else return;
  ev.preventDefault();
});
let drag = null;
svg.addEventListener("pointerdown", ev => {
  drag = {x: ev.clientX - view.x, y: ev.clientY - view.y, far: false};
});
svg.addEventListener("pointermove", ev => {
  if (!drag || !ev.buttons) return;
  view.x = ev.clientX - drag.x;
  view.y = ev.clientY - drag.y;
  look();
});
svg.addEventListener("pointerup", () => { drag = null; });
svg.addEventListener("click", () => select(null));
svg.addEventListener("wheel", ev => {
  ev.preventDefault();
  const at = svg.getBoundingClientRect();
  zoom(Math.exp(-ev.deltaY / 400), ev.clientX - at.left, ev.clientY - at.top);
}, {passive: false});
draw();
fit();
