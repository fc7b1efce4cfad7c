// "/" goes to the search of a list, as long as nobody types elsewhere.
"use strict";
document.addEventListener("keydown", (event) => {
  if (document.documentElement.dataset.keys === "off") return;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("input, select, textarea, [contenteditable]")) return;
  const search = document.getElementById("f-q");
  if (!search) return;
  event.preventDefault();
  search.focus();
  search.select();
});
