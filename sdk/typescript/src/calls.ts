/** What all groups of calls need: their parameters, and the body of a success. */

import { UnexpectedAnswerError } from "./errors.ts";

interface Answer<T> {
  data?: T;
  response: Response;
}

/** The body of a success. Without one, something else answered. */
export function told<T>(answer: Answer<T>): T {
  if (typeof answer.data !== "object" || answer.data === null) {
    throw new UnexpectedAnswerError(`the answer (status ${answer.response.status}) is no JSON object`);
  }
  return answer.data;
}

/** The seconds, at most 60, in which the service waits until the agent has settled. */
export function prefer(wait?: number): Record<string, string> {
  if (wait === undefined || wait === 0) return {};
  // JavaScript has no types: `{ wait: 60 }` in the place of a number would otherwise be sent as nonsense.
  if (!Number.isFinite(wait)) throw new TypeError("wait: must be a number of seconds");
  return { Prefer: `wait=${wait}` };
}

export const one = (id: string, wait?: number) => ({ params: { path: { id: part(id) }, header: prefer(wait) } });

/** A part of a path. `.` and `..` would lead to another path. */
export function part(id: string): string {
  if (["", ".", ".."].includes(id)) throw new TypeError(`${JSON.stringify(id)} is no id`);
  return id;
}

/** The same, as it stands in a path that is written by hand. */
export const inPath = (id: string): string => encodeURIComponent(part(id));

/**
 * The pages of any list, to its end. `ask` is called with the cursor of each:
 * `pages((cursor) => pods.api.GET("/invoices", { params: { query: { limit: 100, ...cursor } } }))`.
 */
export async function* pages<T>(ask: (query: { cursor?: string }) => Promise<Answer<T>>): AsyncGenerator<T, void> {
  const seen = new Set<string>();
  for (let cursor: string | null = null; ; ) {
    const page: Answer<T> = await ask(cursor === null ? {} : { cursor });
    yield told(page);
    cursor = nextCursor(page.response);
    if (cursor === null) return;
    if (seen.has(cursor)) throw new UnexpectedAnswerError("the list leads back to a page that was read already");
    seen.add(cursor);
  }
}

/** Only the cursor is read: the link may name another host. */
function nextCursor(answer: Response): string | null {
  const link = /<([^>]*)>;\s*rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
  return link ? new URL(link, "http://unused").searchParams.get("cursor") : null;
}
