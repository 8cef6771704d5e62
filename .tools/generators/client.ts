// Books, replays, lists over pages, reads and cancels by the SDK of hey-api, which checks each answer
// with its zod schemas. API_URL is the sandbox or a later version of it (later.mjs).
import assert from "node:assert/strict";
import { cancelDelivery, createDelivery, getDelivery, listDeliveries, listDeliveryEvents } from "./hey/index.ts";
import { client } from "./hey/client.gen.ts";
import { CreateRecipientBody, CreateRecipientResponse } from "./orval/zod.ts";
import { zDeliveryRequest } from "./hey/zod.gen.ts";
import type { DeliveryRequest } from "./hey/index.ts";

const env = process.env as Record<string, string>;
const url = env.API_URL!, key = env.WAYBILL_TEST_KEY!;
client.setConfig({ baseUrl: url, auth: key });
const name = () => `generators-${process.pid}-${Math.random()}`;

const order: DeliveryRequest = {
  pickup_location_id: env.WAYBILL_PICKUP_ID!, vehicle_type: "bike", payment: { type: "cod", goods_value: 654321.55 },
  recipient: { name: "Ama Mensah", phone_number: "0241234567", address: { address: "7 Ring Road", latitude: 5.6037, longitude: -0.187 } },
};
async function book(key: string) {
  const { data, error } = await createDelivery({ headers: { "Idempotency-Key": key }, body: order });
  assert.equal(error, undefined);
  return data!.data;
}

assert.equal(zDeliveryRequest.safeParse({}).success, false, "an empty order passes");
const once = name(), first = await book(once);
assert.equal((await book(once)).id, first.id, "the replay is another delivery");
assert.equal(first.payment.goods_value, 654321.55);
await book(name());

const seen = new Set<string>();
let cursor: string | undefined;
do {
  const { data } = await listDeliveries({ query: { limit: 1, order: "desc", cursor } });
  data!.data.forEach((d) => seen.add(d.id));
  cursor = data!.meta.next_cursor ?? undefined;
} while (cursor && seen.size < 3 && !seen.has(first.id));
assert.ok(seen.has(first.id), "the pages lack the delivery");

const at = { delivery_id: first.id };
assert.equal((await getDelivery({ path: at })).data!.data.status, "booked");
const event = (await listDeliveryEvents({ path: at })).data!.data[0]!;
const missing = await getDelivery({ path: { delivery_id: `dlv_${"0".repeat(32)}` } });
assert.equal((await cancelDelivery({ path: at })).data!.data.status, "cancelled");

// orval: of several successes it takes the first.
const person = CreateRecipientBody.parse({ phone_number: `024${String(1e6 + Math.floor(Math.random() * 8e6))}`, name: "Ama Mensah" });
const made = await fetch(`${url}/recipients`, {
  method: "POST", body: JSON.stringify(person),
  headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Idempotency-Key": name() },
});
CreateRecipientResponse.parse(await made.json());

const known = [event.type, missing.error!.error.code].join(" ");
assert.equal(known, env.API_IS_LATER ? "delivery.weighed NOT_YET_KNOWN" : "delivery.created NOT_FOUND");
console.log(`  hey-api and orval: ok with ${known}`);
