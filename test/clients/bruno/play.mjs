// Reads a Bruno collection by Bruno's own parser, plays its requests in the
// order of their folders, and prints one line of JSON for each.
//
//	node play.mjs COLLECTION ENVIRONMENT NODE_MODULES
//
// BASE_URL, WEBHOOK_URL and API_KEY stand in for the variables of the environment. Known of
// Bruno's language are variables, what a request leaves in them, and the tests.
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [collection, environment, modules] = process.argv.slice(2);
const bru = createRequire(modules + "/")("@usebruno/lang");
const read = (...path) => readFileSync(join(collection, ...path), "utf8");

const known = bru.bruToEnvJsonV2(read("environments", environment + ".bru")).variables;
const names = known.map((v) => v.name + (v.secret ? " (secret)" : "")).join(", ");
if (names !== "base_url, webhook_url, api_key (secret)") throw new Error(`the environment has ${names}`);
const variables = { base_url: process.env.BASE_URL, webhook_url: process.env.WEBHOOK_URL, api_key: process.env.API_KEY };
const root = bru.collectionBruToJson(read("collection.bru"));

const filled = (text) =>
  text.replace(/\{\{(.*?)\}\}/g, (_, name) => {
    if (name === "$randomUUID") return randomUUID();
    if (name === "$isoTimestamp") return new Date().toISOString();
    if (variables[name] === undefined) throw new Error(`no request before has left ${name}`);
    return variables[name];
  });

const folders = readdirSync(collection, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "environments")
  .map(({ name }) => ({ name, seq: Number(bru.collectionBruToJson(read(name, "folder.bru")).meta.seq) }))
  .sort((a, b) => a.seq - b.seq);
for (const folder of folders) {
  const requests = readdirSync(join(collection, folder.name))
    .filter((file) => file !== "folder.bru")
    .map((file) => ({ file: `${folder.name}/${file}`, ...bru.bruToJsonV2(read(folder.name, file)) }))
    .sort((a, b) => Number(a.meta.seq) - Number(b.meta.seq));
  for (const request of requests) {
    const played = await play(request).catch((cause) => ({ failed: String(cause) }));
    console.log(JSON.stringify({ file: request.file, ...played }));
  }
}

async function play({ http, headers = [], params = [], body, vars, tests, docs }) {
  let url = http.url;
  for (const { name, value } of params.filter((p) => p.type === "path")) {
    url = url.replace(`/:${name}`, `/${value}`);
  }
  const sent = Object.fromEntries(headers.filter((h) => h.enabled).map((h) => [h.name, filled(h.value)]));
  if (http.auth === "inherit") sent.Authorization = "Bearer " + filled(root.auth.bearer.token);
  if (http.body === "json") sent["Content-Type"] = "application/json";
  const template = http.url.replace("{{base_url}}", "").replace(/:(\w+)/g, "{$1}");
  const response = await fetch(filled(url), {
    method: http.method.toUpperCase(), headers: sent,
    ...(http.body === "json" ? { body: filled(body.json) } : {}),
  });
  const text = await response.text();
  const res = { body: response.headers.get("content-type")?.startsWith("application/json") ? JSON.parse(text) : text, getStatus: () => response.status };
  for (const { name, value } of vars?.res ?? []) {
    variables[name] = new Function("res", `return ${value}`)(res);
  }
  let asserted = 0;
  let failed = "";
  const test = (what, check) => {
    asserted++;
    try {
      check();
    } catch (cause) {
      failed = `${what}: ${cause.message}: ${text.slice(0, 300)}`;
    }
  };
  const expect = (list) => ({ to: { include(one) { if (!list.includes(one)) throw new Error(`got ${one}`); } } });
  new Function("test", "expect", "res", tests)(test, expect, res);
  return { method: http.method.toUpperCase(), path: template, status: response.status, asserted, failed, documented: Boolean(docs) };
}
