/** Where an agent's events are sent. `verified` checks what arrives there. */

import type { Client } from "openapi-fetch";

import { pages, part, told } from "./calls.ts";
import type { components, paths } from "./schema.ts";

type Schemas = components["schemas"];

export class WebhookCalls {
  readonly #api: Client<paths>;

  constructor(api: Client<paths>) {
    this.#api = api;
  }

  /** Send the events there. `secret` is shown this once; the same call makes a new one. */
  async set(agentId: string, url: string): Promise<Schemas["Webhook"]> {
    return told(await this.#api.PUT("/agents/{id}/webhook", { params: { path: { id: part(agentId) } }, body: { url } })).webhook;
  }

  async delete(agentId: string): Promise<void> {
    await this.#api.DELETE("/agents/{id}/webhook", { params: { path: { id: part(agentId) } } });
  }

  /** Send an event `test`, and wait for the outcome: about a minute if the receiver is dead. */
  async test(agentId: string): Promise<Schemas["WebhookDelivery"]> {
    return told(await this.#api.POST("/agents/{id}/webhook/test", { params: { path: { id: part(agentId) } } })).delivery;
  }

  /** All of them, newest first; further pages are read as they are needed. */
  async *deliveries(agentId: string): AsyncGenerator<Schemas["Delivery"], void> {
    const path = { id: part(agentId) };
    const ask = (query: { cursor?: string }) => this.#api.GET("/agents/{id}/webhook/deliveries", { params: { path, query } });
    for await (const page of pages(ask)) yield* page.deliveries;
  }

  async redeliver(agentId: string, deliveryId: string): Promise<Schemas["WebhookDelivery"]> {
    const path = { id: part(agentId), delivery: part(deliveryId) };
    return told(await this.#api.POST("/agents/{id}/webhook/deliveries/{delivery}/redeliver", { params: { path } })).delivery;
  }
}
