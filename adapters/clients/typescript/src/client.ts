import { randomUUID } from "node:crypto";
import { NotModified, parse, WaybillError } from "./errors.ts";
import { table } from "./operations.ts";
import type { operations } from "./schema.ts";

/** The name of an operation, such as `createDelivery`. */
export type Name = keyof typeof table;

type Takes<N extends Name> = operations[N]["parameters"];
type Body<N extends Name> = operations[N] extends { requestBody: { content: { "application/json": infer B } } }
  ? { body: B }
  : operations[N] extends { requestBody?: { content: { "application/json": infer B } } }
    ? { body?: B }
    : unknown;
type Part<P, K extends string> = P extends { [k in K]: infer V } ? { [k in K]: V } : P extends { [k in K]?: infer V } ? { [k in K]?: V } : unknown;
type Key<N extends Name> = (typeof table)[N]["key"] extends "required"
  ? { idempotencyKey: string }
  : (typeof table)[N]["key"] extends "optional"
    ? { idempotencyKey?: string }
    : unknown;

/** What a call may be given besides its arguments. */
export type Common = {
  /** Comes back with the answer and stands in the logs of the service. */
  requestId?: string;
  /** Throws NotModified while the answer is the one that had this ETag. */
  ifNoneMatch?: string;
  /** Has the sandbox answer with this error in place of acting. */
  sandboxError?: string;
  signal?: AbortSignal;
  /** Called with what came beside the data. */
  onAnswer?: (answer: Answer) => void;
};

/** What comes beside the data. */
export type Answer = { statusCode: number; message: string; replayed: boolean; tries: number; headers: Headers };

/** The arguments of an operation: `path`, `query`, `body`, `idempotencyKey`, as far as it has them. */
export type Arguments<N extends Name> = Part<Takes<N>, "path"> & Part<Takes<N>, "query"> & Body<N> & Key<N> & Common;

type Success<R> = R extends { 200: infer A } ? A : R extends { 201: infer A } ? A : R extends { 202: infer A } ? A : never;
type Also<R> = R extends { 207: infer A } ? A : never;
type Json<A> = A extends { content: { "application/json": infer J } } ? J : string;
type Shown<N extends Name, J> = (typeof table)[N]["answer"] extends "page"
  ? J extends { data: infer D; meta: infer M }
    ? { items: D; meta: M }
    : never
  : (typeof table)[N]["answer"] extends "data"
    ? J extends { data: infer D }
      ? D
      : never
    : J;

/** What a call returns: the `data` of the answer; of a list with pages `items` and `meta`. */
export type Result<N extends Name> = Shown<N, Json<Success<operations[N]["responses"]> | Also<operations[N]["responses"]>>>;

/** A method for every operation of the API. */
export type Client = {
  readonly [N in Name]: {} extends Arguments<N>
    ? (args?: Arguments<N>) => Promise<Result<N>>
    : (args: Arguments<N>) => Promise<Result<N>>;
};

/**
 * How often a call is sent and how long it waits between. Sent again are 429, 503
 * QUOTE_UNAVAILABLE and 409 IDEMPOTENCY_IN_PROGRESS after what Retry-After says;
 * and, for reads and writes with an idempotency key, a lost answer, 500, 502, any
 * other 503, and 504.
 */
export type Retries = {
  /** The most a call is sent, the first time included: 1 switches retries off. */
  tries: number;
  /** Seconds before the second try, doubled before each further one. */
  pause: number;
  /** An answer whose Retry-After is longer, in seconds, is thrown at once. */
  maxPause: number;
};

export const defaultRetries: Retries = { tries: 4, pause: 0.5, maxPause: 60 };

export type Options = {
  /** Such as http://127.0.0.1:8081/v1; the host decides between live and sandbox. */
  baseUrl: string;
  apiKey: string;
  retries?: Retries;
  /** Seconds that one try may take; 90 by default. */
  timeout?: number;
  fetch?: typeof globalThis.fetch;
};

type Loose = Common & {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  idempotencyKey?: string;
};

type Entry = (typeof table)[Name];

/** Makes a client. It keeps no state and may be used by any number of calls at once. */
export function createClient(options: Options): Client {
  if (!options.apiKey || /\s/.test(options.apiKey)) {
    throw new TypeError("the API key is empty or has a space in it");
  }
  if (!/^https?:\/\/[^?#]+$/.test(options.baseUrl)) {
    throw new TypeError(`the base URL ${options.baseUrl} is not of the form https://host/v1`);
  }
  const methods = Object.entries(table).map(([name, entry]) => [name, (args: Loose = {}) => send(options, name, entry, args)]);
  return Object.freeze(Object.fromEntries(methods)) as Client;
}

/** A key for a create. Keep it with what is to be created, and use it again when you do not know whether it was. */
export function newIdempotencyKey(): string {
  return randomUUID();
}

/**
 * Walks a list page by page:
 * `for await (const d of pages(client.listDeliveries, { query: { status: "booked" } }))`.
 */
export async function* pages<L extends List>(list: L, args: NonNullable<Parameters<L>[0]>): AsyncGenerator<Item<L>, void, undefined> {
  for (let next: Loose = args; ; ) {
    const { items, meta } = await list(next);
    yield* items as Item<L>[];
    if (!meta.has_more || meta.next_cursor === null) {
      return;
    }
    next = { ...next, query: { ...next.query, cursor: meta.next_cursor } };
  }
}

// any: each list has its own arguments, and what is passed on is checked by pages.
type List = (args: any) => Promise<{ items: readonly unknown[]; meta: { has_more: boolean; next_cursor: string | null } }>;
type Item<L extends List> = Awaited<ReturnType<L>>["items"][number];

async function send(options: Options, name: string, entry: Entry, args: Loose): Promise<unknown> {
  const retries = options.retries ?? defaultRetries;
  const key = args.idempotencyKey ?? (entry.key === "optional" ? newIdempotencyKey() : undefined);
  if (entry.key === "required" && !key) {
    throw new TypeError(`${name}: the idempotency key is missing; newIdempotencyKey() makes one`);
  }
  const request = prepare(options, name, entry, args, key);
  const safe = entry.repeatable || key !== undefined;
  for (let tries = 1; ; tries++) {
    const got = await attempt(options, name, args, request);
    if (got.answered) {
      return take(name, entry, args, got.response, got.text, tries);
    }
    const mayRetry = tries < retries.tries && (got.error instanceof WaybillError ? refused(got.error, safe) : safe);
    const pause = wait(retries, tries, got.error);
    if (!mayRetry || args.signal?.aborted || pause > retries.maxPause) {
      throw got.error;
    }
    await sleep(pause, args.signal);
  }
}

type Got = { answered: true; response: Response; text: string } | { answered: false; error: unknown };

/** Sends once. What fetch throws is a lost answer, or a time-out. */
async function attempt(options: Options, name: string, args: Loose, request: { url: URL; init: RequestInit }): Promise<Got> {
  const timeout = AbortSignal.timeout((options.timeout ?? 90) * 1000);
  const signal = args.signal ? AbortSignal.any([args.signal, timeout]) : timeout;
  try {
    const response = await (options.fetch ?? globalThis.fetch)(request.url, { ...request.init, signal });
    const text = await response.text();
    return response.ok || response.status === 304
      ? { answered: true, response, text }
      : { answered: false, error: new WaybillError(name, response, text) };
  } catch (error) {
    return { answered: false, error };
  }
}

function prepare(options: Options, name: string, entry: Entry, args: Loose, key: string | undefined) {
  const path = entry.path.replace(/\{(\w+)\}/g, (_, part: string) => {
    const value = args.path?.[part];
    if (!value || value === "." || value === "..") {
      throw new TypeError(`${name}: ${part} is no ID`);
    }
    return encodeURIComponent(value);
  });
  const url = new URL(options.baseUrl.replace(/\/+$/, "") + path);
  for (const [field, value] of Object.entries(args.query ?? {})) {
    if (value !== undefined) {
      url.searchParams.set(field, String(value));
    }
  }
  const headers = new Headers({ Authorization: `Bearer ${options.apiKey}`, Accept: "application/json, application/yaml" });
  const set = (header: string, value: string | undefined) => value !== undefined && headers.set(header, value);
  set("Idempotency-Key", key);
  set("X-Request-ID", args.requestId);
  set("If-None-Match", args.ifNoneMatch);
  set("X-Sandbox-Error", args.sandboxError);
  // Following a redirect would make a GET of a POST, and a success of what changed nothing.
  const init: RequestInit = { method: entry.method, headers, redirect: "manual" };
  if (args.body !== undefined) {
    headers.set("Content-Type", "application/json");
    init.body = JSON.stringify(args.body);
  }
  return { url, init };
}

type Envelope = { success: boolean; message: string; data: unknown; meta: unknown };

/** Reads a success. Throws a WaybillError where the answer is a proxy's or a sign-in page's. */
function take(name: string, entry: Entry, args: Loose, response: Response, text: string, tries: number): unknown {
  if (response.status === 304) {
    throw new NotModified("the answer is the one that ifNoneMatch names");
  }
  const raw = entry.answer === "raw";
  const isText = raw && !response.headers.get("content-type")?.startsWith("application/json");
  const body = isText ? undefined : parse<Envelope>(text);
  if (!isText && (raw ? body === undefined : body?.success !== true)) {
    throw new WaybillError(name, response, text);
  }
  args.onAnswer?.({
    statusCode: response.status,
    message: body?.message ?? "",
    replayed: response.headers.get("idempotent-replayed") === "true",
    tries,
    headers: response.headers,
  });
  switch (entry.answer) {
    case "raw":
      return body ?? text;
    case "page":
      return { items: body?.data, meta: body?.meta };
    default:
      return body?.data;
  }
}

/** Whether the same request may be sent once more: nothing was done, or doing it twice is doing it once. */
function refused(failure: WaybillError, safe: boolean): boolean {
  switch (failure.statusCode) {
    case 429:
      return true;
    case 503:
      return safe || failure.code === "QUOTE_UNAVAILABLE"; // of others nobody knows whether it was done
    case 409:
      return failure.code === "IDEMPOTENCY_IN_PROGRESS";
    case 500:
    case 502:
    case 504:
      return safe;
    default:
      return false;
  }
}

function wait(retries: Retries, tries: number, failure: unknown): number {
  const pause = Math.min(retries.maxPause, retries.pause * 2 ** (tries - 1)) * (1 - Math.random() / 2);
  return Math.max(pause, failure instanceof WaybillError ? failure.retryAfter : 0);
}

function sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", end, { once: true });
  });
}
