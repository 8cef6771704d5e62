const response = await fetch("http://127.0.0.1:8081/v1/api-key", {
  headers: { Authorization: `Bearer ${process.env.WAYBILL_API_KEY}` },
  signal: AbortSignal.timeout(30_000),
});
const answer = await response.json();
if (!response.ok) {
  console.error(`${answer.error.code}: ${answer.message}`);
  process.exit(1);
}
console.log(JSON.stringify(answer, null, 2));
