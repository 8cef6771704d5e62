import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = process.env.WEBHOOK_SECRET;

createServer(async (request, response) => {
  // headers: Node gives them in small letters.
  const id = request.headers["webhook-id"] ?? "";
  const at = request.headers["webhook-timestamp"] ?? "0";
  const signatures = (request.headers["webhook-signature"] ?? "").split(" ");
  // timestamp: at most 5 minutes off, by a clock that follows a time server.
  const late = Math.abs(Date.now() / 1000 - Number(at)) > 300;
  // body: the raw bytes; express.raw({ type: "*/*" }) in Express, before express.json().
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  // secret: decoded, and compared with each signature, since there are two after a rotation.
  const key = Buffer.from(secret.trim().replace(/^whsec_/, ""), "base64");
  const sum = Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64"));
  const sound = signatures.some((one) => one.length === sum.length && timingSafeEqual(Buffer.from(one), sum));
  // end
  response.writeHead(sound && !late ? 204 : 400).end();
}).listen(Number(process.argv[2]), "127.0.0.1");
