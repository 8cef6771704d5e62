// Receives webhooks. Node.js 18 or newer, no packages. Set WAYBILL_WEBHOOK_SECRET, then start it:
// node receive.mjs
import { createHmac, timingSafeEqual } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";

const secret = process.env.WAYBILL_WEBHOOK_SECRET;
if (!secret) {
  console.error("Set WAYBILL_WEBHOOK_SECRET first.");
  process.exit(1);
}
const port = process.env.PORT ?? 3000;
const inbox = "waybill-inbox";
const maxBody = 1 << 20;

// verify throws unless Waybill sent this body, unchanged, in the last 5 minutes.
export function verify(secret, headers, body, now = Date.now() / 1000) {
  // Headers: Node.js has their names in lower case.
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const signatures = (headers["webhook-signature"] ?? "").split(" ");
  if (!/^[\w-]+$/.test(id)) throw new Error("webhook refused: webhook-id is missing or invalid");

  // Timestamp: at most 5 minutes off. Keep your clock synchronized.
  if (!/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > 300) {
    throw new Error("webhook refused: webhook-timestamp is more than 5 minutes from the clock of this machine");
  }

  // Secret: Base64 after whsec_. After a rotation there are two signatures, and one of them matches.
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

async function receive(request, response) {
  // Body: the raw bytes, before JSON.parse. In Express use express.raw, not express.json.
  const parts = [];
  let size = 0;
  for await (const part of request) {
    if ((size += part.length) > maxBody) return response.writeHead(413).end();
    parts.push(part);
  }
  const body = Buffer.concat(parts);

  try {
    verify(secret, request.headers, body);
  } catch (error) {
    console.error(error.message);
    return response.writeHead(400).end(`${error.message}\n`);
  }
  const id = request.headers["webhook-id"];
  if (await store(id, body)) console.log("stored", id, JSON.parse(body).type); // work on it later
  response.writeHead(204).end();
}

mkdirSync(inbox, { recursive: true, mode: 0o700 });
createServer((request, response) => {
  receive(request, response).catch((error) => {
    console.error(error);
    response.writeHead(500).end();
  });
}).listen(port, "127.0.0.1", () => console.log(`receiving webhooks at http://127.0.0.1:${port}/webhooks/waybill`));
