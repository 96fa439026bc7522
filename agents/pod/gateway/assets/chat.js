"use strict";
// The pod's chat page. Whatever anybody says is set as text, never as markup.

const words = document.body.dataset;
const log = document.getElementById("log");
const box = document.getElementById("message");
const send = document.getElementById("send");
const stop = document.getElementById("stop");
const scroller = document.querySelector("main");

const STATE_EVERY_MS = 10000;
let session = "";
let turns = [];
let running = null;

function newSession() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return "web-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The conversation lasts as long as the tab; the engine keeps its own record.
function remember() {
  try {
    sessionStorage.setItem("conversation", JSON.stringify({ session, turns }));
  } catch {
    // Storage is full or forbidden: the page works without.
  }
}

function recall() {
  try {
    const kept = JSON.parse(sessionStorage.getItem("conversation"));
    session = String(kept.session);
    // Of what was given beside words only the names are kept.
    kept.turns.forEach((turn) => show(turn.who, [turn.text, ...(turn.given || [])].filter(Boolean).join("\n")));
  } catch {
    session = newSession();
  }
}

function show(who, text) {
  const turn = document.createElement("div");
  const name = document.createElement("b");
  const said = document.createElement("p");
  turn.className = "turn " + who;
  name.textContent = who === "you" ? words.you : words.name;
  said.textContent = text;
  turn.append(name, said);
  log.append(turn);
  document.getElementById("welcome").hidden = true;
  const entry = { who, text, given: [] };
  turns.push(entry);
  follow(true);
  return {
    add(more) {
      const near = isNearEnd();
      entry.text += more;
      said.append(more);
      follow(near);
    },
    set(whole) {
      entry.text = whole;
      said.textContent = whole;
      follow(isNearEnd());
    },
    give(part) {
      const near = isNearEnd();
      entry.given.push(label(part));
      turn.append(given(part));
      follow(near);
    },
    busy(on) {
      turn.setAttribute("aria-busy", String(on));
    },
    drop() {
      turn.remove();
      turns.splice(turns.indexOf(entry), 1);
    },
    get isEmpty() {
      return !entry.text && !entry.given.length;
    },
  };
}

function label(part) {
  if (part.kind === "data") return JSON.stringify(part.data, null, 2);
  return part.kind === "note" ? part.text : `${part.name} (${part.media_type})`;
}

// A file is saved and never opened here, whatever it says it is; a link is followed by the reader alone.
function given(part) {
  const line = document.createElement("p");
  line.className = "given";
  const isLink = part.kind === "link" && /^https?:\/\//.test(part.url);
  if (part.kind !== "file" && !isLink) {
    line.textContent = label(part);
    return line;
  }
  const link = document.createElement("a");
  link.textContent = label(part);
  if (isLink) {
    link.href = part.url;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  } else {
    const bytes = Uint8Array.from(atob(part.bytes), (one) => one.charCodeAt(0));
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    link.download = part.name;
  }
  line.append(link);
  return line;
}

function isNearEnd() {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 120;
}

function follow(near) {
  if (near) scroller.scrollTop = scroller.scrollHeight;
}

// Down is told with its reason: what the router or the gateway said in a header, or that nobody answers at all.
function state(name, why) {
  const line = document.getElementById("state");
  const texts = { ready: words.ready, thinking: words.thinking, down: words.down, "no-key": words.noKey };
  line.dataset.state = name;
  line.textContent = texts[name];
  const reason = why && words["why" + why[0].toUpperCase() + why.slice(1)];
  notice({ down: reason || words.whyUnreachable, "no-key": words.noKeyText }[name] || "");
}

function notice(text) {
  const line = document.getElementById("notice");
  const near = isNearEnd();
  line.hidden = !text;
  line.firstElementChild.textContent = text;
  follow(near);
}

async function look() {
  if (running || document.hidden) return;
  try {
    const answer = await fetch("/state", { headers: { Accept: "application/json" } });
    if (running) return;
    if (answer.status === 403) return signedOut();
    if (!answer.ok) return state("down", answer.headers.get("Agent-State"));
    state((await answer.json()).has_key ? "ready" : "no-key");
  } catch {
    if (!running) state("down");
  }
}

function signedOut() {
  state("down");
  notice(words.signedOutText);
}

// Server-sent events out of a fetch body: blocks of lines, an empty line between them.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block);
      const data = /^data: (.*)$/m.exec(block);
      if (name && data) yield [name[1], JSON.parse(data[1])];
    }
  }
}

async function ask(message, reply, signal) {
  const answer = await fetch("/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ message, session_id: session }),
    signal,
  });
  if (answer.status === 403) return signedOut();
  if (!answer.ok) throw new Error((await answer.json()).message);
  for await (const [name, data] of events(answer.body)) {
    if (name === "delta") reply.add(data.text);
    if (name === "part") reply.give(data);
    if (name === "error") throw new Error(data.message);
    if (name === "done") return reply.set(data.reply);
  }
  throw new Error(words.lostText);
}

function failed(error, aborted) {
  if (aborted) return show("note", words.stoppedText);
  const lost = error instanceof TypeError || error instanceof SyntaxError;
  return show("note", lost ? words.lostText : words.failedText + error.message);
}

async function say(message) {
  const asked = session;
  show("you", message);
  const reply = show("agent", "");
  running = new AbortController();
  controls();
  reply.busy(true);
  state("thinking");
  let problem = null;
  try {
    await ask(message, reply, running.signal);
  } catch (error) {
    problem = error;
  }
  const aborted = running.signal.aborted;
  running = null;
  controls();
  if (asked !== session) return look();
  reply.busy(false);
  if (reply.isEmpty) reply.drop();
  if (problem) failed(problem, aborted);
  await look();
  const silent = reply.isEmpty && !problem && document.getElementById("state").dataset.state === "ready";
  if (silent) show("note", words.silentText);
  remember();
}

function controls() {
  send.hidden = Boolean(running);
  stop.hidden = !running;
  send.disabled = !box.value.trim();
}

function grow() {
  box.style.height = "auto";
  box.style.height = box.scrollHeight + "px";
  controls();
}

document.getElementById("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const message = box.value.trim();
  if (!message || running) return;
  box.value = "";
  grow();
  say(message);
});

box.addEventListener("input", grow);
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  document.getElementById("composer").requestSubmit();
});

stop.addEventListener("click", () => running && running.abort());

document.getElementById("fresh").addEventListener("click", () => {
  session = newSession();
  if (running) running.abort();
  log.replaceChildren();
  turns = [];
  document.getElementById("welcome").hidden = false;
  remember();
  box.focus();
});

recall();
controls();
look();
setInterval(look, STATE_EVERY_MS);
document.addEventListener("visibilitychange", look);
