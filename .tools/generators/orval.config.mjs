export default { waybill: { input: "./openapi.json", output: { target: "./orval/zod.ts", client: "zod" } } };
