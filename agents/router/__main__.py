"""`python -m agents.router`: the router as a program, on ROUTER_PORT of this machine."""

from __future__ import annotations

import asyncio
import os
import signal

import django
from aiohttp import web

HOST = "127.0.0.1"
GRACE_SECONDS = 1.0


async def serve() -> None:
    from django.conf import settings  # noqa: PLC0415 # after django.setup()

    from agents.router.proxy import application  # noqa: PLC0415

    # A visitor who goes away ends the pod's work for them too.
    runner = web.AppRunner(application(), handler_cancellation=True, shutdown_timeout=GRACE_SECONDS, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, HOST, settings.ROUTER_PORT).start()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    await runner.cleanup()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    asyncio.run(serve())
