// Sends the file of a form marked data-upload="ADDRESS" as it is, shows how far that is, and then opens data-done.
// Until this script is here, the button does nothing, so that nobody sends the form as a page.
"use strict";
document.querySelectorAll("form[data-upload] [type=submit]").forEach((button) => { button.disabled = false; });
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.upload) return;
  event.preventDefault();
  const gettext = window.gettext || ((text) => text); // the catalog is loaded for other languages than English
  const file = form.elements.file.files[0];
  const bar = form.querySelector("progress"), said = form.querySelector("[data-said]");
  const send = form.querySelector("[type=submit]"), stop = form.querySelector("[data-stop]");
  const request = new XMLHttpRequest();
  const mib = (bytes) => (bytes / 1048576).toFixed(bytes < 104857600 ? 1 : 0);
  const over = (words) => {
    said.textContent = words;
    send.disabled = false;
    bar.hidden = stop.hidden = true;
  };
  request.upload.addEventListener("progress", (step) => {
    bar.value = step.total ? step.loaded / step.total : 0;
    said.textContent = step.loaded < step.total ? gettext("%(sent)s of %(all)s MiB sent").replace("%(sent)s", mib(step.loaded)).replace("%(all)s", mib(step.total)) : gettext("Sent. It is checked now.");
  });
  request.addEventListener("load", () => {
    if (request.status < 300) return location.assign(form.dataset.done);
    let words = gettext("It was refused (%(status)s).").replace("%(status)s", request.status);
    try { words = JSON.parse(request.responseText).error.message; } catch { /* not our own answer: a proxy's */ }
    over(words);
  });
  request.addEventListener("error", () => over(gettext("The connection was lost. The file can be sent again.")));
  request.addEventListener("abort", () => over(gettext("Stopped. The file can be sent again.")));
  request.open("PUT", form.dataset.upload);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
  stop.onclick = () => request.abort();
  bar.hidden = stop.hidden = false;
  send.disabled = true;
  request.send(file);
});
