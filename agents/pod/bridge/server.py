"""The bridge's HTTP server: state, configuration and turns, for the pod's gateway only. Each request needs the bridge
token as bearer.
The two probes, `/healthz` and `/readyz`, need no token, because a cluster probes the container with them.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from aiohttp import web

from agents.cause import UNUSABLE_DATA, Cause
from agents.engines.base import Driver, EngineError
from agents.pod import session_ids
from agents.pod.bridge import causes, linux
from agents.pod.bridge.backup import PodOrder
from agents.pod.bridge.backups import Backups, Busy
from agents.pod.bridge.engine_processes import EngineProcesses
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.memory import EngineMemory
from agents.pod.bridge.restoring import Restoring
from agents.pod.bridge.status import StatusFile
from agents.pod.bridge.supervisor import EngineSupervisor
from agents.pod.start import config_from
from agents.pod.turns import events
from agents.pod.turns.events import Delta, Done, PartGiven, TurnEvent
from agents.pod.turns.failures import HopFailure, ModelError
from agents.pod.turns.parts import Allowance, TurnEnding
from agents.runtimes.base import Phase

TURN_SECONDS = 108.0  # the gateway gives up after 110 s
MESSAGE_SECONDS = 5.0
CHANNELS_SECONDS = 5.0
MEMORY_SECONDS = 10.0
BODY_BYTES = 4 * 1024 * 1024
MESSAGE_CHARACTERS = 256 * 1024
NUMBER_DIGITS = 18
LIFE_HEADER = "Log-Life"
PROBES = frozenset({"/healthz", "/readyz"})
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BridgeServer:
    def __init__(
        self,
        *,
        token: str,
        supervisor: EngineSupervisor,
        engine_processes: EngineProcesses,
        status: StatusFile,
        engine_log: EngineLog,
        read_memory: Callable[[], EngineMemory],
        backups: Backups,
        restoring: Restoring,
    ) -> None:
        self._token = token
        self._keeper = supervisor
        self._engine_processes = engine_processes
        self._status = status
        self._log = engine_log
        self._read_memory = read_memory
        self._log_buffer = engine_log.log_buffer
        self._backups = backups
        self._restoring = restoring
        self._reading = asyncio.Lock()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=BODY_BYTES, middlewares=[self._only_with_token])
        app.router.add_get("/healthz", self.healthz)
        app.router.add_get("/readyz", self.readyz)
        app.router.add_get("/state", self.state)
        app.router.add_put("/config", self.configure)
        app.router.add_get("/channels", self.channels)
        app.router.add_put("/message", self.take_message)
        app.router.add_get("/memory", self.memory)
        app.router.add_get("/logs", self.logs)
        app.router.add_put("/backup", self.backup)
        app.router.add_put("/restore", self.restore)
        app.router.add_post("/restart", self.restart)
        app.router.add_post("/turn", self.turn)
        return app

    @web.middleware
    async def _only_with_token(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in PROBES:
            return await handler(request)
        shown = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(shown, f"Bearer {self._token}".encode()):
            return _refused(401, "Authorization: the bridge token is missing or wrong")
        return await handler(request)

    async def healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def readyz(self, _: web.Request) -> web.Response:
        phase = self._status.phase
        return web.json_response({"phase": phase}, status=200 if phase == Phase.READY else 503)

    async def state(self, _: web.Request) -> web.Response:
        """The engine's state. `bridgeBytes` is the memory that the bridge takes, because both share one container."""
        return web.json_response({**self._status.body(), "bridgeBytes": linux.memory_in_use()})

    async def configure(self, request: web.Request) -> web.Response:
        try:
            config = config_from(await _json(request))
        except TypeError:
            return _refused(400, "body: must have exactly the fields of PodConfig")
        self._keeper.configure(config)
        return web.json_response({"revision": self._keeper.wanted.revision}, status=202)

    async def restart(self, _: web.Request) -> web.Response:
        return web.json_response({"restarting": self._keeper.restart()}, status=202)

    async def channels(self, _: web.Request) -> web.Response:
        """For each channel of the agent: null if it is connected, else the reason why nobody can reach the agent there.
        `unsaid` is the reason if the engine did not answer; then all channels have the same reason.
        """
        return web.json_response(await self._channels())

    async def _channels(self) -> dict[str, Any]:
        wanted = self._keeper.wanted.channels
        try:
            known = await self._ask_channels()
        except (EngineError, TimeoutError) as error:
            reason = self._log.masked(str(error) or "the engine does not answer")
            return {"channels": dict.fromkeys(wanted, reason), "unsaid": reason}
        # The web channel belongs to the gateway: it works as soon as the engine works.
        states = {"web": None, **known}
        said = {name: states.get(name, "the engine does not connect to it") for name in wanted}
        return {"channels": said, "unsaid": None}

    async def _ask_channels(self) -> dict[str, str | None]:
        async with asyncio.timeout(CHANNELS_SECONDS):
            said = await self._driver().channels()
        return {name: self._log.masked(reason) if reason else None for name, reason in said.items()}

    def _driver(self) -> Driver:
        """The driver of the engine's first process, which has the channels. Raises EngineError while the engine is not
        ready.
        """
        if self._status.phase != Phase.READY or not self._engine_processes.processes:
            raise EngineError(self._status.message or f"the engine is {self._status.phase}")
        return self._engine_processes.processes[0].driver

    async def take_message(self, request: web.Request) -> web.Response:
        """Pass a message from the platform to the engine. `is_over` in the answer says whether the engine is done with
        the message.
        """
        body = await _json(request)
        given = [body.get(name) for name in ("channel", "name", "body")]
        if not all(isinstance(value, str) for value in given):
            return _refused(400, "body: must be {channel, name, body}, each a text")
        channel, name, text = map(str, given)
        try:
            async with asyncio.timeout(MESSAGE_SECONDS):
                is_over = await self._driver().take_message(channel, name=name, body=text)
        except (EngineError, TimeoutError) as error:
            return _refused(503, self._log.masked(str(error) or "the engine does not answer"))
        return web.json_response({"is_over": is_over})

    async def memory(self, _: web.Request) -> web.Response:
        """What the engine has learned. The answer comes from the engine's files, so the engine need not run."""
        if self._status.cause in UNUSABLE_DATA:
            return _refused(409, self._status.message or "the agent's data is gone")
        try:
            async with asyncio.timeout(MEMORY_SECONDS), self._reading:
                found = await asyncio.to_thread(self._read_memory)
        except (EngineError, TimeoutError, OSError) as error:
            return _refused(503, self._log.masked(str(error) or "the engine's files were not read in time"))
        return web.json_response(found.body())

    async def backup(self, request: web.Request) -> web.Response:
        """Start a backup, or report on the backup with this id. The backup continues even if nobody asks."""
        if self._status.cause in UNUSABLE_DATA or not self._restoring.is_done():
            return _refused(409, self._status.message or "the agent's data is not there")
        try:
            return web.json_response(self._backups.take(PodOrder(**await _json(request))))
        except TypeError:
            return _refused(400, "body: must have exactly the fields of an order")
        except Busy:
            return _refused(409, "another backup is being made")

    async def restore(self, request: web.Request) -> web.Response:
        """Start the restore for which this pod was started, or report on it."""
        try:
            return web.json_response(self._restoring.take(PodOrder(**await _json(request))))
        except TypeError:
            return _refused(400, "body: must have exactly the fields of an order")

    async def logs(self, request: web.Request) -> web.StreamResponse:
        """Stream the log lines of engine and bridge, from the line after `after`, for as long as the bridge lives."""
        after = request.query.get("after", "")
        number = int(after) if after.isascii() and after.isdigit() and len(after) <= NUMBER_DIGITS else 0
        response = web.StreamResponse(headers={"Content-Type": events.NDJSON, LIFE_HEADER: self._log_buffer.life})
        await response.prepare(request)
        async with aclosing(self._log_buffer.stream(life=request.query.get("life", ""), after=number)) as pieces:
            async for piece in pieces:
                await response.write(piece)
        return response

    async def turn(self, request: web.Request) -> web.StreamResponse:
        body = await _json(request)
        session, message = body.get("session_id"), body.get("message")
        if not session_ids.is_permitted(session):
            return _refused(400, f"session_id: must be {session_ids.PERMITTED}")
        if not isinstance(message, str) or not message.strip() or len(message) > MESSAGE_CHARACTERS:
            return _refused(400, f"message: text that is not blank, at most {MESSAGE_CHARACTERS} characters")
        response = web.StreamResponse(headers={"Content-Type": events.NDJSON})
        await response.prepare(request)
        try:
            async with asyncio.timeout(TURN_SECONDS), aclosing(self._take(session, message)) as coming:
                async for event in coming:
                    await response.write(events.line(event))
        except TimeoutError:
            await response.write(events.line(ModelError(f"the turn was not over after {TURN_SECONDS:.0f} s")))
        except HopFailure as failure:
            await response.write(events.line(self._told(failure)))
        return response

    def _told(self, failure: HopFailure) -> HopFailure:
        """The failure that the client gets. An engine with a full disk reports it as the model's failure, so the hop is
        corrected here.
        """
        if causes.in_words(failure.message) == Cause.DISK_FULL:
            self._log.note(failure.message)
            self._status.trouble(Cause.DISK_FULL, f"the engine cannot write: {failure.message}")
            failure = EngineError(failure.message)
        return HopFailure(failure.hop, self._log.masked(failure.message))

    async def _take(self, session: str, message: str) -> AsyncGenerator[TurnEvent, None]:
        """The events of a turn, with one Done at the end. Closing the iterator also ends the turn in the engine. Raises
        HopFailure.
        """
        if self._status.phase != Phase.READY:
            raise EngineError(self._status.message or f"the engine is {self._status.phase}")
        async with self._engine_processes.lease(session) as turns:
            allowance, ending = Allowance(), TurnEnding.ANSWER
            async with aclosing(turns.turn(message)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, str):
                        yield Delta(piece)
                    elif isinstance(piece, TurnEnding):
                        ending = piece
                    elif part := allowance.judge(piece):
                        yield PartGiven(part)
            self._status.clear_trouble()
            yield Done(turns.reply(), ending=ending)


async def _json(request: web.Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise web.HTTPBadRequest(reason="body: must be a JSON object")
    return body


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"message": message}, status=status)
