"""The address that Caddy asks before it orders a certificate. It is only on loopback, under a path that only Caddy
knows.

It has its own port. Caddy sends visitors to other ports only, so no visitor can reach this one.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aiohttp import web
from django.conf import settings
from django.db import Error, connection
from psycopg_pool import PoolTimeout

from agents.domains import certificates

log = logging.getLogger(__name__)

THREADS = 16  # twice as many as may ask DNS at the same time (agents/domains/certificates.py)
_NAME = re.compile(r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
TOKEN = web.AppKey("token", str)
POOL = web.AppKey("pool", ThreadPoolExecutor)


async def listening(host: str, port: int) -> web.AppRunner:
    """Start the listener and return its runner, which the caller must clean up."""
    # The supervisor writes this file before it starts the router and Caddy.
    token = (Path(settings.AGENTPODS_HOME) / "run" / "ask-token").read_text(encoding="ascii")
    runner = web.AppRunner(application(token), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner


def storage() -> Path:
    """The directory where Caddy keeps its certificates."""
    return Path(settings.AGENTPODS_HOME) / "caddy"


def application(token: str) -> web.Application:
    app = web.Application(client_max_size=0)
    app[TOKEN], app[POOL] = token, ThreadPoolExecutor(THREADS, thread_name_prefix="ask")
    app.router.add_get("/{token}", _ask)
    return app


async def _ask(request: web.Request) -> web.Response:
    """200 means yes. Any other answer means no, and the visitor's handshake ends at once."""
    if not secrets.compare_digest(request.match_info["token"].encode(), request.app[TOKEN].encode()):
        return web.Response(status=404)
    name = request.query.get("domain", "").lower().removesuffix(".")
    if len(name) > 253 or not _NAME.fullmatch(name):
        return web.Response(status=403)
    try:
        is_allowed = await asyncio.get_running_loop().run_in_executor(request.app[POOL], _judge, name)
    except (Error, PoolTimeout) as error:
        log.warning("the database does not answer, no certificate is ordered: %r", error)
        return web.Response(status=503)
    return web.Response(status=200 if is_allowed else 403)


def _judge(name: str) -> bool:
    try:
        return certificates.may_have(name, has_one=certificates.is_kept(name, storage=storage()))
    finally:
        connection.close()
