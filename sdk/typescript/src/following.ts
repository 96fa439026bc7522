/** Follows a stream of the service over broken connections. */

import { BUSY, LONGEST_RETRY_AFTER, MOST_PAUSE, pause } from "./connection.ts";
import { ApiError, NoAnswerError } from "./errors.ts";
import type { ServerEvent } from "./sse.ts";

const MOST_FAILURES = 8; // in a row, without a single event between them

type Connect = (place: string | null) => AsyncGenerator<ServerEvent, void>;

/** The events of the stream, until `end`. `connect` opens it after the event with this id, or at its beginning. */
export async function* followed(connect: Connect, after: string | undefined): AsyncGenerator<ServerEvent, void> {
  let place = after ?? null;
  let state: string | null = null;
  for (let failures = 0, ends = 0; ; ) {
    let asked = 0;
    try {
      for await (const event of connect(place)) {
        place = event.id ?? place;
        const told: string | null = event.name === "state" ? JSON.stringify(event.data) : null;
        // Each connection begins with the state, changed or not.
        if (told === null) failures = ends = 0;
        if (told === null || told !== state) yield event;
        state = told ?? state;
        if (event.name === "end") return;
      }
      failures = 0; // a quiet stream ends after a while, which is no failure
    } catch (error) {
      failures += 1;
      asked = retryAfter(error);
      if (failures > MOST_FAILURES || asked > LONGEST_RETRY_AFTER) throw error;
    }
    ends += 1;
    await pause(Math.max(Math.min(0.5 * 2 ** ends, MOST_PAUSE), asked));
  }
}

/** The seconds that the service asks for. Throws the error where another connection is of no use. */
function retryAfter(error: unknown): number {
  if (error instanceof NoAnswerError) return 0;
  if (error instanceof ApiError && [429, ...BUSY].includes(error.status)) return error.retryAfter ?? 0;
  throw error;
}
