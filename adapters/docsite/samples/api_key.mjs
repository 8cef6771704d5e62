// Run: node api_key.mjs
function stop(problem) {
  console.error(problem);
  process.exit(1);
}

const key = process.env.WAYBILL_API_KEY || stop("Set WAYBILL_API_KEY first.");
const response = await fetch("http://127.0.0.1:8081/v1/api-key", {
  headers: { Authorization: `Bearer ${key}` },
  signal: AbortSignal.timeout(30_000),
}).catch((error) => stop(`The server cannot be reached: ${error.cause?.code ?? error.message}`));
const answer = await response.json();
if (!response.ok) stop(`${answer.error.code}: ${answer.message}`);
console.log(JSON.stringify(answer, null, 2));
