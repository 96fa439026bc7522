// Gives pi the tools of the agent's MCP servers over streamable HTTP, straight from the engine to the servers.
//
// pi loads it with --extension; the servers are in mcp.json beside pi's settings. A server that does not answer does
// not affect the others: it is left out, named on stderr, and tried again before a later turn.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

type Json = Record<string, any>;
type Listed = { name: string; title?: string; description?: string; inputSchema?: Json };

const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]; // we offer the first one
const CONNECT_MS = 8_000;
const CALL_MS = 95_000; // the turn itself ends at 108 s
const GOODBYE_MS = 500;
const AGAIN_MS = 10_000; // between two attempts at a server that did not answer
const PATIENCE_MS = 3_000; // how long a turn waits for such an attempt
const RESUME_MS = 1_000;
const ANSWER_BYTES = 16 * 1024 * 1024;
const TEXT_CHARACTERS = 100_000;
const IMAGE_CHARACTERS = 7_000_000;
const DESCRIPTION_CHARACTERS = 4_000;
const MOST_PAGES = 50;
const MOST_TOOLS = 200;
const MOST_REDIRECTS = 3;
const NAME_CHARACTERS = 64;
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

class SessionLost extends Error {}

/** One MCP server: a session, which is opened again if the server has lost it. */
class Server {
  readonly name: string;
  private readonly url: string;
  private readonly headers: Record<string, string>;
  private session?: string;
  private version?: string;
  private last = 0;
  private opening?: Promise<void>;

  constructor(given: { name: string; url: string; headers?: Record<string, string> }) {
    this.name = given.name;
    this.url = given.url;
    this.headers = given.headers ?? {};
  }

  async tools(): Promise<Listed[]> {
    const signal = AbortSignal.timeout(CONNECT_MS);
    await this.open(signal);
    const found: Listed[] = [];
    const cursors = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES && found.length < MOST_TOOLS; page++) {
      const result = await this.ask("tools/list", cursor === undefined ? {} : { cursor }, signal);
      if (!Array.isArray(result.tools)) throw new Error("tools/list gave no tools");
      found.push(...result.tools.filter((tool: any) => typeof tool?.name === "string" && tool.name));
      cursor = result.nextCursor;
      if (typeof cursor !== "string" || cursors.has(cursor)) break;
      cursors.add(cursor);
    }
    return found.slice(0, MOST_TOOLS);
  }

  async call(name: string, given: Json, stop?: AbortSignal): Promise<Json> {
    const late = AbortSignal.timeout(CALL_MS);
    const signal = stop ? AbortSignal.any([stop, late]) : late;
    const used = this.session;
    try {
      return await this.ask("tools/call", { name, arguments: given ?? {} }, signal);
    } catch (error) {
      if (!(error instanceof SessionLost)) throw error;
      if (this.session === used) await this.open(signal); // else another call has opened it again
      return await this.ask("tools/call", { name, arguments: given ?? {} }, signal);
    }
  }

  /** The tools of one message run at the same time, but only one of them opens the session. */
  async open(signal: AbortSignal): Promise<void> {
    this.opening ??= this.initialize(signal).finally(() => (this.opening = undefined));
    await this.opening;
  }

  async close(): Promise<void> {
    if (this.session === undefined) return;
    await this.send("DELETE", undefined, AbortSignal.timeout(GOODBYE_MS)).catch(() => undefined);
  }

  private async initialize(signal: AbortSignal): Promise<void> {
    this.session = this.version = undefined;
    const hello = { protocolVersion: VERSIONS[0], capabilities: {}, clientInfo: { name: "agentpods-pi", version: "1" } };
    const result = await this.ask("initialize", hello, signal);
    if (!VERSIONS.includes(result.protocolVersion)) throw new Error(`speaks MCP ${result.protocolVersion} only`);
    this.version = result.protocolVersion;
    await this.tell({ method: "notifications/initialized" }, signal);
  }

  private async ask(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    const id = ++this.last;
    try {
      const response = await this.send("POST", { id, method, params }, signal);
      if (!response.ok) throw await this.refusal(response);
      if (method === "initialize") this.session = response.headers.get("mcp-session-id") ?? undefined;
      return resultOf(await this.answer(response, id, signal));
    } catch (error) {
      if (!signal.aborted) throw error;
      const late = signal.reason?.name === "TimeoutError";
      if (method === "tools/call") void this.giveUp(id, late ? "timed out" : "stopped");
      throw new Error(late ? "did not answer in time" : "the call was stopped");
    }
  }

  private async giveUp(requestId: number, reason: string): Promise<void> {
    const signal = AbortSignal.timeout(GOODBYE_MS);
    await this.tell({ method: "notifications/cancelled", params: { requestId, reason } }, signal).catch(() => undefined);
  }

  /** A message that gets no answer. */
  private async tell(message: Json, signal: AbortSignal): Promise<void> {
    const response = await this.send("POST", message, signal);
    await response.body?.cancel();
  }

  private async refusal(response: Response): Promise<Error> {
    await response.body?.cancel();
    const forgotten = this.session !== undefined && (response.status === 404 || response.status === 400);
    return forgotten ? new SessionLost("the server has forgotten the session") : new Error(`answered ${response.status}`);
  }

  /** Redirects are followed only within the server's own origin, because the headers are only for this server. */
  private async send(method: string, message: Json | undefined, signal: AbortSignal, more: Json = {}): Promise<Response> {
    let url = this.url;
    for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
      const response = await this.once(url, method, message, signal, more);
      const location = response.headers.get("location");
      if (![307, 308].includes(response.status) || !location) return response;
      await response.body?.cancel();
      url = new URL(location, url).href;
      if (new URL(url).origin !== new URL(this.url).origin) throw new Error("redirects to another server");
    }
    throw new Error("redirects without an end");
  }

  private async once(url: string, method: string, message: Json | undefined, signal: AbortSignal, more: Json) {
    const headers: Record<string, string> = { Accept: "application/json, text/event-stream", ...this.headers, ...more };
    if (message) headers["Content-Type"] = "application/json";
    if (this.session !== undefined) headers["Mcp-Session-Id"] = this.session;
    if (this.version !== undefined) headers["MCP-Protocol-Version"] = this.version;
    const body = message && JSON.stringify({ jsonrpc: "2.0", ...message });
    try {
      return await fetch(url, { method, headers, body, signal, redirect: "manual" });
    } catch (error: any) {
      throw new Error(`cannot be reached (${error?.cause?.code ?? error?.name ?? "no connection"})`);
    }
  }

  private async answer(response: Response, id: number, signal: AbortSignal): Promise<Json> {
    if (!(response.headers.get("content-type") ?? "").includes("text/event-stream")) {
      let text = "";
      for await (const piece of pieces(response)) text += piece;
      const said = JSON.parse(text);
      const found = [said].flat().find((message) => isAnswer(message, id));
      if (!found) throw new Error("gave no answer");
      return found;
    }
    return await this.streamed(response, id, signal);
  }

  /** The server may end a stream before the answer. Then the stream is continued from where it ended. */
  private async streamed(first: Response, id: number, signal: AbortSignal): Promise<Json> {
    const place: Place = { retry: RESUME_MS };
    for (let response = first; ; ) {
      for await (const message of messages(response, place)) {
        if (isAnswer(message, id)) {
          void response.body?.cancel().catch(() => undefined);
          return message;
        }
        void this.serve(message, signal);
      }
      if (place.id === undefined) throw new Error("broke off its answer");
      await rest(place.retry, signal);
      response = await this.send("GET", undefined, signal, { "Last-Event-ID": place.id });
      if (!response.ok) throw await this.refusal(response);
    }
  }

  /** Requests of the server to us: a ping is answered, everything else is refused. */
  private async serve(message: Json, signal: AbortSignal): Promise<void> {
    if (message?.method === undefined || message.id === undefined) return;
    const reply = message.method === "ping" ? { result: {} } : { error: { code: -32601, message: "Method not found" } };
    await this.tell({ id: message.id, ...reply }, signal).catch(() => undefined);
  }
}

type Place = { id?: string; retry: number };

function isAnswer(message: Json, id: number): boolean {
  return message?.id === id && message.method === undefined;
}

function resultOf(message: Json): Json {
  if (message.error) throw new Error(String(message.error.message ?? `error ${message.error.code}`).slice(0, 2_000));
  return message.result ?? {};
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, Math.min(ms, CALL_MS));
    signal.addEventListener("abort", () => (clearTimeout(timer), fail(signal.reason)), { once: true });
  });
}

/** The body as text, with a size limit. */
async function* pieces(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES) throw new Error(`answered more than ${ANSWER_BYTES} bytes`);
    yield decoder.decode(chunk, { stream: true });
  }
}

/** The messages of server-sent events. `place` stores where to continue. */
async function* messages(response: Response, place: Place): AsyncGenerator<Json> {
  let held = "";
  let data: string[] = [];
  for await (const piece of pieces(response)) {
    held += piece;
    const lines = held.split(/\r\n|\n|\r(?!$)/);
    held = lines.pop() ?? "";
    for (const line of lines) {
      const [, field, value] = /^([^:]*):? ?([^]*)$/.exec(line) ?? [];
      if (field === "data") data.push(value);
      else if (field === "id") place.id = value;
      else if (field === "retry" && /^\d+$/.test(value)) place.retry = Number(value);
      else if (line === "" && data.length) {
        const text = data.join("\n");
        data = [];
        if (text.trim()) yield* [JSON.parse(text)].flat();
      }
    }
  }
}

/** What the model gets: text and pictures unchanged, and a note for anything else. */
function contentOf(result: Json): Json[] {
  const parts: Json[] = [];
  for (const part of Array.isArray(result.content) ? result.content : []) parts.push(partOf(part));
  if (!parts.length && result.structuredContent !== undefined) {
    parts.push({ type: "text", text: JSON.stringify(result.structuredContent) });
  }
  return parts.length ? shortened(parts) : [{ type: "text", text: "(the tool gave no content)" }];
}

function partOf(part: any): Json {
  const text = (said: string) => ({ type: "text", text: said });
  switch (part?.type) {
    case "text":
      return text(String(part.text ?? ""));
    case "image": {
      const fits = typeof part.data === "string" && part.data.length <= IMAGE_CHARACTERS && PICTURES.has(part.mimeType);
      return fits ? { type: "image", data: part.data, mimeType: part.mimeType } : text(`[image, ${part.mimeType}]`);
    }
    case "resource":
      return text(part.resource?.text ?? `[resource ${part.resource?.uri}, ${part.resource?.mimeType}]`);
    case "resource_link":
      return text(`[resource ${part.uri}: ${part.title ?? part.name ?? ""}]`);
    default:
      return text(`[${part?.type ?? "content"}, ${part?.mimeType ?? "of an unknown kind"}]`);
  }
}

function shortened(parts: Json[]): Json[] {
  let room = TEXT_CHARACTERS;
  return parts.map((part) => {
    if (part.type !== "text") return part;
    const kept = part.text.slice(0, Math.max(room, 0));
    room -= part.text.length;
    return kept.length < part.text.length ? { ...part, text: `${kept}\n[cut: ${part.text.length} characters]` } : part;
  });
}

/** `<server>__<tool>`: like `server:tool`, but with characters that every provider accepts. Each name is unique. */
function uniqueName(server: string, tool: string, taken: Set<string>): string {
  const wanted = `${server}__${tool}`.replace(/[^A-Za-z0-9_-]/g, "_");
  let name = wanted;
  for (let n = 0; name.length > NAME_CHARACTERS || taken.has(name); n++) {
    const mark = createHash("sha256").update(`${server}\n${tool}\n${n}`).digest("hex").slice(0, 8);
    name = `${wanted.slice(0, NAME_CHARACTERS - 9)}_${mark}`;
  }
  taken.add(name);
  return name;
}

function schemaOf(tool: Listed): Json {
  const { $schema, ...schema } = tool.inputSchema ?? {};
  return schema.type === "object" ? { properties: {}, ...schema } : { type: "object", properties: {} };
}

function register(pi: any, server: Server, tool: Listed, taken: Set<string>): void {
  pi.registerTool({
    name: uniqueName(server.name, tool.name, taken),
    label: tool.title ?? tool.name,
    description: (tool.description || tool.title || tool.name).slice(0, DESCRIPTION_CHARACTERS),
    parameters: schemaOf(tool),
    execute: async (_id: string, given: Json, signal?: AbortSignal) => {
      const result = await server.call(tool.name, given, signal).catch((error) => {
        throw new Error(`MCP server ${server.name}: ${error.message}`);
      });
      const content = contentOf(result);
      // pi needs an exception for a failure: a result cannot be marked as failed.
      if (result.isError) throw new Error(content.map((part) => part.text ?? "[image]").join("\n") || "the tool failed");
      return { content, details: undefined };
    },
  });
}

function configured(): Server[] {
  const raw = readFileSync(join(process.env.PI_CODING_AGENT_DIR ?? ".", "mcp.json"), "utf8");
  return JSON.parse(raw).servers.map((given: any) => new Server(given));
}

export default async function (pi: any): Promise<void> {
  const servers = configured();
  const missing = new Set(servers);
  const taken = new Set<string>();
  let tried = 0;

  const connect = async (server: Server, listed: Promise<Listed[]>) => {
    try {
      for (const tool of await listed) register(pi, server, tool, taken);
      missing.delete(server);
    } catch (error: any) {
      console.error(`MCP server ${server.name}: ${error.message}`);
    }
  };
  let trying: Promise<unknown> = Promise.resolve();
  /** All servers are asked at once, but named in the order of the configuration: names must not depend on speed. */
  const connectMissing = () => {
    tried = Date.now();
    const asked = [...missing].map((server) => ({ server, listed: server.tools() }));
    asked.forEach(({ listed }) => listed.catch(() => undefined));
    const inOrder = async () => {
      for (const { server, listed } of asked) await connect(server, listed);
      tried = Date.now();
    };
    return (trying = inOrder());
  };

  await connectMissing();
  pi.on("before_agent_start", async () => {
    if (!missing.size) return;
    if (Date.now() - tried >= AGAIN_MS) void connectMissing();
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([trying, new Promise((done) => (timer = setTimeout(done, PATIENCE_MS)))]);
    clearTimeout(timer);
  });
  pi.on("session_shutdown", async () => {
    await Promise.all(servers.map((server) => server.close()));
  });
}
