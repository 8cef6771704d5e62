// Verifies webhooks as an integrator's program would. A line of the input is
// {"secret", "headers", "body"}, with the body in Base64; a line of the output is
// "valid", or what the library says against it.
"use strict";

const { createInterface } = require("node:readline");
const { Webhook, WebhookVerificationError } = require("standardwebhooks");

function verdict({ secret, headers, body }) {
  try {
    const { id } = new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
    return id === headers["webhook-id"] ? "valid" : `the body is of ${id}`;
  } catch (e) {
    if (!(e instanceof WebhookVerificationError)) throw e;
    return e.message;
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(verdict(JSON.parse(line)) + "\n");
});
