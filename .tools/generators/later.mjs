// A proxy that stands for a later version of the API: each answer has a field that the description
// does not know, an event has another type, and an error another code. It prints its address.
import { createServer } from "node:http";

const behind = process.env.WAYBILL_SANDBOX_URL;

function later(value, name) {
  if (Array.isArray(value)) return value.map((item) => later(item));
  if (value === null || typeof value !== "object") {
    if (value === "delivery.created") return "delivery.weighed";
    return value === "NOT_FOUND" ? "NOT_YET_KNOWN" : value;
  }
  const fields = Object.entries(value).map(([key, inner]) => [key, later(inner, key)]);
  return { ...Object.fromEntries(fields), added_later: { to: name ?? "item" } };
}

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const { host, connection, "content-length": _, ...headers } = request.headers;
  const answer = await fetch(behind + request.url, { method: request.method, headers, body: body.length ? body : undefined });
  const text = await answer.text();
  const kept = ["content-type", "idempotent-replayed", "location"].filter((name) => answer.headers.has(name));
  response.writeHead(answer.status, Object.fromEntries(kept.map((name) => [name, answer.headers.get(name)])));
  response.end(JSON.stringify(later(JSON.parse(text))));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
