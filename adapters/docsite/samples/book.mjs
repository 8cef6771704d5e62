// Run: node book.mjs
function stop(problem) {
  console.error(problem);
  process.exit(1);
}

const key = process.env.WAYBILL_API_KEY || stop("Set WAYBILL_API_KEY first.");
const response = await fetch("http://127.0.0.1:8081/v1/deliveries", {
  method: "POST",
  headers: {
    Authorization: `Bearer ${key}`,
    "Content-Type": "application/json",
    "Idempotency-Key": "first-order-1",
  },
  body: JSON.stringify({
    external_id: "first-order",
    recipient: {
      name: "Ama Mensah",
      phone_number: "024 412 3456",
      address: { address: "7 Airport Road, Accra", latitude: 5.6037, longitude: -0.187 },
    },
    pickup: {
      name: "Adom Foods",
      contact: "030 212 3456",
      address: "12 Oxford Street, Osu",
      latitude: 5.5571,
      longitude: -0.1818,
    },
    payment: { type: "cod", goods_value: 120.5 },
    vehicle_type: "bike",
    sandbox: { scenario: "delivered", step_seconds: 2 },
  }),
  signal: AbortSignal.timeout(30_000),
}).catch((error) => stop(`The server cannot be reached: ${error.cause?.code ?? error.message}`));
const answer = await response.json();
if (!response.ok) stop(`${answer.error.code}: ${answer.message}`);
console.log(JSON.stringify(answer, null, 2));
