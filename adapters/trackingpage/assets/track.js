// Two things that the page cannot do by itself: times in the reader's zone, and
// changes as they happen. Without them it is complete.
(() => {
  "use strict";

  const day = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
  const page = document.documentElement.lang;
  const language = page === "en" ? "en-GB" : page;
  const thisYear = new Intl.DateTimeFormat(language, day);
  const anyYear = new Intl.DateTimeFormat(language, { ...day, year: "numeric" });

  function localize(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      time.title = time.textContent;
      time.textContent = (at.getFullYear() === new Date().getFullYear() ? thisYear : anyYear).format(at);
    }
  }

  localize(document);

  const parcel = document.querySelector("[data-stream]");
  if (!parcel || !window.EventSource) return;

  const note = parcel.querySelector("[data-live]");
  const path = parcel.dataset.stream;
  const again = 60000; // after a refusal, in milliseconds
  let source = null;
  let later = 0;
  let over = false;

  // Only what differs is replaced: the element with role="status" has to stay,
  // or its new text is not read out.
  function show(change) {
    const holder = document.createElement("template");
    holder.innerHTML = change.html;
    const next = holder.content.firstElementChild;
    localize(next);
    for (const part of next.querySelectorAll("[data-part]")) {
      const here = parcel.querySelector(`[data-part="${part.dataset.part}"]`);
      if (here.innerHTML !== part.innerHTML) here.replaceChildren(...part.childNodes);
    }
    parcel.className = next.className;
    parcel.dataset.status = next.dataset.status;
    parcel.dataset.sequence = next.dataset.sequence;
    document.title = change.title;
  }

  function close() {
    clearTimeout(later);
    if (source) source.close();
    source = null;
    note.hidden = true;
  }

  function open() {
    if (source || over || document.hidden) return;
    clearTimeout(later);
    source = new EventSource(`${path}&seen=${parcel.dataset.sequence}`);
    source.addEventListener("open", () => { note.hidden = false; });
    source.addEventListener("change", (event) => show(JSON.parse(event.data)));
    source.addEventListener("end", () => { over = true; close(); });
    source.addEventListener("error", () => {
      note.hidden = true;
      if (source && source.readyState === EventSource.CLOSED) {
        close();
        later = setTimeout(open, again);
      }
    });
  }

  // A page nobody looks at needs no connection; it catches up when it is seen.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
})();
