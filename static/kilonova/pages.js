// Escape closes an open question ("Delete...?") and gives the focus back to what opened it. Without this script a
// second press on the same button closes it.
"use strict";
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
