"use strict";
// The owner's conversations, as this browser keeps them: the engine has its own record and tells nobody of it. What is
// kept is bounded, lies under the agent's own name, and goes when somebody signs out.

const words = JSON.parse(document.body.dataset.words);
const KEPT_CONVERSATIONS = 40;
const KEPT_CHARACTERS = 100000; // of one conversation
const TITLE_CHARACTERS = 80;
const PREFIX = `agentpods-chat:${words.agent}:`;
const SESSION = /^web-[0-9a-f]{24}$/;

function newSession() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return "web-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function keptSessions() {
  try {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
    return names.map((name) => name.slice(PREFIX.length)).filter((session) => SESSION.test(session));
  } catch {
    return []; // storage is forbidden: the page works without
  }
}

// {at, turns}, or null for what is not there or is none of ours.
function keptConversation(session) {
  try {
    const { at, turns } = JSON.parse(localStorage.getItem(PREFIX + session));
    const whole = (turn) => ["you", "agent", "note"].includes(turn.who) && typeof turn.text === "string";
    return Number.isFinite(at) && turns.length && turns.every(whole) ? { session, at, turns } : null;
  } catch {
    return null;
  }
}

function keptConversations() {
  const kept = keptSessions().map(keptConversation).filter(Boolean);
  return kept.sort((one, other) => other.at - one.at);
}

function titleOf({ turns }) {
  const first = turns.find((turn) => turn.who === "you") || turns[0];
  const text = first.text.trim().replace(/\s+/g, " ");
  return text.length > TITLE_CHARACTERS ? text.slice(0, TITLE_CHARACTERS).trimEnd() + "…" : text;
}

// The newest turns that fit; of a single one that does not, its beginning.
function fitting(turns) {
  const kept = [];
  let room = KEPT_CHARACTERS;
  for (const turn of [...turns].reverse()) {
    if (turn.text.length > room && kept.length) break;
    kept.unshift({ ...turn, text: turn.text.slice(0, room) });
    room -= turn.text.length;
  }
  return kept;
}

function keepConversation(session, turns) {
  if (!turns.length) return;
  const text = JSON.stringify({ at: Date.now(), turns: fitting(turns) });
  const others = keptConversations().filter((kept) => kept.session !== session);
  while (others.length >= KEPT_CONVERSATIONS) forgetConversation(others.pop().session);
  for (;;) {
    try {
      localStorage.setItem(PREFIX + session, text);
      return;
    } catch {
      if (!others.length) return; // full of what is not ours
      forgetConversation(others.pop().session);
    }
  }
}

function forgetConversation(session) {
  try {
    localStorage.removeItem(PREFIX + session);
  } catch {
    // Storage is forbidden: nothing is kept.
  }
}

const list = document.getElementById("conversations");

function listConversations() {
  const kept = keptConversations();
  list.querySelector("ul").replaceChildren(...kept.map(conversationLine));
  document.getElementById("none-yet").hidden = kept.length > 0;
}

function conversationLine(kept) {
  const line = element("li", "");
  const link = element("a", "conversation", titleOf(kept));
  link.href = "#" + kept.session;
  if (kept.session === talk.session) link.setAttribute("aria-current", "true");
  link.addEventListener("click", () => list.close());
  const when = element("time", "", new Date(kept.at).toLocaleString(words.lang, { dateStyle: "medium", timeStyle: "short" }));
  when.dateTime = new Date(kept.at).toISOString();
  link.append(when);
  line.append(link, removalButton(kept));
  return line;
}

function removalButton(kept) {
  const button = element("button", "quiet remove", "×");
  button.type = "button";
  button.title = words.remove;
  button.setAttribute("aria-label", `${words.remove}: ${titleOf(kept)}`);
  button.addEventListener("click", () => {
    if (!confirm(words.remove_sure)) return;
    forgetConversation(kept.session);
    if (kept.session === talk.session) begin();
    listConversations();
    list.querySelector("h2").focus();
  });
  return button;
}

document.getElementById("list").addEventListener("click", () => {
  listConversations();
  list.showModal();
});
document.getElementById("close").addEventListener("click", () => list.close());
list.addEventListener("click", (event) => event.target === list && list.close()); // beside it
document.getElementById("leave").addEventListener("submit", () => keptSessions().forEach(forgetConversation));
