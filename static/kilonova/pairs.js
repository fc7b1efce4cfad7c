// The editor of keys and values in the Django admin: one more row, and what a key means as soon as it is typed.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const gettext = window.gettext || ((text) => text); // the catalog is loaded for other languages than English
  for (const editor of document.querySelectorAll("[data-pairs]")) {
    const more = editor.querySelector("[data-pairs-more]");
    const hints = new Map();
    for (const option of editor.querySelectorAll("datalist option")) hints.set(option.value, option.dataset.hint);
    more.hidden = false;
    more.addEventListener("click", () => {
      const rows = editor.querySelectorAll("[data-pair]");
      const row = rows[rows.length - 1].cloneNode(true);
      for (const wrong of row.querySelectorAll(".pair-wrong")) wrong.remove();
      row.querySelector(".pair-hint").textContent = "";
      for (const [place, input] of row.querySelectorAll("input").entries()) {
        input.value = "";
        input.removeAttribute("aria-invalid");
        input.setAttribute("aria-label", `${place ? gettext("Value") : gettext("Key")} ${rows.length + 1}`);
      }
      more.before(row);
      row.querySelector("input").focus();
    });
    editor.addEventListener("change", (event) => {
      const row = event.target.closest("[data-pair]");
      if (!row || !event.target.name.endsWith("_key")) return;
      row.querySelector(".pair-hint").textContent = hints.get(event.target.value.trim()) || "";
    });
  }
});
