// The first serial port of a guest, by xterm.js.
import { Terminal } from "../vendor/xterm/xterm.mjs";
import { FitAddon } from "../vendor/xterm/addon-fit.mjs";
import { Console, fullScreen } from "./console-session.js";

const root = document.getElementById("console-root"), screen = root.querySelector("[data-screen]");
const terminal = new Terminal({ cursorBlink: true, scrollback: 5000, fontSize: 14, screenReaderMode: false });
const gettext = window.gettext || ((text) => text);
const fit = new FitAddon(), letters = new TextEncoder();
let socket = null;

terminal.loadAddon(fit);
terminal.open(screen);
fit.fit();
new ResizeObserver(() => fit.fit()).observe(screen);

function send(text) {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  socket.send(letters.encode(text));
  return true;
}

const one = new Console(root, (address, protocols) => {
  // A guest may be silent: by the subprotocol, an empty message comes first, once its host is there.
  const mine = socket = new WebSocket(address, [...protocols, "kilonova.joined"]);
  let isJoined = false;
  mine.binaryType = "arraybuffer";
  mine.addEventListener("message", (event) => {
    if (!isJoined) { isJoined = true; one.connected(); terminal.focus(); }
    terminal.write(new Uint8Array(event.data));
  });
  mine.addEventListener("close", (event) => { if (socket === mine) one.ended(event.code, event.reason); });
  return { close() { if (socket === mine) socket = null; mine.close(); } };
});

terminal.onData(send);
// A serial line has no way to say how large its terminal is: the guest's own command sets it.
root.querySelector("[data-size]").addEventListener("click", () => {
  send(`stty rows ${terminal.rows} cols ${terminal.cols}\r`);
  terminal.focus();
});
root.querySelector("[data-reader]").addEventListener("click", (event) => {
  terminal.options.screenReaderMode = !terminal.options.screenReaderMode;
  event.target.setAttribute("aria-pressed", String(terminal.options.screenReaderMode));
});
root.querySelector("[data-type]").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = event.target.elements.text;
  if (send(field.value.replaceAll("\r\n", "\r").replaceAll("\n", "\r"))) field.value = "";
  terminal.focus();
});
// A phone's keyboard has no such keys. What had the focus has it afterwards, so that the keyboard stays.
const KEYS = { escape: "\x1b", tab: "\t", interrupt: "\x03", end: "\x04", up: "A", down: "B" };
for (const button of root.querySelectorAll("[data-key]")) {
  button.addEventListener("mousedown", (event) => event.preventDefault());
  button.addEventListener("click", () => {
    const key = KEYS[button.dataset.key], isArrow = key === "A" || key === "B";
    send(isArrow ? `\x1b${terminal.modes.applicationCursorKeysMode ? "O" : "["}${key}` : key);
  });
}
// A serial port has one reader: here it would only be cut off by the window.
root.querySelector("[data-own-window]")?.addEventListener("click", () => {
  one.giveUp(gettext("The console is in a window of its own."), gettext("Take it back"), "away");
});
fullScreen(root.querySelector("[data-full]"), screen);
one.start();
