// Run: node quote.mjs
function stop(problem) {
  console.error(problem);
  process.exit(1);
}

const key = process.env.WAYBILL_API_KEY || stop("Set WAYBILL_API_KEY first.");
const response = await fetch("http://127.0.0.1:8081/v1/quotes", {
  method: "POST",
  headers: {
    Authorization: `Bearer ${key}`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify({
    pickup: { latitude: 5.5571, longitude: -0.1818 },
    dropoff: { latitude: 5.6037, longitude: -0.187 },
    vehicle_type: "bike",
  }),
  signal: AbortSignal.timeout(30_000),
}).catch((error) => stop(`The server cannot be reached: ${error.cause?.code ?? error.message}`));
const answer = await response.json();
if (!response.ok) stop(`${answer.error.code}: ${answer.message}`);
console.log(JSON.stringify(answer, null, 2));
