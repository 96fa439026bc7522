/** Drives the service of AGENTPODS_URL with AGENTPODS_API_KEY. `tests/sdk/test_typescript.py` starts both. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { Agentpods, ApiError, NoAnswerError, NotGenuineError, StreamCutError, UnexpectedAnswerError, verified } from "../src/index.ts";
import { EventReader } from "../src/sse.ts";

const KEY = "ak_live_never-in-a-message";

async function hostile(answers: RequestListener[], use: (pods: Agentpods, calls: string[]) => Promise<void>): Promise<void> {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url} ${request.headers["idempotency-key"] ?? request.headers["last-event-id"] ?? ""}`);
    const answer = answers[Math.min(calls.length, answers.length) - 1];
    request.resume().on("end", () => answer?.(request, response));
  });
  await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
  const { port } = server.address() as AddressInfo;
  try {
    await use(new Agentpods({ baseUrl: `http://127.0.0.1:${port}`, apiKey: KEY, timeout: 0.5 }), calls);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const json = (body: unknown, headers: Record<string, string> = {}, status = 200): RequestListener => (_, response) =>
  void response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
const stream = (...pieces: string[]): RequestListener => (_, response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const piece of pieces) response.write(piece);
  response.end();
};

test("an agent lives its life", { skip: !process.env["AGENTPODS_URL"] }, async () => {
  const pods = new Agentpods();
  const { agent } = await pods.agents.create({ personaId: process.env["PERSONA"] ?? "", tier: "tiny", name: "Ada" }, { wait: 30 });
  assert.equal((await pods.agents.wait(agent.id, { seconds: 60 }))?.status, "running");
  const ids: string[] = [];
  for await (const one of pods.agents.list({ limit: 1 })) ids.push(one.id);
  assert.ok(ids.includes(agent.id));
  assert.equal((await pods.agents.explain(agent.id)).status, "running");
  assert.equal((await pods.agents.pause(agent.id, 30)).status, "stopped");
  assert.equal((await pods.agents.resume(agent.id, 30)).status, "running");
  await assert.rejects(pods.agents.get("agt_nobody"), (error) => error instanceof ApiError && error.error === "NOT_FOUND" && !!error.requestId);
  assert.ok((await pods.api.GET("/tiers")).data?.tiers.length);
  assert.equal((await pods.agents.update(agent.id, { name: "Bo" })).name, "Bo");
  const limited = await pods.api.PUT("/agents/{id}/limits", { params: { path: { id: agent.id } }, body: { usdPerDay: 2.5 } });
  assert.equal(limited.data?.limits.usdPerDay, 2.5);
  assert.equal((await pods.api.GET("/agents/{id}/usage", { params: { path: { id: agent.id } } })).data?.usage.total.calls, 0);
  const names: string[] = [];
  for await (const event of pods.agents.followEvents(agent.id)) {
    names.push(event.name);
    if (names.length === 1) await pods.agents.delete(agent.id);
  }
  assert.deepEqual([names[0], names.at(-1)], ["agent.running", "end"]);
  assert.equal(await pods.agents.wait(agent.id, { until: "deleted", seconds: 60 }), null);
});

test("what is safe to repeat is repeated, with one key", async () => {
  const busy = json({ error: "INTERNAL", message: "busy" }, { "Retry-After": "0" }, 503);
  await hostile([busy, json({ agent: { id: "agt_1" }, webhookSecret: null })], async (pods, calls) => {
    await pods.agents.create({ personaId: "p", tier: "tiny" });
    assert.equal(calls.length, 2);
    assert.equal(calls[0], calls[1]);
    assert.match(calls[0] ?? "", /^POST \/agents [0-9a-f-]{36}$/);
  });
  await hostile([busy], async (pods, calls) => {
    await assert.rejects(pods.agents.chat("agt_1", "hi"), ApiError);
    assert.equal(calls.length, 1);
  });
  await hostile([busy, json({}, {}, 404)], async (pods) => pods.agents.delete("agt_1"));
  const limited = json({ error: "RATE_LIMITED", message: "later" }, { "Retry-After": "0" }, 429);
  await hostile([limited, json({}, {}, 404)], (pods) => assert.rejects(pods.agents.delete("agt_1"), ApiError)); // nobody deleted it
});

test("a service that hangs, lies, repeats the key or leads in a circle", async () => {
  await hostile([() => undefined], async (pods) => {
    await assert.rejects(pods.agents.chat("agt_1", "hi"), (error) => error instanceof NoAnswerError && !String(error).includes(KEY));
  });
  await hostile([(_, response) => void response.end("<html>")], (pods) => assert.rejects(pods.agents.get("agt_1"), UnexpectedAnswerError));
  await hostile([json({ error: KEY, message: `Bearer ${KEY}` }, {}, 401)], (pods) =>
    assert.rejects(pods.agents.get("agt_1"), (error) => error instanceof ApiError && !`${error.message}${error.error}`.includes(KEY)));
  const circle = json({ agents: [] }, { Link: '<http://elsewhere.example/agents?cursor=c1>; rel="next"' });
  await hostile([circle], (pods) => assert.rejects(Array.fromAsync(pods.agents.list()), UnexpectedAnswerError));
  for (const odd of ["", ".", ".."]) await assert.rejects(new Agentpods().agents.get(odd), TypeError);
  for (const baseUrl of ["ftp://x", "http://user:word@x", "x"]) assert.throws(() => new Agentpods({ baseUrl }), TypeError);
});

test("backups, receivers and events have the usual calls", async () => {
  const busy = json({ error: "INTERNAL", message: "it still runs" }, { "Retry-After": "0" }, 503);
  await hostile([busy, json({ backup: { name: "b1" } })], async (pods, calls) => {
    assert.equal((await pods.backups.create("agt_1")).name, "b1");
    assert.equal(calls.length, 2);
  });
  await hostile([json({ backups: [{ name: "b1" }] })], async (pods) => assert.equal((await pods.backups.list("agt_1")).length, 1));
  const archive: RequestListener = (_, response) => void response.writeHead(200, { "Content-Type": "application/gzip" }).end("archive");
  await hostile([archive], async (pods, calls) => {
    assert.equal(Buffer.concat(await Array.fromAsync(pods.backups.download("agt_1", "b1"))).toString(), "archive");
    assert.match(calls[0] ?? "", /^GET \/agents\/agt_1\/backups\/b1 $/);
  });
  const cut: RequestListener = (_, response) => {
    response.writeHead(200, { "Content-Type": "application/gzip", "Content-Length": "100" });
    response.write("arch", () => response.destroy());
  };
  await hostile([cut], (pods) => assert.rejects(Array.fromAsync(pods.backups.download("agt_1", "b1")), NoAnswerError));
  await hostile([json({})], (pods) => assert.rejects(Array.fromAsync(pods.backups.download("agt_1", "b1")), UnexpectedAnswerError));
  await hostile([json({ agent: { id: "agt_1" } })], async (pods, calls) => {
    assert.equal((await pods.backups.restore("agt_1", "b1")).id, "agt_1");
    assert.match(calls[0] ?? "", /^POST \/agents\/agt_1\/backups\/b1\/restore /);
  });
  const first = json({ deliveries: [{ id: "evt_2" }] }, { Link: '</deliveries?cursor=c1>; rel="next"' });
  await hostile([first, json({ deliveries: [{ id: "evt_1" }] })], async (pods, calls) => {
    const found = await Array.fromAsync(pods.webhooks.deliveries("agt_1"));
    assert.deepEqual(found.map((one) => one.id), ["evt_2", "evt_1"]);
    assert.match(calls[1] ?? "", /cursor=c1/);
  });
  await hostile([json({ webhook: { url: "https://a.example/", secret: "whsec_x" } })], async (pods) =>
    assert.equal((await pods.webhooks.set("agt_1", "https://a.example/")).secret, "whsec_x"));
  const page = Array.from({ length: 100 }, (_, at) => ({ id: `evt_${at}` }));
  await hostile([json({ events: page }), json({ events: [{ id: "evt_last" }] })], async (pods, calls) => {
    assert.equal((await Array.fromAsync(pods.agents.events("agt_1"))).length, 101);
    assert.match(calls[1] ?? "", /after=evt_99/);
  });
  await hostile([json({ events: page })], (pods) =>
    assert.rejects(Array.fromAsync(pods.agents.events("agt_1", { after: "evt_99" })), UnexpectedAnswerError));
  const nonsense = { wait: 60 } as unknown as number;
  await assert.rejects(new Agentpods().agents.delete("agt_1", nonsense), TypeError);
});

test("streams: whole, cut off, failed, and a log over broken connections", async () => {
  const delta = 'event: delta\ndata: {"text": "grüß\u2028"}\n\n';
  await hostile([stream(delta, 'event: done\ndata: {"reply": "x", "sessionId": "s"}\n\n')], async (pods) => {
    const events = await Array.fromAsync(pods.agents.stream("agt_1", "hi"));
    assert.deepEqual(events, [{ type: "delta", text: "grüß\u2028" }, { type: "done", reply: "x", sessionId: "s" }]);
  });
  await hostile([() => undefined], (pods) => assert.rejects(Array.fromAsync(pods.agents.stream("agt_1", "hi")), StreamCutError));
  await hostile([stream(delta)], (pods) => assert.rejects(Array.fromAsync(pods.agents.stream("agt_1", "hi")), StreamCutError));
  await hostile([stream('event: error\ndata: {"error": "INTERNAL", "message": "model: gone"}\n\n')], (pods) =>
    assert.rejects(Array.fromAsync(pods.agents.stream("agt_1", "hi")), /model: gone/));
  const end = 'event: end\ndata: {"message": "deleted"}\n\n';
  await hostile([stream('event: log\nid: c0\ndata: {"text": "a"}\n\n'), stream(end)], async (pods, calls) => {
    const events = await Array.fromAsync(pods.agents.followLogs("agt_1"));
    assert.deepEqual(events.map((one) => one.name), ["log", "end"]);
    assert.match(calls[1] ?? "", / c0$/);
  });
  await hostile([stream('id: evt_1\nevent: test\ndata: {"id": "evt_1"}\n\n'), json({}, {}, 503), stream(end)], async (pods, calls) => {
    const events = await Array.fromAsync(pods.agents.followEvents(null));
    assert.deepEqual(events.map((one) => one.id), ["evt_1", null]);
    assert.match(calls[2] ?? "", /^GET \/events evt_1$/);
  });
  const state = 'event: state\ndata: {"status": "running", "live": true}\n\n';
  await hostile([stream(state), stream(state), stream(end)], async (pods) => {
    const events = await Array.fromAsync(pods.agents.followLogs("agt_1"));
    assert.deepEqual(events.map((one) => one.name), ["state", "end"]); // the state has not changed
  });
  const later = json({ error: "INTERNAL", message: "later" }, { "Retry-After": "3600" }, 503);
  await hostile([later], (pods) => assert.rejects(Array.fromAsync(pods.agents.followLogs("agt_1")), ApiError)); // the caller's decision
  await hostile([stream('data: {"n": 1}\n\ndata: [DONE]\n\n')], async (pods, calls) => {
    const events = await Array.fromAsync(pods.stream("POST", "/agents/agt_1/v1/chat/completions", { stream: true }));
    assert.deepEqual(events.map((one) => one.data), [{ n: 1 }]);
    assert.match(calls[0] ?? "", /^POST /);
  });
});

test("events are read however they are cut", () => {
  const wire = new TextEncoder().encode('id: 1\r\nevent: a\r\ndata: {"t":\r\ndata: "é"}\r\n\r\n: beat\n\ndata: {"n": 2}\n\n');
  for (const size of [1, 2, 3, 7, wire.length]) {
    const reader = new EventReader();
    const found = [];
    for (let at = 0; at < wire.length; at += size) found.push(...reader.feed(wire.slice(at, at + size)));
    assert.deepEqual(found, [{ name: "a", data: { t: "é" }, id: "1" }, { name: "message", data: { n: 2 }, id: "1" }]);
  }
});

test("only what is signed is an event", async () => {
  const body = '{"id": "evt_1", "type": "test"}';
  const signed = (secret: string) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  const right = { "X-Service-Signature": signed("whsec_x"), "X-Service-Delivery": "evt_1" };
  assert.equal((await verified(body, right, "whsec_x")).id, "evt_1");
  const changed = { "X-Service-Signature": signed("whsec_new"), "X-Service-Signature-Previous": signed("whsec_x") };
  assert.equal((await verified(body, changed, "whsec_x")).id, "evt_1");
  for (const odd of [{}, { "X-Service-Signature": "sha256=zz" }, { ...right, "X-Service-Delivery": "evt_2" }, { ...right, "X-Service-Signature": signed("other") }]) {
    await assert.rejects(verified(body, odd, "whsec_x"), NotGenuineError);
  }
  await assert.rejects(verified(body + " ", right, "whsec_x"), NotGenuineError);
  await assert.rejects(verified(body, right, ""), TypeError);
});
