// openclaw around its plugin: `node openclaw_plugin.mjs <plugin> <settings>` registers it, makes one model call with a
// provider that answers as stdin says, and prints what the provider and the caller saw. No openclaw is needed.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , plugin, settings] = process.argv;
const given = JSON.parse(readFileSync(0, "utf8"));
const registered = { hooks: {} };
const current = () => ({ plugins: { entries: { agentpods: { config: given.current ?? JSON.parse(settings) } } } });
(await import(pathToFileURL(plugin).href)).default.register({
  id: "agentpods",
  pluginConfig: JSON.parse(settings),
  runtime: { config: { current } },
  registerProvider: (provider) => (registered.provider = provider),
  registerHttpRoute: (route) => (registered.route = route),
  registerTool: (make) => (registered.tool = make()),
  on: (name, handler) => (registered.hooks[name] = handler),
});

const calls = [];
function streamFn(_model, context) {
  const events = given.answers[calls.length];
  calls.push({ context, at: Date.now() });
  const last = events.at(-1);
  return {
    async *[Symbol.asyncIterator]() {
      yield* events;
    },
    result: async () => last.error ?? last.message,
  };
}

const said = {};
if (given.context) {
  const stream = registered.provider.wrapStreamFn({ streamFn })({}, given.context, {});
  said.events = [];
  for await (const event of stream) said.events.push(event);
  said.result = await stream.result();
}
if (given.search) said.found = await registered.tool.execute("1", given.search);
if (given.command) {
  said.reply = registered.hooks.before_dispatch({ content: given.command }) ?? null;
}
if (given.sends) said.sending = registered.hooks.message_sending({ content: given.sends }) ?? null;
// openclaw puts what a hook returns over what the model said.
if (given.call) said.called = { ...given.call.params, ...registered.hooks.before_tool_call(given.call)?.params };
await registered.route.handler({}, { end: (text) => (said.mark = text) });
const reason = given.error && registered.provider.classifyFailoverReason({ errorMessage: given.error });
console.log(JSON.stringify({ ...said, calls, reason: reason ?? null, zone: process.env.TZ }));
