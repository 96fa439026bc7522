/** Backups of an agent. */

import type { Client } from "openapi-fetch";

import { inPath, part, prefer, told } from "./calls.ts";
import { pause, type Connection } from "./connection.ts";
import { ApiError } from "./errors.ts";
import type { components, paths } from "./schema.ts";

type Schemas = components["schemas"];

const ASKS = 10; // a backup of much data takes longer than a call; a repeat joins it
const LONGEST_PAUSE = 60; // seconds

export class BackupCalls {
  readonly #api: Client<paths>;
  readonly #connection: Connection;

  constructor(api: Client<paths>, connection: Connection) {
    this.#api = api;
    this.#connection = connection;
  }

  /** Back up now, and wait for the end. */
  async create(agentId: string): Promise<Schemas["BackupEntry"]> {
    for (let asked = 1; ; asked += 1) {
      try {
        return told(await this.#api.POST("/agents/{id}/backups", { params: { path: { id: part(agentId) } } })).backup;
      } catch (error) {
        const again = error instanceof ApiError && error.status >= 500 ? error.retryAfter : null;
        if (again === null || asked >= ASKS) throw error;
        await pause(Math.min(again, LONGEST_PAUSE));
      }
    }
  }

  async list(agentId: string): Promise<Schemas["BackupEntry"][]> {
    return told(await this.#api.GET("/agents/{id}/backups", { params: { path: { id: part(agentId) } } })).backups;
  }

  /**
   * The bytes of a backup, a tar.gz, as they come; one that is incomplete throws. In Node.js:
   * `await writeFile("backup.tar.gz", pods.backups.download(agentId, name))`.
   */
  download(agentId: string, name: string): AsyncGenerator<Uint8Array, void> {
    return this.#connection.pieces(`/agents/${inPath(agentId)}/backups/${inPath(name)}`, "application/gzip");
  }

  /** Put a backup in the place of the agent's data. */
  async restore(agentId: string, name: string, wait?: number): Promise<Schemas["Agent"]> {
    const params = { path: { id: part(agentId), name: part(name) }, header: prefer(wait) };
    return told(await this.#api.POST("/agents/{id}/backups/{name}/restore", { params })).agent;
  }

  async delete(agentId: string, name: string): Promise<void> {
    await this.#api.DELETE("/agents/{id}/backups/{name}", { params: { path: { id: part(agentId), name: part(name) } } });
  }
}
