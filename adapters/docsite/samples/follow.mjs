// Run: node follow.mjs
import { setTimeout as sleep } from "node:timers/promises";

function stop(problem) {
  console.error(problem);
  process.exit(1);
}

const key = process.env.WAYBILL_API_KEY || stop("Set WAYBILL_API_KEY first.");

async function get(path) {
  const response = await fetch(`http://127.0.0.1:8081/v1${path}`, {
    headers: { Authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(30_000),
  }).catch((error) => stop(`The server cannot be reached: ${error.cause?.code ?? error.message}`));
  const answer = await response.json();
  if (!response.ok) stop(`${answer.error.code}: ${answer.message}`);
  return answer.data;
}

const deadline = Date.now() + 60_000;
let delivery, ended;
while (true) {
  [delivery] = await get("/deliveries?external_id=first-order");
  if (!delivery) stop("first-order is not booked");
  console.log(delivery.status);
  ended = ["delivered", "failed", "cancelled"].includes(delivery.status);
  if (ended || Date.now() > deadline) break;
  await sleep(2_000);
}

for (const event of await get(`/deliveries/${delivery.id}/events`)) {
  console.log(event.sequence, event.type, event.occurred_at);
}
process.exit(ended ? 0 : 1);
