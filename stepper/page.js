"use strict";
const find = id => document.getElementById(id);
const steps = [...document.querySelectorAll("article[data-kinds]")];
const view = document.querySelector(".view.steps");
const nav = view.querySelector("nav");
const slider = find("slider"), count = find("count");
const folds = [...document.querySelectorAll("nav input[type=checkbox]")];
const sources = [...document.querySelectorAll("section.file")];
const heats = JSON.parse(find("heats").textContent);
let shown = steps, at = steps[0], listed = false, naming;

// --- Steps ----------------------------------------------------------------

const folded = step =>
  folds.some(f => f.checked && step.dataset.kinds.includes(f.value + " "));

// Slider, arrows and search go over the steps that are not folded.  Where the
// current one is folded, the next that is not takes its place, or the last.
function fold() {
  shown = steps.filter(s => !folded(s));
  if (!shown.includes(at) && shown.length)
    at = shown.find(s => steps.indexOf(s) > steps.indexOf(at)) ||
      shown[shown.length - 1];
  show();
}

function show() {
  const i = shown.indexOf(at), left = steps.length - shown.length;
  for (const s of steps) s.hidden = listed ? folded(s) : s !== at || i < 0;
  slider.max = Math.max(shown.length - 1, 0);
  slider.value = Math.max(i, 0);
  count.textContent = i < 0 ? "all are folded" :
    `${at.dataset.step} of ${steps[steps.length - 1].dataset.step}` +
    (left ? `, ${left} folded` : "");
  find("back").disabled = listed || i <= 0;
  find("forth").disabled = listed || i < 0 || i === shown.length - 1;
  find("list").textContent = listed ? "one at a time" : "all at once";
  // How it ends belongs to the last step.
  document.querySelector("footer").hidden =
    !listed && i >= 0 && i < shown.length - 1;
  place();
  clearTimeout(naming);
  naming = setTimeout(name, 300);
}

// Browsers refuse an address that changes many times a second.  While another
// view is shown the address is its own.
function name() {
  if (!listed && !view.hidden) history.replaceState(null, "", "#" + at.id);
}

function go(step) {
  if (!step) return;
  at = step;
  show();
  if (listed) at.scrollIntoView({block: "center"});
}

const away = way => shown[shown.indexOf(at) + way];

function search(way) {
  const text = find("search").value.toLowerCase();
  const n = shown.length, from = shown.indexOf(at);
  for (let k = 1; text && k <= n; k++) {
    const step = shown[(from + way * k + n * k) % n];
    const own = step.querySelector("h2").textContent +
      step.querySelector(".text").textContent;
    if (own.toLowerCase().includes(text)) return go(step);
  }
}

// --- The source -----------------------------------------------------------

// Columns count code points from 1.
function place() {
  for (const mark of document.querySelectorAll("section.file .now")) {
    mark.textContent = mark.textContent;
    mark.classList.remove("now");
  }
  const {file, line, from, to} = at.dataset;
  for (const s of sources) {
    const here = !listed && s.dataset.file === file;
    (here ? at.querySelector(".side") : find("sources"))[
      here ? "prepend" : "append"](s);
    s.hidden = !listed && !here;
    if (here) mark(s, s.querySelector(`[data-line="${+line}"]`), +from, +to);
  }
}

function mark(section, line, from, to) {
  if (!line) return;
  const text = Array.from(line.textContent);
  const end = to ? to - 1 : text.length, own = document.createElement("mark");
  own.className = "redex";
  own.textContent = text.slice(from - 1, end).join("");
  line.replaceChildren(text.slice(0, from - 1).join(""), own,
                       text.slice(end).join(""));
  line.classList.add("now");
  const box = section.querySelector("pre");
  box.scrollTop = line.offsetTop - box.offsetTop - box.clientHeight / 3;
}

// --- Heat maps ------------------------------------------------------------

// Blue below 0, red above it, the paler the nearer; grey is not finite.
function colour(x, most) {
  if (!Number.isFinite(x)) return "#888";
  const share = most ? Math.min(Math.abs(x) / most, 1) : 0;
  const pale = Math.round(245 - 200 * share);
  return x < 0 ? `rgb(${pale}, ${pale + Math.round(20 * share)}, 245)`
               : `rgb(245, ${pale}, ${pale})`;
}

function draw(figure) {
  const heat = heats[figure.dataset.heat - 1];
  if (!heat || figure.querySelector("canvas")) return;
  const {rows, columns, of, at: cells} = heat;
  const size = Math.max(3, Math.min(24, Math.floor(480 / columns)));
  const most = Math.max(0, ...cells.filter(Number.isFinite).map(Math.abs));
  const canvas = document.createElement("canvas");
  const note = document.createElement("p");
  canvas.width = columns * size;
  canvas.height = rows * Math.max(size, rows === 1 ? 24 : 0);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", figure.textContent);
  const pen = canvas.getContext("2d"), high = canvas.height / rows;
  cells.forEach((x, i) => {
    pen.fillStyle = colour(x, most);
    pen.fillRect(i % columns * size, Math.floor(i / columns) * high, size, high);
  });
  const scale = `blue ${-most}, white 0, red ${most}`;
  note.textContent = scale;
  // The elements that cell `k` of `n` stands for, of `all`.
  const range = (k, n, all) => {
    const a = Math.floor(k * all / n), b = Math.floor((k + 1) * all / n) - 1;
    return a === b ? `${a}` : `${a} to ${b}`;
  };
  canvas.onpointermove = e => {
    const box = canvas.getBoundingClientRect();
    const x = Math.floor((e.clientX - box.left) / box.width * columns);
    const y = Math.floor((e.clientY - box.top) / box.height * rows);
    const value = cells[y * columns + x];
    if (value === undefined) return;
    note.textContent = `[${range(y, rows, of[0])}, ` +
      `${range(x, columns, of[1])}] ${value}   (${scale})`;
  };
  figure.append(canvas, note);
}

document.addEventListener("toggle", e => {
  if (e.target.open) e.target.querySelectorAll("figure").forEach(draw);
}, true);

// --- Keys and buttons -----------------------------------------------------

find("back").onclick = () => go(away(-1));
find("forth").onclick = () => go(away(1));
find("list").onclick = () => { listed = !listed; show(); };
slider.oninput = () => go(shown[+slider.value]);
find("search").onkeydown = e => {
  if (e.key === "Enter") search(e.shiftKey ? -1 : 1);
};
folds.forEach(f => { f.onchange = fold; });
document.addEventListener("keydown", e => {
  if (view.hidden) return;
  if (e.target.tagName === "INPUT" && e.target.type !== "checkbox") return;
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === "ArrowRight" || e.key === "j") go(away(1));
  else if (e.key === "ArrowLeft" || e.key === "k") go(away(-1));
  else if (e.key === "Home") go(shown[0]);
  else if (e.key === "End") go(shown[shown.length - 1]);
  else return;
  e.preventDefault();
});

// The address names a step: #step-12.
const wanted = () => steps.find(s => "#" + s.id === location.hash);
addEventListener("hashchange", () => go(wanted()));
view.addEventListener("look", name);
if (steps.length) {
  nav.hidden = false;
  document.body.classList.add("scripted");
  at = wanted() || at;
  fold();
}
