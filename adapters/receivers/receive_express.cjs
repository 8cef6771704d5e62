// Receives webhooks. Express 4 or newer. Start it with:
// WAYBILL_WEBHOOK_SECRET=whsec_... node receive_express.cjs
const { createHmac, timingSafeEqual } = require("node:crypto");
const { existsSync, mkdirSync } = require("node:fs");
const { rename, writeFile } = require("node:fs/promises");
const express = require("express");

const secret = process.env.WAYBILL_WEBHOOK_SECRET;
if (!secret) throw new Error("set WAYBILL_WEBHOOK_SECRET");
const port = process.env.PORT ?? 3000;
const inbox = "waybill-inbox";
mkdirSync(inbox, { recursive: true, mode: 0o700 });

// verify throws unless Waybill sent this body, unchanged, in the last 5 minutes.
function verify(secret, headers, body, now = Date.now() / 1000) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const signatures = (headers["webhook-signature"] ?? "").split(" ");
  if (!/^[\w-]+$/.test(id)) throw new Error("webhook: webhook-id is missing or invalid");

  if (!/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > 300) {
    throw new Error("webhook: webhook-timestamp is more than 5 minutes off");
  }

  // After a rotation there are two signatures, and one of them matches.
  const key = Buffer.from(secret.trim().replace(/^whsec_/, ""), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
  const expected = Buffer.from(`v1,${mac.digest("base64")}`);
  const matches = (signature) => signature.length === expected.length && timingSafeEqual(signature, expected);
  if (key.length === 0 || !signatures.some((signature) => matches(Buffer.from(signature)))) {
    throw new Error("webhook: the signature does not match");
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
  try {
    verify(secret, request.headers, request.body);
  } catch (error) {
    return response.status(400).send(error.message);
  }
  try {
    const id = request.get("webhook-id");
    if (await store(id, request.body)) console.log("stored", id, JSON.parse(request.body).type); // work on it later
    response.sendStatus(204);
  } catch (error) {
    next(error);
  }
});

app.listen(port, "127.0.0.1", () => console.log(`receiving webhooks at http://127.0.0.1:${port}/webhooks/waybill`));

module.exports = { verify };
