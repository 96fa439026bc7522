/** Reads server-sent events from bytes, however they are cut into pieces. */

import { parsed, UnexpectedAnswerError } from "./errors.ts";

export interface ServerEvent {
  name: string;
  data: Record<string, unknown>;
  /** The place to go on after. */
  id: string | null;
}

const DONE = "[DONE]"; // ends a stream of OpenAI's protocol, and is no JSON
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;

export class EventReader {
  readonly #decoder = new TextDecoder();
  #afterReturn = false;
  #line: string[] = [];
  #data: string[] = [];
  #name = "";
  #id: string | null = null;
  #length = 0;

  /** The events that these bytes complete. */
  feed(piece: Uint8Array): ServerEvent[] {
    let text = this.#decoder.decode(piece, { stream: true });
    if (!text) return [];
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
    this.#afterReturn = text.endsWith("\r");
    this.#length += text.length;
    const [first = "", ...more] = text.split(/\r\n|\n|\r/);
    this.#line.push(first);
    const events: ServerEvent[] = [];
    for (const begun of more) {
      const event = this.#nextLine(begun);
      if (event) events.push(event);
    }
    if (this.#length > MAX_EVENT_CHARACTERS) {
      throw new UnexpectedAnswerError(`an event of the stream has more than ${MAX_EVENT_CHARACTERS} characters`);
    }
    return events;
  }

  #nextLine(begun: string): ServerEvent | null {
    const line = this.#line.join("");
    this.#line = [begun];
    if (!line) {
      this.#length = begun.length;
      return this.#ended();
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#name = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #ended(): ServerEvent | null {
    const [name, text] = [this.#name || "message", this.#data.join("\n")];
    this.#name = "";
    this.#data = [];
    if (!text || text === DONE) return null;
    const data = parsed(text);
    if (!data) throw new UnexpectedAnswerError(`the event \`${name.slice(0, 40)}\` of the stream has no JSON object`);
    return { name, data, id: this.#id };
  }
}
