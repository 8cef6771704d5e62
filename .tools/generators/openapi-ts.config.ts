// hey-api writes an SDK that validates each answer with zod.
export default {
  input: "openapi.json",
  output: "hey",
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "zod", { name: "@hey-api/sdk", validator: { response: "zod" } }],
};
