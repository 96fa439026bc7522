"""An operator's undo of a deletion: a new agent that starts with the last backup of the deleted one."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents import creation, timeline
from agents.backups.models import Backup
from agents.errors import NoSuchBackup, WrongState
from agents.models import Agent, Reason, Status


@transaction.atomic
def undo(deleted: Agent, *, actor: str, why: str) -> Agent:
    """Return the new agent, of the same owner. Raises WrongState, NoSuchBackup, AccountSuspended."""
    deleted = Agent.objects.lock(deleted.pk)
    if deleted.status != Status.DELETED:
        raise WrongState("undo", deleted.status, "only what is deleted can be brought back")
    backup = Backup.objects.there().filter(agent=deleted).first()
    if backup is None:
        raise NoSuchBackup(deleted.pk)
    note = f"created from backup {backup.name} of the deleted agent {deleted.pk}: {why}"
    agent = creation.create_again(deleted, restores=backup.pk, actor=actor, note=note)
    words = f"brought back as {agent.pk}: {why}"
    timeline.note(deleted, words, reason=Reason.RESTORE, actor=actor, now=timezone.now())
    return agent
