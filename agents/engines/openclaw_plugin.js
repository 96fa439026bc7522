// A plugin of openclaw: the model's provider, as the bridge wants it, and a search in the agent's files.
//
// openclaw calls it around each model call. It puts the persona in the place of openclaw's own system prompt, and it
// tries a failed call again by itself: openclaw would do so for more than a minute, and lock the key after a refusal.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

// How openclaw's own prompt begins; others (a summary, a subagent's judge) stay as they are.
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
// The pieces that a reader has seen: after one of them a call is not made again.
const SEEN = new Set(["text_delta", "thinking_delta", "toolcall_start", "toolcall_delta", "done"]);
// Of these openclaw knows better: it shortens a conversation that is too long.
const TOO_LONG = /context|too long|too large|maximum.{0,20}tokens|prompt is/i;

// To a bot of Telegram, the first thing that a person says is /start.
const COMMAND = /^\s*\/(?!start\b)[a-z_]+(@\w+)?(\s|:|$)/i;
// What openclaw itself says before it takes up a turn that was cut short. The answer follows, in the agent's own words.
const RESUMED = /^I'm continuing your interrupted request now \(the gateway has just restarted\)/;
// What it says to the model then: an order, and in that turn the person's message once more before it.
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
      // "format" is what openclaw neither tries again nor locks a key for; but by some words it judges all the same.
      classifyFailoverReason: ({ errorMessage }) => (TOO_LONG.test(errorMessage) ? undefined : "format"),
    });
    api.registerHttpRoute({
      path: "/agentpods/mark",
      auth: "gateway",
      match: "exact",
      handler: async (_request, response) => (response.end(inForce(api, settings)), true),
    });
    // Only what comes from channels is dispatched. openclaw would pass over a command in silence.
    api.on("before_dispatch", ({ content }) => (COMMAND.test(content) ? { handled: true, text: NO_COMMANDS } : undefined));
    api.on("message_sending", ({ content }) => (RESUMED.test(content) ? { cancel: true } : undefined));
    api.on("before_tool_call", ({ toolName }) => (toolName === "sessions_spawn" ? { params: collected() } : undefined));
    api.registerTool(() => search(settings), { name: "grep" });
  },
};

/** The mark of the settings, once all of openclaw has them. */
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

/** The persona, how it remembers, and the list of the agent's own skills where it has some. */
function persona(own, settings) {
  const text = readFileSync(settings.persona, "utf8").trimEnd() + (settings.remembers ? `\n\n${MEMORY}` : "");
  const listed = settings.skills ? /<available_skills>\n([\s\S]*?)\n<\/available_skills>/.exec(own)?.[1] : "";
  const skills = (listed ?? "").match(/ *<skill>[\s\S]*?<\/skill>/g) ?? [];
  const agents = skills.filter((skill) => skill.includes(`<location>${settings.skills}/`));
  if (!agents.length) return text;
  const how = "Skills you have. When one of them fits the task, read its file with the tool `read` and follow it:";
  return `${text}\n\n${how}\n<available_skills>\n${agents.join("\n")}\n</available_skills>`;
}

/** Behind each message openclaw says what runs in the background, also when nothing does. */
function saysNothing({ runtimeContextCarrier, content }) {
  return Boolean(runtimeContextCarrier) && IDLE.test(wording({ content }));
}

/** A question whose turn was cut off is asked again as the person asked it, and once. openclaw says it again as something
 * that is not to be answered any more, and orders the model to go on; in later turns the order stands behind the question.
 * Behind what tools and the model said it stays: there the model must know. */
function asAsked(messages) {
  const bared = messages.map((message) => reworded(message, (text) => CUT_OFF.exec(text)?.[1] ?? text));
  return bared.filter((message, at) => {
    const before = bared[at - 1];
    if (message.role !== "user" || before?.role !== "user") return true;
    const isAgain = wording(message) !== wording(messages[at]) && wording(message) === wording(before);
    return !isAgain && !TAKEN_UP.test(wording(message));
  });
}

/** openclaw writes the time of arrival before what a person says; the model gets what was said. */
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
  // The message may have waited since it arrived.
  for (let minutes = 0; minutes <= WAITED_MINUTES; minutes += 1) {
    if (stamp[1] === shown.format(message.timestamp - minutes * 60_000)) return text.slice(stamp[0].length);
  }
  return text;
}

/** The stream of the first call that says something, or of the last one. */
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

/** Hands on what comes. The failure is kept back, and so is all before it that nobody needs to see twice. */
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

/** A refusal stays one; an overloaded or broken server may be well again in a second. */
function isFinal(message) {
  return /\b4(?!02|08|09|25|29)\d\d\b/.test(message ?? "");
}

/** Without the status and the words by which openclaw would go on trying for minutes, or lock the key. */
function plain({ role, content, api, provider, model, usage, stopReason, timestamp }) {
  return { role, content, api, provider, model, usage, stopReason, timestamp, errorMessage: NO_ANSWER };
}

/** What a helper found is waited for in the turn that asked. Otherwise it would come as a turn of its own, after the
 * answer: on most ways to the agent nobody would see it. openclaw puts these over what the model said. */
function collected() {
  const others = ["completionTarget", "expectsCompletionMessage", "mode", "runtime", "streamTo", "thread", "visible"];
  return { ...Object.fromEntries(others.map((name) => [name, undefined])), collect: true };
}

/** openclaw lists, reads and edits files, but does not search them. */
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
