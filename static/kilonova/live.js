// Keeps the live parts of a page current, and says so when it cannot.
//
// A live part is an element with an id that htmx fetches on the event "look":
//   data-live="2"      seconds between two looks while nothing tells this page of changes;
//   data-watch="..."   what it wants to be told of, as a query for /events/ (server-sent events);
//   data-quiet="30"    seconds between two looks while it is told.
// A hidden tab asks for nothing and holds no stream; it looks again when it is seen.
"use strict";
(() => {
  const gettext = window.gettext || ((text) => text); // the catalog is loaded for other languages than English
  const LOST_S = 5; // between two looks while the server does not answer
  const REST_MS = 1000; // between two looks of one part, whatever it is told
  const SLOW = 3; // and so many times as long as its last look took: a busy server is asked less
  const STUCK_MS = 30_000; // a look that did not end is none
  const REFUSED_MS = [60_000, 600_000]; // until a refused stream is asked for again
  const missed = new Set(); // ids of forms whose filters the server never heard of: what stands below them is older
  const seen = new Map(); // by id: when to look, whether it looks now, when it may again
  const line = document.getElementById("connection");
  let stream = null, asked = "", isTold = false, refusals = 0, mayAskAt = 0, goodAt = new Date(), isLost = false, isLeaving = false;

  const parts = () => [...document.querySelectorAll("[data-live][id]")];
  const knownOf = (part) => {
    if (!seen.has(part.id)) seen.set(part.id, { lookedAt: Date.now(), mayAt: 0, isBusy: false, isHinted: false, isOver: false });
    return seen.get(part.id);
  };
  const pauseOf = (part) => 1000 * (isLost ? LOST_S : Number(isTold && part.dataset.watch ? part.dataset.quiet : part.dataset.live));
  const hint = (isMeant = (part) => part.dataset.watch) => parts().filter(isMeant).forEach((part) => { knownOf(part).isHinted = true; });

  function tick() {
    if (document.hidden || isLeaving) return;
    const now = Date.now();
    for (const part of parts()) {
      const known = knownOf(part);
      if (known.isOver || now < known.mayAt || (known.isBusy && now < known.lookedAt + STUCK_MS)) continue;
      if (!known.isHinted && now < known.lookedAt + pauseOf(part)) continue;
      Object.assign(known, { lookedAt: now, isBusy: true, isHinted: false });
      htmx.trigger(part, "look");
    }
    listen(now);
  }

  function listen(now) {
    const wanted = [...new Set(parts().filter((part) => part.dataset.watch && !knownOf(part).isOver).map((part) => part.dataset.watch))].join("&");
    if (stream && wanted !== asked) hangUp();
    if (stream || !wanted || isLost || now < mayAskAt || !window.EventSource) return;
    asked = wanted;
    stream = new EventSource(`/events/?${wanted}`);
    // "ready" comes when the server hears of all changes: what came before may have been missed.
    stream.addEventListener("ready", () => { isTold = true; refusals = 0; hint(); });
    stream.addEventListener("changed", () => hint());
    stream.addEventListener("error", () => {
      isTold = false;
      if (stream && stream.readyState === EventSource.CLOSED) { // refused, or none to be had here
        hangUp();
        mayAskAt = Date.now() + Math.min(REFUSED_MS[0] * 2 ** refusals++, REFUSED_MS[1]);
      } else hint(); // cut: the browser asks again, and the next look says whether the server is there at all
    });
  }

  function clock(at) { // as the pages write times: in the zone of who reads them, with what that is from UTC
    try {
      const form = { timeZone: document.body.dataset.zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "shortOffset" };
      const of = Object.fromEntries(new Intl.DateTimeFormat("en", form).formatToParts(at).map((part) => [part.type, part.value]));
      return `${of.hour}:${of.minute} ${of.timeZoneName.replace("GMT", "UTC").replace("\u2212", "-")}`;
    } catch { // a zone that this browser does not know
      return `${at.toISOString().slice(11, 16)} UTC`;
    }
  }

  function hangUp() {
    if (stream) stream.close();
    stream = null;
    isTold = false;
  }

  function heard(isGood) {
    if (isLeaving) return;
    if (isGood) goodAt = new Date();
    if (isGood !== isLost) return;
    isLost = !isGood;
    line.textContent = isLost ? gettext("Connection lost, as of %(time)s").replace("%(time)s", clock(goodAt)) : "";
    document.documentElement.toggleAttribute("data-lost", isLost);
    if (isLost) hangUp();
    else {
      hint(() => true);
      missed.forEach((id) => { const form = document.getElementById(id); if (form) htmx.trigger(form, "submit"); });
      missed.clear();
    }
  }

  function unanswered(event) {
    const asker = event.detail.requestConfig?.elt ?? event.detail.elt;
    if (asker?.matches?.("form[hx-get][id]")) missed.add(asker.id);
    heard(false);
  }

  function looked(event) {
    // The event comes from a parent where the part was replaced: who asked stands in the request.
    const known = seen.get(event.detail.requestConfig?.elt?.id), status = event.detail.xhr?.status ?? 0, now = Date.now();
    if (!known?.isBusy) return;
    known.isBusy = false;
    known.mayAt = now + Math.max(REST_MS, SLOW * (now - known.lookedAt));
    known.isOver = status === 286; // what it showed is gone
  }

  const on = (name, act) => document.addEventListener(name, act);
  on("htmx:afterRequest", looked);
  on("htmx:afterOnLoad", (event) => { if (event.detail.xhr.status < 500) heard(true); else unanswered(event); });
  on("htmx:sendError", unanswered);
  on("htmx:timeout", unanswered);
  on("htmx:beforeRequest", (event) => { // what htmx itself repeats is asked for by no event
    if (document.hidden && !event.detail.requestConfig.triggeringEvent) event.preventDefault();
  });
  on("visibilitychange", () => {
    if (document.hidden) hangUp();
    else { hint(() => true); tick(); }
  });
  window.addEventListener("pagehide", () => { isLeaving = true; hangUp(); });
  window.addEventListener("pageshow", () => { isLeaving = false; });
  window.addEventListener("online", () => hint(() => true));
  setInterval(tick, 250);
  tick();
})();
