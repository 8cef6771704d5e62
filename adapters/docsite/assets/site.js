// Copy buttons, language tabs and the search. Every page is complete without them.
"use strict";

const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

// Copy buttons

const addCopyButton = (block) => {
  const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
  button.setAttribute("aria-label", "Copy the code");
  const say = (text) => {
    button.textContent = text;
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(block.textContent).then(() => say("Copied"), () => say("Select and copy"));
  });
  const sheet = make("div", { className: "sheet" });
  block.replaceWith(sheet);
  sheet.append(button, block);
};
if (navigator.clipboard) document.querySelectorAll("pre:not([data-answer])").forEach(addCopyButton);

// Language tabs: a choice is kept for all pages.

const choiceKey = "waybill-docs-language";
const remember = (language) => { try { localStorage.setItem(choiceKey, language); } catch { /* storage is blocked */ } };
const remembered = () => { try { return localStorage.getItem(choiceKey); } catch { return null; } };
const choosers = [];

document.querySelectorAll(".tabs").forEach((group, number) => {
  const sections = [...group.children];
  const list = make("div", { className: "tablist" });
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  const tabs = sections.map((section, i) => {
    const tab = make("button", { type: "button", id: `tab-${number}-${i}`, textContent: section.dataset.language });
    tab.setAttribute("role", "tab");
    const caption = section.querySelector(".caption");
    if (caption?.textContent === section.dataset.language) caption.hidden = true;
    section.id = `panel-${number}-${i}`;
    section.setAttribute("role", "tabpanel");
    section.setAttribute("aria-labelledby", tab.id);
    tab.setAttribute("aria-controls", section.id);
    list.append(tab);
    return tab;
  });
  const show = (at) => {
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", i === at);
      tab.tabIndex = i === at ? 0 : -1;
      sections[i].hidden = i !== at;
    });
  };
  const choose = (language) => {
    const at = sections.findIndex((section) => section.dataset.language === language);
    if (at >= 0) show(at);
  };
  const pick = (at) => {
    const top = list.getBoundingClientRect().top;
    choosers.forEach((c) => c(sections[at].dataset.language));
    remember(sections[at].dataset.language);
    scrollBy(0, list.getBoundingClientRect().top - top); // tabs above may have changed their height
  };
  tabs.forEach((tab, i) => tab.addEventListener("click", () => pick(i)));
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    pick(next);
    tabs[next].focus();
  });
  group.prepend(list);
  show(0);
  choosers.push(choose);
});
const choice = remembered();
if (choice) choosers.forEach((choose) => choose(choice));

// Search

const box = document.querySelector(".search");
if (box) {
  const input = make("input", { type: "search", placeholder: "Search", autocomplete: "off", spellcheck: false });
  input.setAttribute("aria-label", "Search the documentation");
  input.setAttribute("aria-controls", "found");
  const results = make("div", { id: "found", className: "found", hidden: true });
  results.setAttribute("aria-live", "polite");
  box.setAttribute("role", "search");
  box.append(input, results);

  let index; // a promise of all sections
  const load = () => (index ??= fetch(box.dataset.index).then((answer) => answer.json()).catch(() => { index = undefined; return []; }));

  const ignored = new Set("a an and are as at can do does for from get how i if in is it my of on or the to what when where which why with you your that this be not no".split(" "));
  const synonyms = { production: ["live"], prod: ["live"], staging: ["sandbox"], test: ["sandbox"], token: ["key"], disabled: ["paused"], abort: ["cancel"], signature: ["verify"], 429: ["rate_limit"] };

  // wordsOf returns the words of a question, each with the forms that fit too.
  const wordsOf = (text) => {
    const all = text.toLowerCase().split(/[^a-z0-9_]+/).filter(Boolean);
    const asked = all.filter((word) => !ignored.has(word));
    return (asked.length ? asked : all).map((word) => [word, word.length > 3 ? word.replace(/s$/, "") : word, ...(synonyms[word] ?? [])]);
  };

  // points tells how well a text fits a word: at the beginning of one of its words, or within.
  const points = (text, word, whole, part) => {
    const found = text.indexOf(word);
    if (found < 0) return 0;
    return found === 0 || !/[a-z0-9]/.test(text[found - 1]) ? whole : part;
  };

  // score rates a section. Guides explain; the reference and the pages of codes list, unless the
  // question names a code or its status.
  const score = (entry, words) => {
    let sum = 0;
    let fits = 0;
    for (const forms of words) {
      const all = forms.map((word) => points(entry.heading, word, 40, 10) + (entry.heading === word ? 30 : 0) +
        points(entry.page, word, entry.first ? 60 : 20, 5) + points(entry.words, word, 4, 1) +
        (entry.first && /^[1-5]\d\d$/.test(word) && entry.words.includes("status: " + word) ? 80 : 0));
      const best = Math.max(...all);
      if (best) fits++;
      sum += best + all.reduce((a, b) => a + b, 0) / 10;
    }
    const named = words.some(([word]) => word === entry.page || /^[1-5]\d\d$/.test(word));
    if (entry.source.path.includes("/reference#") || (entry.source.path.includes("/errors/") && !named)) sum /= 2;
    return { fits, sum };
  };

  const excerpt = (entry, words) => {
    const text = entry.source.words;
    const at = Math.max(0, text.toLowerCase().indexOf(words[0][0]) - 40);
    return (at ? "… " : "") + text.slice(at, at + 120) + (text.length > at + 120 ? " …" : "");
  };

  const search = async () => {
    const words = wordsOf(input.value);
    if (!words.length) {
      results.hidden = true;
      return;
    }
    const sections = (await load()).map((source) => ({
      source,
      first: !source.heading,
      page: source.page.toLowerCase(),
      heading: (source.heading ?? "").toLowerCase(),
      words: source.words.toLowerCase(),
    }));
    const rated = sections.map((entry) => ({ entry, ...score(entry, words) }));
    const most = Math.max(...rated.map((hit) => hit.fits)); // all words, if a section has them
    const hits = rated.filter((hit) => hit.fits && hit.fits === most).sort((a, b) => b.sum - a.sum).slice(0, 8);
    results.replaceChildren(...hits.map(({ entry }) => make("a", { href: entry.source.path },
      make("strong", { textContent: entry.source.heading ?? entry.source.page }),
      make("span", { textContent: entry.source.heading ? entry.source.page : "" }),
      make("small", { textContent: excerpt(entry, words) }))));
    if (!hits.length) results.append(make("p", { textContent: `No results for "${input.value}".` }));
    results.hidden = false;
  };

  input.addEventListener("focus", load, { once: true });
  input.addEventListener("input", search);
  box.addEventListener("keydown", (event) => {
    const all = [input, ...results.querySelectorAll("a")];
    const at = all.indexOf(document.activeElement);
    if (event.key === "Escape") {
      results.hidden = true;
      input.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      all[Math.min(all.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
    } else if (event.key === "Enter" && document.activeElement === input) {
      all[1]?.click();
    }
  });
  box.addEventListener("focusout", (event) => { if (!box.contains(event.relatedTarget)) results.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    input.focus();
  });
}
