// Reads faults as JSON and prints of each which calls are sent again after it.
import { readFileSync } from "node:fs";
import { createClient } from "../../../adapters/clients/typescript/src/index.ts";
import type { Client } from "../../../adapters/clients/typescript/src/index.ts";

type Fault = { status: number; code: string; retryAfter: string };

const order = {
  recipient_id: "rcp_1", recipient_address_id: "adr_1", pickup_location_id: "pkp_1",
  payment: { type: "delivery_only" }, vehicle_type: "bike",
} as const;
const calls: Record<string, (client: Client) => Promise<unknown>> = {
  create: (client) => client.createDelivery({ idempotencyKey: "order-0001", body: order }),
  fetch: (client) => client.fetchWebhooks({ path: { webhook_listener_id: "whe_1" } }),
  quote: (client) => client.createQuote({ body: { dropoff: { latitude: 5, longitude: 0 }, pickup_location_id: "pkp_1", vehicle_type: "bike" } }),
  read: (client) => client.getDelivery({ path: { delivery_id: "dlv_1" } }),
  write: (client) => client.cancelDelivery({ path: { delivery_id: "dlv_1" } }),
};

for (const fault of JSON.parse(readFileSync(0, "utf8")) as Fault[]) {
  const again: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    const keys: (string | null)[] = [];
    const client = createClient({
      baseUrl: "http://api.example/v1", apiKey: "svc_test_key_1", retries: { tries: 3, pause: 0.001, maxPause: 60 },
      fetch: async (_, init) => {
        keys.push(new Headers(init?.headers).get("idempotency-key"));
        if (keys.length > 1) return Response.json({ success: true, message: "Done.", data: {} });
        if (fault.status === 0) throw new TypeError("fetch failed");
        const body = fault.code ? JSON.stringify({ message: "No.", error: { code: fault.code } }) : "<html>";
        return new Response(body, { status: fault.status, headers: fault.retryAfter ? { "retry-after": fault.retryAfter } : {} });
      },
    });
    const done = await call(client).then(() => true, () => false);
    if (done !== (keys.length === 2) || (done && keys[0] !== keys[1])) throw new Error(`${name}: ${JSON.stringify({ fault, done, keys })}`);
    if (done) again.push(name);
  }
  console.log(again.join(" "));
}
