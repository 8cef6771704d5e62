/**
 * A call that was refused or failed. Branch on `code`; `message` is for people
 * and its wording may change.
 */
export class WaybillError extends Error {
  override readonly name = "WaybillError";
  readonly operation: string;
  readonly statusCode: number;
  /** Empty where the answer is not the API's, but a proxy's; its `statusCode` may be 200 or 301 then. */
  readonly code: string;
  /** In the form that its code has. */
  readonly details: unknown;
  /** To be quoted when you ask for help. */
  readonly requestId: string | undefined;
  /** Seconds to wait; 0 where nothing was said. */
  readonly retryAfter: number;

  constructor(operation: string, response: Response, text: string) {
    const body = response.ok ? undefined : failure(text);
    const location = response.headers.get("location");
    const foreign = location
      ? `, a redirect to ${location}, which is not followed; use the base URL of the API itself`
      : `, and not in the form of the API: ${JSON.stringify(text.slice(0, 200))}`;
    super(`${operation}: ${response.status}${body ? ` ${body.error.code}: ${body.message}` : foreign}`);
    this.operation = operation;
    this.statusCode = response.status;
    this.code = body?.error.code ?? "";
    this.details = body?.error.details;
    this.requestId = response.headers.get("x-request-id") ?? undefined;
    const seconds = Number(response.headers.get("retry-after") ?? 0);
    this.retryAfter = Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
  }
}

/** `ifNoneMatch` named the current answer. */
export class NotModified extends Error {
  override readonly name = "NotModified";
}

type Failure = { message: string; error: { code: string; details?: unknown } };

function failure(text: string): Failure | undefined {
  const body = parse<Failure>(text);
  return typeof body?.error?.code === "string" ? (body as Failure) : undefined;
}

/** Reads JSON; undefined where it is none. */
export function parse<T>(text: string): Partial<T> | null | undefined {
  try {
    return JSON.parse(text) as Partial<T> | null;
  } catch {
    return undefined;
  }
}
