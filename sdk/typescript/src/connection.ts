/** Sends requests: with the key, again where that does no harm, and with limits to time and size. */

import { AgentpodsError, ApiError, NoAnswerError, parsed, refusal, UnexpectedAnswerError } from "./errors.ts";
import { EventReader, type ServerEvent } from "./sse.ts";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const FIRST_PAUSE = 0.5; // seconds
export const MOST_PAUSE = 8;
export const LONGEST_RETRY_AFTER = 60;
const EVENTS = "text/event-stream";
export const BUSY: readonly number[] = [502, 503, 504];
const REPEATABLE = ["GET", "PUT", "DELETE"];
export const IDEMPOTENCY_KEY = "Idempotency-Key";

export const pause = (seconds: number) => new Promise<void>((done) => setTimeout(done, seconds * 1000));

export interface Patience {
  /** Seconds for one attempt. */
  timeout: number;
  maxRetries: number;
  fetch: typeof globalThis.fetch;
}

export class Connection {
  readonly baseUrl: string;
  readonly #key: string;
  readonly #patience: Patience;

  constructor(baseUrl: string, key: string, patience: Patience) {
    this.baseUrl = baseUrl;
    this.#key = key;
    this.#patience = patience;
  }

  /** A `fetch` that answers with a success, read whole, or throws an AgentpodsError. */
  readonly fetch = async (request: Request): Promise<Response> => {
    let maybeDone = false; // by an attempt whose answer was lost
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.#attempt(request.clone());
      } catch (error) {
        if (request.method === "DELETE" && maybeDone && error instanceof ApiError && error.status === 404) {
          return new Response(null, { status: 204 }); // an earlier attempt did it
        }
        const seconds = this.#pauseAfter(error, request, tries);
        if (seconds === null) throw error;
        maybeDone ||= !(error instanceof ApiError && error.status === 429);
        await pause(seconds);
      }
    }
  };

  /** The events of a stream, until the service ends it. Nothing is sent twice here. */
  async *events(path: string, init: RequestInit = {}): AsyncGenerator<ServerEvent, void> {
    const reader = new EventReader();
    for await (const piece of this.pieces(path, EVENTS, init)) yield* reader.feed(piece);
  }

  /** The bytes of an answer of this type, as they come, however many there are. Nothing is sent twice here. */
  async *pieces(path: string, type: string, init: RequestInit = {}): AsyncGenerator<Uint8Array, void> {
    const ended = new AbortController();
    const request = new Request(this.baseUrl + path, init);
    request.headers.set("Accept", type);
    const timer = setTimeout(() => ended.abort(), this.#patience.timeout * 1000);
    try {
      const answer = await this.#begun(request, ended);
      clearTimeout(timer); // from here on it is between two pieces
      if (!answer.headers.get("content-type")?.startsWith(type) || !answer.body) {
        throw new UnexpectedAnswerError(`the answer is no ${type}: is the address right?`);
      }
      yield* pieces(answer.body, this.#patience.timeout);
    } finally {
      clearTimeout(timer);
      ended.abort();
    }
  }

  async #attempt(request: Request): Promise<Response> {
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), (this.#patience.timeout + waited(request)) * 1000);
    try {
      const answer = await this.#begun(request, ended);
      const body = await whole(answer);
      const empty = [204, 205].includes(answer.status);
      const isFile = /gzip|pdf/.test(answer.headers.get("content-type") ?? "");
      if (!empty && !isFile && !parsed(new TextDecoder().decode(body))) {
        throw new UnexpectedAnswerError(`the answer (status ${answer.status}) is no JSON object: is the address right?`);
      }
      return new Response(empty ? null : body, { status: answer.status, headers: answer.headers });
    } catch (error) {
      throw error instanceof AgentpodsError ? error : noAnswer(request, error);
    } finally {
      clearTimeout(timer);
      ended.abort();
    }
  }

  /** The answer of a success, not read yet. */
  async #begun(request: Request, ended: AbortController): Promise<Response> {
    if (this.#key) request.headers.set("Authorization", `Bearer ${this.#key}`);
    // A redirect is not followed: the key would go with it.
    const init: RequestInit = { redirect: "manual", signal: ended.signal };
    let answer: Response;
    try {
      answer = await this.#patience.fetch(request, init);
    } catch (error) {
      throw noAnswer(request, error);
    }
    if (answer.ok) return answer;
    const text = new TextDecoder().decode(await whole(answer).catch(() => new Uint8Array()));
    throw refusal(answer, text, this.#key);
  }

  #pauseAfter(error: unknown, request: Request, tries: number): number | null {
    if (tries >= this.#patience.maxRetries) return null;
    const repeatable = REPEATABLE.includes(request.method) || request.headers.has(IDEMPOTENCY_KEY);
    const limited = error instanceof ApiError && error.status === 429; // nothing was done
    const passing = error instanceof NoAnswerError || (error instanceof ApiError && BUSY.includes(error.status));
    if (!limited && !(passing && repeatable)) return null;
    const asked = error instanceof ApiError ? error.retryAfter : null;
    if (asked !== null) return asked > LONGEST_RETRY_AFTER ? null : asked;
    return Math.min(FIRST_PAUSE * 2 ** tries, MOST_PAUSE) * (0.5 + Math.random() / 2);
  }
}

function noAnswer(request: Request, error: unknown): NoAnswerError {
  const why = error instanceof Error && error.name === "AbortError" ? "no answer in time" : "no answer";
  return new NoAnswerError(`${request.method} ${new URL(request.url).pathname}: ${why}`, { cause: error });
}

/** The seconds for which the request asks the service to wait. */
function waited(request: Request): number {
  return Number(/wait=(\d+)/.exec(request.headers.get("Prefer") ?? "")?.[1] ?? 0);
}

async function whole(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  const found: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer.body ?? []) {
    found.push(piece);
    size += piece.length;
    if (size > MAX_ANSWER_BYTES) throw new UnexpectedAnswerError(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
  }
  const joined = new Uint8Array(size);
  let at = 0;
  for (const piece of found) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

/** The pieces of a stream, with at most so many seconds between two of them. */
async function* pieces(body: ReadableStream<Uint8Array>, seconds: number): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  try {
    for (;;) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<never>((_, fail) => {
        timer = setTimeout(() => fail(new NoAnswerError("the stream has stopped")), seconds * 1000);
      });
      try {
        const { done, value } = await Promise.race([reader.read(), late]);
        if (done) return;
        yield value;
      } catch (error) {
        throw error instanceof AgentpodsError ? error : new NoAnswerError("the stream broke", { cause: error });
      } finally {
        clearTimeout(timer);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
