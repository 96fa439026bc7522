"use strict";
/* Schedules of the owner's workflows. n8n only counts from its start, so a run that was due while it was down would be
   lost. This module runs it at the next start: once, even if several runs were missed.

   A file stores when each schedule was last due, after that run is in n8n's database. After a kill between the two, the
   run begins again; n8n then finds the first run by its key and does not repeat it. */

const fs = require("node:fs");
const path = require("node:path");

const installed = require("./installed.cjs");

const SKIPPED_SECONDS = 60; // "every third day" is checked every day, and on most days there is no run
const FILE = path.join(process.env.N8N_USER_FOLDER, "schedules.json");

const last = read(); // workflow -> schedule -> when it was last due, or when it was created
const before = new Set(Object.entries(last).flatMap(([workflow, found]) => Object.keys(found).map((one) => workflow + one)));
const running = new Map(); // key of a run -> what is stored when the run is in the database
let waiting = []; // missed runs that wait until the agent is ready
let stopping = false;

function makeUpForMissedRuns(helpers) {
  const make = helpers.getSchedulingFunctions;
  helpers.getSchedulingFunctions = (workflow, timezone, node) => {
    const functions = make(workflow, timezone, node);
    const registerCron = (cron, onTick) => {
      const schedule = JSON.stringify([node, cron.expression, cron.recurrence]);
      const tick = (due, missed = false) => {
        const run = { workflow, schedule, due, missed };
        if (cron.recurrence) expect(`${workflow}:${node}:${due.toISOString()}`, run);
        onTick(due);
        if (!cron.recurrence) note(run); // the older node's runs have no key
      };
      const isNew = functions.registerCron(cron, tick);
      if (isNew) begin({ workflow, schedule, tick, due: nextAfter(cron.expression, timezone) });
      return isNew;
    };
    return { ...functions, registerCron };
  };
}

/* The run is noted when it is in the database, or when n8n skips it. */
function expect(key, run) {
  running.set(key, run);
  const skipped = () => running.delete(key) && note({ ...run, missed: false });
  setTimeout(skipped, SKIPPED_SECONDS * 1000).unref();
}

function begin({ workflow, schedule, tick, due }) {
  const known = before.delete(workflow + schedule) && last[workflow]?.[schedule];
  if (!known) return remember(workflow, schedule, new Date());
  const missed = due(new Date(known));
  if (missed > new Date()) return;
  const run = () => tick(missed, true);
  if (waiting) waiting.push(run);
  else setImmediate(run);
}

const nextAfter = (expression, timezone) => (moment) => {
  const { CronTime } = installed("cron");
  return new CronTime(expression, timezone).getNextDateFrom(moment, timezone).toJSDate();
};

/* n8n calls this for every run of a schedule, when the run is in the database. */
function noteRuns(ActiveExecutions) {
  const add = ActiveExecutions.prototype.add;
  ActiveExecutions.prototype.add = async function (execution, ...rest) {
    const run = running.get(execution.deduplicationKey);
    try {
      return await add.call(this, execution, ...rest);
    } finally {
      // Also if the run was in the database before.
      if (run && running.delete(execution.deduplicationKey)) note(run, execution.workflowData.name);
    }
  };
}

function note({ workflow, schedule, due, missed }, name = workflow) {
  if (last[workflow]?.[schedule]) remember(workflow, schedule, missed ? new Date() : due);
  if (!missed) return;
  const { Logger } = installed("@n8n/backend-common");
  const { Container } = installed("@n8n/di");
  Container.get(Logger).warn(`"${name}" was due at ${due.toISOString()}, while n8n was down: it is run now`);
}

/* A schedule that its owner removed has no missed runs. A schedule that stops with n8n has. */
function forgetWhatIsTakenAway(ScheduledTaskManager) {
  const all = ScheduledTaskManager.prototype.deregisterGroup;
  ScheduledTaskManager.prototype.deregisterGroup = function (group) {
    const taken = all.call(this, group);
    if (taken && group.type === "workflow") forget(group.id, () => true);
    return taken;
  };
  const one = ScheduledTaskManager.prototype.deregisterTarget;
  ScheduledTaskManager.prototype.deregisterTarget = function (group, node) {
    one.call(this, group, node);
    if (group.type === "workflow") forget(group.id, (schedule) => JSON.parse(schedule)[0] === node);
  };
}

function forget(workflow, isIt) {
  if (stopping || !last[workflow]) return;
  for (const schedule of Object.keys(last[workflow]).filter(isIt)) delete last[workflow][schedule];
  if (!Object.keys(last[workflow]).length) delete last[workflow];
  write();
}

function keepThemAtTheEnd(ShutdownService) {
  const shutdown = ShutdownService.prototype.shutdown;
  ShutdownService.prototype.shutdown = function () {
    stopping = true;
    shutdown.call(this);
  };
}

function theAgentIsThere() {
  const missed = waiting ?? [];
  waiting = null;
  for (const run of missed) run();
}

function remember(workflow, schedule, moment) {
  (last[workflow] ??= {})[schedule] = moment.toISOString();
  write();
}

function read() {
  try {
    return JSON.parse(fs.readFileSync(FILE, "utf8"));
  } catch {
    return {}; // there is no file yet, or a crash of the machine damaged it
  }
}

function write() {
  fs.writeFileSync(`${FILE}.new`, JSON.stringify(last));
  fs.renameSync(`${FILE}.new`, FILE);
}

module.exports = { forgetWhatIsTakenAway, keepThemAtTheEnd, makeUpForMissedRuns, noteRuns, theAgentIsThere };
