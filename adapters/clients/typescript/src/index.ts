export { createClient, defaultRetries, newIdempotencyKey, pages } from "./client.ts";
export type { Answer, Arguments, Client, Options, Result, Retries } from "./client.ts";
export { NotModified, WaybillError } from "./errors.ts";
export { tolerance, verifyWebhook, WebhookError } from "./webhooks.ts";
export type { WebhookEvent } from "./webhooks.ts";
export type { components, operations, paths } from "./schema.ts";
