// Verifies webhooks. Node.js 18 or newer, no packages.
import { createHmac, timingSafeEqual } from "node:crypto";

// verify returns the event if the body came from Waybill, unchanged and just
// now; else it throws. headers are Node's own, with names in lower case; body is
// the Buffer as it arrived, before anything parsed it.
export function verify(secret, headers, body, now = Date.now() / 1000) {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  if (!id || !/^\d+$/.test(timestamp ?? "")) throw new Error("webhook: not signed");
  if (Math.abs(now - Number(timestamp)) > 300) throw new Error("webhook: too old or too new");

  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
  const want = Buffer.from("v1," + mac.digest("base64"));
  const good = (headers["webhook-signature"] ?? "").split(" ").some((part) => {
    const given = Buffer.from(part);
    return given.length === want.length && timingSafeEqual(given, want);
  });
  if (!good) throw new Error("webhook: wrong signature");
  return JSON.parse(body.toString("utf8"));
}
