// Keeps the numbers of the board and the lists of the attention page up to date. Without it both
// are complete, and reloaded by hand.
(() => {
  "use strict";

  const board = document.querySelector("[data-board]");
  if (!board || !window.EventSource) return;

  const at = document.querySelector("[data-at] time");
  const live = document.querySelector("[data-live]");
  const queues = () => [...board.querySelectorAll("[data-queue]")];
  const again = 15000; // after a refusal, in milliseconds
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const count = new Intl.NumberFormat("en-GB");
  const ends = {
    session: "You are signed out. Reload the page.",
    displaced: "Live in another window. Click here to continue in this one.",
  };
  let source = null;
  let later = 0;
  let over = false;

  function say(text) {
    if (live.textContent !== text) live.textContent = text;
  }

  // Lists count as of the same moment as the numbers that lead to them.
  function asOf(time) {
    at.dateTime = time;
    at.title = time;
    at.textContent = clock.format(new Date(time));
    for (const cell of board.querySelectorAll("[data-cell], [data-queue]")) {
      const to = new URL(cell.getAttribute("href") || cell.dataset.href, window.location.href);
      if (!to.searchParams.has("at")) continue;
      to.searchParams.set("at", time);
      if (cell.hasAttribute("href")) cell.href = to.pathname + to.search;
      else cell.dataset.href = to.pathname + to.search;
    }
  }

  function show(cell, n) {
    const text = count.format(n);
    if (cell.textContent === text) return;
    cell.textContent = text;
    if (n && !cell.hasAttribute("href")) cell.href = cell.dataset.href;
    if (n) {
      const label = cell.dataset.label || cell.getAttribute("aria-label").replace(/: [^ ]*$/, "");
      cell.setAttribute("aria-label", `${label}: ${text}`);
      return;
    }
    if (cell.hasAttribute("href")) { // a zero is no link
      cell.dataset.href = cell.getAttribute("href");
      cell.dataset.label = cell.getAttribute("aria-label").replace(/: [^ ]*$/, "");
      cell.removeAttribute("href");
      cell.removeAttribute("aria-label");
    }
  }

  // Rows come and go: the page is fetched once more for those. What has the focus keeps it.
  let fetching = false;
  async function redraw() {
    if (fetching) return;
    fetching = true;
    try {
      const answer = await fetch(window.location.href);
      const fresh = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-board]");
      if (fresh) {
        const focused = board.contains(document.activeElement) && document.activeElement;
        const name = (link) => link.dataset.cell || link.dataset.queue || link.pathname;
        board.replaceChildren(...document.adoptNode(fresh).childNodes);
        const same = focused && [...board.querySelectorAll("a")].find((link) => name(link) === name(focused));
        if (same) same.focus({ preventScroll: true });
        document.dispatchEvent(new Event("redrawn"));
      }
    } catch { /* the next numbers bring it */ }
    fetching = false;
  }

  function take(event) {
    const { at: time, numbers } = JSON.parse(event.data);
    if (queues().length) { // a queue without cells may have changed
      const same = (q) => q.dataset.cells &&
        q.dataset.cells.split(" ").reduce((sum, key) => sum + (numbers[key] || 0), 0) === Number(q.dataset.sum);
      if (!queues().every(same)) redraw();
      asOf(time);
      say("Live");
      return;
    }
    const known = new Set();
    for (const cell of board.querySelectorAll("[data-cell]")) {
      known.add(cell.dataset.cell);
      show(cell, numbers[cell.dataset.cell] || 0);
    }
    asOf(time);
    say("Live");
    if (Object.keys(numbers).some((key) => !known.has(key))) redraw();
  }

  function close() {
    clearTimeout(later);
    if (source) source.close();
    source = null;
    if (!over) say("");
  }

  function open() {
    if (source || document.hidden) return;
    clearTimeout(later);
    over = false;
    source = new EventSource(board.dataset.board);
    source.addEventListener("board", take);
    source.addEventListener("same", (event) => {
      asOf(event.data);
      say("Live");
    });
    source.addEventListener("stale", () => say("Old. The database does not answer at the moment."));
    source.addEventListener("end", (event) => {
      over = true;
      close();
      say(ends[event.data] || "");
    });
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) {
        close();
        later = setTimeout(open, again);
      }
      say("Not connected. Reconnecting.");
    });
  }

  // A tab that is not seen needs no connection, of which a browser has six for all of them.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("focus", open);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
})();
