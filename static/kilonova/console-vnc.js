// The screen of a guest, by noVNC.
import RFB from "../vendor/novnc/core/rfb.js";
import keysyms from "../vendor/novnc/core/input/keysymdef.js";
import { Console, fullScreen } from "./console-session.js";

const root = document.getElementById("console-root"), screen = root.querySelector("[data-screen]");
const writing = root.querySelector("[data-type]");
const SHIFT = 0xffe1, NAMED = { "\n": 0xff0d, "\t": 0xff09, "\b": 0xff08 };
const SHIFTED = '~!@#$%^&*()_+{}|:"<>?';
const KEY_MS = 12, BURST = 32;
let rfb = null, timer = null;
const waiting = [], isOpen = () => root.dataset.state === "good";

const one = new Console(root, (address, protocols) => {
  // The WebSocket is made here, so that its closing words are heard.
  const socket = new WebSocket(address, protocols);
  let code = 1006, words = "";
  socket.addEventListener("close", (event) => { code = event.code; words = event.reason; });
  const mine = rfb = new RFB(screen, socket, { shared: true });
  mine.viewOnly = Boolean(root.dataset.view);
  mine.scaleViewport = true;
  mine.addEventListener("connect", () => { one.connected(); if (!mine.viewOnly) mine.focus(); });
  // noVNC may tell first that it lost the connection: the closing words come with the next turn.
  mine.addEventListener("disconnect", () => setTimeout(() => {
    if (rfb !== mine) return;
    giveBack();
    one.ended(code, words);
  }, 0));
  return { close() { if (rfb === mine) rfb = null; giveBack(); mine.disconnect(); } };
});

function press(keysym, needsShift) {
  if (needsShift) rfb.sendKey(SHIFT, "ShiftLeft", true);
  rfb.sendKey(keysym, null, true);
  rfb.sendKey(keysym, null, false);
  if (needsShift) rfb.sendKey(SHIFT, "ShiftLeft", false);
  return needsShift ? 4 : 2;
}

// QEMU gives a guest one press or release every 10 ms, and forgets silently what comes while some 340 of them wait.
function typeOn() {
  let sent = 0;
  while (waiting.length && sent < BURST && isOpen()) {
    const sign = waiting.shift();
    sent += press(NAMED[sign] ?? keysyms.lookup(sign.codePointAt(0)), SHIFTED.includes(sign) || sign !== sign.toLowerCase());
  }
  timer = sent ? setTimeout(typeOn, sent * KEY_MS) : null;
}

function type(text) {
  for (const sign of text.replaceAll("\r\n", "\n")) waiting.push(sign);
  if (!timer) typeOn();
}

// What a lost connection kept from being typed is in the field again.
function giveBack() {
  if (writing) writing.elements.text.value = waiting.join("") + writing.elements.text.value;
  waiting.length = 0;
}

root.querySelector("[data-ctrl-alt-del]")?.addEventListener("click", () => { rfb?.sendCtrlAltDel(); rfb?.focus(); });
writing?.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!isOpen()) return;
  const field = event.target.elements.text;
  type(field.value);
  field.value = "";
  rfb.focus();
});
// A phone shows its keyboard for a field: what is written there goes to the guest key by key.
const phone = root.querySelector("[data-phone]");
root.querySelector("[data-keyboard]")?.addEventListener("click", () => phone.focus());
phone?.addEventListener("beforeinput", (event) => {
  if (!isOpen()) return;
  if (event.inputType.startsWith("delete")) type("\b");
  else if (event.inputType === "insertLineBreak") type("\n");
  else if (event.data) type(event.data);
  if (event.cancelable) event.preventDefault();
});
phone?.addEventListener("input", () => { phone.value = ""; });
fullScreen(root.querySelector("[data-full]"), screen);
one.start();
