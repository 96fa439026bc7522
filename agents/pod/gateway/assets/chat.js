// The pod's chat page: one conversation, its turns, and the state of the agent.
// Follows conversations.js, reading.js and turn.js in the same file.

const log = document.getElementById("log");
const box = document.getElementById("message");
const send = document.getElementById("send");
const stop = document.getElementById("stop");
const welcome = document.getElementById("welcome");

const STATE_EVERY_MS = 10000;
const SPOKEN_CHARACTERS = 1000;
const FINISH_MS = 3000;
const TOLD_CHARACTERS = 2000; // shown of the reason why a turn failed
let talk = { session: newSession(), turns: [] };
let running = null;
let isKeyless = false;

function show(turn) {
  talk.turns.push(turn);
  log.append(turn.node);
  welcome.hidden = true;
  follow(true);
  return turn;
}

// Stores a conversation, even if the page no longer shows it. Not if another tab has just removed it or signed out.
function remember(conversation = talk) {
  if (conversation.isForgotten) return;
  keepConversation(conversation.session, conversation.turns.filter((turn) => !turn.isEmpty).map((turn) => turn.kept));
}

function open(session, turns, { isLive = false } = {}) {
  if (running) running.abort();
  talk = { session, turns: [] };
  log.replaceChildren();
  welcome.hidden = false;
  for (const { who, text } of turns) {
    const turn = show(new Turn(who, text));
    if (!turn.isPlain) turn.finish();
  }
  const last = turns.at(-1);
  // An answer that another tab is receiving now is not lost.
  if (last && !isLive && (last.who === "you" || last.isCut)) show(note(words.lost_text));
  offerRetry();
  controls();
}

function begin() {
  history.pushState(null, "", location.pathname);
  nameTab("");
  open(newSession(), []);
  box.focus();
}

// Opens the conversation that the address names, or a new one if this browser does not have it.
function openNamed(named = location.hash.slice(1)) {
  if (named === talk.session) return;
  const kept = SESSION.test(named) && keptConversation(named);
  if (named) history.replaceState(null, "", location.pathname + (kept ? "#" + named : ""));
  nameTab(kept ? named : "");
  open(kept ? kept.session : newSession(), kept ? kept.turns : []);
}

// "down" is shown with its reason: from a header of the router or the gateway, or that nothing answers at all.
function state(name, why) {
  const line = document.getElementById("state");
  line.dataset.state = name;
  line.textContent = words[name];
  if (name === "down") return notice(words["why_" + why] || words.why_unreachable, helpOf(why));
  return name === "no_key" ? notice(words.no_key_text, "key") : notice("");
}

// Which help the owner gets. The states without help end by themselves, or never.
function helpOf(why) {
  return { starting: "", restarting: "", gone: "" }[why] ?? "agent";
}

function notice(text, help = "") {
  const line = document.getElementById("notice");
  const near = isNearEnd();
  line.hidden = !text;
  line.replaceChildren(text, " ", ...helping(help));
  follow(near);
}

// A link for the owner. People who signed in with the password read who can help.
function helping(help) {
  const link = words.links[help];
  if (!link) return help && help !== "sign_in" ? [words.ask_owner] : [];
  const node = element("a", "", words["help_" + help]);
  node.href = link;
  return [node];
}

async function look() {
  if (running || document.hidden) return;
  try {
    const answer = await fetch("/state", { headers: { Accept: "application/json" } });
    if (answer.ok) isKeyless = !(await answer.json()).has_key;
    if (running) return;
    if (answer.status === 403) return signedOut();
    if (!answer.ok) return state("down", answer.headers.get("Agent-State"));
    state(isKeyless ? "no_key" : "ready");
  } catch {
    if (!running) state("down");
  }
}

function signedOut() {
  state("down");
  notice(words.signed_out_text, "sign_in");
}

// Reads server-sent events from a fetch body: blocks of lines with an empty line between them.
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

// Why there is no answer: in our words, and as a detail in the words of the program that failed.
class Failure extends Error {
  constructor(text, { detail = "", help = "" } = {}) {
    super(text);
    this.detail = detail;
    this.help = help;
  }
}

function failureOf({ reason, message }) {
  const help = { key_refused: "key", no_credit: "key", no_model: "key" }[reason] || "";
  const text = words["reason_" + reason];
  const told = message.slice(0, TOLD_CHARACTERS);
  return text ? new Failure(text, { detail: told, help }) : new Failure(words.failed_text + told);
}

async function refusalOf(answer) {
  const why = answer.headers.get("Agent-State");
  if (why) return new Failure(words["why_" + why] || words.why_unreachable, { help: helpOf(why) });
  if (answer.status === 403) return new Failure(words.signed_out_text, { help: "sign_in" });
  return failureOf(await answer.json());
}

async function ask(message, session, reply, signal) {
  const answer = await fetch("/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ message, session_id: session }),
    signal,
  });
  if (!answer.ok) throw await refusalOf(answer);
  for await (const [name, data] of events(answer.body)) {
    if (name === "delta") reply.add(data.text);
    if (name === "part") reply.give(data);
    if (name === "error") throw failureOf(data);
    if (name === "done") return reply.set(data.reply);
  }
  throw new Failure(words.lost_text);
}

function note(text, { detail = "", help = "" } = {}) {
  const turn = new Turn("note", [text, detail].filter(Boolean).join("\n"));
  turn.said.replaceChildren(...[text, detail].filter(Boolean).map((said) => element("p", "", said)));
  const helped = helping(help);
  if (helped.length) turn.said.append(element("p", ""));
  turn.said.lastChild.append(...helped);
  announce(text);
  return turn;
}

function noteOf(problem, isStopped) {
  if (isStopped) return note(words.stopped_text);
  return problem instanceof Failure ? note(problem.message, problem) : note(words.lost_text);
}

function noteOfSilence() {
  return isKeyless ? note(words.no_key_text, { help: "key" }) : note(words.silent_text);
}

// If the page does not end with an answer, the last message can be sent again.
function offerRetry() {
  const near = isNearEnd();
  log.querySelectorAll(".again").forEach((button) => button.remove());
  const last = talk.turns.at(-1);
  if (running || !last || last.who !== "note" || !talk.turns.some((turn) => turn.who === "you")) return;
  const button = element("button", "again", words.again);
  button.type = "button";
  button.addEventListener("click", sayAgain);
  last.node.append(button);
  follow(near);
}

// Sends the last message again, and removes what came after it.
function sayAgain() {
  if (running) return;
  const place = talk.turns.map((turn) => turn.who).lastIndexOf("you");
  talk.turns.splice(place + 1).forEach((turn) => turn.node.remove());
  converse(talk.turns[place].text);
  stop.focus();
}

async function converse(message) {
  const mine = talk;
  const wasForgotten = mine.isForgotten;
  mine.isForgotten = false;
  const asking = (running = new AbortController());
  const reply = show(new Turn("agent"));
  reply.busy(true);
  awaitReader();
  offerRetry();
  controls();
  state("thinking");
  remember();
  let problem = null;
  try {
    await ask(message, mine.session, reply, asking.signal);
  } catch (error) {
    problem = error;
  }
  await Promise.race([reply.finish(), pause(FINISH_MS)]); // a slow Markdown reader continues by itself
  if (reply.isEmpty && !problem) await look(); // whether there is still a key
  if (running === asking) running = null;
  if (wasForgotten && problem && problem.help === "sign_in") forget(mine);
  if (reply.isEmpty) drop(mine, reply);
  if (mine === talk) conclude(reply, problem, asking.signal.aborted);
  else if (problem) mine.turns.push(note(words.stopped_text)); // the person opened another conversation, which ended this turn
  remember(merged(mine, message));
  controls();
  offerRetry();
  await look();
}

// Called before anything else is awaited: the next message or another conversation may come at any time.
function conclude(reply, problem, isStopped) {
  if (problem) show(noteOf(problem, isStopped));
  else if (reply.isEmpty) show(noteOfSilence());
  else announce(`${words.name}: ${reply.said.textContent.slice(0, SPOKEN_CHARACTERS)}`);
}

function drop(conversation, turn) {
  turn.node.remove();
  conversation.turns.splice(conversation.turns.indexOf(turn), 1);
}

function forget(conversation) {
  conversation.isForgotten = true;
  forgetConversation(conversation.session);
}

// Another tab has continued the conversation meanwhile: the result of this message is put in its place there.
function merged(conversation, message) {
  const kept = conversation.isBehind && keptConversation(conversation.session);
  conversation.isBehind = false;
  if (!kept) return conversation;
  const isAsked = ({ who, text }) => who === "you" && text === message;
  const told = conversation.turns.slice(conversation.turns.map(isAsked).lastIndexOf(true)).map((turn) => turn.kept);
  const place = kept.turns.map(isAsked).lastIndexOf(true);
  if (place < 0) kept.turns.push(...told);
  else kept.turns.splice(place, 1, ...told);
  if (conversation !== talk) return { ...conversation, turns: kept.turns.map(({ who, text }) => new Turn(who, text)) };
  open(kept.session, kept.turns, { isLive: true });
  return talk;
}

function controls() {
  const hadFocus = document.activeElement === stop;
  send.hidden = Boolean(running);
  stop.hidden = !running;
  send.disabled = !box.value.trim();
  if (hadFocus && stop.hidden) (matchMedia("(hover: none)").matches ? scroller : box).focus();
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
  show(new Turn("you", message));
  if (!location.hash) history.replaceState(null, "", "#" + talk.session);
  nameTab(talk.session);
  converse(message);
});

box.addEventListener("input", grow);
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  document.getElementById("composer").requestSubmit();
});

stop.addEventListener("click", () => running && running.abort());
document.querySelectorAll(".fresh").forEach((button) => {
  button.addEventListener("click", () => {
    if (list.open) list.close();
    begin();
  });
});

openNamed(location.hash.slice(1) || tabsConversation());
controls();
look();
setInterval(look, STATE_EVERY_MS);
document.addEventListener("visibilitychange", look);
addEventListener("hashchange", () => openNamed());
addEventListener("pagehide", () => running && remember());
// Another tab has continued or removed this conversation.
addEventListener("storage", ({ key, newValue }) => {
  if (key !== PREFIX + talk.session) return;
  talk.isForgotten = !newValue;
  talk.isBehind = Boolean(running);
  const kept = !running && keptConversation(talk.session);
  if (kept) open(kept.session, kept.turns, { isLive: true });
});
