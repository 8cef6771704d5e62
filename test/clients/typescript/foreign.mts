// Reads base URLs as JSON and prints how calls to each end: of an error, status and code.
import { readFileSync } from "node:fs";
import { createClient, WaybillError } from "../../../adapters/clients/typescript/src/index.ts";

for (const baseUrl of JSON.parse(readFileSync(0, "utf8")) as string[]) {
  const client = createClient({ baseUrl, apiKey: "svc_test_key_1" });
  const calls = [
    client.listDeliveries(),
    client.cancelDelivery({ path: { delivery_id: "dlv_1" } }),
    client.updatePickupLocation({ path: { pickup_location_id: "pkp_1" }, body: { active: false } }),
  ];
  const outcomes = await Promise.all(calls.map((call) => call.then(
    (got) => `returned ${JSON.stringify(got)}`,
    (cause: unknown) => cause instanceof WaybillError ? `${cause.statusCode}${cause.code}` : String(cause),
  )));
  console.log(outcomes.join(" "));
}
