// `node openclaw_start.mjs <openclaw.mjs> gateway run`: openclaw, after what no setting can say.
import { existsSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

import { followDiscord, installDiscord } from "./openclaw_discord.mjs";

// A conversation of ours: whoever asked has been told that the engine died.
const OURS = "agent:main:openai-user:%";

/** A turn that was cut short is over. openclaw would ask the model again, though nobody waits for the answer. */
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
    // openclaw's own triggers call a changed row unproven, and it does not start with one that is.
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

/** Who had the database open when it was backed up does not have this one open: the bridge starts one openclaw. */
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
if (process.env.DISCORD_BOT_TOKEN) {
  const modules = path.dirname(path.dirname(process.argv[2]));
  installDiscord(process.env.OPENCLAW_STATE_DIR, modules);
  followDiscord(process.env.OPENCLAW_STATE_DIR);
}
process.argv.splice(1, 2, process.argv[2]);
await import(pathToFileURL(process.argv[1]).href);
