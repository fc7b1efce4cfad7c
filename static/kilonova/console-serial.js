// The first serial port of a guest, by xterm.js.
import { Terminal } from "../vendor/xterm/xterm.mjs";
import { FitAddon } from "../vendor/xterm/addon-fit.mjs";
import { Console, fullScreen } from "./console-session.js";

const root = document.getElementById("console-root"), screen = root.querySelector("[data-screen]");
const terminal = new Terminal({ cursorBlink: true, scrollback: 5000, fontSize: 14, screenReaderMode: false });
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
  const mine = socket = new WebSocket(address, protocols);
  mine.binaryType = "arraybuffer";
  mine.addEventListener("open", () => { one.opened(); terminal.focus(); });
  mine.addEventListener("message", (event) => terminal.write(new Uint8Array(event.data)));
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
fullScreen(root.querySelector("[data-full]"), screen);
one.start();
