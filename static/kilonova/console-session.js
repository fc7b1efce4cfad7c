// One console in a page: asks for a session, opens its stream, says how it stands, and opens another after a cut.
// A session's token travels as a subprotocol of the WebSocket: it is in no address, log or referrer.
"use strict";
const gettext = window.gettext || ((text) => text); // the catalog is loaded for other languages than English
const NORMAL = 1000, REFUSED = 4001, TAKEN = 4003, RETRIES_MS = [500, 1000, 2000, 4000, 8000];
const FINAL = [401, 403, 404]; // asked again, they answer the same

// Why there is no session. `isFinal`: asking again is of no use; else after `waitMs` at the earliest.
class Refused extends Error {
  constructor(words, isFinal = false, waitMs = 0) {
    super(words);
    this.isFinal = isFinal;
    this.waitMs = waitMs;
  }
}

export class Console {
  // `open(address, protocols)` begins to show a stream, and gives what has `close()`.
  constructor(root, open) {
    this.root = root;
    this.open = open;
    this.said = root.querySelector("[data-said]");
    this.again = root.querySelector("[data-again]");
    this.tries = 0;
    this.turn = 0;
    this.timer = null;
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
    this.again.hidden = !["over", "away"].includes(state) || (this.isHanded && !this.handed);
  }

  // Let go of what is open or under way: from now on nothing of it is heard.
  drop() {
    clearTimeout(this.timer);
    this.shown?.close();
    this.shown = null;
    return ++this.turn;
  }

  async start() {
    if (!this.tries) this.say(gettext("Connecting…"), "busy");
    const turn = this.drop();
    let token;
    try {
      token = await this.token();
    } catch (error) {
      if (turn === this.turn) this.retry(error.message, error.isFinal, error.waitMs);
      return;
    }
    if (turn !== this.turn) return;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    // Why a stream ends, its server knows: it says so in the page's language.
    const protocols = ["binary", `kilonova.token.${token}`, `kilonova.language.${document.documentElement.lang}`];
    this.shown = this.open(`${scheme}//${location.host}/consoles/stream/`, protocols);
  }

  async token() {
    if (this.handed || this.isHanded) {
      const token = this.handed;
      this.isHanded = true;
      this.handed = null;
      if (!token) throw new Refused(gettext("This address opened its console once. Ask for another one."), true);
      return token;
    }
    const body = new URLSearchParams({ kind: this.root.dataset.kind, view: this.root.dataset.view || "" });
    let answer;
    try {
      answer = await fetch(this.root.dataset.sessions, {
        method: "POST", body, headers: { "X-CSRFToken": this.root.dataset.csrf }, redirect: "manual",
      });
    } catch { throw new Refused(gettext("The control plane cannot be reached.")); }
    if (answer.type === "opaqueredirect") throw new Refused(gettext("You are logged out."), true);
    const found = await answer.json().catch(() => null);
    if (answer.ok && found?.token) return found.token;
    const words = found?.error?.message || gettext("It was refused (%(status)s).").replace("%(status)s", answer.status);
    throw new Refused(words, FINAL.includes(answer.status), 1000 * Number(answer.headers.get("Retry-After")) || 0);
  }

  // The guest's host is there: only now the next cut is a new one. A stream opens also where nobody comes to its end.
  connected() {
    this.tries = 0;
    this.say(this.root.dataset.view ? gettext("Connected. You only look.") : gettext("Connected."), "good");
  }

  // A stream ended, with the code and words of its WebSocket where they are known.
  ended(code, words) {
    if (!this.shown) return;
    this.shown = null;
    const isClosed = code === REFUSED || code === NORMAL;
    if (code === TAKEN) this.giveUp(gettext("Another console took the serial port."), gettext("Take it back"));
    else this.retry(words || (isClosed ? gettext("The console was closed.") : gettext("The connection was lost.")), isClosed);
  }

  retry(words, isFinal, waitMs = 0) {
    if (isFinal || this.isHanded || this.tries >= RETRIES_MS.length) {
      this.giveUp(words);
      return;
    }
    this.say(`${words} ${gettext("Connecting again…")}`, "busy");
    this.timer = setTimeout(() => this.start(), Math.max(waitMs, RETRIES_MS[this.tries++]));
  }

  // Nothing happens any more until the button is pressed.
  giveUp(words, button = gettext("Connect again"), state = "over") {
    this.drop();
    this.again.textContent = button;
    this.say(words, state);
  }
}

export function fullScreen(button, element) {
  button.addEventListener("click", () => element.requestFullscreen?.());
}
