// Reads letters as JSON and prints of each whether it is believed, in each form that servers give headers.
import { readFileSync } from "node:fs";
import { verifyWebhook, WebhookError } from "../../../adapters/clients/typescript/src/index.ts";

type Letter = { secrets: string[]; headers: Record<string, string>; body: string; now: number };

for (const { secrets, headers, body, now } of JSON.parse(readFileSync(0, "utf8")) as Letter[]) {
  const as = (change: (name: string, value: string) => [string, string | string[]]) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => change(name, value)));
  const forms = [headers, as((n, v) => [n.toUpperCase(), v]), as((n, v) => [n, [v]]), as((n, v) => [n, v.split(" ")]), new Headers(headers)];
  const believed = new Set(forms.map((form) => {
    try {
      return verifyWebhook(secrets, form, Buffer.from(body), now).id === headers["webhook-id"];
    } catch (cause) {
      if (!(cause instanceof WebhookError)) throw cause;
      return false;
    }
  }));
  console.log([...believed].join("/"));
}
