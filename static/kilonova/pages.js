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
