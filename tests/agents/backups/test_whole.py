"""With the real restic: a bridge's backup through the real endpoint, read, downloaded and restored from there."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import sqlite3
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from django.conf import settings as configured

from agents.backups import credentials, repositories, supply
from agents.backups.endpoint.app import Endpoint
from agents.backups.store import Directory
from agents.models import Agent
from agents.pod import archive, restic
from agents.pod.bridge import backup
from agents.pod.bridge.exchange import Exchange
from agents.pod.bridge.restoring import RestoreFailed, Restoring


@pytest.fixture
def program() -> Path:
    """Brought as on a fresh machine, once."""
    return supply.ensure("", configured.ENGINE_CACHE)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The endpoint, in a thread of its own."""
    ready, found, stop = threading.Event(), [], asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(Endpoint(Directory(root=tmp_path / "store").objects()).app())
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


@pytest.fixture
def source(tmp_path: Path, program: Path) -> backup.Source:
    data = tmp_path / "data"
    for name, text in {"workspace/a": "text", "tmp/x": "left out", "engine/cache/x": "left out"}.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text)
    (data / "workspace" / "pack").write_bytes(bytes(range(256)) * 100_000)
    with closing(sqlite3.connect(data / "engine" / "state[1].db")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
    learned = {"skills": ["tea"], "memories": [], "sessions": 1, "is_cut": False}
    return backup.Source(
        data=data,
        left_out=("engine/cache",),
        program=program,
        cache=tmp_path / "cache",
        remembered=lambda: learned,
        marks={},
    )


def order_of(agent: Agent, url: str, **changes: Any) -> backup.Order:
    token = credentials.mint(agent.pk, may_add=changes.pop("may_add", 10**9))
    repository = repositories.of(agent)
    way = f"{url}/{changes.pop('repository', agent.pk)}/"
    known = {"id": "bkp_1", "agent_id": agent.pk, "url": way, "token": token, "most_bytes": 10**9}
    return backup.Order(**{**known, "password": repository.password, **changes})


def contents(data: Path) -> dict[str, str]:
    found = (path for path in data.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def test_a_backup_is_made_read_and_restored(
    running: Agent, source: backup.Source, url: str, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_STORE = str(tmp_path / "store")
    order = order_of(running, url)
    taken = asyncio.run(backup.take(source, order, backup.Progress()))
    assert taken.note == ""
    assert not (source.data / archive.OWN).exists()
    repositories.call(running.repository, ["check", "--read-data"])  # raises where something is broken

    given = {
        "program": str(source.program),
        "snapshot": taken.snapshot,
        "password": order.password,
        "environment": restic.environment(
            repository=f"rest:{order.url}",
            cache=None,
            more={"RESTIC_REST_USERNAME": "x", "RESTIC_REST_PASSWORD": credentials.mint(running.pk)},
        ),
    }
    packed = subprocess.run(
        [sys.executable, "-m", "agents.backups.packing"],
        input=json.dumps(given).encode(),
        capture_output=True,
        check=True,
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout), mode="r:gz") as opened:
        names = {name for name in opened.getnames() if opened.getmember(name).isreg()}
    assert names == {"workspace/a", "workspace/pack", "engine/state[1].db"}


def test_a_backup_is_restored_undone_and_refused_where_it_is_too_large(
    running: Agent, source: backup.Source, url: str, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_STORE = str(tmp_path / "store")
    taken = asyncio.run(backup.take(source, order_of(running, url), backup.Progress()))
    before = contents(source.data / "workspace")
    (source.data / "workspace" / "a").write_text("changed")
    exchange = Exchange(source.data)
    restoring = Restoring("r1", lambda: source, exchange)

    async def restore(order: backup.Order) -> None:
        task = asyncio.create_task(restoring.restore())
        await asyncio.sleep(0)
        restoring.take(order)
        await task

    asyncio.run(restore(order_of(running, url, id="r1", may_add=0, snapshot=taken.snapshot)))
    assert contents(source.data / "workspace") == before
    assert not (source.data / "tmp").exists()
    exchange.settle("")
    assert (source.data / "workspace" / "a").read_text() == "changed"

    small = Restoring("r2", lambda: source, exchange)

    order = order_of(running, url, id="r2", may_add=0, snapshot=taken.snapshot, most_bytes=1_000)

    async def refused() -> None:
        task = asyncio.create_task(small.restore())
        await asyncio.sleep(0)
        small.take(order)
        await task

    with pytest.raises(RestoreFailed, match="more than the 1000 bytes"):
        asyncio.run(refused())
    assert (source.data / "workspace" / "a").read_text() == "changed"


def test_a_pod_with_another_pods_repository_or_a_wrong_password_makes_none(
    running: Agent, source: backup.Source, url: str, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_STORE = str(tmp_path / "store")
    for changes in (
        {"repository": "agt_0123456789abcdef01234567"},
        {"password": "of another"},
        {"token": "x"},
        {"may_add": 1_000},
    ):
        with pytest.raises(backup.BackupFailed):
            asyncio.run(backup.take(source, order_of(running, url, **changes), backup.Progress()))
    assert not (source.data / archive.OWN).exists()
