"""kill -9 of pods, endpoints and workers during a backup, restore, prune or drill: the data is whole, old or new."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.utils import timezone

from agents.backups import drills, repositories
from agents.backups.models import Repository
from agents.backups.store import Directory
from agents.models import Agent
from agents.pod import processes, restic
from agents.pod.bridge import backup
from agents.pod.bridge.data_swap import DataSwap
from tests.agents.backups.killing import Child, Started, bytes_in
from tests.agents.backups.orders import contents, order_of
from tests.agents.backups.test_drills import taken, waits
from tests.agents.pod.bridge.process import eventually
from tests.coverage_scope import unmeasured
from tests.workers import database_url

pytestmark = pytest.mark.slow
FILES, FILE_BYTES = 40, 4_000_000
HOLD = """
import django, sys
django.setup()
from agents.backups import drills
drills.hold(sys.argv[1])
"""


def pod(what: str, source: backup.BackupSource, order: backup.PodOrder) -> Child:
    known = {"data": str(source.data), "program": str(source.program), "cache": str(source.cache)}
    given = {"what": what, "order": dataclasses.asdict(order), **known}
    return Child([sys.executable, "-m", "tests.agents.backups.killed"], json.dumps(given))


@pytest.fixture
def large(source: backup.BackupSource) -> backup.BackupSource:
    """So much data that a process can be killed before it has finished."""
    for number in range(FILES):
        (source.data / "workspace" / f"{number}").write_bytes(os.urandom(FILE_BYTES))
    return source


def is_whole(agent: Agent, *, snapshots: int) -> None:
    """Checks that all data of the repository is there and correct. A killed process may have left a lock."""
    repositories.call(agent.repository, ["check", "--read-data", "--no-lock"])
    assert len(json.loads(repositories.call(agent.repository, ["snapshots", "--json", "--no-lock"]))) == snapshots


def test_a_pod_that_is_killed_leaves_no_half_backup_and_its_next_one_is_whole(
    running: Agent, large: backup.BackupSource, url: str, store: Path
) -> None:
    order = order_of(running, url)
    pod("backup", large, order).kill_when(lambda: bytes_in(store / running.pk / "data") > 2 * FILE_BYTES)
    is_whole(running, snapshots=0)
    assert pod("backup", large, order).said()
    is_whole(running, snapshots=1)


def test_a_pod_that_is_killed_while_it_restores_has_the_old_data_or_the_new(
    running: Agent, large: backup.BackupSource, url: str, store: Path
) -> None:
    snapshot = pod("backup", large, order_of(running, url)).said()
    saved = contents(large.data / "workspace")
    (large.data / "workspace" / "0").write_bytes(b"changed since")
    (large.data / "workspace" / "mine").write_bytes(b"new since")
    changed = contents(large.data / "workspace")
    order = order_of(running, url, id="r1", may_add=0, snapshot=snapshot)
    exchange = DataSwap(large.data)
    for part in (0.1, 0.5, 0.9):
        far = int(FILES * FILE_BYTES * part)
        pod("restore", large, order).kill_when(lambda far=far: bytes_in(exchange.incoming) > far)  # type: ignore[misc]
        assert contents(large.data / "workspace") == changed
    pod("restore", large, order).said()
    assert contents(large.data / "workspace") == saved
    exchange.settle("")  # the agent was rebuilt instead of restored: the earlier data comes back
    assert contents(large.data / "workspace") == changed


def test_an_endpoint_that_is_killed_leaves_no_half_object(
    running: Agent, large: backup.BackupSource, endpoint: Started, store: Path
) -> None:
    url, start = endpoint
    first = start()
    order = order_of(running, url)
    making = pod("backup", large, order)
    first.kill_when(lambda: bytes_in(store / running.pk / "data") > 2 * FILE_BYTES)
    start()  # restic tries again for a while, so it may not notice the kill
    making.process.wait(600)
    made = making.process.returncode == 0
    making.end()
    is_whole(running, snapshots=1 if made else 0)
    assert pod("backup", large, order).said()
    is_whole(running, snapshots=2 if made else 1)


def test_a_worker_that_is_killed_while_it_prunes_loses_nothing_that_is_needed(
    running: Agent, large: backup.BackupSource, url: str, store: Path
) -> None:
    gone = pod("backup", large, order_of(running, url)).said()
    for number in range(0, FILES, 2):
        (large.data / "workspace" / f"{number}").write_bytes(os.urandom(FILE_BYTES))
    kept = pod("backup", large, order_of(running, url, id="bkp_2")).said()
    name, more = Directory(root=store).repository(running.pk)
    environment = restic.environment(repository=name, cache=None, more=more)
    packs = bytes_in(store / running.pk / "data")
    command = [str(large.program), "--no-cache", "forget", gone, "--prune", "--max-unused", "0"]
    pruning = Child(command, running.repository.password, environment)
    pruning.kill_when(lambda: bytes_in(store / running.pk / "data") != packs)
    repositories.call(running.repository, ["unlock", "--remove-all"])
    repositories.call(running.repository, ["check"])
    repositories.call(running.repository, ["prune"])
    is_whole(running, snapshots=1)
    assert kept.startswith(json.loads(repositories.call(running.repository, ["snapshots", "--json"]))[0]["short_id"])


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_killed_in_the_middle_of_a_drill_leaves_no_verdict_and_another_holds_it(
    running: Agent,
    large: backup.BackupSource,
    url: str,
    store: Path,
    settings: Any,
    tmp_path: Path,
) -> None:
    settings.BACKUP_URL, settings.DRILL_DIRECTORY = url, tmp_path / "drill"
    taken(running, large, url, "1")
    Repository.objects.filter(pk=running.pk).update(drill_due_at=timezone.now())
    known = {"DATABASE_URL": database_url(), "BACKUP_STORE": str(store), "BACKUP_URL": url}
    environment = {**unmeasured(), **known, "DRILL_DIRECTORY": str(tmp_path / "drill")}
    worker = Child([sys.executable, "-c", HOLD, running.pk], "", environment)
    begun: list[psutil.Process] = []

    def is_half_way() -> bool:
        begun[:] = processes.descendants(psutil.Process(worker.process.pid))
        return bytes_in(tmp_path / "drill") > FILES * FILE_BYTES // 4

    worker.kill_when(is_half_way)
    assert len(begun) == 2  # the process that restores, and its restic
    eventually(lambda: not any(processes.is_alive(one) for one in begun), what="the end of what it had begun")
    assert bytes_in(tmp_path / "drill") < FILES * FILE_BYTES, "they went on without it"
    left = Repository.objects.get(pk=running.pk)
    assert (left.drilled_at, left.drill_said, left.drill_failure) == (None, "", "")
    assert waits(left) > drills.LEASE - timedelta(minutes=10)
    assert drills.next_due() is None

    later = timezone.now() + drills.LEASE
    assert drills.next_due(later) == running.pk
    drills.hold(running.pk, now=later)
    found = Repository.objects.get(pk=running.pk)
    assert (found.drilled_backup, found.drill_failure) == ("1", "")
    assert found.drill_said.startswith(f"checked; restored {FILES + 3} files")
    assert not list((tmp_path / "drill").iterdir())


def test_an_endpoint_that_is_killed_in_the_middle_of_a_restore_leaves_the_old_data_or_the_new(
    running: Agent,
    large: backup.BackupSource,
    endpoint: Started,
) -> None:
    url, start = endpoint
    first = start()
    snapshot = pod("backup", large, order_of(running, url)).said()
    saved = contents(large.data / "workspace")
    (large.data / "workspace" / "0").write_bytes(os.urandom(FILE_BYTES))
    changed = contents(large.data / "workspace")
    order = order_of(running, url, id="r1", may_add=0, snapshot=snapshot)
    restoring = pod("restore", large, order)
    far = FILES * FILE_BYTES // 4
    first.kill_when(lambda: bytes_in(DataSwap(large.data).incoming) > far)
    assert contents(large.data / "workspace") == changed
    start()  # restic tries again for a while
    restoring.process.wait(600)
    restored = restoring.process.returncode == 0
    restoring.end()
    assert contents(large.data / "workspace") == (saved if restored else changed)
    if not restored:
        pod("restore", large, order).said()
        assert contents(large.data / "workspace") == saved
