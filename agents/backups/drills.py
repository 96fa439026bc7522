"""The weekly drill of each repository: restic's own check, and a restore of the newest backup into a scratch directory.

Each run of the task drills one repository, the one that waits longest; with many agents that is only a sample. A drill
may take an hour and a half, so a worker runs it in an extra thread (agents/backups/drill_thread.py).
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agents.backups import address, reading, repositories
from agents.backups.models import OPEN, Backup, Repository, Stage
from agents.backups.repositories import BackupsOff, Crowded, StoreFailure
from agents.pod.removal import remove
from agents.pod.restic import NoRestic
from config import background, waiting
from config.crypto import UnreadableSecret

log = logging.getLogger(__name__)

TASK = "backups.drill"
EVERY = timedelta(days=7)
AGAIN = timedelta(minutes=30)  # when the drill could not be done now
LEASE = timedelta(hours=2)
CHECK_SECONDS = 1_800.0
PROVE_SECONDS = 3_600.0
ROOM = 1.1  # the scratch disk needs this many times the size of the backup


class _NoVerdict(Exception):
    """The drill could not be done now. This says nothing about the backup."""


class _Failed(Exception):
    """The backup could not be restored as expected."""


def ask(repository: Repository) -> None:
    Repository.objects.filter(pk=repository.pk).update(drill_due_at=timezone.now())
    background.on_commit(TASK, repository.pk)


def next_due(now: datetime | None = None) -> str | None:
    """The agent whose repository waits longest for its drill; None when no drill is due."""
    if not settings.BACKUP_STORE:
        return None
    due = Repository.objects.filter(drill_due_at__lte=now or timezone.now()).order_by("drill_due_at")
    return due.values_list("pk", flat=True).first()


def hold(agent_id: str, *, now: datetime | None = None) -> None:
    """Run this repository's drill if it is due and no other worker runs it."""
    now = now or timezone.now()
    if not Repository.objects.filter(pk=agent_id, drill_due_at__lte=now).update(drill_due_at=now + LEASE):
        return
    repository = Repository.objects.select_related("agent").get(pk=agent_id)
    backup = Backup.objects.there().filter(agent=agent_id).first()
    try:
        said = _drill(repository, backup) if backup else ""
    except _NoVerdict as why:
        log.info("a drill is postponed", extra={"agent": agent_id, "why": str(why)})
        _put_off(repository, AGAIN)
    except (_Failed, StoreFailure, UnreadableSecret) as failure:
        _record(repository, backup, said="", failure=str(failure))
    else:
        _record(repository, backup, said=said, failure="")


def _drill(repository: Repository, backup: Backup) -> str:
    """Drill the repository. Returns what was found, as text for people."""
    began = timezone.now()
    waiting.release_connection()  # the drill takes long
    try:
        repositories.call(repository, ["check", "--no-lock"], seconds=CHECK_SECONDS)
        return f"checked; {_restore(backup)}"
    except Crowded as crowd:
        raise _NoVerdict("too many drills are running here") from crowd
    except (BackupsOff, NoRestic) as off:
        raise _NoVerdict(str(off)) from off
    except (_Failed, StoreFailure):
        if _was_written(repository, since=began):
            raise _NoVerdict("the repository was written to meanwhile") from None
        raise


def _was_written(repository: Repository, *, since: datetime) -> bool:
    """Whether a backup is being made or removed, or one ended since then. A check without a lock may then see half of
    it."""
    own = Backup.objects.filter(agent=repository.pk)
    return own.filter(stage__in=(*OPEN, Stage.REMOVED)).exists() or own.filter(ended_at__gte=since).exists()


def _restore(backup: Backup) -> str:
    if backup.size > settings.DRILL_MAX_GB * 2**30:
        return f"not restored, for it is larger than DRILL_MAX_GB={settings.DRILL_MAX_GB}"
    url = address.url()
    if url is None:
        raise _NoVerdict("the endpoint of backups is not there")
    with _scratch() as scratch:
        if shutil.disk_usage(scratch).free < backup.size * ROOM:
            raise _Failed("there is no room to restore it for a drill")
        found = _proved(backup, url, scratch)
    return f"restored {found['files']} files of {found['bytes']} bytes and {found['databases']} databases"


def _proved(backup: Backup, url: str, scratch: Path) -> dict[str, int]:
    given = {
        **reading.way_to(backup, url),
        "scratch": str(scratch),
        "parent": os.getpid(),
        "broken": backup.broken,
        "most_bytes": int(backup.size * ROOM) + 2**20,
    }
    command = [sys.executable, "-m", "agents.backups.proving"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=PROVE_SECONDS,
            cwd=settings.BASE_DIR,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _Failed(f"it was not restored within {PROVE_SECONDS:.0f} s") from error
    try:
        verdict: dict[str, int] = json.loads(done.stdout)
    except ValueError as error:
        raise _Failed(f"the drill ended with {done.returncode} and without a verdict") from error
    if not verdict["ok"]:
        raise _Failed(str(verdict["message"]))
    return verdict


@contextmanager
def _scratch() -> Iterator[Path]:
    """An empty directory, used by one drill at a time on this machine. What a killed drill left is removed first."""
    root = settings.DRILL_DIRECTORY
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _NoVerdict("another drill is being held here") from error
        place = root / "scratch"
        remove(place)
        place.mkdir(mode=0o700)
        try:
            yield place
        finally:
            remove(place)
    finally:
        os.close(descriptor)


def _put_off(repository: Repository, wait: timedelta) -> None:
    held = Repository.objects.filter(pk=repository.pk, drill_due_at__isnull=False)
    held.update(drill_due_at=timezone.now() + wait)


@transaction.atomic
def _record(repository: Repository, backup: Backup | None, *, said: str, failure: str) -> None:
    """Record the result of a drill. If there is no backup yet, the drill is due again in a day."""
    _put_off(repository, EVERY if backup else timedelta(days=1))
    if backup is None:
        return
    Repository.objects.filter(pk=repository.pk).update(
        drilled_at=timezone.now(), drilled_backup=backup.name, drill_said=said, drill_failure=failure
    )
    if failure:
        log.error("a backup failed its drill", extra={"agent": repository.pk, "backup": backup.pk, "error": failure})
