"""`python -m agents.backups.endpoint`: the endpoint as a program, on BACKUP_PORT."""

from __future__ import annotations

import asyncio
import logging.config
import os
import signal
import sys

from aiohttp import web

GRACE_SECONDS = 1.0


async def serve() -> None:
    """Serve until SIGINT or SIGTERM. Without BACKUP_PORT the endpoint takes a free port and writes its number into the
    home of this run."""
    from django.conf import settings  # noqa: PLC0415 # after DJANGO_SETTINGS_MODULE is set

    from agents.backups import address, store  # noqa: PLC0415
    from agents.backups.endpoint.app import BackupEndpoint  # noqa: PLC0415
    from config.metrics import listener  # noqa: PLC0415

    logging.config.dictConfig(settings.LOGGING)  # as django.setup() does, which this program does not need
    chosen = store.configured()
    if chosen is None:
        sys.exit("BACKUP_STORE names no store: there is nothing to serve")
    runner = web.AppRunner(
        BackupEndpoint(chosen.objects()).app(),
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=GRACE_SECONDS,
    )
    await runner.setup()
    site = web.TCPSite(runner, settings.BACKUP_HOST, settings.BACKUP_PORT)
    await site.start()
    listener.serve()
    if not settings.BACKUP_URL:
        address.announce(runner.addresses[0][1])
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    await runner.cleanup()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    asyncio.run(serve())
