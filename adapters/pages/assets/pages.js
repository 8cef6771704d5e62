// Conveniences of pages that are complete without them.
(() => {
  "use strict";

  const day = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
  const format = (more) => new Intl.DateTimeFormat("en-GB", { ...day, ...more });
  const thisYear = format({});
  const anyYear = format({ year: "numeric" });
  const exact = format({ second: "2-digit" });

  // Times in the reader's zone; the one in UTC stays as the title.
  const showTimes = () => {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      if (time.dataset.ago !== undefined) continue;
      const sameYear = at.getFullYear() === new Date().getFullYear();
      time.textContent = (!sameYear ? anyYear : time.dataset.seconds === undefined ? thisYear : exact).format(at);
    }
  };
  showTimes();

  // Ages: "12 min ago". The exact time stays as the title.
  const units = [[60, "s"], [60, "min"], [24, "h"], [7, "d"], [52, "w"]];
  const age = (seconds) => {
    let n = Math.max(0, seconds);
    for (const [most, unit] of units) {
      if (n < most) return `${Math.floor(n)} ${unit} ago`;
      n /= most;
    }
    return null;
  };
  const showAges = () => {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const at = new Date(time.dateTime);
      time.textContent = age((Date.now() - at) / 1000) ?? anyYear.format(at);
    }
  };
  showAges();
  setInterval(showAges, 30000);
  document.addEventListener("redrawn", () => { // by a script that updates a part of the page
    showTimes();
    showAges();
  });

  // The errors of a refused form have the focus.
  document.getElementById("errors")?.focus();

  // A button that copies what its data-copy names, on the page at first or added later.
  let uncopied = false;
  for (const button of document.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    if (!source || !navigator.clipboard) continue;
    button.hidden = false;
    if (source.dataset.secret === undefined) continue;
    uncopied = true;
    source.addEventListener("copy", () => { uncopied = false; });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    const source = button && document.getElementById(button.dataset.copy);
    if (!source || !navigator.clipboard) return;
    const text = button.dataset.text || button.textContent;
    button.dataset.text = text;
    navigator.clipboard.writeText(source.textContent.trim()).then(() => {
      if (source.dataset.secret !== undefined) uncopied = false;
      button.textContent = "Copied";
    }, () => { button.textContent = "Select and copy by hand"; });
    setTimeout(() => { button.textContent = text; }, 2000);
  });

  // A secret is shown once: leaving the page before it was copied is asked about.
  window.addEventListener("beforeunload", (event) => {
    if (uncopied) event.preventDefault();
  });

  // A page that is left takes its secret along: a browser may keep the page as it was,
  // for going back.
  window.addEventListener("pagehide", () => {
    for (const secret of document.querySelectorAll("[data-secret]")) secret.textContent = "It was shown once";
  });

  // The key / goes to the field for searching, unless something is being typed.
  const find = document.getElementById("find");
  if (find) {
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, textarea, select, [contenteditable]")) return;
      event.preventDefault();
      find.focus();
      find.select();
    });
  }

  // A second click sends nothing while the first is under way.
  for (const form of document.querySelectorAll('form[method="post"]')) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) {
        event.preventDefault();
        return;
      }
      form.dataset.sent = "yes";
      for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    });
  }
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) {
      delete form.dataset.sent;
      for (const button of form.querySelectorAll("button")) button.removeAttribute("aria-disabled");
    }
  });
})();
