"""The event loop of this process that speaks the protocol, in a thread of its own.

It keeps nothing between messages, so each message may come to another process.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from config.parsing import MAX_BODY_BYTES

_starting = threading.Lock()


class ProtocolLoop:
    def __init__(self) -> None:
        from mcp_server.protocol import server  # noqa: PLC0415 # its handlers need exchanges, which need this module

        # Host and Origin were compared before, with the addresses of this installation.
        self.manager = StreamableHTTPSessionManager(
            app=server(),
            json_response=True,
            stateless=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=MAX_BODY_BYTES,
        )
        self.loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        threading.Thread(target=self._serve, name="mcp", daemon=True).start()
        self._ready.wait()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._run())

    async def _run(self) -> None:
        async with self.manager.run():
            self._ready.set()
            await self.loop.create_future()  # until the process ends


def submit(coroutine: Coroutine[Any, Any, None]) -> Future[None]:
    """Run this on the loop."""
    return asyncio.run_coroutine_threadsafe(coroutine, begin().loop)


def begin() -> ProtocolLoop:
    """The loop of this process. The first call starts it."""
    with _starting:
        return _running()


async def handle(scope: Any, receive: Any, send: Any) -> None:
    """On the loop: answer one message, as an ASGI application does."""
    await _running().manager.handle_request(scope, receive, send)


@functools.cache
def _running() -> ProtocolLoop:
    return ProtocolLoop()
