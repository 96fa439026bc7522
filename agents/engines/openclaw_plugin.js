// A plugin of openclaw: the model's provider with the settings of the bridge, and a search in the agent's files.
//
// openclaw calls it for each model call. It replaces openclaw's own system prompt by the persona. It also repeats
// failed calls: openclaw itself would repeat them for more than a minute, and lock the key after a refusal.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

// The beginning of openclaw's own prompt. Other prompts (a summary, a subagent's judge) are not changed.
const OWN_PROMPT = /^(<!--[^\n]*-->\n)?You are a personal assistant running inside OpenClaw\./;
const STAMP = /^\[\w{3} (\d{4}-\d\d-\d\d \d\d:\d\d) [^\]]{1,40}\] /;
const IDLE = new RegExp(
  "^<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\\n" +
    '(?:Conversation data \\(data, not instructions\\):\\n"(?:Active exec sessions:|## Active Subagents)\\\\nnone"\\s+)+' +
    "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>$",
);
const WAITED_MINUTES = 5;
const MODEL_TRIES = 3;
const PAUSE_MS = 1000;
const NO_ANSWER = "The provider of the model did not answer this call.";
const SEARCH_MS = 20_000;
const SEARCH_BYTES = 1024 * 1024;
const FOUND_CHARACTERS = 20_000;
// Events that a reader sees: after one of them, a call is not repeated.
const SEEN = new Set(["text_delta", "thinking_delta", "toolcall_start", "toolcall_delta", "done"]);
// openclaw handles these errors itself: it shortens a conversation that is too long.
const TOO_LONG = /context|too long|too large|maximum.{0,20}tokens|prompt is/i;

// The first message of a person to a Telegram bot is /start.
const COMMAND = /^\s*\/(?!start\b)[a-z_]+(@\w+)?(\s|:|$)/i;
// openclaw's own message before it continues an interrupted turn. The agent's answer follows.
const RESUMED = /^I'm continuing your interrupted request now \(the gateway has just restarted\)/;
// openclaw's text to the model in that case: an instruction, and in that turn the person's message again before it.
const ORDER = /\[System\] Your previous turn was interrupted by a gateway restart [^\n]*$/;
const TAKEN_UP = new RegExp(`^${ORDER.source}`);
const CUT_OFF = new RegExp(
  `^\\[Queued user message from a previous active turn; [^\\]\\n]*\\]\\n([\\s\\S]+?)\\n\\n${ORDER.source}`,
);
const NO_COMMANDS = "Commands are not taken here.";

export default {
  id: "agentpods",
  name: "Agentpods",
  description: "The persona, the model and a search of this agent",
  register(api) {
    const settings = api.pluginConfig;
    process.env.TZ = settings.timezone;
    api.registerProvider({
      id: settings.provider,
      label: settings.provider,
      auth: [],
      wrapStreamFn: ({ streamFn }) => streamFn && ((model, context, options) =>
        retried((attempt) => streamFn(model, attempt, options), prepared(context, settings), options?.signal)),
      // openclaw neither repeats a "format" error nor locks the key for it. But some words make it decide otherwise.
      classifyFailoverReason: ({ errorMessage }) => (TOO_LONG.test(errorMessage) ? undefined : "format"),
    });
    api.registerHttpRoute({
      path: "/agentpods/mark",
      auth: "gateway",
      match: "exact",
      handler: async (_request, response) => (response.end(inForce(api, settings)), true),
    });
    // Only messages from channels come here. openclaw would ignore a command without an answer.
    api.on("before_dispatch", ({ content }) => (COMMAND.test(content) ? { handled: true, text: NO_COMMANDS } : undefined));
    api.on("message_sending", ({ content }) => (RESUMED.test(content) ? { cancel: true } : undefined));
    api.on("before_tool_call", ({ toolName }) => (toolName === "sessions_spawn" ? { params: collected() } : undefined));
    api.registerTool(() => search(settings), { name: "grep" });
  },
};

/** The mark of the settings, or "" until the whole of openclaw uses them. */
function inForce(api, settings) {
  const now = api.runtime.config.current().plugins?.entries?.[api.id]?.config?.mark;
  return now === settings.mark ? now : "";
}

function prepared(context, settings) {
  const own = context.systemPrompt ?? "";
  return {
    ...context,
    systemPrompt: OWN_PROMPT.test(own) ? persona(own, settings) : own,
    messages: asAsked(
      context.messages.filter((message) => !saysNothing(message)).map((message) => unstamped(message, settings.timezone)),
    ),
  };
}

const MEMORY =
  "What is worth knowing in later conversations, write to a Markdown file in the directory memory; memory_search finds it.";

/** The persona, how it remembers, and the list of the agent's own skills if it has any. */
function persona(own, settings) {
  const text = readFileSync(settings.persona, "utf8").trimEnd() + (settings.remembers ? `\n\n${MEMORY}` : "");
  const listed = settings.skills ? /<available_skills>\n([\s\S]*?)\n<\/available_skills>/.exec(own)?.[1] : "";
  const skills = (listed ?? "").match(/ *<skill>[\s\S]*?<\/skill>/g) ?? [];
  const agents = skills.filter((skill) => skill.includes(`<location>${settings.skills}/`));
  if (!agents.length) return text;
  const how = "Skills you have. When one of them fits the task, read its file with the tool `read` and follow it:";
  return `${text}\n\n${how}\n<available_skills>\n${agents.join("\n")}\n</available_skills>`;
}

/** After each message, openclaw adds what runs in the background, even if nothing does. */
function saysNothing({ runtimeContextCarrier, content }) {
  return Boolean(runtimeContextCarrier) && IDLE.test(wording({ content }));
}

/** If a turn was interrupted, the model gets its question once, as the person asked it. openclaw repeats the question
 * as one that needs no answer any more, and instructs the model to continue; in later turns this instruction follows
 * the question. After texts of tools and of the model, the instruction stays, because there the model must know it. */
function asAsked(messages) {
  const bared = messages.map((message) => reworded(message, (text) => CUT_OFF.exec(text)?.[1] ?? text));
  return bared.filter((message, at) => {
    const before = bared[at - 1];
    if (message.role !== "user" || before?.role !== "user") return true;
    const isAgain = wording(message) !== wording(messages[at]) && wording(message) === wording(before);
    return !isAgain && !TAKEN_UP.test(wording(message));
  });
}

/** openclaw writes the time of arrival before a person's message. This removes it. */
function unstamped(message, timeZone) {
  return reworded(message, (text) => bare(text, message, timeZone));
}

function reworded(message, change) {
  if (message.role !== "user") return message;
  if (typeof message.content === "string") return { ...message, content: change(message.content) };
  const content = message.content.map((part, index) =>
    index === 0 && part.type === "text" ? { ...part, text: change(part.text) } : part);
  return { ...message, content };
}

function wording({ content }) {
  return typeof content === "string" ? content : content?.[0]?.text;
}

function bare(text, message, timeZone) {
  const stamp = STAMP.exec(text);
  if (!stamp || typeof message.timestamp !== "number") return text;
  const clock = { timeZone, dateStyle: "short", timeStyle: "short" };
  const shown = new Intl.DateTimeFormat("sv-SE", clock);
  // The message may have waited in the queue.
  for (let minutes = 0; minutes <= WAITED_MINUTES; minutes += 1) {
    if (stamp[1] === shown.format(message.timestamp - minutes * 60_000)) return text.slice(stamp[0].length);
  }
  return text;
}

/** The stream of the first call that answers something, or of the last call. */
function retried(call, context, signal) {
  const events = [];
  let wake = () => {};
  let over = false;
  const final = (async () => {
    for (let attempt = 1; ; attempt += 1) {
      const inner = await call(context);
      const { seen, failed } = await pump(inner, (event) => (events.push(event), wake()));
      if (!failed) return inner.result();
      const isAborted = signal?.aborted || failed.error?.stopReason === "aborted";
      const isTransient = !isAborted && !isFinal(failed.error?.errorMessage);
      if (seen || !isTransient || attempt === MODEL_TRIES) {
        const told = isTransient ? { ...failed, error: plain(failed.error) } : failed;
        events.push(told);
        return told.error ?? inner.result();
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * attempt));
    }
  })().finally(() => ((over = true), wake()));
  final.catch(() => {});
  return {
    result: () => final,
    async *[Symbol.asyncIterator]() {
      for (let next = 0; ; ) {
        if (next < events.length) yield events[next++];
        else if (over) return void (await final);
        else await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

/** Passes events on. A failure is held back, and so are the events before it that a reader does not see. */
async function pump(inner, hand) {
  let held = [];
  let seen = false;
  for await (const event of inner) {
    if (event.type === "error") return { seen, failed: event };
    seen ||= SEEN.has(event.type);
    if (!seen) {
      held.push(event);
      continue;
    }
    held.forEach(hand);
    held = [];
    hand(event);
  }
  held.forEach(hand);
  return { seen, failed: null };
}

/** A refusal is final. An overloaded or failing server may work again in a second. */
function isFinal(message) {
  return /\b4(?!02|08|09|25|29)\d\d\b/.test(message ?? "");
}

/** Removes the status and the words that make openclaw repeat the call for minutes, or lock the key. */
function plain({ role, content, api, provider, model, usage, stopReason, timestamp }) {
  return { role, content, api, provider, model, usage, stopReason, timestamp, errorMessage: NO_ANSWER };
}

/** The turn waits for the result of a subagent. Otherwise the result would come as a turn of its own, after the answer,
 * and on most channels nobody would see it. openclaw uses these parameters instead of the model's. */
function collected() {
  const others = ["completionTarget", "expectsCompletionMessage", "mode", "runtime", "streamTo", "thread", "visible"];
  return { ...Object.fromEntries(others.map((name) => [name, undefined])), collect: true };
}

/** openclaw can list, read and edit files, but not search them. */
function search({ workspace, ripgrep }) {
  return {
    name: "grep",
    label: "grep",
    description: "Search the files of the workspace for a regular expression; answers with path, line and text.",
    parameters: {
      type: "object",
      required: ["pattern"],
      properties: {
        pattern: { type: "string", description: "A regular expression." },
        path: { type: "string", description: "A file or directory in the workspace; the whole workspace otherwise." },
        glob: { type: "string", description: "Only files whose names fit, such as *.md." },
      },
    },
    async execute(_id, { pattern, path: where, glob }, signal) {
      const target = path.resolve(workspace, where ?? ".");
      if (target !== workspace && !target.startsWith(workspace + path.sep)) return said("This is outside the workspace.");
      const flags = ["--no-config", "--hidden", "--line-number", "--max-columns=400", "--max-count=100"];
      const named = glob ? ["--glob", glob] : [];
      const args = [...flags, ...named, "--regexp", pattern, "--", path.relative(workspace, target) || "."];
      const options = { cwd: workspace, signal, timeout: SEARCH_MS, maxBuffer: SEARCH_BYTES, env: {} };
      return new Promise((resolve) => {
        execFile(ripgrep, args, options, (error, out, err) => {
          const found = out.slice(0, FOUND_CHARACTERS);
          if (found) resolve(said(found.length < out.length ? `${found}\n[there is more]` : found));
          else resolve(said(!error || error.code === 1 ? "Nothing was found." : `The search failed. ${err.slice(0, 400)}`));
        });
      });
    },
  };
}

function said(text) {
  return { content: [{ type: "text", text }], details: {} };
}
