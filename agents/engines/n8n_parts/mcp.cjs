"use strict";
/* The agent's MCP servers. A server that does not answer is left out, so that it does not make every turn fail. Tools
   get names that every provider accepts. */

const { createHash } = require("node:crypto");

const installed = require("./installed.cjs");

const LIST_SECONDS = 8;
const FORGIVEN_SECONDS = 60;
const NAME_CHARACTERS = 64;
const OURS = / \(MCP server\)$/; // the names of our nodes end like this
const failed = new Map(); // node -> until when it is left out

function leaveOutServersThatDoNotAnswer(runtime) {
  const build = runtime.buildMcpToolkit;
  runtime.buildMcpToolkit = async (context, ...rest) => {
    const node = context.getNode();
    if (!OURS.test(node.name)) return await build(context, ...rest);
    const key = `${node.name}\n${node.parameters.endpointUrl}`;
    if ((failed.get(key) ?? 0) < Date.now()) {
      try {
        return await within(LIST_SECONDS, build(context, ...rest));
      } catch (error) {
        failed.set(key, Date.now() + FORGIVEN_SECONDS * 1000);
        context.logger.warn(`${node.name} is left out: ${error.description || error.message}`);
      }
    }
    const { StructuredToolkit } = installed("n8n-core");
    return { response: new StructuredToolkit([]) };
  };
}

function within(seconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not answer within ${seconds} s`)), seconds * 1000);
  });
  promise.then(({ closeFunction }) => timer === null && closeFunction?.()).catch(() => {});
  return Promise.race([promise, late]).finally(() => {
    clearTimeout(timer);
    timer = null;
  });
}

/* `<server>__<tool>`, with characters that every provider accepts, and different from all other names. */
function nameTools(utils) {
  const name = utils.buildMcpToolName;
  const taken = new Map();
  utils.buildMcpToolName = (node, tool) => {
    if (!OURS.test(node)) return name(node, tool);
    const server = node.replace(OURS, "");
    const wanted = `${server}__${tool}`.replace(/[^A-Za-z0-9_-]/g, "_");
    const whose = `${server}\n${tool}`;
    if (!taken.has(wanted)) taken.set(wanted, whose);
    if (wanted.length <= NAME_CHARACTERS && taken.get(wanted) === whose) return wanted;
    const mark = createHash("sha256").update(whose).digest("hex").slice(0, 8);
    return `${wanted.slice(0, NAME_CHARACTERS - 9)}_${mark}`;
  };
}

module.exports = { leaveOutServersThatDoNotAnswer, nameTools, forgive: () => failed.clear() };
