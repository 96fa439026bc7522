"""What an owner does with backups: make one now, and list them."""

from __future__ import annotations

import re
from time import monotonic, sleep

from django.utils import timezone

from agents.backups import repositories, taking
from agents.backups.models import OPEN, Backup, Kind, Stage
from agents.errors import BackupFailed, BackupTakesLong, NoSuchBackup, WrongState
from agents.models import Agent, Desired, Status
from config import dry_run, waiting

WAIT_SECONDS = 60.0
STEP_SECONDS = 0.1
_NAME = re.compile(r"[0-9-]{1,60}")
MOST = 1_000  # backups in a list


def take(agent: Agent, *, actor: str) -> Backup:
    """Make a backup and wait for it. If one is being made already, wait for that one.

    Raises BackupsAreOff, WrongState while no pod could be asked, BackupFailed, BackupTakesLong.
    """
    refuse(agent)
    if dry_run.skips("backup (its pod)"):
        return _tried(agent, actor=actor)
    with waiting.turns.take(agent.user_id):
        return _waited_for(taking.ask(agent, kind=Kind.ASKED, actor=actor))


def begin(agent: Agent, *, actor: str) -> Backup:
    """Ask for a backup as `take` does, and do not wait for it. Raises BackupsAreOff, WrongState."""
    refuse(agent)
    return taking.ask(agent, kind=Kind.ASKED, actor=actor)


def refuse(agent: Agent) -> None:
    """Raise BackupsAreOff, or WrongState while no pod could be asked."""
    repositories.check()
    if agent.desired == Desired.STOPPED:
        paused = "stopped" if agent.status == Status.STOPPED else "being stopped"
        raise WrongState("backups", paused, f"POST /agents/{agent.id}/resume starts it")
    if agent.status == Status.PROVISIONING:
        raise WrongState("backups", agent.status, "wait until it is running")


def listed(agent: Agent) -> list[Backup]:
    """The agent's backups, the newest first; at most MOST."""
    return list(Backup.objects.there().filter(agent=agent)[:MOST])


def named(agent: Agent, name: str) -> Backup:
    """The agent's backup of this name. Raises NoSuchBackup."""
    found = Backup.objects.there().filter(agent=agent, name=name).first() if _NAME.fullmatch(name) else None
    if found is None:
        raise NoSuchBackup(agent.pk)
    return found


def _tried(agent: Agent, *, actor: str) -> Backup:
    """The backup that a dry run answers with: the one that is being made, or a new one. Its size is not known yet."""
    now = timezone.now()
    backup = taking.open_of(agent) or taking.new(agent, kind=Kind.ASKED, actor=actor, now=now)
    backup.taken_at = backup.taken_at or now
    return backup


def _waited_for(backup: Backup) -> Backup:
    until = monotonic() + WAIT_SECONDS
    while backup.stage in OPEN:
        if monotonic() > until:
            raise BackupTakesLong(backup.agent_id)
        waiting.release_connection()
        sleep(STEP_SECONDS)
        backup.refresh_from_db()
    if backup.stage == Stage.FAILED:
        raise BackupFailed(backup.note)
    return backup
