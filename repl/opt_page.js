"use strict";
const find = id => document.getElementById(id);
const passes = [...document.querySelectorAll("article")];
const nav = document.querySelector("nav"), which = find("which");
const folds = [...document.querySelectorAll("details")];
let at = passes[0], listed = false;

// Arrows and buttons go over the passes that change something.
const changing = passes.filter(p => p.classList.contains("changed"));
function away(way) {
  const i = passes.indexOf(at);
  const some = changing.filter(p => Math.sign(passes.indexOf(p) - i) === way);
  return way > 0 ? some[0] : some[some.length - 1];
}

function show() {
  for (const p of passes) p.hidden = !listed && p !== at;
  which.value = at.id;
  find("back").disabled = !away(-1);
  find("forth").disabled = !away(1);
  find("list").textContent = listed ? "one pass at a time" : "all at once";
  const open = folds.length && folds.every(f => f.open);
  find("folds").textContent = open ? "fold what stays" : "open what stays";
  find("folds").disabled = !folds.length;
}

function go(pass) {
  if (!pass) return;
  at = pass;
  show();
  history.replaceState(null, "", "#" + at.id);
  if (listed) at.scrollIntoView();
}

for (const p of passes) {
  const quiet = p.classList.contains("changed") ? "" : " (nothing)";
  which.add(new Option(p.querySelector("h2").firstChild.textContent + quiet, p.id));
}
which.onchange = () => go(find(which.value));
find("back").onclick = () => go(away(-1));
find("forth").onclick = () => go(away(1));
find("list").onclick = () => { listed = !listed; show(); };
find("folds").onclick = () => {
  const open = !folds.every(f => f.open);
  for (const f of folds) f.open = open;
  show();
};
for (const f of folds) f.ontoggle = show;
addEventListener("keydown", e => {
  if (e.target === which || e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === "ArrowRight") go(away(1));
  else if (e.key === "ArrowLeft") go(away(-1));
});
addEventListener("hashchange", () => go(find(location.hash.slice(1))));

if (passes.length) {
  nav.hidden = false;
  go(find(location.hash.slice(1)) || changing[0] || at);
}
