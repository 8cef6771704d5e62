import { createHmac, timingSafeEqual } from "node:crypto";
import type { components } from "./schema.ts";

/** What a webhook carries: `"delivery" in event.data` tells the two apart. Ignore types you do not know. */
export type WebhookEvent =
  | components["schemas"]["PublishedDeliveryEvent"]
  | components["schemas"]["PublishedEndpointEvent"];

/** Seconds that the time of a webhook may be from your clock, either way. */
export const tolerance = 300;

/** A webhook is not to be believed: answer 400 or 401 and no more. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

type Headers = Readonly<Record<string, string | string[] | undefined>> | { get(name: string): string | null };

/**
 * Verifies a webhook as Standard Webhooks says and returns its event. `body` is
 * what was read, before any parsing; header names may have capitals; `secrets` the secret of the endpoint, or
 * while it is rotated both; `now` seconds since 1970, for tests. Throws a
 * WebhookError. An event may come twice: remember `webhook-id`.
 */
export function verifyWebhook(
  secrets: string | readonly string[],
  headers: Headers,
  body: Uint8Array | string,
  now: number = Date.now() / 1000,
): WebhookEvent {
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature").split(" ");
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > tolerance) {
    throw new WebhookError("webhook-timestamp is no time within five minutes of now");
  }
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const want = createHmac("sha256", key(secret)).update(`${id}.${timestamp}.`).update(bytes).digest();
    for (const signature of signatures) {
      const got = Buffer.from(signature.slice(3), "base64");
      if (signature.startsWith("v1,") && got.length === want.length && timingSafeEqual(got, want)) {
        return JSON.parse(Buffer.from(bytes).toString("utf8")) as WebhookEvent;
      }
    }
  }
  throw new WebhookError("no signature is by a known secret");
}

function key(secret: string): Buffer {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) {
    throw new TypeError("a secret of webhooks is whsec_ and Base64; this one is not"); // never shown
  }
  return Buffer.from(secret.slice("whsec_".length), "base64");
}

function header(headers: Headers, name: string): string {
  const value = typeof headers["get"] === "function"
    ? headers.get(name)
    : Object.entries(headers).filter(([sent]) => sent.toLowerCase() === name).flatMap(([, value]) => value ?? []).join(" ");
  if (typeof value !== "string" || value === "") {
    throw new WebhookError(`${name} is missing`);
  }
  return value;
}
