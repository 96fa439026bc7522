"use strict";
/* `node start.cjs`: starts n8n, only in exactly this version, with changes that no setting can make. It uses n8n's
   packages and our own; the environment says where both are. */

const Module = require("node:module");
const { randomBytes } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");

const installed = require("./installed.cjs");
const agent = require("./agent.cjs");
const mcp = require("./mcp.cjs");
const schedules = require("./schedules.cjs");

const MODEL_TRIES = 3;
const MARKS = /^AGENTPODS_(NAMESPACE|HOME|ROLE)$/;

/* Changes to modules of n8n, made when a module is loaded. The key is the end of its path. */
const CHANGES = {
  "/n8n/dist/abstract-server.js": ({ AbstractServer }) => {
    const common = AbstractServer.prototype.setupCommonMiddlewares;
    AbstractServer.prototype.setupCommonMiddlewares = function () {
      this.app.use(agent.door);
      common.call(this);
    };
  },
  "/n8n/dist/commands/start.js": ({ Start }) => {
    const make = Start.prototype.generateStaticAssets;
    Start.prototype.generateStaticAssets = async function () {
      agent.editorIsMadeBy(() => make.call(this)); // 60 MB of files, not needed before somebody opens the editor
    };
  },
  "/n8n/dist/active-executions.js": ({ ActiveExecutions }) => {
    agent.sayHowTurnsEnd(ActiveExecutions);
    agent.endTurnsOfThoseWhoHungUp(ActiveExecutions);
    schedules.noteRuns(ActiveExecutions);
  },
  "/n8n/dist/services/url.service.js": ({ UrlService }) => agent.servicesLeadBackToTheVisitedAddress(UrlService),
  "/shutdown/shutdown.service.js": ({ ShutdownService }) => schedules.keepThemAtTheEnd(ShutdownService),
  "/execution-engine/scheduled-task-manager.js": ({ ScheduledTaskManager }) =>
    schedules.forgetWhatIsTakenAway(ScheduledTaskManager),
  "/utils/scheduling-helper-functions.js": (exports) => schedules.makeUpForMissedRuns(exports),
  "/n8n/dist/task-runners/task-runner-process-js.js": ({ JsTaskRunnerProcess }) => {
    const environment = JsTaskRunnerProcess.prototype.getProcessEnvVars;
    JsTaskRunnerProcess.prototype.getProcessEnvVars = function (...given) {
      const marks = Object.entries(process.env).filter(([name]) => MARKS.test(name));
      return Object.assign(environment.apply(this, given), Object.fromEntries(marks));
    };
  },
  "/nodes/mcp/shared/runtime.js": (exports) => mcp.leaveOutServersThatDoNotAnswer(exports),
  "/nodes/mcp/McpClientTool/utils.js": (exports) => mcp.nameTools(exports),
  "/failed-attempt-handler/n8nLlmFailedAttemptHandler.js": (exports) => {
    const make = exports.makeN8nLlmFailedAttemptHandler;
    exports.makeN8nLlmFailedAttemptHandler = (...given) => {
      const handle = make(...given);
      return (error) => {
        handle(error);
        if (error.attemptNumber >= MODEL_TRIES) throw error; // the nodes of some models try six times, for minutes
      };
    };
  },
};

function change(load) {
  const done = new Set();
  return function (request, parent, isMain) {
    if (request === "sqlite3") return load.call(this, path.join(__dirname, "sqlite.cjs"), parent, isMain);
    const exports = load.call(this, request, parent, isMain);
    const ending = Object.keys(CHANGES).find((one) => one.endsWith(`/${path.basename(request).replace(/\.js$/, "")}.js`));
    if (ending) {
      const file = Module._resolveFilename(request, parent, isMain);
      const module = require.cache[file];
      const found = Object.keys(CHANGES).find((one) => file.endsWith(one));
      if (found && module?.loaded && !done.has(file)) {
        done.add(file);
        CHANGES[found](exports);
      }
    }
    return exports;
  };
}

function forgetTheCrash() {
  /* After a kill, n8n would wait ten seconds before it starts. But the bridge decides when to restart. */
  fs.rmSync(path.join(process.env.N8N_USER_FOLDER, ".n8n", "crash.journal"), { force: true });
}

function lockTheOwnersPassword() {
  /* Nobody knows this password: people use the agent's own login, and the gateway uses the pod's password. */
  const { hashSync } = installed("bcryptjs");
  process.env.N8N_INSTANCE_OWNER_PASSWORD_HASH = hashSync(randomBytes(32).toString("base64"), 10);
}

Module.enableCompileCache(path.join(process.env.N8N_USER_FOLDER, ".cache", "compiled"));
forgetTheCrash();
lockTheOwnersPassword();
Module._load = change(Module._load);
const program = path.join(process.env.AGENTPODS_N8N, "node_modules", "n8n", "bin", "n8n");
process.argv = [process.argv[0], program, "start"];
require(program);
