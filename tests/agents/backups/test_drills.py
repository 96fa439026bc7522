"""The weekly drill: a repository is checked and its newest backup restored; operators see the result."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from agents.backups import drills, health, tasks
from agents.backups.models import Backup, Kind, Repository, Stage
from agents.models import Agent
from agents.pod.bridge import backup
from tests.agents.backups.orders import order_of
from tests.agents.pod.bridge.process import eventually
from tests.operating import choose
from tests.status.conftest import fresh_look

# As slow as the check of a large repository.
SLOW_RESTIC = """#!/bin/sh
[ "$1" = version ] && echo "restic 0.18.0 compiled with go" && exit
cd "$(dirname "$0")"
echo once >> began
while [ ! -e "go on" ]; do sleep 0.1; done
echo "no such repository" >&2
exit 10
"""


def taken(agent: Agent, source: backup.BackupSource, url: str, name: str) -> Backup:
    """Make a backup with the real restic through the real endpoint, and record it in the database."""
    found = asyncio.run(backup.take(source, order_of(agent, url, id=name), backup.BackupProgress()))
    now = timezone.now()
    return Backup.objects.create(
        agent=agent,
        name=name,
        kind=Kind.NIGHTLY,
        namespace=agent.namespace,
        generation=1,
        actor="nightly",
        stage=Stage.DONE,
        asked_at=now,
        taken_at=now,
        ended_at=now - timedelta(minutes=1),
        snapshot=found.snapshot,
        size=found.size,
        broken=found.broken,
    )


def drilled(agent: Agent) -> Repository:
    """Run the drill that an operator has asked for."""
    Repository.objects.filter(pk=agent.pk).update(drill_due_at=timezone.now() - timedelta(seconds=1))
    assert drills.next_due() == agent.pk
    drills.hold(agent.pk)
    assert drills.next_due() is None
    return Repository.objects.get(pk=agent.pk)


def waits(repository: Repository) -> timedelta:
    assert repository.drill_due_at
    return repository.drill_due_at - timezone.now()


@pytest.mark.sampled
def test_a_drill_restores_the_newest_backup_and_finds_what_is_broken(
    running: Agent, source: backup.BackupSource, url: str, settings: Any, tmp_path: Path
) -> None:
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), url
    settings.DRILL_DIRECTORY = tmp_path / "drill"
    taken(running, source, url, "1")
    found = drilled(running)
    assert (found.drilled_backup, found.drill_failure) == ("1", "")
    assert found.drill_said.startswith("checked; restored 3 files of 25")
    assert found.drill_said.endswith(" and 1 databases")
    assert timedelta(days=6) < waits(found) < timedelta(days=8)
    assert not list((tmp_path / "drill").iterdir())

    # SQLite copies page by page, so it copies a broken database without an error.
    with closing(sqlite3.connect(source.data / "engine" / "state[1].db")) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute(
            "CREATE TABLE many AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n"
            " WHERE x < 20000) SELECT x, 'some text' AS t FROM n"
        )
        connection.commit()
    broken = bytearray((source.data / "engine" / "state[1].db").read_bytes())
    broken[8192:12288] = b"\xff" * 4096
    (source.data / "engine" / "state[1].db").write_bytes(broken)
    newer = taken(running, source, url, "2")
    assert newer.broken == 1
    assert drilled(running).drill_failure == ""  # the database was broken before the backup: the backup is good
    Backup.objects.filter(pk=newer.pk).update(broken=0)
    assert "the database 'state[1].db' is not whole" in drilled(running).drill_failure

    Backup.objects.filter(name="2").delete()
    for pack in (tmp_path / "store" / running.pk / "data").rglob("*"):
        if pack.is_file():
            pack.chmod(0o600)
            pack.write_bytes(b"\0" * pack.stat().st_size)  # as if the disk lost its data
    assert drilled(running).drill_failure
    assert not list((tmp_path / "drill").iterdir())


def test_where_there_is_nothing_yet_or_no_way_a_drill_is_held_later(pod: Agent, monkeypatch: Any) -> None:
    found = drilled(pod)
    assert (found.drilled_at, found.drill_failure) == (None, "")
    monkeypatch.setattr("agents.backups.repositories.call", lambda *_, **__: "")
    now = timezone.now()
    known = {"namespace": pod.namespace, "generation": 1, "actor": "x", "asked_at": now, "taken_at": now, "size": 9}
    Backup.objects.create(agent=pod, name="1", kind=Kind.ASKED, stage=Stage.DONE, snapshot="a" * 64, **known)
    monkeypatch.setattr("agents.backups.address.url", lambda: None)
    found = drilled(pod)
    assert found.drilled_at is None
    assert waits(found) <= drills.AGAIN


@pytest.mark.django_db(transaction=True)
def test_a_drill_holds_no_thread_of_a_worker_and_begins_no_second_one(
    pod: Agent, settings: Any, tmp_path: Path
) -> None:
    slow = tmp_path / "restic"
    slow.write_text(SLOW_RESTIC)
    slow.chmod(0o755)
    settings.RESTIC = str(slow)
    now = timezone.now()
    known = {"namespace": pod.namespace, "generation": 1, "actor": "x", "asked_at": now, "taken_at": now, "size": 9}
    Backup.objects.create(agent=pod, name="1", kind=Kind.ASKED, stage=Stage.DONE, snapshot="a" * 64, **known)
    Repository.objects.filter(pk=pod.pk).update(drill_due_at=now)
    tasks.drill_due()
    eventually((tmp_path / "began").exists, what="the drill")
    tasks.drill(pod.pk)
    tasks.drill_due()
    found = Repository.objects.get(pk=pod.pk)
    assert found.drilled_at is None
    assert waits(found) > timedelta(hours=1)
    (tmp_path / "go on").touch()
    eventually(lambda: "drills" not in {thread.name for thread in threading.enumerate()}, what="its end")
    found = Repository.objects.get(pk=pod.pk)
    assert found.drilled_at
    assert found.drill_failure == "no such repository"
    assert (tmp_path / "began").read_text() == "once\n"


@pytest.mark.django_db(transaction=True)
def test_old_backups_and_failed_drills_degrade_the_status_and_say_so(pod: Agent, api: APIClient, settings: Any) -> None:
    def shown(id: str) -> tuple[str, str]:
        fresh_look()
        (one,) = [one for one in api.get("/status").json()["components"] if one["id"] == id]
        return one["status"], one["name"]

    assert shown("backups") == ("ok", "Backups")
    assert shown("drills") == ("ok", "Restore drills")
    long_ago = timezone.now() - health.OLD - timedelta(hours=1)
    Agent.objects.filter(pk=pod.pk).update(status_since=long_ago, last_backup_at=long_ago)
    Repository.objects.filter(pk=pod.pk).update(drilled_at=timezone.now(), drill_failure="not whole")
    status, name = shown("backups")
    assert (status, name) == ("degraded", f"Backups (1 too old, the oldest of {long_ago:%Y-%m-%d %H:%M} UTC)")
    assert shown("drills") == ("degraded", "Restore drills (1 of 1 failed)")
    Agent.objects.filter(pk=pod.pk).update(last_backup_at=timezone.now())
    assert shown("backups")[0] == "ok"


def test_an_operator_sees_the_last_drill_and_asks_for_one(pod: Agent) -> None:
    Repository.objects.filter(pk=pod.pk).update(
        drilled_at=timezone.now(), drill_failure="not whole", drill_due_at=timezone.now() + timedelta(days=5)
    )
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    place = "/admin/agents/repository/"
    assert "not whole" in console.get(f"{place}?drill=failed").content.decode()
    assert "not whole" not in console.get(f"{place}?drill=well").content.decode()
    assert "the drill starts now" in choose(console, place, "drill_repositories", pod.repository).content.decode()
    assert waits(Repository.objects.get(pk=pod.pk)) <= timedelta()
