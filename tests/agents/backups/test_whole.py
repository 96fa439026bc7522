"""A bridge's backup by the real restic through the real endpoint: made, read, downloaded and restored."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agents.backups import credentials, repositories
from agents.models import Agent
from agents.pod import archive, restic
from agents.pod.bridge import backup
from agents.pod.bridge.data_swap import DataSwap
from agents.pod.bridge.restoring import RestoreFailed, Restoring
from tests.agents.backups.orders import contents, order_of


@pytest.mark.sampled
def test_a_backup_is_made_read_and_restored(
    running: Agent, source: backup.BackupSource, url: str, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_STORE = str(tmp_path / "store")
    order = order_of(running, url)
    taken = asyncio.run(backup.take(source, order, backup.BackupProgress()))
    assert taken.note == ""
    assert not (source.data / archive.OWN).exists()
    repositories.call(running.repository, ["check", "--read-data"])  # raises if the repository is broken

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


def test_where_memory_is_full_the_kernel_ends_the_backup_and_not_the_engine(
    running: Agent, source: backup.BackupSource, url: str, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_STORE = str(tmp_path / "store")
    (source.data / "workspace" / "large").write_bytes(os.urandom(64 * 2**20))
    progress = backup.BackupProgress()
    told: list[str] = []

    def kill() -> None:
        """Kill restic, as the kernel does when memory is full."""
        until = time.monotonic() + 60
        while not told and time.monotonic() < until:
            time.sleep(0.01)
            pid = progress.pid
            if pid and Path(f"/proc/{pid}/comm").read_text().strip() == "restic":
                told.append(Path(f"/proc/{pid}/oom_score_adj").read_text().strip())
                os.kill(pid, signal.SIGKILL)

    killing = threading.Thread(target=kill)
    killing.start()
    with pytest.raises(backup.NoBackup, match="memory is full"):
        asyncio.run(backup.take(source, order_of(running, url), progress))
    killing.join()
    assert told == ["1000"]


def test_a_backup_is_restored_undone_and_refused_where_it_is_too_large(
    running: Agent, source: backup.BackupSource, url: str, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_STORE = str(tmp_path / "store")
    taken = asyncio.run(backup.take(source, order_of(running, url), backup.BackupProgress()))
    before = contents(source.data / "workspace")
    (source.data / "workspace" / "a").write_text("changed")
    exchange = DataSwap(source.data)
    restoring = Restoring("r1", lambda: source, exchange)

    async def restore(order: backup.PodOrder) -> None:
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
    running: Agent, source: backup.BackupSource, url: str, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_STORE = str(tmp_path / "store")
    for changes in (
        {"repository": "agt_0123456789abcdef01234567"},
        {"password": "of another"},
        {"token": "x"},
        {"may_add": 1_000},
    ):
        with pytest.raises(backup.NoBackup):
            asyncio.run(backup.take(source, order_of(running, url, **changes), backup.BackupProgress()))
    assert not (source.data / archive.OWN).exists()
