"""A backup that an owner deletes: it leaves the list at once, and a worker then removes it from the store."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from agents import timeline
from agents.backups import repositories, stages
from agents.backups.models import OPEN, Backup, Stage
from agents.backups.repositories import BackupsOff, Crowded, StoreFailure
from agents.errors import BackupInUse
from agents.models import Agent, Reason, Status
from config import background
from config.crypto import UnreadableSecret

log = logging.getLogger(__name__)

SOON, RETRY = timedelta(seconds=10), timedelta(minutes=10)
PRUNE_SECONDS = 1_800.0


@transaction.atomic
def delete(backup: Backup, *, actor: str) -> None:
    """Delete a backup. Raises BackupInUse while the agent is being restored from it."""
    now = timezone.now()
    agent = Agent.objects.lock(backup.agent_id)
    if agent.restores == backup.pk and agent.status == Status.PROVISIONING:
        raise BackupInUse
    if not stages.move(Backup.objects.filter(pk=backup.pk), Stage.REMOVED, look_at=now):
        return
    newest = Backup.objects.there().filter(agent=agent).first()
    agent.last_backup_at = newest.taken_at if newest else None
    agent.save(update_fields=["last_backup_at"])
    timeline.note(agent, f"backup {backup.name} deleted", reason=Reason.BACKUP, actor=actor, now=now)
    background.on_commit("backups.step", backup.pk)


def take_out(backup: Backup) -> None:
    """Remove the backup from the store, with all data that no other backup needs. Not while the pod adds to the
    repository. A failure is tried again."""
    adding = Backup.objects.filter(agent=backup.agent_id, stage__in=OPEN).exists()
    if not adding:
        try:
            _forget(backup)
        except Crowded:
            Backup.objects.filter(pk=backup.pk).update(look_at=timezone.now() + SOON)
            return
        except (BackupsOff, StoreFailure, UnreadableSecret) as failure:
            log.warning("a deleted backup is still in the store", extra={"backup": backup.pk, "error": str(failure)})
        else:
            backup.delete()
            return
    Backup.objects.filter(pk=backup.pk).update(look_at=timezone.now() + RETRY)


def _forget(backup: Backup) -> None:
    """Remove the snapshot. If it is gone already, all is well: a worker may have been killed after removing it."""
    repository = backup.agent.repository
    repositories.call(repository, ["unlock"])
    listed = repositories.call(repository, ["snapshots", "--json", "--no-lock"])
    if backup.snapshot in listed:
        repositories.call(repository, ["forget", backup.snapshot, "--prune"], seconds=PRUNE_SECONDS)
