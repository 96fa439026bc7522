#!/usr/bin/env node
// Stands in for the engine opencode where a test is about our own programs: its server, without a model.
// What it does is in the message: "say a b", "steps", "count", "soul", "config", "env", "fail", "busy", "patient",
// "silent", "hang", "deaf", "spin", "spawn", "crash", "refuse", "big N". Sessions are kept in a file, as it keeps them.
const fs = require("fs"), http = require("http"), path = require("path"), { spawn } = require("child_process");

const flags = process.argv.slice(2);
if (flags.includes("--version")) { console.log("1.18.33"); process.exit(0); }
const home = path.join(process.env.XDG_CONFIG_HOME, "opencode");
if (fs.existsSync(path.join(home, "die-at-start"))) { console.error("fatal: told to die"); process.exit(7); }
const config = JSON.parse(fs.readFileSync(path.join(home, "opencode.json"), "utf8"));
const login = "Basic " + Buffer.from("opencode:" + process.env.OPENCODE_SERVER_PASSWORD).toString("base64");
const file = path.join(process.env.XDG_DATA_HOME, "opencode", "opencode.db");
const sessions = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : {};
const keep = () => { fs.mkdirSync(path.dirname(file), { recursive: true }); fs.writeFileSync(file, JSON.stringify(sessions)); };
const readers = new Set(), running = {};
let number = 0, abortable = true;

const emit = (type, sessionID, more = {}) => {
  const line = `data: ${JSON.stringify({ type, properties: { sessionID, ...more } })}\n\n`;
  for (const reader of readers) reader.write(line);
};
const fresh = (kind) => `${kind}_${String(Date.now())}${String(++number).padStart(6, "0")}`;
const idle = (id) => { delete running[id]; emit("session.status", id, { status: { type: "idle" } }); emit("session.idle", id); };

function answer(id, words, more = {}) {
  const info = { id: fresh("msg"), role: "assistant", sessionID: id, ...more };
  emit("message.updated", id, { info });
  emit("message.part.updated", id, { part: { id: fresh("prt"), messageID: info.id, type: "reasoning", text: "hm" } });
  if (words.length) {
    const part = { id: fresh("prt"), messageID: info.id, type: "text", text: "" };
    emit("message.part.updated", id, { part: { ...part } });
    for (const delta of words) {
      part.text += delta;
      emit("message.part.delta", id, { messageID: info.id, partID: part.id, field: "text", delta });
    }
    emit("message.part.updated", id, { part });
  }
  emit("message.updated", id, { info });
}

function run(id, body) {
  const message = body.parts[0].text, [verb, ...rest] = message.split(" ");
  const earlier = sessions[id].said.length;
  sessions[id].said.push(message);
  keep();
  running[id] = { type: "busy" };
  emit("message.updated", id, { info: { id: fresh("msg"), role: "user", sessionID: id } });
  emit("session.status", id, { status: running[id] });
  const end = (words, more) => { answer(id, words, more); idle(id); };
  const retry = (attempt, pause) => emit("session.status", id, { status: { type: "retry", attempt, message: "Rate limit reached", next: Date.now() + pause } });
  const acts = {
    say: () => end(rest.map((word, n) => (n ? " " : "") + word)),
    steps: () => { answer(id, ["I look."]); answer(id, []); answer(id, ["It ", "is ", "there."]); answer(id, ["All of this is shorter."], { summary: true }); idle(id); },
    count: () => end([`${earlier}`]),
    soul: () => end([fs.readFileSync(path.join(home, "AGENTS.md"), "utf8")]),
    config: () => end([JSON.stringify({ config, pid: process.pid, cwd: process.cwd(), flags, model: body.model, agent: body.agent, title: sessions[id].title })]),
    env: () => end([JSON.stringify(process.env)]),
    fail: () => { emit("session.error", id, { error: { name: "APIError", data: { message: "Incorrect API key", statusCode: 401 } } }); end([]); },
    busy: () => { retry(1, 10); retry(2, 10); retry(3, 10); },
    patient: () => retry(1, 60_000),
    silent: () => end([]),
    hang: () => answer(id, ["wait"]),
    deaf: () => { abortable = false; answer(id, ["wait"]); },
    spin: () => { for (;;); },
    crash: () => { console.error("fatal: heap"); process.exit(3); },
    big: () => end(["x".repeat(Number(rest[0]))]),
    spawn: () => { const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" }); child.unref(); end([`${child.pid}`]); },
  };
  setTimeout(acts[verb] || (() => end([`you said ${message}`])), 20);
}

function route(method, url, body, reply) {
  const found = url.match(/^\/session\/([^/]+)(?:\/(\w+))?$/), [, id, act] = found || [];
  if (url === "/global/health") return reply(200, { healthy: true, version: "1.18.33" });
  if (url === "/config/providers") return reply(200, { providers: Object.entries(config.provider).map(([name, one]) => ({ id: name, models: one.models })) });
  if (url === "/session/status") return reply(200, running);
  if (url === "/api/session") {
    sessions[body.id] ||= { title: "New session - now", said: [] };
    keep();
    return reply(200, { data: { id: body.id, title: sessions[body.id].title } });
  }
  if (method === "PATCH" && sessions[id]) { sessions[id].title = body.title; keep(); return reply(200, {}); }
  if (act === "prompt_async" && sessions[id]) {
    if (body.parts[0].text === "refuse") return reply(500, { name: "UnknownError", data: { message: "database or disk is full" } });
    reply(204); return run(id, body);
  }
  if (act === "abort") { if (running[id] && abortable) idle(id); return reply(200, true); }
  reply(200, "<!doctype html>");
}

http.createServer((request, response) => {
  if (request.headers.authorization !== login) { response.writeHead(401); return response.end(); }
  if (request.url === "/event") {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write('data: {"type":"server.connected","properties":{}}\n\n');
    readers.add(response);
    return response.on("close", () => readers.delete(response));
  }
  let text = "";
  request.on("data", (chunk) => { text += chunk; });
  request.on("end", () => route(request.method, request.url, text ? JSON.parse(text) : {}, (status, body) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(body === undefined ? "" : JSON.stringify(body));
  }));
}).listen(Number(flags[flags.indexOf("--port") + 1]), "127.0.0.1", () => console.log("engine double up"));
