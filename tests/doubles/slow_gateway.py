"""A pod's gateway whose model takes its time, in a thread of its own. It has room for thousands of turns."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from contextlib import suppress
from typing import Self

from aiohttp import web

from agents.pod.gateway.tls import server_context
from agents.pod.turns.events import NDJSON, Delta, Done, line
from agents.runtimes.base import Endpoint, Identity
from benchmarks.recording import RecordingRuntime

ADDRESS = "SLOW_GATEWAY"  # the environment variable with its URL


class SlowPodsRuntime(RecordingRuntime):
    """A runtime for web processes: each agent's pod is the slow gateway."""

    def endpoint(self, namespace: str) -> Endpoint | None:
        url = os.environ[ADDRESS]
        return Endpoint(public_url=url, management_url=url)


class SlowGateway:
    """Turns last until `release`. `open` are those that run, and `left` counts those that their caller gave up. With
    `fails` its engine refuses turns.
    """

    def __init__(self, identity: Identity) -> None:
        self.open = self.begun = self.left = 0
        self.most = 0
        self.fails = ""
        self._identity = identity
        self._started, self._stop = threading.Event(), asyncio.Event()
        self._released = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="slow-gateway", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    def release(self) -> None:
        """Let the turns end, and those that begin later too."""
        self._loop.call_soon_threadsafe(self._released.set)

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application()
        app.add_routes([web.get("/health", self._health), web.post("/chat", self._chat)])
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
        await runner.setup()
        listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        await web.SockSite(runner, listener, ssl_context=server_context(self._identity)).start()
        self._started.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"revision": 1, "has_key": True})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        said = await request.json()
        if self.fails:
            return web.json_response({"hop": "engine", "message": self.fails}, status=503)
        self.begun += 1
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            return await self._turn(request, said["message"])
        except asyncio.CancelledError:
            self.left += 1
            raise
        finally:
            self.open -= 1

    async def _turn(self, request: web.Request, message: str) -> web.StreamResponse:
        if NDJSON not in request.headers.get("Accept", ""):
            await self._released.wait()
            return web.json_response({"reply": message, "session_id": "s"})
        answer = web.StreamResponse(headers={"Content-Type": NDJSON})
        await answer.prepare(request)
        await answer.write(line(Delta(message)))
        await self._released.wait()
        await answer.write(line(Done(message, "s")))
        return answer
