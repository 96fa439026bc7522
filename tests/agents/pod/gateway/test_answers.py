"""Request bodies that no honest client sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from agents.pod.gateway.answers import error_json, errors, read_body


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def read(request: web.Request) -> web.Response:
        return web.Response(body=await read_body(request, 1024, seconds=0.3))

    async def drops() -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(0.1)

    async def send() -> int:
        app = web.Application(middlewares=[errors(error_json)])
        app.router.add_post("/", read)
        async with (
            TestServer(app) as server,
            aiohttp.ClientSession() as client,
            client.post(server.make_url("/"), data=drops()) as answer,
        ):
            return answer.status

    assert asyncio.run(send()) == 408
