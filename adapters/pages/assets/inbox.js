// Shows webhooks as they come. Without it the inbox is complete, and reloaded by hand.
(() => {
  "use strict";

  const inbox = document.querySelector("[data-inbox]");
  if (!inbox || !window.EventSource) return;

  const rows = inbox.querySelector("[data-rows]");
  const none = inbox.querySelector("[data-none]");
  const live = inbox.querySelector("[data-live]");
  const closed = inbox.querySelector("[data-closed]"); // how it is opened
  const blank = inbox.querySelector("template");
  const most = Number(inbox.dataset.most);
  const again = 15000; // after a refusal, in milliseconds
  const format = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const states = {
    open: "Live", closed: "Closed.", waits: "Waiting: webhooks cannot be read at the moment.",
  };
  const ends = {
    session: "You are not signed in any more. Load the page again.",
    displaced: "Followed in another window. Come back to this one to go on here.",
  };

  const known = new Set([...rows.children].map((row) => row.dataset.id));
  let newest = rows.firstElementChild ? rows.firstElementChild.dataset.id : "";
  let waiting = [];
  let drawing = 0;
  let source = null;
  let later = 0;
  let over = false;

  function say(text) {
    if (live.textContent !== text) live.textContent = text;
  }

  // Another page may open the inbox, and one that nobody looks at closes.
  function tell(state) {
    say(states[state] || "");
    if (state !== "waits") closed.hidden = state === "open";
  }

  function made(w) {
    const row = blank.content.firstElementChild.cloneNode(true);
    row.dataset.id = w.id;
    for (const part of row.querySelectorAll("[data-part]")) {
      if (part.dataset.part !== "checks") part.textContent = w[part.dataset.part];
      else part.replaceChildren(...w.checks.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    }
    const check = row.querySelector("[data-check]");
    if (check) check.href += w.id;
    const to = row.querySelector("[data-to]");
    to.href += w.delivery;
    to.hidden = !w.delivery;
    for (const part of row.querySelectorAll("[id]")) part.id = w.id + part.id;
    for (const button of row.querySelectorAll("[data-copy]")) {
      button.dataset.copy = w.id + button.dataset.copy;
      button.hidden = !navigator.clipboard;
    }
    const time = row.querySelector("time, summary > span:last-child");
    const shown = Object.assign(document.createElement("time"), { dateTime: w.at, textContent: format.format(new Date(w.at)), title: w.at });
    time.replaceWith(shown);
    return row;
  }

  // What came since the last frame goes in together, and what is too much goes out.
  function draw() {
    drawing = 0;
    const fresh = document.createDocumentFragment();
    for (const w of waiting.splice(0).slice(-most).reverse()) fresh.append(made(w));
    rows.prepend(fresh);
    while (rows.children.length > most) {
      known.delete(rows.lastElementChild.dataset.id);
      rows.lastElementChild.remove();
    }
    none.hidden = rows.children.length > 0;
  }

  // The card of the delivery that is looked at follows its events; what is open, typed or
  // focused there stays so.
  let stale = false;
  let following = false;
  const cardOf = (page) => page.querySelector("[data-delivery]");

  function swap(old, fresh) {
    for (const details of old.querySelectorAll("details[open]")) {
      const text = details.firstElementChild.textContent;
      for (const one of fresh.querySelectorAll("details")) if (one.firstElementChild.textContent === text) one.open = true;
    }
    for (const field of old.querySelectorAll("select, input:not([type=hidden])")) {
      const one = fresh.querySelector(`[name="${field.name}"]`);
      if (one) one.value = field.value;
    }
    for (const time of fresh.querySelectorAll("time[datetime]")) time.textContent = format.format(new Date(time.dateTime));
    for (const button of fresh.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    old.replaceWith(fresh);
    if (!focused) return;
    const same = [...fresh.querySelectorAll("a, button, summary, select, input")].find((one) =>
      one.tagName === focused.tagName && one.name === focused.name && one.textContent === focused.textContent);
    (same || fresh.querySelector("h2")).focus({ preventScroll: true });
  }

  async function follow(delivery) {
    const card = cardOf(document);
    if (!card || card.dataset.delivery !== delivery) return;
    stale = true;
    if (following) return;
    following = true;
    while (stale) {
      stale = false;
      try {
        const answer = await fetch(`/sandbox/card?delivery=${delivery}`);
        const fresh = answer.ok && cardOf(new DOMParser().parseFromString(await answer.text(), "text/html"));
        if (fresh) swap(cardOf(document), document.adoptNode(fresh));
      } catch { /* the next event, or a reload, brings it */ }
    }
    following = false;
  }

  function take(event) {
    newest = event.lastEventId;
    const w = JSON.parse(event.data);
    if (known.has(w.id)) return;
    known.add(w.id);
    waiting.push(w);
    follow(w.delivery);
    if (waiting.length > most) known.delete(waiting.shift().id);
    drawing = drawing || requestAnimationFrame(draw);
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
    source = new EventSource(`${inbox.dataset.inbox}&seen=${newest}`);
    source.addEventListener("webhook", take);
    source.addEventListener("state", (event) => tell(event.data));
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
      say("Not connected. It goes on by itself.");
    });
  }

  // A tab that is not seen needs no connection, of which a browser has six for all of
  // them; it catches up when it is seen. Of windows side by side the last ones are live.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("focus", open);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
})();
