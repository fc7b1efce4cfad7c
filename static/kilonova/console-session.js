// One console in a page: asks for a session, opens its stream, says how it stands, and opens another after a cut.
// A session's token travels as a subprotocol of the WebSocket: it is in no address, log or referrer.
"use strict";
const gettext = window.gettext || ((text) => text); // the catalog is loaded for other languages than English
const REFUSED = 4001, RETRIES_MS = [500, 1000, 2000, 4000, 8000];

export class Console {
  // `open(address, protocols)` begins to show a stream, and gives what has `close()`.
  constructor(root, open) {
    this.root = root;
    this.open = open;
    this.said = root.querySelector("[data-said]");
    this.again = root.querySelector("[data-again]");
    this.tries = 0;
    this.shown = null;
    this.again.addEventListener("click", () => { this.tries = 0; this.start(); });
    this.handed = new URLSearchParams(location.hash.slice(1)).get("token");
    if (this.handed) history.replaceState(null, "", location.pathname + location.search);
    this.leaveByKeys();
  }

  // Tab is the guest's, so the keyboard leaves by Ctrl+Alt+Home: once both are up again, which the guest must hear.
  leaveByKeys() {
    const screen = this.root.querySelector("[data-screen]");
    let isLeaving = false;
    screen.addEventListener("keydown", (event) => {
      if (event.key !== "Home" || !event.ctrlKey || !event.altKey) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      isLeaving = true;
    }, true);
    screen.addEventListener("keyup", (event) => {
      if (!isLeaving || event.ctrlKey || event.altKey) return;
      isLeaving = false;
      setTimeout(() => this.root.querySelector(".console-tools button:not([hidden])").focus());
    }, true);
  }

  say(words, state) {
    this.said.textContent = words;
    this.root.dataset.state = state;
    this.again.hidden = state !== "over" || (this.isHanded && !this.handed);
  }

  async start() {
    this.say(gettext("Connecting…"), "busy");
    this.shown?.close();
    this.shown = null;
    let token;
    try {
      token = await this.token();
    } catch (error) {
      this.say(error.message, "over");
      return;
    }
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.shown = this.open(`${scheme}//${location.host}/consoles/stream/`, ["binary", `kilonova.token.${token}`]);
  }

  async token() {
    if (this.handed || this.isHanded) {
      const token = this.handed;
      this.isHanded = true;
      this.handed = null;
      if (!token) throw new Error(gettext("This address opened its console once. Ask for another one."));
      return token;
    }
    const body = new URLSearchParams({ kind: this.root.dataset.kind, view: this.root.dataset.view || "" });
    let answer;
    try {
      answer = await fetch(this.root.dataset.sessions, {
        method: "POST", body, headers: { "X-CSRFToken": this.root.dataset.csrf }, redirect: "error",
      });
    } catch { throw new Error(gettext("The control plane cannot be reached, or you are logged out.")); }
    const found = await answer.json().catch(() => null);
    if (!answer.ok || !found?.token) throw new Error(found?.error?.message || gettext("It was refused (%(status)s).").replace("%(status)s", answer.status));
    return found.token;
  }

  opened() {
    this.tries = 0;
    this.say(this.root.dataset.view ? gettext("Connected. You only look.") : gettext("Connected."), "good");
  }

  // A stream ended, with the code and words of its WebSocket where they are known.
  ended(code, words) {
    if (!this.shown) return;
    this.shown = null;
    const isOver = code === REFUSED || code === 1000 || this.isHanded || this.tries >= RETRIES_MS.length;
    if (isOver) {
      this.say(words || gettext("The console was closed."), "over");
      return;
    }
    this.say(`${words || gettext("The connection was lost.")} ${gettext("Connecting again…")}`, "busy");
    setTimeout(() => this.start(), RETRIES_MS[this.tries++]);
  }
}

export function fullScreen(button, element) {
  button.addEventListener("click", () => element.requestFullscreen?.());
}
