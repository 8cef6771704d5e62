// Receives webhooks. Express 4 or newer: npm install express. Set WAYBILL_WEBHOOK_SECRET, then start it:
// node receive_express.cjs
const { createHmac, timingSafeEqual } = require("node:crypto");
const { existsSync, mkdirSync } = require("node:fs");
const { rename, writeFile } = require("node:fs/promises");
const express = require("express");

const secret = process.env.WAYBILL_WEBHOOK_SECRET;
if (!secret) {
  console.error("Set WAYBILL_WEBHOOK_SECRET first.");
  process.exit(1);
}
const port = process.env.PORT ?? 3000;
const inbox = "waybill-inbox";
mkdirSync(inbox, { recursive: true, mode: 0o700 });

// verify throws unless Waybill sent this body, unchanged, in the last 5 minutes.
function verify(secret, headers, body, now = Date.now() / 1000) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const signatures = (headers["webhook-signature"] ?? "").split(" ");
  if (!/^[\w-]+$/.test(id)) throw new Error("webhook refused: webhook-id is missing or invalid");

  if (!/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > 300) {
    throw new Error("webhook refused: webhook-timestamp is more than 5 minutes from the clock of this machine");
  }

  // After a rotation there are two signatures, and one of them matches.
  const key = Buffer.from(secret.trim().replace(/^whsec_/, ""), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
  const expected = Buffer.from(`v1,${mac.digest("base64")}`);
  const matches = (signature) => signature.length === expected.length && timingSafeEqual(signature, expected);
  if (key.length === 0 || !signatures.some((signature) => matches(Buffer.from(signature)))) {
    throw new Error("webhook refused: the signature does not match; is WAYBILL_WEBHOOK_SECRET that of this endpoint?");
  }
}

// store writes the event to a file. It returns false if it is there already.
async function store(id, body) {
  const file = `${inbox}/${id}.json`;
  if (existsSync(file)) return false;
  await writeFile(`${file}.part`, body);
  await rename(`${file}.part`, file);
  return true;
}

const app = express();

// express.raw keeps the bytes that were signed. Add app.use(express.json()) below this route, not above it.
app.post("/webhooks/waybill", express.raw({ type: "*/*", limit: "1mb" }), async (request, response, next) => {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0); // Express has no Buffer for an empty body
  try {
    verify(secret, request.headers, body);
  } catch (error) {
    console.error(error.message);
    return response.status(400).send(`${error.message}\n`);
  }
  try {
    const id = request.get("webhook-id");
    if (await store(id, body)) console.log("stored", id, JSON.parse(body).type); // work on it later
    response.sendStatus(204);
  } catch (error) {
    next(error);
  }
});

app.listen(port, "127.0.0.1", () => console.log(`receiving webhooks at http://127.0.0.1:${port}/webhooks/waybill`));

module.exports = { verify };
