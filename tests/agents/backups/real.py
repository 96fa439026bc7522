"""The real restic, and the real endpoint for a store in a directory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web
from django.conf import settings as configured

from agents.backups import supply
from agents.backups.endpoint.app import BackupEndpoint
from agents.backups.store import Directory, Store


@pytest.fixture
def program() -> Path:
    """The path of restic. The first test downloads it, as a new machine does."""
    return supply.ensure("", configured.ENGINE_CACHE)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with served(Directory(root=tmp_path / "store")) as found:
        yield found


@contextmanager
def served(store: Store) -> Iterator[str]:
    """Run the endpoint for this store in a thread; gives its URL."""
    ready, found, stop = threading.Event(), [], asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(BackupEndpoint(store.objects()).app(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found.extend([runner.addresses[0][1], asyncio.get_running_loop()])
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    assert ready.wait(10)
    yield f"http://127.0.0.1:{found[0]}"
    found[1].call_soon_threadsafe(stop.set)
    thread.join()
