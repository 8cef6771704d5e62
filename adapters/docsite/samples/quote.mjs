const response = await fetch("http://127.0.0.1:8081/v1/quotes", {
  method: "POST",
  headers: {
    Authorization: `Bearer ${process.env.WAYBILL_API_KEY}`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify({
    pickup: { latitude: 5.5571, longitude: -0.1818 },
    dropoff: { latitude: 5.6037, longitude: -0.187 },
    vehicle_type: "bike",
  }),
  signal: AbortSignal.timeout(30_000),
});
const answer = await response.json();
if (!response.ok) {
  console.error(`${answer.error.code}: ${answer.message}`);
  process.exit(1);
}
console.log(JSON.stringify(answer, null, 2));
