"use strict";
// Escape closes an open question ("Delete...?") and gives the focus back to what opened it. Without this script a
// second press on the same button closes it.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
  if (document.querySelector("[popover]:popover-open")) return; // the browser closes that one
  const open = [...document.querySelectorAll("details.confirm[open]")];
  const here = open.filter((each) => each.contains(document.activeElement));
  for (const details of here.length ? here : open) {
    const hadFocus = details.contains(document.activeElement);
    details.open = false;
    if (hadFocus) details.querySelector("summary").focus();
  }
});

// The box of a question hangs at the right edge of its button. Where that is too far to the left for it, as in a second
// line of buttons, it hangs at the left edge.
document.addEventListener("toggle", (event) => {
  const box = event.target.open && event.target.matches("details.confirm") && event.target.querySelector(".confirm-box");
  if (!box) return;
  box.classList.remove("to-right");
  const least = document.getElementById("main").getBoundingClientRect().left;
  box.classList.toggle("to-right", box.getBoundingClientRect().left < least);
}, true);

// Nothing moves while a button of the mouse is down: a press and a release on two things are no click. An answer that
// comes meanwhile is asked for once more afterwards.
(() => {
  let isDown = false;
  const again = new Map();
  const press = () => { isDown = true; };
  const release = () => {
    isDown = false;
    const missed = [...again];
    again.clear();
    for (const [asker, name] of missed) if (asker.isConnected) htmx.trigger(asker, name);
  };
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const { elt, verb, triggeringEvent } = event.detail.requestConfig;
    if (!isDown || verb !== "get") return;
    event.preventDefault();
    if (triggeringEvent) again.set(elt, triggeringEvent.type);
  });
  document.addEventListener("pointerdown", press, true);
  for (const end of ["pointerup", "pointercancel", "dragend", "blur"]) window.addEventListener(end, release, true);
})();
