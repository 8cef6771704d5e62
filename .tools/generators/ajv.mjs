// ajv with its defaults, as validators and gateways use it: answers fit the description, also those of
// a later version.
import Ajv from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { readFileSync } from "node:fs";

const ajv = new Ajv({ strict: false });
formats(ajv);
ajv.addSchema(JSON.parse(readFileSync("openapi.json", "utf8")), "doc");
const { API_URL: url, WAYBILL_TEST_KEY: key, WAYBILL_PICKUP_ID: pickup } = process.env;

async function check(schema, method, path, body) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Idempotency-Key": `ajv-${process.pid}-${Math.random()}` };
  const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!ajv.validate({ $ref: `doc#/components/schemas/${schema}` }, answer)) {
    throw new Error(`${method} ${path}: ${response.status} does not fit ${schema}: ${ajv.errorsText()}`);
  }
  return answer.data;
}

let id;
for (const amount of [19.99, 120.5, 1.11, 8.69]) {
  ({ id } = await check("DeliveryResponse", "POST", "/deliveries", {
    vehicle_type: "bike", pickup_location_id: pickup, payment: { type: "cod", goods_value: amount },
    recipient: { phone_number: "0241234567", address: { address: "7 Ring Road", latitude: 5.6037, longitude: -0.187 } },
  }));
}
await check("DeliveryListResponse", "GET", "/deliveries?limit=3");
await check("DeliveryEventListResponse", "GET", `/deliveries/${id}/events`);
await check("EventListResponse", "GET", "/events?limit=3");
await check("PickupLocationListResponse", "GET", "/pickup-locations");
await check("ApiKeyInfoResponse", "GET", "/api-key");
await check("ErrorResponse", "GET", "/deliveries/x");
await check("ErrorResponse", "POST", "/deliveries", {});
console.log("  ajv: ok");
