"use strict";
/* The agent in n8n: a workflow and its credentials, as the platform rendered them. If they have changed, they are
   stored in n8n's database before the next turn. Other workflows belong to the owner and are left alone.

   `door` checks every request to n8n. A caller with the pod's password acts as n8n's owner: the bridge, and the gateway
   for people who are signed in to the agent. */

const { AsyncLocalStorage } = require("node:async_hooks");
const { timingSafeEqual } = require("node:crypto");
const fs = require("node:fs");

const installed = require("./installed.cjs");
const mcp = require("./mcp.cjs");
const schedules = require("./schedules.cjs");

const HEADER = "x-agentpods-password";
const VISITED = "x-agentpods-visited";
const COOKIE = "n8n-auth";
const CHECK_PATH = "/agentpods/agent";
const NOT_THE_EDITOR = /^\/(rest|types|webhook|healthz|icons)/;
const OAUTH = /^\/rest\/oauth[12]-credential\//;
const SESSION_SECONDS = 3600;

const n8n = (file) => installed(`n8n/dist/${file}`);
const get = (service) => installed("@n8n/di").Container.get(service);
const repositories = () => installed("@n8n/db");

let applied = null; // the text of the file whose content is in use
let applying = Promise.resolve();
let editor = async () => {};
let session = { token: "", until: 0 };
const visitedAddress = new AsyncLocalStorage();

function door(request, response, next) {
  pass(request, response, next).catch((error) => {
    response.status(500).json({ error: `the agent's workflow was not taken: ${error.message}` });
  });
}

async function pass(request, response, next) {
  const known = isPlatform(request.headers[HEADER]);
  delete request.headers[HEADER];
  const { pathname } = new URL(request.url, "http://pod");
  if (known) await signIn(request);
  if (pathname === CHECK_PATH && known) {
    await bringUpToDate();
    schedules.theAgentIsThere();
    return response.json({ agent: applied !== null });
  }
  if (decodeURIComponent(pathname).includes(process.env.AGENTPODS_AGENT_ID) && pathname.startsWith("/webhook")) {
    // Only the gateway may call the agent's own workflow, because it knows the agent's rules.
    if (!known) return response.status(404).json({ message: "not found" });
    await bringUpToDate();
  }
  if (known && !NOT_THE_EDITOR.test(pathname)) await editor();
  const visited = known && request.headers[VISITED];
  if (visited && pathname === "/rest/settings") speakOfTheVisitedAddress(response, visited);
  if (visited && OAUTH.test(pathname)) return visitedAddress.run(visited, next);
  next();
}

/* The editor tests workflows at the address that n8n gives it, and tells services to lead its reader back there. An
   agent may have two addresses, and a login at one is not valid at the other. So n8n gives the visited address. */
function speakOfTheVisitedAddress(response, visited) {
  const json = response.json;
  response.json = function (said) {
    const told = said?.data;
    if (told?.urlBaseWebhook) {
      const root = `${visited}/`;
      const { urlBaseEditor: usual, oauthCallbackUrls: known } = told;
      const callbacks = Object.entries(known ?? {}).map(([name, url]) => [name, url.replace(usual, visited)]);
      const bases = { urlBaseWebhook: root, urlBaseWebhookTest: root, urlBaseEditor: visited };
      said = { ...said, data: { ...told, ...bases, oauthCallbackUrls: Object.fromEntries(callbacks) } };
    }
    return json.call(this, said);
  };
}

/* n8n uses the visited address when it sends its owner to a service and back: the service compares both addresses. */
function servicesLeadBackToTheVisitedAddress(UrlService) {
  const usual = UrlService.prototype.getInstanceBaseUrl;
  UrlService.prototype.getInstanceBaseUrl = function () {
    return visitedAddress.getStore() ?? usual.call(this);
  };
}

function editorIsMadeBy(make) {
  let made = null;
  editor = () => (made ??= make().catch((error) => {
    made = null;
    throw error;
  }));
}

function isPlatform(given) {
  const wanted = Buffer.from(process.env.AGENTPODS_PASSWORD);
  const said = Buffer.from(String(given ?? ""));
  return said.length === wanted.length && timingSafeEqual(said, wanted);
}

async function owner() {
  const { UserRepository, GLOBAL_OWNER_ROLE } = repositories();
  const where = { role: { slug: GLOBAL_OWNER_ROLE.slug } };
  return await get(UserRepository).findOneOrFail({ where, relations: ["role"] });
}

async function signIn(request) {
  if (session.until < Date.now()) {
    const token = get(n8n("auth/auth.service").AuthService).issueJWT(await owner());
    session = { token, until: Date.now() + SESSION_SECONDS * 1000 };
  }
  request.headers.cookie = `${COOKIE}=${session.token}`;
}

/* Changes are applied one after the other. Callers that come meanwhile wait for the newest. */
function bringUpToDate() {
  applying = applying.catch(() => {}).then(apply);
  return applying;
}

async function apply() {
  const text = fs.readFileSync(process.env.AGENTPODS_AGENT_FILE, "utf8");
  if (text === applied) return;
  const { credentials, workflow } = JSON.parse(text);
  const user = await owner();
  const project = await get(repositories().ProjectRepository).getPersonalProjectForUserOrFail(user.id);
  for (const credential of credentials) await storeCredential(credential, project);
  await dropOtherCredentials(credentials);
  const service = get(n8n("services/import.service").ImportService);
  await service.importWorkflows([workflow], project.id, user.id, { activeState: "fromJson" });
  const { activeVersionId } = await get(repositories().WorkflowRepository).findOneByOrFail({ id: workflow.id });
  if (!activeVersionId) throw new Error("n8n did not activate it");
  mcp.forgive();
  applied = text;
}

async function storeCredential(credential, project) {
  const { CredentialsEntity, CredentialsRepository, SharedCredentials } = repositories();
  const { Cipher } = installed("n8n-core");
  const data = await get(Cipher).encryptV2(credential.data);
  await get(CredentialsRepository).manager.transaction(async (all) => {
    await all.upsert(CredentialsEntity, { ...credential, data }, ["id"]);
    const shared = { credentialsId: credential.id, role: "credential:owner", projectId: project.id };
    await all.upsert(SharedCredentials, shared, ["credentialsId", "projectId"]);
  });
}

/* Deletes our other credentials. Ours are those whose ids begin with the agent's id. */
async function dropOtherCredentials(kept) {
  const repository = get(repositories().CredentialsRepository);
  const ids = new Set(kept.map(({ id }) => id));
  for (const { id } of await repository.find({ select: ["id"] })) {
    if (id.startsWith(process.env.AGENTPODS_AGENT_ID) && !ids.has(id)) await repository.delete({ id });
  }
}

/* n8n ends the stream of a turn without its result. So we add a last line with the result. */
function sayHowTurnsEnd(ActiveExecutions) {
  const finalize = ActiveExecutions.prototype.finalizeExecution;
  ActiveExecutions.prototype.finalizeExecution = function (id, run) {
    const { executionData, httpResponse } = this.activeExecutions[id] ?? {};
    if (executionData?.workflowData.id === process.env.AGENTPODS_AGENT_ID && httpResponse?.writable) {
      const error = run?.data?.resultData?.error;
      const told = error && { node: error.node?.name, message: [error.message, error.description].filter(Boolean).join(": ") };
      httpResponse.write(`${JSON.stringify({ type: "verdict", status: run?.status, error: told })}\n`);
    }
    return finalize.call(this, id, run);
  };
}

/* By itself, n8n finishes a turn even if its client has disconnected. This stops it. */
function endTurnsOfThoseWhoHungUp(ActiveExecutions) {
  const add = ActiveExecutions.prototype.add;
  ActiveExecutions.prototype.add = async function (execution, ...rest) {
    const id = await add.call(this, execution, ...rest);
    const response = execution.httpResponse;
    if (!response) return id;
    const { ManualExecutionCancelledError } = installed("n8n-workflow");
    const end = () => {
      if (!response.writableFinished) this.stopExecution(id, new ManualExecutionCancelledError(id));
    };
    if (response.destroyed || response.closed) setImmediate(end);
    else response.once("close", end);
    return id;
  };
}

module.exports = { door, editorIsMadeBy, endTurnsOfThoseWhoHungUp, sayHowTurnsEnd, servicesLeadBackToTheVisitedAddress };
