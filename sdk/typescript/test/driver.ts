/** Calls the SDK as each line of its input says, and answers with a line. `tests/sdk/driving/typescript.py` writes the lines. */

import { createInterface } from "node:readline";

import { Agentpods, ApiError, NotSettledError, pages, verified } from "../src/index.ts";

type Answer = { data?: unknown; response: Response };
type Call = (...given: unknown[]) => unknown;

interface Asked {
  ask: "operation" | "pages" | "stream" | "call" | "next" | "leave" | "verified";
  of: string;
  name: string;
  given: unknown[];
  iterator: number;
}

const options = JSON.parse(process.argv[2] ?? "{}") as { timeout?: number; maxRetries?: number };
const pods = new Agentpods(options); // AGENTPODS_URL and AGENTPODS_API_KEY
const iterators: AsyncIterator<unknown>[] = [];

const isObject = (one: unknown): one is Record<string, unknown> => typeof one === "object" && one !== null;

/** An operation of `api`: `of` is its method, `name` its path, the first of `given` its parameters and body. */
async function operation({ of, name, given: [init] }: Asked): Promise<Answer> {
  const call = (pods.api as unknown as Record<string, (path: string, init: unknown) => Promise<Answer>>)[of];
  if (!call) throw new TypeError(`${of} is no method`);
  return call(name, init);
}

async function* rows(asked: Asked): AsyncGenerator<unknown, void> {
  const init = asked.given[0] as { params: { query: Record<string, unknown> } };
  const ask = (query: { cursor?: string }) => {
    const params = { ...init.params, query: { ...init.params.query, ...query } };
    return operation({ ...asked, given: [{ ...init, params }] });
  };
  for await (const page of pages(ask)) yield* (page as Record<string, unknown[]>)[String(asked.given[1])] ?? [];
}

function kept(iterator: AsyncIterator<unknown>): { iterator: number } {
  return { iterator: iterators.push(iterator) - 1 };
}

async function called({ of, name, given }: Asked): Promise<unknown> {
  const group = (pods as unknown as Record<string, Record<string, Call>>)[of];
  const told = await group?.[name]?.(...given);
  return isObject(told) && Symbol.asyncIterator in told ? kept(told as unknown as AsyncGenerator<unknown>) : { value: told };
}

async function told(asked: Asked): Promise<unknown> {
  switch (asked.ask) {
    case "operation": {
      const { data } = await operation(asked);
      return { value: data instanceof ArrayBuffer ? Buffer.from(data).toString("base64") : data };
    }
    case "pages":
      return kept(rows(asked));
    case "stream":
      return kept(pods.stream(asked.of, asked.name, asked.given[0]));
    case "call":
      return called(asked);
    case "next": {
      const next = await iterators[asked.iterator]?.next();
      const value: unknown = next?.value;
      return { done: next?.done, value: value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value };
    }
    case "leave":
      await iterators[asked.iterator]?.return?.();
      return {};
    case "verified": {
      const [body, headers, secret] = asked.given as [string, Record<string, string>, string];
      return { value: await verified(Buffer.from(body, "base64"), headers, secret) };
    }
  }
}

function failed(error: unknown): unknown {
  if (!(error instanceof Error)) throw error;
  const { name, message } = error;
  if (error instanceof NotSettledError) return { error: { name, message, settled: error.status } };
  if (!(error instanceof ApiError)) return { error: { name, message } };
  return { error: { name, message, status: error.status, error: error.error, requestId: error.requestId, retryAfter: error.retryAfter } };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await told(JSON.parse(line) as Asked).catch(failed);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
