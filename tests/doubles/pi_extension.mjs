// Stands in for pi where a test is about our MCP extension: loads it, and does what each line on stdin says.
// {"list": 1}, {"call": tool, "arguments": {}}, {"abort": tool, "arguments": {}, "after": ms}, {"event": name}
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const tools = new Map(), handlers = {};
const pi = {
  registerTool: (tool) => { if (tools.has(tool.name)) throw new Error(`twice: ${tool.name}`); tools.set(tool.name, tool); },
  on: (name, handler) => { (handlers[name] ??= []).push(handler); },
};
const { default: extension } = await import(pathToFileURL(process.argv[2]));
await extension(pi);

async function run(given) {
  if (given.event) {
    for (const handler of handlers[given.event] ?? []) await handler({}, {});
    return {};
  }
  if (given.list) return { tools: [...tools.values()].map(({ name, description, parameters }) => ({ name, description, parameters })) };
  const signal = given.abort ? AbortSignal.timeout(given.after) : undefined;
  return tools.get(given.call ?? given.abort).execute("id", given.arguments, signal);
}
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await run(JSON.parse(line)).catch((error) => ({ error: error.message }));
  process.stdout.write(JSON.stringify(answer) + "\n");
}
