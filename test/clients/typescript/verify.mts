// Reads letters as JSON and prints of each whether it is believed.
import { readFileSync } from "node:fs";
import { verifyWebhook, WebhookError } from "../../../adapters/clients/typescript/src/index.ts";

type Letter = { secrets: string[]; headers: Record<string, string>; body: string; now: number };

for (const { secrets, headers, body, now } of JSON.parse(readFileSync(0, "utf8")) as Letter[]) {
  try {
    const event = verifyWebhook(secrets, headers, Buffer.from(body), now);
    console.log(event.id === headers["webhook-id"]);
  } catch (cause) {
    if (!(cause instanceof WebhookError)) throw cause;
    console.log(false);
  }
}
