// Discord in openclaw's own process (openclaw_start.mjs): messages that came while openclaw was down are answered too.
//
// Discord sends a message once, and only to connected clients. So this module asks for missed messages: the newest
// ones of the channels that have any, and of the known private chats. openclaw keeps each message in a queue on its
// disk until its turn is over, and recognises a message that comes again by its number.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

const NAME = "@openclaw/discord";
// Discord's numbers contain a time: the milliseconds since this moment, then 22 more bits.
const EPOCH_MS = 1_420_070_400_000;
// Messages from this long before the newest known message are asked for too, because they may have been lost.
const MARGIN_MS = 60_000;
const KEPT_MS = 24 * 3_600_000;
const OF_ONE_CHANNEL = 50;
const CHANNELS_ASKED = 100;
const TEXT_KINDS = new Set([0, 5, 10, 11, 12]); // text channels and threads of a server
// The file in which openclaw's Discord plugin starts to receive messages. It is loaded once, only in this version.
const FILE = /\/@openclaw\/discord\/dist\/\.setup\/message-handler-[^/.]+\.mjs$/;
const BEGIN = "\n\tingress.start();\n";
const FOLLOW = Symbol.for("agentpods.discord");
const CALL = `globalThis[Symbol.for("${FOLLOW.description}")](params, ingress);\n`;

/** Removes the plugin of an agent that left Discord, or of an earlier version: openclaw would update it from npm. */
export function removeDiscord(state) {
  rmSync(path.join(state, "npm"), { recursive: true, force: true });
}

/** openclaw gives a plugin its state only if npm installed the plugin in openclaw's own directory, beside openclaw. So
 * the plugin's files are copied. Its dependencies become links, and package.json does not list them, because openclaw
 * would find them missing. */
export function installDiscord(state, modules) {
  const from = path.join(modules, NAME);
  const root = path.join(state, "npm");
  const there = path.join(root, "node_modules", NAME);
  cpSync(from, there, { recursive: true, filter: (file) => file !== path.join(from, "node_modules") });
  mkdirSync(path.join(there, "node_modules"));
  for (const needed of readdirSync(path.join(from, "node_modules"))) {
    symlinkSync(path.join(from, "node_modules", needed), path.join(there, "node_modules", needed));
  }
  symlinkSync(path.join(modules, "openclaw"), path.join(there, "node_modules", "openclaw"));
  const { dependencies, ...about } = JSON.parse(readFileSync(path.join(from, "package.json"), "utf8"));
  writeFileSync(path.join(there, "package.json"), JSON.stringify(about));
  const installed = { private: true, dependencies: { [NAME]: about.version } };
  writeFileSync(path.join(root, "package.json"), JSON.stringify(installed));
}

export function followDiscord(state) {
  globalThis[FOLLOW] = ({ client }, queue) => {
    new Missed(client, queue, new Known(path.join(state, "discord.sqlite"))).follow();
  };
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!FILE.test(url)) return loaded;
      const source = Buffer.from(loaded.source).toString();
      if (source.split(BEGIN).length !== 2) throw new Error("this is another version of openclaw's Discord");
      return { ...loaded, source: source.replace(BEGIN, `${BEGIN}${CALL}`) };
    },
  });
}

class Missed {
  constructor(client, queue, known) {
    this.client = client;
    this.queue = queue;
    this.known = known;
    this.asking = Promise.resolve();
  }

  follow() {
    const accept = this.queue.accept;
    this.queue.accept = async (message) => {
      await accept(message);
      this.known.see(message);
    };
    this.client.registerListener({ type: "READY", handle: () => this.ask() });
    this.ask();
  }

  /** Asks after the previous request ended. Nothing waits for it: openclaw receives new messages meanwhile. */
  ask() {
    this.asking = this.asking
      .then(() => this.bring())
      .catch((error) => console.error(`messages of Discord that were missed are not known: ${error.message}`));
  }

  async bring() {
    const newest = this.known.newest();
    if (!newest) return this.known.begin(numberAt(Date.now())); // the first start: nothing was missed
    const known = newest - (BigInt(MARGIN_MS) << 22n);
    const oldest = numberAt(Date.now() - KEPT_MS);
    const after = known > oldest ? known : oldest;
    const found = [];
    for (const { id, guild_id } of await this.channels(after)) {
      const messages = await this.got(`/channels/${id}/messages`, { after: String(after), limit: OF_ONE_CHANNEL });
      found.push(...(messages ?? []).map((message) => (guild_id ? { ...message, guild_id } : message)));
    }
    found.sort((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
    for (const message of found) if (!message.author?.bot) await this.queue.accept(message);
  }

  async channels(after) {
    const found = this.known.privateChats(CHANNELS_ASKED);
    for (const { id: guild_id } of (await this.got("/users/@me/guilds")) ?? []) {
      const channels = (await this.got(`/guilds/${guild_id}/channels`)) ?? [];
      const { threads = [] } = (await this.got(`/guilds/${guild_id}/threads/active`)) ?? {};
      const newer = [...channels, ...threads].filter(({ type, last_message_id }) =>
        TEXT_KINDS.has(type) && BigInt(last_message_id ?? 0) > after);
      found.push(...newer.map(({ id }) => ({ id, guild_id })));
    }
    return found.slice(0, 2 * CHANNELS_ASKED);
  }

  /** Returns undefined if the bot may not read it. */
  async got(route, query) {
    try {
      return await this.client.rest.get(route, query);
    } catch (error) {
      console.error(`Discord's ${route.replace(/\d+/g, "…")} is not known: ${error.message}`);
      return undefined;
    }
  }
}

/** Stores the newest message and the private chats, because Discord gives a bot no list of its private chats. */
class Known {
  constructor(file) {
    this.database = new DatabaseSync(file, { timeout: 5000 });
    this.database.exec(`
      CREATE TABLE IF NOT EXISTS newest (one INTEGER PRIMARY KEY CHECK (one = 1), number TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS private_chats (id TEXT PRIMARY KEY, number TEXT NOT NULL);
    `);
  }

  newest() {
    const row = this.database.prepare("SELECT number FROM newest").get();
    return row && BigInt(row.number);
  }

  begin(number) {
    this.database.prepare("INSERT OR REPLACE INTO newest VALUES (1, ?)").run(String(number));
  }

  see({ id, channel_id, guild_id }) {
    if (!guild_id) this.database.prepare("INSERT OR REPLACE INTO private_chats VALUES (?, ?)").run(channel_id, id);
    if (BigInt(id) > (this.newest() ?? 0n)) this.begin(id);
  }

  /** The private chats with the newest messages. */
  privateChats(limit) {
    const chats = "SELECT id FROM private_chats ORDER BY length(number) DESC, number DESC LIMIT ?";
    return this.database.prepare(chats).all(limit);
  }
}

function numberAt(milliseconds) {
  return BigInt(milliseconds - EPOCH_MS) << 22n;
}
