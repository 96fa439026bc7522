"""The server of an engine whose page uses a WebSocket. It echoes messages and follows commands.

`close 4001` closes with that code, `drop` breaks the connection without a close code, `flood N` sends N bytes at once,
`ping N` sends N pings.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, Self

from aiohttp import web

POLICY = "default-src 'self'; connect-src *"


class EngineSocket:
    """`opened` has the headers of each opening, `heard` each message, `closed` the close code of each connection."""

    def __init__(self, path: str) -> None:
        self.opened: list[dict[str, str]] = []
        self.heard: list[str] = []
        self.closed: list[int | None] = []
        self.pages: list[str] = []
        self.takes = True
        self._path = path
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_get(self._path, self._socket)
        app.router.add_get("/{path:.*}", self._page)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        await web.SockSite(runner, listener).start()
        self._ready.set()
        await self._end.wait()
        await runner.cleanup()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _page(self, request: web.Request) -> web.Response:
        self.pages.append(request.path)
        return web.Response(text="page", content_type="text/html", headers={"Content-Security-Policy": POLICY})

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if not self.takes:
            return web.Response(status=401)
        self.opened.append({name.lower(): value for name, value in request.headers.items()})
        line = web.WebSocketResponse(max_msg_size=0)
        await line.prepare(request)
        async for message in line:
            await self._answer(request, line, message)
        self.closed.append(line.close_code)
        return line

    async def _answer(self, request: web.Request, line: web.WebSocketResponse, message: Any) -> None:
        if message.type is web.WSMsgType.BINARY:
            return await line.send_bytes(message.data)
        self.heard.append(message.data[:100])
        word, _, rest = message.data.partition(" ")
        if word == "close":
            await line.close(code=int(rest), message=b"as told")
        elif word == "drop" and request.transport:
            request.transport.abort()
        elif word == "flood":
            await line.send_str("x" * int(rest))
        elif word == "ping":
            for _ in range(int(rest)):
                await line.ping()
        else:
            await line.send_str(f"you said {message.data}")
        return None
