// Books a delivery at the service that the environment names, waits for its
// webhook, and prints what was seen as JSON. test/clients starts it.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createClient, newIdempotencyKey, pages, verifyWebhook, WaybillError, WebhookError,
} from "../../../adapters/clients/typescript/src/index.ts";
import type { WebhookEvent } from "../../../adapters/clients/typescript/src/index.ts";

const env = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};
const client = createClient({ baseUrl: env("BASE_URL"), apiKey: env("API_KEY") });

let secret = "";
let refusedSpoilt = false;
const booked = withResolvers<string>();
const arrived = withResolvers<WebhookEvent>();
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    try {
      const event = verifyWebhook(secret, request.headers, body);
      try {
        verifyWebhook(secret, request.headers, Buffer.concat([body, Buffer.from(" ")]));
      } catch (cause) {
        refusedSpoilt = cause instanceof WebhookError;
      }
      response.writeHead(204).end();
      // Webhooks of several deliveries come in any order.
      void booked.promise.then((id) => {
        if (event.type !== "delivery.created" || !("delivery" in event.data) || event.data.delivery.id === id) arrived.resolve(event);
      });
    } catch (cause) {
      response.writeHead(400).end();
      arrived.reject(cause);
    }
  });
});
await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
const port = (receiver.address() as AddressInfo).port;

try {
  const endpoint = await client.createWebhookEndpoint({
    idempotencyKey: newIdempotencyKey(),
    body: { url: `http://127.0.0.1:${port}/hooks`, event_types: ["delivery.created"] },
  });
  secret = endpoint.secret;

  const order = {
    recipient: { phone_number: "024 123 4567", address: { address: "12 Lagos Avenue", latitude: 5.6358, longitude: -0.1612 } },
    pickup: { name: "Adom Foods", contact: "030 212 3456", address: "14 Ring Road East", latitude: 5.5718, longitude: -0.187 },
    payment: { type: "delivery_only" },
    vehicle_type: "bike",
  } as const;
  const idempotencyKey = newIdempotencyKey();
  const delivery = await client.createDelivery({ idempotencyKey, body: order });
  booked.resolve(delivery.id);
  let replayed = false;
  const again = await client.createDelivery({ idempotencyKey, body: order, onAnswer: (answer) => (replayed = answer.replayed) });

  for (let n = 0; n < 2; n++) {
    await client.createDelivery({ idempotencyKey: newIdempotencyKey(), body: order });
  }
  const listed: string[] = [];
  for await (const row of pages(client.listDeliveries, { query: { limit: 1, order: "asc", created_after: delivery.created_at } })) {
    listed.push(row.id);
  }

  let code = "";
  try {
    await client.cancelDelivery({ path: { delivery_id: "dlv_none" } });
  } catch (cause) {
    code = cause instanceof WaybillError ? cause.code : String(cause);
  }
  // A wrong name or a missing key does not compile.
  // @ts-expect-error the key is required
  await client.createDelivery({ body: order }).catch((cause: unknown) => cause);
  // @ts-expect-error vehicles are bike, car, van and truck
  const boat: Parameters<typeof client.createQuote>[0]["body"]["vehicle_type"] = "boat";
  void boat;

  const event = await arrived.promise;
  console.log(JSON.stringify({
    delivery: delivery.id, same: again.id === delivery.id, replayed, status: delivery.status, listed: listed.length, first: listed[0], code,
    event: event.type, of: "delivery" in event.data ? event.data.delivery.id : "", refusedSpoilt,
  }));
} finally {
  receiver.closeAllConnections();
  receiver.close();
}

// Promise.withResolvers, which node 20 lacks.
function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (cause: unknown) => void;
  const promise = new Promise<T>((a, b) => { resolve = a; reject = b; });
  return { promise, resolve, reject };
}
