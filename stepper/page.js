"use strict";
const steps = [...document.querySelectorAll("article[data-kinds]")];
const nav = document.querySelector("nav");
const find = id => document.getElementById(id);
const slider = find("slider"), count = find("count"), becomes = find("becomes");
const folds = [...document.querySelectorAll("nav input[type=checkbox]")];
let at = 0, listed = false;

const folded = step =>
  folds.some(f => f.checked && step.dataset.kinds.includes(f.value + " "));

function show() {
  const left = steps.filter(folded).length;
  steps.forEach((s, i) => { s.hidden = listed ? folded(s) : i !== at; });
  slider.max = steps.length - 1;
  slider.value = at;
  count.textContent =
    `${steps[at].dataset.step} of ${steps[steps.length - 1].dataset.step}` +
    (left ? `, ${left} folded` : "");
  const next = steps[at + 1];
  becomes.hidden = listed || !next;
  if (next) becomes.querySelector("pre").textContent =
    next.querySelector("pre").textContent;
  find("back").disabled = listed || at === 0;
  find("forth").disabled = listed || at === steps.length - 1;
  find("list").textContent = listed ? "one at a time" : "all at once";
}

function go(way) {
  let i = at + way;
  while (steps[i] && folded(steps[i])) i += way;
  if (steps[i]) at = i;
  show();
}

function search(way) {
  const text = find("search").value.toLowerCase();
  const n = steps.length;
  for (let k = 1; text && k <= n; k++) {
    const i = (at + way * k + n * k) % n;
    if (!steps[i].textContent.toLowerCase().includes(text)) continue;
    at = i;
    break;
  }
  show();
  if (listed) steps[at].scrollIntoView({block: "center"});
}

find("back").onclick = () => go(-1);
find("forth").onclick = () => go(1);
find("list").onclick = () => { listed = !listed; show(); };
slider.oninput = () => { at = +slider.value; show(); };
find("search").onkeydown = e => {
  if (e.key === "Enter") search(e.shiftKey ? -1 : 1);
};
folds.forEach(f => { f.onchange = show; });
document.onkeydown = e => {
  if (e.target.tagName === "INPUT" && e.target.type !== "checkbox") return;
  if (e.key === "ArrowRight" || e.key === "j") go(1);
  else if (e.key === "ArrowLeft" || e.key === "k") go(-1);
  else if (e.key === "Home") { at = 0; show(); }
  else if (e.key === "End") { at = steps.length - 1; show(); }
  else return;
  e.preventDefault();
};
if (steps.length) { nav.hidden = false; show(); }
