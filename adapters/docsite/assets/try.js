// Draws the reference. Calls go to the API beside this page, whatever name the
// browser knows it under: another origin would refuse them.
"use strict";

// What has an example or a list of values is filled in and sent. Left there,
// those of optional parameters would force errors and ask for pages that do not
// exist; so the values go into the description.
const tidy = (parameters) => {
  for (const parameter of Object.values(parameters ?? {})) {
    if (parameter.required || !parameter.schema) continue;
    delete parameter.example;
    const { enum: values, ...schema } = parameter.schema;
    if (!values) continue;
    parameter.schema = schema;
    parameter.description += "\n\nOne of " + values.map((v) => "`" + v + "`").join(", ") + ".";
  }
};

// A number of each external_id in an example of what is sent is replaced: it stays
// taken for good, and who comes back another day would meet their own.
const renumber = (value, visit) => {
  for (const [name, part] of Object.entries(value ?? {})) {
    if (name === "external_id" && typeof part === "string") value[name] = part.replace(/\d+$/, (n) => visit + "-" + n);
    else if (typeof part === "object") renumber(part, visit);
  }
};

// A text that nobody has used yet, each time the page is opened.
const freshKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

(async () => {
  const reference = document.getElementById("reference");
  const here = location.origin + reference.dataset.root.replace(/\/docs$/, "") + "/v1";
  const answer = await fetch(here + "/openapi.json");
  if (!answer.ok) return; // the page says where to read on
  const content = await answer.json();
  const visit = freshKey().slice(0, 8);
  content.servers = [{ url: here, description: "Sandbox" }];
  for (const path of Object.values(content.paths)) {
    delete path.servers;
    for (const operation of Object.values(path)) {
      tidy(operation.parameters);
      for (const example of Object.values(operation.requestBody?.content?.["application/json"]?.examples ?? {})) renumber(example.value, visit);
    }
  }
  tidy(content.components.parameters);
  content.components.parameters.IdempotencyKeyRequired.example = freshKey();

  reference.querySelector(".plain").remove();
  Scalar.createApiReference("#drawn", {
    content,
    theme: "none",
    layout: "modern",
    proxyUrl: "",
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: "never",
    hideDarkModeToggle: true,
    persistAuth: false,
    defaultOpenAllTags: false,
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    authentication: {
      preferredSecurityScheme: "ApiKey",
      securitySchemes: { ApiKey: { token: "" } },
    },
  });
})();
