// Postman's importer with its defaults, run by newman: no request may be answered by an error that only
// a header of the sandbox forces, and all of them are requests the API understands.
const { readFileSync } = require("node:fs");
const newman = require("newman");

const description = readFileSync("openapi.json", "utf8");
require("openapi-to-postmanv2").convertV2({ type: "string", data: description }, {}, (error, converted) => {
  if (error || !converted.result) throw error ?? new Error(converted.reason);
  const collection = converted.output[0].data;
  collection.variable = [{ key: "baseUrl", value: process.env.API_URL }, { key: "bearerToken", value: process.env.WAYBILL_TEST_KEY }];
  const seen = {};
  let wrong = 0;
  newman.run({ collection, timeoutRequest: 30000 }, () => {
    console.log("  newman:", seen);
    process.exit(wrong ? 1 : 0);
  }).on("request", (failed, { request, response }) => {
    const what = failed ? "no answer" : String(response.code);
    seen[what] = (seen[what] ?? 0) + 1;
    if (failed || response.code >= 500 || request.headers.has("X-Sandbox-Error")) {
      wrong++;
      console.log("  newman:", request.method, String(request.url), what);
    }
  });
});
