"use strict";
// The owner's conversations, as this browser keeps them. The engine has its own record, which nobody can read here. The
// size is limited, the keys have the agent's own name, and signing out deletes everything.

const words = JSON.parse(document.body.dataset.words);
const KEPT_CONVERSATIONS = 40;
const KEPT_CHARACTERS = 100000; // for one conversation
const KEPT_OF_ONE_TURN = 60000;
const KEPT_TURNS = 500;
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
    return []; // storage is forbidden: the page works without it
  }
}

// {session, at, title, turns}, or null if it is missing or does not have our form.
function keptConversation(session) {
  try {
    const { at, title, turns } = JSON.parse(localStorage.getItem(PREFIX + session));
    const whole = (turn) => ["you", "agent", "note"].includes(turn.who) && typeof turn.text === "string";
    const isDate = typeof at === "number" && !Number.isNaN(new Date(at).getTime());
    const isOurs = isDate && typeof title === "string" && turns.length && turns.every(whole);
    return isOurs ? { session, at, title: shortened(title), turns: turns.slice(-KEPT_TURNS) } : null;
  } catch {
    return null;
  }
}

function keptConversations() {
  const kept = keptSessions().map(keptConversation).filter(Boolean);
  return kept.sort((one, other) => other.at - one.at);
}

// Newest first. Conversations that cannot be read, such as another release's, are last and are deleted first.
function otherSessions(session) {
  const others = keptSessions().filter((other) => other !== session);
  const dated = others.map((other) => ({ other, at: keptConversation(other)?.at ?? 0 }));
  return dated.sort((one, two) => two.at - one.at).map(({ other }) => other);
}

// The first words of the person. The title stays when those words are no longer kept.
function titleOf(turns) {
  const first = turns.find((turn) => turn.who === "you") || turns[0];
  return shortened(first.text.trim().replace(/\s+/g, " "));
}

function shortened(text) {
  return text.length > TITLE_CHARACTERS + 1 ? text.slice(0, TITLE_CHARACTERS).trimEnd() + "…" : text;
}

// The newest turns that fit, and only the beginning of a long turn.
function fitting(turns) {
  const kept = [];
  let room = KEPT_CHARACTERS;
  for (const turn of turns.slice(-KEPT_TURNS).reverse()) {
    const text = turn.text.slice(0, KEPT_OF_ONE_TURN);
    room -= text.length;
    if (room < 0) break;
    kept.unshift({ ...turn, text });
  }
  return kept;
}

// Stores which conversation this tab shows, for a later load without a name in the address.
function nameTab(session) {
  try {
    if (session) sessionStorage.setItem(PREFIX + "tab", session);
    else sessionStorage.removeItem(PREFIX + "tab");
  } catch {
    // Storage is forbidden: only the address says it.
  }
}

function tabsConversation() {
  try {
    return sessionStorage.getItem(PREFIX + "tab") || "";
  } catch {
    return "";
  }
}

function keepConversation(session, turns) {
  if (!turns.length) return;
  const title = keptConversation(session)?.title || titleOf(turns);
  const text = JSON.stringify({ at: Date.now(), title, turns: fitting(turns) });
  const others = otherSessions(session);
  while (others.length >= KEPT_CONVERSATIONS) forgetConversation(others.pop());
  for (;;) {
    try {
      localStorage.setItem(PREFIX + session, text);
      return;
    } catch {
      if (!others.length) return; // the storage is full of other data
      forgetConversation(others.pop());
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
  const kept = keptConversations().slice(0, KEPT_CONVERSATIONS);
  list.querySelector("ul").replaceChildren(...kept.map(conversationLine));
  document.getElementById("none-yet").hidden = kept.length > 0;
}

function conversationLine(kept) {
  const line = element("li", "");
  const link = element("a", "conversation", kept.title);
  link.href = "#" + kept.session;
  if (kept.session === talk.session) link.setAttribute("aria-current", "true");
  link.addEventListener("click", () => list.close());
  const at = new Date(kept.at);
  const when = element("time", "", at.toLocaleString(words.lang, { dateStyle: "medium", timeStyle: "short" }));
  when.dateTime = at.toISOString();
  link.append(when);
  line.append(link, removalButton(kept));
  return line;
}

function removalButton(kept) {
  const button = element("button", "quiet remove", "×");
  button.type = "button";
  button.title = words.remove;
  button.setAttribute("aria-label", `${words.remove}: ${kept.title}`);
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
list.addEventListener("click", (event) => event.target === list && list.close()); // a click outside of the list
document.getElementById("leave").addEventListener("submit", () => {
  keptSessions().forEach(forgetConversation);
  nameTab("");
});
