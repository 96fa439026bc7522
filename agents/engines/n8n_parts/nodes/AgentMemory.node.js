"use strict";
/* A memory of conversations that survives a restart. n8n's own Simple Memory does not, and its other memories need an
   additional service. */

const path = require("node:path");
const { DatabaseSync } = require("node:sqlite");

const n8n = require("../installed.cjs");
const { BufferWindowMemory } = n8n("@langchain/classic/memory");
const { BaseListChatMessageHistory } = n8n("@langchain/core/chat_history");
const messages = n8n("@langchain/core/messages");
const { logWrapper } = n8n("@n8n/ai-utilities");

const EXCHANGES = 50;
let opened;

function database() {
  if (opened) return opened;
  opened = new DatabaseSync(path.join(process.env.N8N_USER_FOLDER, "conversations.sqlite"), { timeout: 5000 });
  opened.exec("PRAGMA journal_mode = WAL");
  opened.exec(
    "CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, session TEXT NOT NULL, message TEXT NOT NULL," +
      " said_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)",
  );
  opened.exec("CREATE INDEX IF NOT EXISTS messages_of_session ON messages (session, id)");
  return opened;
}

class History extends BaseListChatMessageHistory {
  lc_namespace = ["agentpods"];

  constructor(session, most) {
    super();
    this._session = session;
    this._most = most;
  }

  async getMessages() {
    const newest = "SELECT id, message FROM messages WHERE session = ? ORDER BY id DESC LIMIT ?";
    const rows = database().prepare(`SELECT message FROM (${newest}) ORDER BY id`).all(this._session, this._most);
    return messages.mapStoredMessagesToChatMessages(rows.map((row) => JSON.parse(row.message)));
  }

  async addMessage(message) {
    await this.addMessages([message]);
  }

  /* Stores a whole turn or nothing. Otherwise a kill in between would leave a question without its answer. */
  async addMessages(added) {
    const insert = database().prepare("INSERT INTO messages (session, message) VALUES (?, ?)");
    database().exec("BEGIN IMMEDIATE");
    try {
      for (const message of added) insert.run(this._session, JSON.stringify(message.toDict()));
      database().exec("COMMIT");
    } catch (error) {
      database().exec("ROLLBACK");
      throw error;
    }
  }

  async clear() {
    database().prepare("DELETE FROM messages WHERE session = ?").run(this._session);
  }
}

class Memory extends BufferWindowMemory {
  async saveContext(input, output) {
    const said = [new messages.HumanMessage(String(input.input)), new messages.AIMessage(String(output.output))];
    await this.chatHistory.addMessages(said);
  }
}

class AgentMemory {
  description = {
    displayName: "Agent Memory",
    name: "agentMemory",
    icon: "fa:database",
    group: ["transform"],
    version: 1,
    description: "Keeps conversations in a file of the agent, over restarts and in its backups",
    defaults: { name: "Agent Memory" },
    codex: { categories: ["AI"], subcategories: { AI: ["Memory"], Memory: ["Other memories"] } },
    inputs: [],
    outputs: ["ai_memory"],
    outputNames: ["Memory"],
    properties: [
      {
        displayName: "Conversation",
        name: "sessionKey",
        type: "string",
        default: "={{ $json.sessionId }}",
        description: "The name of the conversation; each one is remembered by itself",
      },
      {
        displayName: "Exchanges",
        name: "exchanges",
        type: "number",
        default: EXCHANGES,
        description: "How many of the last questions and answers the model sees again",
      },
    ],
  };

  async supplyData(itemIndex) {
    const session = String(this.getNodeParameter("sessionKey", itemIndex));
    const k = Number(this.getNodeParameter("exchanges", itemIndex, EXCHANGES));
    const memory = new Memory({
      memoryKey: "chat_history",
      chatHistory: new History(session, k * 20),
      returnMessages: true,
      inputKey: "input",
      outputKey: "output",
      k: k * 10,
    });
    return { response: logWrapper(memory, this) };
  }
}

module.exports = { AgentMemory };
