"use strict";
/* Loads packages of n8n's installation, for files that are outside of it. */

const { createRequire } = require("node:module");
const path = require("node:path");

const nodes = path.join(process.env.AGENTPODS_N8N, "node_modules", "@n8n", "n8n-nodes-langchain", "package.json");
module.exports = createRequire(nodes);
