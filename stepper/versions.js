"use strict";
{
  const view = document.querySelector(".view.versions");
  const find = what => view.querySelector(what);
  const passes = [...view.querySelectorAll("article")];
  const which = find("select");
  const folds = [...view.querySelectorAll("details")];
  let at = passes[0], listed = false;

  // Arrows and buttons go over the passes that change something.
  const changing = passes.filter(p => p.classList.contains("changed"));
  const away = way => {
    const i = passes.indexOf(at);
    const some = changing.filter(p => Math.sign(passes.indexOf(p) - i) === way);
    return way > 0 ? some[0] : some[some.length - 1];
  };

  const show = () => {
    for (const p of passes) p.hidden = !listed && p !== at;
    which.value = at.id;
    find(".back").disabled = !away(-1);
    find(".forth").disabled = !away(1);
    find(".list").textContent = listed ? "one at a time" : "all at once";
    const open = folds.length && folds.every(f => f.open);
    find(".unfold").textContent = open ? "fold what stays" : "open what stays";
    find(".unfold").disabled = !folds.length;
  };

  // While another view is shown the address is its own.
  const name = () => {
    if (!view.hidden) history.replaceState(null, "", "#" + at.id);
  };

  const go = pass => {
    if (!pass) return;
    at = pass;
    show();
    name();
    if (listed) at.scrollIntoView();
  };

  for (const p of passes) {
    const quiet = p.classList.contains("changed") ? "" : " (nothing)";
    const title = p.querySelector("h2").firstChild.textContent;
    which.add(new Option(title + quiet, p.id));
  }
  which.onchange = () => go(passes.find(p => p.id === which.value));
  find(".back").onclick = () => go(away(-1));
  find(".forth").onclick = () => go(away(1));
  find(".list").onclick = () => { listed = !listed; show(); };
  find(".unfold").onclick = () => {
    const open = !folds.every(f => f.open);
    for (const f of folds) f.open = open;
    show();
  };
  for (const f of folds) f.ontoggle = show;
  document.addEventListener("keydown", e => {
    if (view.hidden || e.target === which) return;
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    if (e.key === "ArrowRight") go(away(1));
    else if (e.key === "ArrowLeft") go(away(-1));
  });

  const wanted = () => passes.find(p => "#" + p.id === location.hash);
  addEventListener("hashchange", () => go(wanted()));
  view.addEventListener("look", name);
  if (passes.length) {
    find("nav").hidden = false;
    at = wanted() || changing[0] || at;
    show();
  }
}
