"""`python -m agents.router`: the router as a program, on ROUTER_PORT of this machine."""

from __future__ import annotations

import asyncio
import os
import signal

import django
from aiohttp import web

from config.run import files

HOST = "127.0.0.1"
OPEN_FILES = 8192  # two for each request that is passed on
GRACE_SECONDS = 1.0


async def serve() -> None:
    files.allow(OPEN_FILES)
    from django.conf import settings  # noqa: PLC0415 # after django.setup()

    from agents.router import certificate_check  # noqa: PLC0415
    from agents.router.proxy import SERVING, application  # noqa: PLC0415
    from config.metrics import listener  # noqa: PLC0415
    from config.tracing import starting  # noqa: PLC0415

    starting.start("router")

    # When a visitor goes away, the pod's work for this visitor ends too.
    options = {**SERVING, "handler_cancellation": True, "shutdown_timeout": GRACE_SECONDS, "access_log": None}
    runner = web.AppRunner(application(), **options)
    await runner.setup()
    await web.TCPSite(runner, HOST, settings.ROUTER_PORT).start()
    listener.serve()
    asked = await certificate_check.listening(HOST, settings.ASK_PORT) if settings.TLS == "auto" else None
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    if asked is not None:
        await asked.cleanup()
    await runner.cleanup()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    asyncio.run(serve())
