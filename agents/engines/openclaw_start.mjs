// `node openclaw_start.mjs <openclaw.mjs> gateway run`: starts openclaw, after preparations that no setting can make.
import { existsSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

import { followDiscord, installDiscord, removeDiscord } from "./openclaw_discord.mjs";

// A conversation through the bridge: its client already got the error that the engine ended.
const OURS = "agent:main:openai-user:%";

/** Ends interrupted turns. openclaw would ask the model again, although nobody waits for the answer. */
function forgetInterruptedTurns(state) {
  const file = path.join(state, "agents", "main", "agent", "openclaw-agent.sqlite");
  if (!existsSync(file)) return;
  const database = new DatabaseSync(file, { timeout: 5000 });
  try {
    database.exec("BEGIN IMMEDIATE");
    database
      .prepare(
        "UPDATE session_nodes SET status = 'killed', entry_json = json_set(entry_json, '$.status', 'killed') " +
          "WHERE status = 'running' AND session_key LIKE ?",
      )
      .run(OURS);
    // openclaw's own triggers mark a changed row as invalid, and openclaw does not start with an invalid row.
    database
      .prepare(
        "UPDATE session_nodes SET entry_valid = 1 WHERE entry_valid = 0 AND status = 'killed' AND session_key LIKE ? " +
          "AND json_valid(entry_json) AND json_extract(entry_json, '$.sessionId') = current_session_id",
      )
      .run(OURS);
    database.exec("COMMIT");
  } finally {
    database.close();
  }
}

/** The process that had the database open during the backup does not use this copy: the bridge starts one openclaw. */
function forgetOwners(state) {
  const file = path.join(state, "state", "openclaw.sqlite");
  if (!existsSync(file)) return;
  const database = new DatabaseSync(file, { timeout: 5000 });
  try {
    for (const table of ["agent_database_leases", "state_leases"]) {
      const known = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
      if (known) database.exec(`DELETE FROM ${table}`);
    }
  } finally {
    database.close();
  }
}

for (const [forget, what] of [[forgetInterruptedTurns, "interrupted turns"], [forgetOwners, "owners of the database"]]) {
  try {
    forget(process.env.OPENCLAW_STATE_DIR);
  } catch (error) {
    console.error(`${what} are not forgotten: ${error.message}`);
  }
}

/** Without these files, openclaw reports that Discord is missing, and everything else works. */
function prepareDiscord(state, modules) {
  try {
    removeDiscord(state);
    if (!process.env.DISCORD_BOT_TOKEN) return;
    installDiscord(state, modules);
    followDiscord(state);
  } catch (error) {
    console.error(`Discord is not installed: ${error.message}`);
  }
}

prepareDiscord(process.env.OPENCLAW_STATE_DIR, path.dirname(path.dirname(process.argv[2])));
process.argv.splice(1, 2, process.argv[2]);
await import(pathToFileURL(process.argv[1]).href);
