/** Agents: their life, their conversations, their log. */

import type { Client } from "openapi-fetch";

import { inPath, one, pages, part, prefer, told } from "./calls.ts";
import { pause, type Connection } from "./connection.ts";
import { ApiError, NoAnswerError, NotSettledError, StreamCutError, UnexpectedAnswerError } from "./errors.ts";
import { followed } from "./following.ts";
import type { components, paths } from "./schema.ts";
import type { ServerEvent } from "./sse.ts";

type Schemas = components["schemas"];
type Agent = Schemas["Agent"];
type LogQuery = NonNullable<paths["/agents/{id}/logs"]["get"]["parameters"]["query"]>;
type ListQuery = NonNullable<paths["/agents"]["get"]["parameters"]["query"]>;

export type ChatEvent =
  | { type: "delta"; text: string }
  | { type: "part"; part: Record<string, unknown> }
  | { type: "done"; reply: string; sessionId: string };

const SETTLED: readonly string[] = ["running", "stopped", "failed", "deleted"];
const LONGEST_WAIT = 60; // seconds; the service waits no longer
const EVENTS_A_PAGE = 100;

/** `wait` of a call is at most 60: the seconds in which the service waits until the agent has settled. */
export class AgentCalls {
  readonly #api: Client<paths>;
  readonly #connection: Connection;

  constructor(api: Client<paths>, connection: Connection) {
    this.#api = api;
    this.#connection = connection;
  }

  /** Create an agent. `webhookSecret` is shown this once. A repeat with the same key makes no second agent. */
  async create(
    body: Schemas["CreateAgentRequest"],
    options: { wait?: number; idempotencyKey?: string } = {},
  ): Promise<Schemas["CreatedAgentEnvelope"]> {
    const key = options.idempotencyKey ? { "Idempotency-Key": options.idempotencyKey } : {};
    return told(await this.#api.POST("/agents", { params: { header: { ...key, ...prefer(options.wait) } }, body }));
  }

  async get(id: string): Promise<Agent> {
    return told(await this.#api.GET("/agents/{id}", { params: { path: { id: part(id) } } })).agent;
  }

  /** All of them, newest first; further pages are read as they are needed. */
  async *list(query: Omit<ListQuery, "cursor"> = {}): AsyncGenerator<Agent, void> {
    for await (const page of pages((cursor) => this.#api.GET("/agents", { params: { query: { ...query, ...cursor } } }))) {
      yield* page.agents;
    }
  }

  /** Change plain settings. `etag` of an earlier answer refuses the change if somebody else made one meanwhile. */
  async update(id: string, body: Schemas["PatchAgentRequest"], options: { etag?: string } = {}): Promise<Agent> {
    const header = options.etag ? { "If-Match": options.etag } : {};
    return told(await this.#api.PATCH("/agents/{id}", { params: { path: { id: part(id) }, header }, body })).agent;
  }

  /** Give the agent the key of its model's provider. */
  async setLlmKey(id: string, body: Schemas["LlmKeyRequest"]): Promise<Agent> {
    return told(await this.#api.PATCH("/agents/{id}/llm-key", { params: { path: { id: part(id) } }, body })).agent;
  }

  async pause(id: string, wait?: number): Promise<Agent> {
    return told(await this.#api.POST("/agents/{id}/pause", one(id, wait))).agent;
  }

  async resume(id: string, wait?: number): Promise<Agent> {
    return told(await this.#api.POST("/agents/{id}/resume", one(id, wait))).agent;
  }

  async rebuild(id: string, wait?: number): Promise<Agent> {
    return told(await this.#api.POST("/agents/{id}/rebuild", one(id, wait))).agent;
  }

  async delete(id: string, wait?: number): Promise<void> {
    await this.#api.DELETE("/agents/{id}", one(id, wait));
  }

  /** Why it does not answer, and which call helps. */
  async explain(id: string): Promise<Schemas["Explanation"]> {
    return told(await this.#api.GET("/agents/{id}/explain", { params: { path: { id: part(id) } } })).explanation;
  }

  /** Wait until the agent is where it is wanted. Returns null for one that was to be deleted and is. Throws NotSettledError. */
  async wait(
    id: string,
    options: { until?: "running" | "stopped" | "deleted" | "settled"; seconds?: number } = {},
  ): Promise<Agent | null> {
    const until = options.until ?? "running";
    const deadline = Date.now() + (options.seconds ?? 300) * 1000;
    for (;;) {
      const asked = Date.now();
      const left = Math.floor((deadline - asked) / 1000);
      const agent = await this.#look(id, Math.max(1, Math.min(LONGEST_WAIT, left)), until === "deleted");
      if (agent === null) return null;
      const { status } = agent;
      if (status === until || (until === "settled" && SETTLED.includes(status))) return agent;
      const isOver = status === "failed" || status === "deleted";
      if (isOver) throw new NotSettledError(`the agent is ${status}, not ${until}: explain says why`, status);
      if (Date.now() >= deadline) throw new NotSettledError(`the agent is still ${status}, not ${until}`, status);
      // Where the service has waited itself, the next look is due at once.
      await pause(Math.max(0, Math.min(2 - (Date.now() - asked) / 1000, (deadline - Date.now()) / 1000)));
    }
  }

  async #look(id: string, wait: number, mayBeGone: boolean): Promise<Agent | null> {
    try {
      return told(await this.#api.GET("/agents/{id}", one(id, wait))).agent;
    } catch (error) {
      if (mayBeGone && error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  async chat(id: string, message: string, sessionId?: string): Promise<Schemas["Reply"]> {
    const body = { message, sessionId: sessionId ?? null };
    const params = { path: { id: part(id) } };
    return told(await this.#api.POST("/agents/{id}/chat", { params, body, parseAs: "json" })) as Schemas["Reply"];
  }

  /** Say something and read the reply while it comes. Leaving the loop ends the turn. */
  async *stream(id: string, message: string, sessionId?: string): AsyncGenerator<ChatEvent, void> {
    const body = JSON.stringify({ message, sessionId: sessionId ?? null });
    const init = { method: "POST", body, headers: { "Content-Type": "application/json" } };
    try {
      for await (const event of this.#connection.events(`/agents/${inPath(id)}/chat`, init)) {
        const said = chatEvent(event);
        if (said) yield said;
        if (said?.type === "done") return;
      }
    } catch (error) {
      throw error instanceof NoAnswerError ? new StreamCutError(error.message, { cause: error }) : error;
    }
    throw new StreamCutError("the stream ended before the reply did");
  }

  /** Its events of the last thirty days that came after the one with this id, oldest first. With null: those of all agents. */
  async *events(id: string | null, options: { after?: string } = {}): AsyncGenerator<Schemas["LoggedEvent"], void> {
    for (let after = options.after; ; ) {
      const page = await this.#eventsAfter(id, after === undefined ? { limit: EVENTS_A_PAGE } : { limit: EVENTS_A_PAGE, after });
      yield* page;
      const last = page.at(-1)?.id;
      if (page.length < EVENTS_A_PAGE) return;
      if (last === after) throw new UnexpectedAnswerError("the list of events does not go on");
      after = last;
    }
  }

  async #eventsAfter(id: string | null, query: { limit: number; after?: string }): Promise<Schemas["LoggedEvent"][]> {
    const answer =
      id === null
        ? await this.#api.GET("/events", { params: { query }, parseAs: "json" })
        : await this.#api.GET("/agents/{id}/events", { params: { path: { id: part(id) }, query }, parseAs: "json" });
    return (told(answer) as Schemas["EventsEnvelope"]).events;
  }

  async logs(id: string, query: LogQuery = {}): Promise<Schemas["LogsEnvelope"]> {
    const params = { path: { id: part(id) }, query };
    return told(await this.#api.GET("/agents/{id}/logs", { params, parseAs: "json" })) as Schemas["LogsEnvelope"];
  }

  /** The log as it grows: events `log`, `state`, `gap` and at last `end`, over broken connections. */
  followLogs(id: string, options: { after?: string } = {}): AsyncGenerator<ServerEvent, void> {
    return this.#follow(`/agents/${inPath(id)}/logs`, options.after);
  }

  /** Its events of thirty days, and then those that come, over broken connections. With null: those of all agents. */
  followEvents(id: string | null, options: { after?: string } = {}): AsyncGenerator<ServerEvent, void> {
    return this.#follow(id === null ? "/events" : `/agents/${inPath(id)}/events`, options.after);
  }

  #follow(path: string, after: string | undefined): AsyncGenerator<ServerEvent, void> {
    return followed((place) => this.#connection.events(path, { headers: place ? { "Last-Event-ID": place } : {} }), after);
  }
}

function chatEvent({ name, data }: ServerEvent): ChatEvent | null {
  if (name === "delta") return { type: "delta", text: String(data["text"] ?? "") };
  if (name === "part") return { type: "part", part: data };
  if (name === "done") return { type: "done", reply: String(data["reply"] ?? ""), sessionId: String(data["sessionId"] ?? "") };
  if (name !== "error") return null;
  const error = { status: 503, error: String(data["error"] ?? "INTERNAL").slice(0, 80) };
  throw new ApiError(String(data["message"] ?? "the turn failed").slice(0, 2_000), error);
}

