// What every page has besides its content: the palette (Ctrl+K), keys, toasts that go by themselves, and copying.
// Without this script the search, the keys and the calls are pages, and toasts are lines on top of the next page.
"use strict";
(() => {
  const gettext = window.gettext || ((text) => text); // the catalog is loaded for other languages than English
  const SEQUENCE_MS = 1500; // between G and the letter after it
  const TOAST_MS = { plain: 12_000, withControls: 60_000 };
  const palette = document.getElementById("palette"), keys = document.getElementById("keys");
  const isTyping = (target) => Boolean(target.closest?.("input, select, textarea, [contenteditable]"));
  const canTakeSingleKeys = (target) => document.documentElement.dataset.keys !== "off" && !isTyping(target) && !document.querySelector("dialog[open]");
  let wentAt = 0;

  function show(dialog) {
    if (!dialog || dialog.open) return;
    document.querySelectorAll("dialog[open]").forEach((other) => other.close());
    dialog.showModal();
    htmx.trigger(dialog.querySelector("[hx-get]"), "open");
    dialog.querySelector("input")?.select();
  }

  function single(event) {
    const key = event.key.toLowerCase(), isSecond = Date.now() - wentAt < SEQUENCE_MS;
    wentAt = 0;
    if (isSecond) {
      const link = /^[a-z]$/.test(key) && document.querySelector(`[data-go="${key}"]`);
      if (link) { event.preventDefault(); location.href = link.href; }
      return;
    }
    if (key === "g") wentAt = Date.now();
    else if (key === "?" && keys) { event.preventDefault(); show(keys); }
    else if (key === "/" && palette && !document.getElementById("f-q")) { event.preventDefault(); show(palette); }
    else if (key === "c") {
      const create = document.querySelector('main a[href$="/create/"], main a[href$="/new/"]');
      if (create) { event.preventDefault(); location.href = create.href; }
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k" && palette) {
      event.preventDefault();
      if (palette.open) palette.close(); else show(palette);
    } else if (!event.ctrlKey && !event.metaKey && !event.altKey && canTakeSingleKeys(event.target)) single(event);
  });

  // Arrows go through what was found; a letter goes back to the text.
  palette?.addEventListener("keydown", (event) => {
    const input = palette.querySelector("input"), links = [...palette.querySelectorAll("#palette-found a")];
    const at = links.indexOf(document.activeElement), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") { // a search field would only empty itself
      event.preventDefault();
      palette.close();
    } else if (step) {
      event.preventDefault();
      const next = at + step;
      if (next < 0) input.focus(); else links[Math.min(next, links.length - 1)]?.focus();
    } else if (event.key === "Enter" && event.target === input && links.length && input.value.trim()) {
      event.preventDefault();
      links[0].click();
    } else if (at >= 0 && event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) input.focus();
  });
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const opener = event.target.closest?.("#search-open, #keys-open");
    if (opener) {
      event.preventDefault();
      document.querySelector("[popover]:popover-open")?.hidePopover();
      show(opener.id === "keys-open" ? keys : palette);
    }
    const copier = event.target.closest?.("[data-copies]");
    if (copier) {
      navigator.clipboard.writeText(document.getElementById(copier.dataset.copies).textContent);
      copier.textContent = gettext("Copied");
    }
  });
  if (navigator.clipboard) {
    const shown = () => document.querySelectorAll("[data-copies][hidden]").forEach((one) => { one.hidden = false; });
    shown();
    document.addEventListener("htmx:afterSettle", shown);
  }

  // The call of a form says what the form holds when it is looked at.
  const call = document.querySelector("#as-curl-text[data-of]");
  const form = call?.closest("main").querySelector("form[method=post]:not(#toast-form)");
  if (form) {
    const refresh = () => {
      if (!call.closest("details").open) return;
      const values = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !/pass/.test(name));
      const body = new URLSearchParams([...values, ...[...form.elements].filter((one) => /pass/.test(one.name) && one.value).map((one) => [one.name, "..."]), ["as_curl_of", call.dataset.of]]);
      fetch("/as-curl/", { method: "POST", body, headers: { "HX-Request": "true" } })
        .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(answer.statusText))))
        .then((text) => { call.textContent = new DOMParser().parseFromString(text, "text/html").body.textContent; })
        .catch(() => { call.textContent = gettext("The call could not be made out."); });
    };
    call.closest("details").addEventListener("toggle", refresh);
    form.addEventListener("change", refresh);
  }

  for (const toast of document.querySelectorAll(".toast")) {
    const close = Object.assign(document.createElement("button"), { type: "button", className: "toast-close", textContent: "×" });
    close.setAttribute("aria-label", gettext("Close this message"));
    close.addEventListener("click", () => toast.remove());
    const hasControls = toast.querySelector("a, button");
    toast.append(close);
    if (!toast.classList.contains("good")) continue; // what went wrong stays
    const leave = () => { if (toast.matches(":hover, :focus-within")) setTimeout(leave, 2000); else toast.remove(); };
    setTimeout(leave, hasControls ? TOAST_MS.withControls : TOAST_MS.plain);
  }
})();
