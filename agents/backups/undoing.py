"""An operator's undo of a deletion: a new agent that starts with the last backup of the deleted one."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents import creation, timeline
from agents.backups.models import Backup
from agents.errors import NoSuchBackup, WrongState
from agents.models import Agent, Reason, Status, Transition

BROUGHT_BACK = "brought back as "
MOST_NAMED = 5


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
    words = f"{BROUGHT_BACK}{agent.pk}: {why}"
    timeline.note(deleted, words, reason=Reason.RESTORE, actor=actor, now=timezone.now())
    return agent


def brought_back(deleted: Agent) -> str:
    """The ids of the agents as which this deleted agent was brought back, newest first; "" if it was not."""
    rows = Transition.objects.filter(agent=deleted, reason=Reason.RESTORE, note__startswith=BROUGHT_BACK)
    notes = rows.order_by("-at", "-id").values_list("note", flat=True)[:MOST_NAMED]
    return ", ".join(note.removeprefix(BROUGHT_BACK).partition(":")[0] for note in notes)
