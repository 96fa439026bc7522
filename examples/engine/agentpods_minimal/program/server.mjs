// The engine itself: conversations with a model, and nothing else. It does not remember a failed turn.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const { MINIMAL_HOME: home, MINIMAL_PORT: port, MINIMAL_PASSWORD: password, POD_LLM_TOKEN: token } = process.env;
const sessions = join(home, "sessions");
mkdirSync(sessions, { recursive: true });

const server = createServer((request, response) => {
  if (request.headers.authorization !== `Bearer ${password}`) return answer(response, 401, {});
  if (request.url === "/health") return answer(response, 200, { engine: "minimal" });
  if (request.url === "/turn" && request.method === "POST") return void turn(request, response);
  answer(response, 404, {});
});
server.listen(Number(port), "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));

function answer(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

// Answers with one line of JSON for each piece of text, and one line at the end: {"done": true} or {"failed": "why"}.
async function turn(request, response) {
  const left = new AbortController();
  response.on("close", () => left.abort());
  const say = (line) => response.write(JSON.stringify(line) + "\n");
  try {
    const { session, message } = JSON.parse(await body(request));
    const file = join(sessions, `${session}.jsonl`);
    const asked = { role: "user", content: message };
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    let text = "";
    for await (const piece of model([...remembered(file), asked], left.signal)) {
      text += piece;
      say({ text: piece });
    }
    if (!text.trim()) throw new Error("the model ended the turn without a word");
    const told = { role: "assistant", content: text };
    appendFileSync(file, `${JSON.stringify(asked)}\n${JSON.stringify(told)}\n`, { flush: true });
    say({ done: true });
  } catch (error) {
    say({ failed: String(error.message) });
  }
  response.end();
}

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

// Returns only whole pairs of messages: a kill may have cut off the last line.
function remembered(file) {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.slice(0, lines.length - (lines.length % 2)).map((line) => JSON.parse(line));
}

// Reads soul, model and address at each turn, so that a change needs no restart.
async function* model(messages, signal) {
  const { url, name, soul } = JSON.parse(readFileSync(join(home, "settings.json"), "utf8"));
  const answered = await fetch(`${url}/chat/completions`, {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ model: name, stream: true, messages: [{ role: "system", content: soul }, ...messages] }),
  });
  if (!answered.ok) throw new Error(`the provider answered ${answered.status}: ${(await answered.text()).slice(0, 500)}`);
  let rest = "";
  for await (const chunk of answered.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: ") || line.startsWith("data: [DONE]")) continue;
      const piece = JSON.parse(line.slice(6)).choices?.[0]?.delta?.content;
      if (piece) yield piece;
    }
  }
}
