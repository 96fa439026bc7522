"""The management listener, for the control plane only: health, configuration, memory, logs, chat and its test. Each
request needs the management token.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from aiohttp import web

from agents.pod.gateway import channels, chat
from agents.pod.gateway.answers import Handler, Refusal, error_json, errors, read_json, same_secret
from agents.pod.gateway.backups import BackupCalls
from agents.pod.gateway.bridge import Bridge
from agents.pod.gateway.egress.visits import VisitBook
from agents.pod.gateway.llm.log import ModelLog
from agents.pod.gateway.log_pages import LogPages
from agents.pod.gateway.mcp_test import McpTest
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.spending import key_limits
from agents.pod.gateway.spending.meter import Meter
from agents.pod.gateway.talk_test import NO_KEY, PodTalkTest
from agents.pod.gateway.turns import GatewayTurns
from agents.pod.masking import mask_text
from agents.pod.start import config_from, secrets_from
from agents.pod.turns.failures import EngineError, HopFailure, ModelError
from agents.runtimes.base import PodConfig, PodSecrets

log = logging.getLogger(__name__)


class Management:
    def __init__(
        self,
        pod: Pod,
        bridge: Bridge,
        turns: GatewayTurns,
        models: ModelLog,
        test: PodTalkTest,
        log_pages: LogPages,
        backups: BackupCalls,
        meter: Meter,
    ) -> None:
        self._pod = pod
        self._bridge = bridge
        self._turns = turns
        self._models = models
        self._test = test
        self._log_pages = log_pages
        self._backups = backups
        self._meter = meter
        self._mcp_test = McpTest(pod)
        self._configuring = asyncio.Lock()

    def app(self, visits: VisitBook) -> web.Application:
        app = web.Application(middlewares=[errors(error_json), self._only_with_token, self._name_the_hop])
        app.router.add_get("/health", self.health)
        app.router.add_put("/config", self.configure)
        app.router.add_post("/chat", self.chat)
        app.router.add_get("/timings", self.timings)
        app.router.add_post("/talk-test", self.talk_test)
        app.router.add_post("/mcp-test", self.mcp_test)
        app.router.add_post("/restart-engine", self.restart_engine)
        app.router.add_put("/message", self.take_message)
        app.router.add_get("/channels", self.channels)
        app.router.add_get("/memory", self.memory)
        self._log_pages.route(app)
        app.router.add_put("/backup", self.back_up)
        app.router.add_put("/restore", self.restore)
        app.router.add_post("/spending", partial(self.spending, visits))
        return app

    @web.middleware
    async def _only_with_token(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        expected = f"Bearer {self._pod.secrets.management_token}"
        if not same_secret(request.headers.get("Authorization", ""), expected):
            raise Refusal(401, "Authorization: the management token is missing or wrong", WWW_Authenticate="Bearer")
        return await handler(request)

    @web.middleware
    async def _name_the_hop(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except HopFailure as failure:
            masked = HopFailure(failure.hop, mask_text(failure.message, self._pod.secret_texts()))
            return web.json_response(masked.wire(), status=503)

    async def health(self, _: web.Request) -> web.Response:
        state = await self._bridge.state(age=0)
        return web.json_response(
            {
                "revision": self._pod.config.revision,
                "has_key": self._pod.has_key,
                "engine": state.raw if state else None,
                "model": self._models.summary(),
            }
        )

    async def configure(self, request: web.Request) -> web.Response:
        """Apply a configuration: first to the bridge, then the secrets here. A success means that both have this
        revision.
        """
        config, secrets = _wanted(await read_json(request))
        async with self._configuring:
            # A worker that is late with an older revision must not undo a newer one.
            if config.revision >= self._pod.config.revision:
                await self._apply(config, secrets)
        return web.json_response({"revision": self._pod.config.revision})

    async def _apply(self, config: PodConfig, secrets: PodSecrets) -> None:
        try:
            await self._bridge.configure(config)
        except EngineError as error:
            raise Refusal(503, f"config: {error}", Retry_After="2") from error
        before = _model_of(self._pod.config, self._pod.secrets)
        self._pod.replace(config, secrets)
        log.info("revision %d is in use", config.revision)
        if _model_of(config, secrets) != before:
            self._models.forget()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        with self._models.timings.turn(request.headers.get("traceparent", "")):
            return await chat.answer(request, self._turns, is_inside=True)

    async def timings(self, request: web.Request) -> web.Response:
        """How long the parts of a turn took. `span` names the span that was in the turn's header `traceparent`."""
        return web.json_response({"parts": self._models.timings.take(request.query.get("span", ""))})

    async def talk_test(self, request: web.Request) -> web.Response:
        body = await read_json(request) if request.can_read_body else {}
        return await self._test.answer(key=key_limits.of_turn(body))

    async def mcp_test(self, request: web.Request) -> web.Response:
        return await self._mcp_test.answer(await read_json(request))

    async def restart_engine(self, _: web.Request) -> web.Response:
        return web.json_response({"restarting": await self._bridge.restart()})

    async def channels(self, _: web.Request) -> web.Response:
        return web.json_response({"channels": await channels.states(self._pod, self._bridge)})

    async def back_up(self, request: web.Request) -> web.Response:
        return await self._backups.order("backup", await read_json(request))

    async def restore(self, request: web.Request) -> web.Response:
        return await self._backups.order("restore", await read_json(request))

    async def spending(self, visits: VisitBook, request: web.Request) -> web.Response:
        """Give the counts of model calls and of visits to hosts that are due, and take limits and prices."""
        body = await read_json(request)
        answer = {**self._meter.exchange(body), **visits.exchange(body)}
        if "egress" in answer:
            state = await self._bridge.state()
            answer["egress"]["walled"] = bool(state and state.raw.get("walled"))
        return web.json_response(answer)

    async def take_message(self, request: web.Request) -> web.Response:
        """Pass a channel's message to the engine. Without a model key the agent is silent on every channel, so the
        message waits for a key (503).
        """
        message = await read_json(request)
        if not self._pod.has_key:
            raise ModelError(NO_KEY)
        is_over = await self._bridge.take_message(message)
        self._meter.replay.take_message(str(message.get("name", "")), is_over=is_over)
        return web.json_response({"is_over": is_over})

    async def memory(self, _: web.Request) -> web.Response:
        return web.Response(body=await self._bridge.memory(), content_type="application/json")


def _model_of(config: PodConfig, secrets: PodSecrets) -> tuple[str | None, ...]:
    """All values that decide how a provider answers."""
    return config.provider, config.model, secrets.llm_key, secrets.llm_base_url


def _wanted(body: dict[str, Any]) -> tuple[PodConfig, PodSecrets]:
    try:
        config, secrets = config_from(body["config"]), secrets_from(body["secrets"])
    except (KeyError, TypeError) as error:
        raise Refusal(400, "body: must be {config, secrets} with exactly the fields of both") from error
    if type(config.revision) is not int or not secrets.management_token or not secrets.ticket_key:
        raise Refusal(400, "body: revision, management_token and ticket_key are needed")
    return config, secrets
