"use strict";
// Of several views one is shown at a time.  Buttons choose it, and so does an
// address that names something in it.  A view hears "look" when it is chosen.
{
  const views = [...document.querySelectorAll("section.view")];
  const row = document.createElement("nav");
  const look = view => {
    for (const v of views) v.hidden = v !== view;
    for (const b of row.children)
      b.setAttribute("aria-pressed", b.textContent === view.dataset.title);
    view.dispatchEvent(new Event("look"));
  };
  const named = () => {
    const at = document.getElementById(location.hash.slice(1));
    return views.find(v => v.contains(at));
  };
  if (views.length > 1) {
    row.className = "views";
    for (const view of views) {
      const button = document.createElement("button");
      button.textContent = view.dataset.title;
      button.onclick = () => look(view);
      row.append(button);
    }
    views[0].before(row);
    look(named() || views[0]);
    addEventListener("hashchange", () => named() && look(named()));
  }
}
