// Passkeys: a form with data-passkey asks its address for options, has the browser
// answer them, and is sent with the answer. Without this file such a form is hidden.
(() => {
  "use strict";

  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

  const troubles = {
    NotAllowedError: "No passkey was used. Try again, or sign in another way.",
    InvalidStateError: "This device has a passkey here already.",
    NotSupportedError: "This device cannot create a passkey for this site.",
  };

  // answer has the browser answer options as JSON: with a user in them a passkey is made.
  const answer = async (options) => {
    options.challenge = bytes(options.challenge);
    for (const known of [...(options.allowCredentials ?? []), ...(options.excludeCredentials ?? [])]) known.id = bytes(known.id);
    let given;
    if (options.user) {
      options.user.id = bytes(options.user.id);
      given = await navigator.credentials.create({ publicKey: options });
    } else {
      given = await navigator.credentials.get({ publicKey: options });
    }
    const response = {};
    for (const part of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (given.response[part]) response[part] = text(given.response[part]);
    }
    return JSON.stringify({ id: given.id, rawId: text(given.rawId), type: given.type, clientExtensionResults: {}, response });
  };

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const button = form.querySelector("button");
    const problem = form.querySelector("[role=alert]");
    const tell = (message) => {
      problem.textContent = message;
      problem.hidden = message === "";
    };
    form.hidden = false;
    if (!window.PublicKeyCredential || location.origin !== form.dataset.origin) {
      button.hidden = true;
      tell(location.origin === form.dataset.origin ? "This browser has no passkeys." : `Passkeys work at ${form.dataset.origin}. Open this page there.`);
      continue;
    }
    button.addEventListener("click", async () => {
      if (button.getAttribute("aria-disabled")) return;
      button.setAttribute("aria-disabled", "true");
      tell("");
      try {
        const asked = await fetch(form.dataset.passkey, { method: "POST", headers: { Accept: "application/json" } });
        if (!asked.ok) throw new Error(asked.status === 429 ? "Too many attempts. Wait a few minutes." : "That did not work. Load the page again.");
        const { ceremony, options } = await asked.json();
        form.elements.passkey.value = await answer(options);
        form.elements.ceremony.value = ceremony;
        form.append(...document.querySelectorAll("input[data-kept]")); // of a form that was sent without a session
        form.submit();
      } catch (trouble) {
        tell(troubles[trouble.name] ?? trouble.message);
        button.removeAttribute("aria-disabled");
      }
    });
  }
})();
