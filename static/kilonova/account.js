// Whoever chose no time zone is offered the browser's, where the server knows it and the pages are in another.
"use strict";
(() => {
  const gettext = window.gettext || ((text) => text); // the catalog is loaded for other languages than English
  const offer = document.getElementById("browser-zone");
  if (!offer) return;
  const choice = offer.form.elements.time_zone, zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const option = [...choice.options].find((each) => each.value === zone);
  if (!option || zone === document.body.dataset.zone) return;
  offer.textContent = gettext("Use %(zone)s, as this browser does").replace("%(zone)s", option.text);
  offer.hidden = false;
  offer.addEventListener("click", () => {
    choice.value = zone;
    offer.form.requestSubmit();
  });
})();
