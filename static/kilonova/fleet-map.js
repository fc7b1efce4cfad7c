// The map of the fleet by keyboard: Tab comes to a group of boxes once, arrows walk in it, and what a box is stands
// above the map. Without this script every box is a link as any other, with its title.
"use strict";
(() => {
  const boxesOf = (map) => [...map.querySelectorAll("a.b")];
  let here = ""; // the address of the box that has the focus, since a look of the live part makes all of them anew

  function prepare(root) {
    for (const map of root.querySelectorAll("[data-map]")) {
      const boxes = boxesOf(map), first = boxes.find((box) => box.getAttribute("href") === here) ?? boxes[0];
      for (const box of boxes) box.tabIndex = box === first ? 0 : -1;
    }
  }

  function tell(box) {
    const line = document.getElementById("map-detail");
    if (line && box.title) line.textContent = box.title;
  }

  function vertical(boxes, from, step) {
    const now = boxes[from].getBoundingClientRect(), middle = now.left + now.width / 2;
    let best = from, row = null, distance = Infinity;
    for (let at = from + step; at >= 0 && at < boxes.length; at += step) {
      const rect = boxes[at].getBoundingClientRect();
      if (Math.abs(rect.top - now.top) < 2) continue;
      row ??= rect.top;
      if (Math.abs(rect.top - row) > 2) break;
      const away = Math.abs(rect.left + rect.width / 2 - middle);
      if (away < distance) { distance = away; best = at; }
    }
    return best;
  }

  document.addEventListener("keydown", (event) => {
    const box = event.target.closest?.("[data-map] a.b");
    if (!box || event.ctrlKey || event.altKey || event.metaKey) return;
    const boxes = boxesOf(box.closest("[data-map]")), from = boxes.indexOf(box);
    const to = {
      ArrowRight: () => Math.min(from + 1, boxes.length - 1), ArrowLeft: () => Math.max(from - 1, 0),
      ArrowDown: () => vertical(boxes, from, 1), ArrowUp: () => vertical(boxes, from, -1),
      Home: () => 0, End: () => boxes.length - 1,
    }[event.key]?.();
    if (to === undefined) return;
    event.preventDefault();
    box.tabIndex = -1;
    boxes[to].tabIndex = 0;
    boxes[to].focus();
  });
  document.addEventListener("focusin", (event) => {
    const box = event.target.closest?.("[data-map] a.b");
    here = box ? box.getAttribute("href") : "";
    if (box) tell(box);
  });
  document.addEventListener("mouseover", (event) => {
    const box = event.target.closest?.("[data-map] a.b");
    if (box) tell(box);
  });
  let held = "";
  document.addEventListener("htmx:beforeSwap", () => { held = here; });
  document.addEventListener("htmx:afterSwap", () => {
    here = held;
    prepare(document);
    if (held) document.querySelector(`[data-map] a.b[href="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  });
  prepare(document);
})();
