// `node pi_start.mjs <pi's cli.js> --mode rpc … --session-id <id>`: moves the conversation to where pi expects it, then
// starts pi.
//
// pi keeps a conversation in a directory that is named after the workspace's path, and that path is also in the first
// line of its file. After a restore in another place, both have the old path.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import module from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const NEWLINE = 10;
const FLUSH_MS = 2_000; // by then pi is up, and what it has compiled is kept even if it is killed

/** The first line and the rest, or null if the file is not a conversation with this id. */
function conversation(file, id) {
  const content = readFileSync(file);
  const end = content.indexOf(NEWLINE);
  const first = content.subarray(0, end < 0 ? content.length : end);
  try {
    const header = JSON.parse(first.toString("utf8"));
    if (header.type !== "session" || header.id !== id) return null;
    return { file, header, rest: end < 0 ? Buffer.from("\n") : content.subarray(end), used: statSync(file).mtimeMs };
  } catch {
    return null;
  }
}

/** The last used file wins. A crash between the last two steps leaves both files; the next start uses the one here. */
function bringHome(sessions, workspace, id) {
  if (!existsSync(sessions)) return;
  const here = path.join(sessions, `--${workspace.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`);
  const found = readdirSync(sessions, { recursive: true })
    .filter((name) => name.endsWith(`_${id}.jsonl`))
    .map((name) => conversation(path.join(sessions, name), id))
    .filter((one) => one !== null)
    .sort((one, other) => other.used - one.used);
  if (found.length === 0) return;
  if (found.some((one) => path.dirname(one.file) === here && one.header.cwd === workspace)) return;
  const [{ file, header, rest }] = found;
  const target = path.join(here, path.basename(file));
  const fresh = `${target}.tmp`;
  mkdirSync(here, { recursive: true, mode: 0o700 });
  const written = openSync(fresh, "w", 0o600);
  for (const part of [Buffer.from(JSON.stringify({ ...header, cwd: workspace })), rest]) writeWhole(written, part);
  fsyncSync(written);
  closeSync(written);
  renameSync(fresh, target);
  if (file !== target) unlinkSync(file);
}

function writeWhole(file, bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

const asked = process.argv.indexOf("--session-id");
if (asked >= 0) {
  try {
    bringHome(path.join(process.env.PI_CODING_AGENT_DIR, "sessions"), process.cwd(), process.argv[asked + 1]);
  } catch (error) {
    console.error(`the conversation is not brought to ${process.cwd()}: ${error.message}`);
  }
}
setTimeout(() => module.flushCompileCache?.(), FLUSH_MS).unref();
process.argv.splice(1, 1);
await import(pathToFileURL(process.argv[1]).href);
