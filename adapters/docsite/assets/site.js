// A copy button for each block of code. Everything else works without scripts.
"use strict";

if (navigator.clipboard) {
  for (const block of document.querySelectorAll("pre")) {
    const sheet = document.createElement("div");
    sheet.className = "sheet";
    block.replaceWith(sheet);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    const say = (text) => {
      button.textContent = text;
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    };
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(block.textContent).then(() => say("Copied"), () => say("Select and copy"));
    });
    sheet.append(button, block);
  }
}
