/** The client of Agentpods. */

import createClient, { type Client } from "openapi-fetch";

import { AgentCalls } from "./agents.ts";
import { BackupCalls } from "./backups.ts";
import { Connection, IDEMPOTENCY_KEY } from "./connection.ts";
import { WebhookCalls } from "./receivers.ts";
import type { components, paths } from "./schema.ts";
import type { ServerEvent } from "./sse.ts";

export { pages } from "./calls.ts";
export * from "./errors.ts";
export { verified, type WebhookEvent } from "./webhooks.ts";
export type { ChatEvent } from "./agents.ts";
export type { ServerEvent } from "./sse.ts";
export type { components, paths } from "./schema.ts";
export type Schemas = components["schemas"];

export interface Options {
  /** Else AGENTPODS_URL, where there is an environment. */
  baseUrl?: string;
  /** Else AGENTPODS_API_KEY. Empty: calls without a credential. */
  apiKey?: string;
  /** Seconds for one attempt. */
  timeout?: number;
  maxRetries?: number;
  fetch?: typeof globalThis.fetch;
}

const CREATES = ["/agents", "/subscriptions", "/crypto/orders", "/stars/orders", "/stripe/orders"];

/**
 * `agents`, `backups` and `webhooks` have the usual calls, `api` every operation: `pods.api.GET("/tiers")`. A refusal is
 * thrown.
 */
export class Agentpods {
  readonly api: Client<paths>;
  readonly agents: AgentCalls;
  readonly backups: BackupCalls;
  readonly webhooks: WebhookCalls;
  readonly #connection: Connection;

  constructor(options: Options = {}) {
    const environment = globalThis.process?.env ?? {};
    const baseUrl = address(options.baseUrl ?? environment["AGENTPODS_URL"] ?? "http://127.0.0.1:8000");
    const key = (options.apiKey ?? environment["AGENTPODS_API_KEY"] ?? "").trim();
    if (key && !/^[\x21-\x7e]+$/.test(key)) throw new TypeError("apiKey: has characters that no key has; copy it again");
    const patience = { timeout: options.timeout ?? 150, maxRetries: options.maxRetries ?? 3, fetch: options.fetch ?? globalThis.fetch };
    const connection = new Connection(baseUrl, key, patience);
    this.api = createClient<paths>({ baseUrl, fetch: connection.fetch });
    this.api.use({
      onRequest({ request, schemaPath }) {
        // The same key in each attempt makes a repeat harmless.
        if (request.method === "POST" && CREATES.includes(schemaPath) && !request.headers.has(IDEMPOTENCY_KEY)) {
          request.headers.set(IDEMPOTENCY_KEY, crypto.randomUUID());
        }
      },
    });
    this.#connection = connection;
    this.agents = new AgentCalls(this.api, connection);
    this.backups = new BackupCalls(this.api, connection);
    this.webhooks = new WebhookCalls(this.api);
  }

  /** The events of a call that streams, to its end; `api` reads whole answers. `body` is sent as JSON. */
  stream(method: string, path: string, body?: unknown): AsyncGenerator<ServerEvent, void> {
    const json = { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
    return this.#connection.events(path, { method, ...(body === undefined ? {} : json) });
  }
}

function address(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError("baseUrl: must be an http:// or https:// address, alone");
  }
  return given.replace(/\/+$/, "");
}
