// Stands in for the engine pi where a test is about our own programs: pi's RPC mode, without a model.
// What it does is in the message: "say a b", "count", "env", "args", "fail", "silent", "hang", "spin", "spawn",
// "crash", "mute", "hog", "get URL" (its status), "big N", "take N" (a daemon's N MB), "fill N" (a file of N MB). Sessions are kept in files, as pi keeps them.
const fs = require("fs"), path = require("path"), { spawn } = require("child_process");

const flags = process.argv.slice(2);
if (flags.includes("--version")) { console.log("0.87.1"); process.exit(0); }
const flag = (name) => (flags.includes(name) ? flags[flags.indexOf(name) + 1] : null);
const home = process.env.PI_CODING_AGENT_DIR;
if (fs.existsSync(path.join(home, "die-at-start"))) { console.error("fatal: told to die, key sk-secret-of-a-channel"); process.exit(7); }
const settings = JSON.parse(fs.readFileSync(path.join(home, "settings.json"), "utf8"));
const soul = fs.readFileSync(path.join(home, "SYSTEM.md"), "utf8");
const session = flag("--session-id");
const file = session && path.join(home, "sessions", "--ws--", `x_${session}.jsonl`);
const past = file && fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").filter(Boolean) : [];
let model = settings.defaultModel ? { provider: settings.defaultProvider, id: settings.defaultModel } : undefined;
if (past.length) model = JSON.parse(past[0]).model;  // like pi, a conversation remembers its model
let running = null, deaf = false;

const send = (record) => process.stdout.write(JSON.stringify(record) + "\n");
const event = (type, more = {}) => send({ type, ...more });
const keep = (text) => { if (file) { fs.mkdirSync(path.dirname(file), { recursive: true }); fs.appendFileSync(file, JSON.stringify({ text, model }) + "\n"); past.push(text); } };

function end(words, stopReason = "stop", errorMessage) {
  const content = words.length ? [{ type: "text", text: words.join("") }] : [];
  for (const delta of words) event("message_update", { assistantMessageEvent: { type: "text_delta", delta } });
  event("message_end", { message: { role: "assistant", content, stopReason, errorMessage } });
  event("agent_end", { messages: [], willRetry: false });
  event("agent_settled");
  running = null;
}

// With a file `ask-the-model` in its home every message becomes a real call through the key proxy.
async function askTheModel() {
  const { baseUrl } = Object.values(JSON.parse(fs.readFileSync(path.join(home, "models.json"), "utf8")).providers)[0];
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.POD_LLM_TOKEN}` };
  const body = JSON.stringify({ model: model.id, messages: [{ role: "user", content: running }] });
  try {
    const answer = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
    const said = await answer.json();
    if (!answer.ok) return end([], "error", `OpenAI API error (${answer.status}): ${said.error?.message}`);
    end([said.choices[0].message.content]);
  } catch (error) { end([], "error", String(error)); }
}

function run(message) {
  const earlier = past.length;
  event("agent_start");
  try { keep(message); } catch (error) { return end([], "error", error.message); }  // as pi says it
  if (fs.existsSync(path.join(home, "ask-the-model"))) return askTheModel();
  const [verb, ...rest] = message.split(" ");
  const acts = {
    say: () => end(rest.map((word, n) => (n ? " " : "") + word)),
    get: () => fetch(rest[0], { signal: AbortSignal.timeout(5000) }).then((answer) => end([`${answer.status}`]), () => end(["unreachable"])),
    count: () => end([`${earlier}`]),
    env: () => end([JSON.stringify(process.env)]),
    args: () => end([JSON.stringify({ flags, soul, model, pid: process.pid, cwd: process.cwd() })]),
    fail: () => end([], "error", "OpenAI API error (401): Incorrect API key"),
    silent: () => end([]),
    hang: () => event("message_update", { assistantMessageEvent: { type: "text_delta", delta: "wait" } }),
    spin: () => { for (;;); },
    crash: () => { console.error("fatal: heap"); process.exit(3); },
    hog: () => { const kept = []; for (;;) kept.push(new Array(1e6).fill(Math.random())); },
    mute: () => { deaf = true; },
    big: () => end(["x".repeat(Number(rest[0]))]),
    // Forked twice, in a session and an environment of its own: what an engine's tool may leave behind.
    take: () => {
      const holder = `const all = Buffer.alloc(${rest[0]} * 2 ** 20, 1); console.log(process.pid); setTimeout(() => all, 6e5)`;
      const shell = spawn("sh", ["-c", 'env -i setsid "$0" -e "$1" &', process.execPath, holder], { stdio: ["ignore", "pipe", "ignore"] });
      shell.stdout.once("data", (pid) => { shell.stdout.destroy(); end([`${pid}`.trim()]); });
    },
    fill: () => { for (let n = 0; n < rest[0]; n++) fs.appendFileSync("filled", Buffer.alloc(2 ** 20, 1)); end(["filled"]); },
    spawn: () => { const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" }); child.unref(); end([`${child.pid}`]); },
  };
  (acts[verb] || (() => end([`you said ${message}`])))();
}

function take(command) {
  if (deaf) return;
  const answer = (more) => send({ id: command.id, type: "response", command: command.type, success: true, ...more });
  if (command.type === "get_state") return answer({ data: { model, sessionId: session } });
  if (command.type === "set_model") { model = { provider: command.provider, id: command.modelId }; return answer({ data: model }); }
  if (command.type === "prompt") {
    if (!model) return answer({ success: false, error: "No API key found for the selected model." });
    answer({}); running = command.message; return run(command.message);
  }
  if (command.type === "abort") { if (running) end([], "aborted"); return answer({}); }
  answer({ success: false, error: `unknown command ${command.type}` });
}

let rest = "";
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) if (line.trim()) take(JSON.parse(line));
});
process.stdin.on("end", () => process.exit(0));
console.error("engine double up");
