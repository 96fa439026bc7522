/** What a call may throw. All of it is an `AgentpodsError`; no message has an API key in it. */

export class AgentpodsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service could not be reached, did not answer in time, or the connection broke. Whether the call was done is unknown. */
export class NoAnswerError extends AgentpodsError {}

/** Something answered that is no service of this API, or the answer is larger than a client takes. */
export class UnexpectedAnswerError extends AgentpodsError {}

/** A stream ended before its last event. */
export class StreamCutError extends AgentpodsError {}

/** The event is not signed with this secret. Answer 401, and do nothing. */
export class NotGenuineError extends AgentpodsError {}

/** The agent did not reach the status that `wait` was asked for. */
export class NotSettledError extends AgentpodsError {
  readonly status: string;
  constructor(message: string, status: string) {
    super(message);
    this.status = status;
  }
}

/** The service refused the call. `error` is the code for programs, `message` says what to do. */
export class ApiError extends AgentpodsError {
  readonly status: number;
  readonly error: string;
  readonly requestId: string | null;
  /** Seconds, where the service asks for patience. */
  readonly retryAfter: number | null;

  constructor(message: string, told: { status: number; error: string; requestId?: string | null; retryAfter?: number | null }) {
    super(message);
    this.status = told.status;
    this.error = told.error;
    this.requestId = told.requestId ?? null;
    this.retryAfter = told.retryAfter ?? null;
  }
}

const SHOWN = 2_000; // characters of a message

/** The error of an answer that is no success. */
export function refusal(answer: Response, text: string, secret: string): ApiError {
  const hide = (said: string) => (secret ? said.replaceAll(secret, "[key]") : said);
  const body = parsed(text);
  const message = typeof body?.["message"] === "string" ? body["message"] : `the answer has no message (status ${answer.status})`;
  const error = typeof body?.["error"] === "string" ? body["error"] : "UNKNOWN";
  return new ApiError(hide(message).slice(0, SHOWN), {
    status: answer.status,
    error: hide(error).slice(0, 80),
    requestId: hide(answer.headers.get("request-id") ?? "").slice(0, 80) || null,
    retryAfter: secondsOf(answer.headers.get("retry-after")),
  });
}

/** The JSON object of a text, or null. */
export function parsed(text: string): Record<string, unknown> | null {
  try {
    const told: unknown = JSON.parse(text);
    return typeof told === "object" && told !== null && !Array.isArray(told) ? (told as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** The seconds of a `Retry-After` header, which is a number or a date. */
export function secondsOf(header: string | null): number | null {
  if (!header) return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const until = Date.parse(header);
  return Number.isNaN(until) ? null : Math.max(0, (until - Date.now()) / 1000);
}
