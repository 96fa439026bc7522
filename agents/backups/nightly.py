"""A backup of each running agent every night, spread over the night. A failed one is tried again, after longer and
longer waits."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.utils import timezone

from agents.backups import repositories, taking
from agents.backups.models import Kind, Repository
from agents.models import Agent, Desired, Status

NIGHT_BEGINS = timedelta(hours=1)  # UTC
NIGHT_SECONDS = 5 * 3600
FIRST_RETRY = timedelta(minutes=10)
LONGEST_RETRY = timedelta(hours=6)
BATCH = 20
ACTOR = "nightly"


def next_night(agent_id: str, *, after: datetime) -> datetime:
    """The agent's next nightly time after `after`. Each agent has its own time of the night, the same every night."""
    share = int.from_bytes(hashlib.sha256(agent_id.encode()).digest()[:4]) % NIGHT_SECONDS
    day = after.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    moment = day + NIGHT_BEGINS + timedelta(seconds=share)
    return moment if moment > after else moment + timedelta(days=1)


def ask_due(now: datetime | None = None) -> int:
    """Ask for the backups that are due. Agents without a running pod wait for their next night. Returns how many were
    due."""
    now = now or timezone.now()
    if not settings.BACKUP_STORE:
        return 0
    due = list(Agent.objects.filter(backup_due_at__lte=now).order_by("backup_due_at")[:BATCH])
    for agent in due:
        later = None if agent.desired == Desired.DELETED else next_night(agent.pk, after=now)
        moved = Agent.objects.filter(pk=agent.pk, backup_due_at=agent.backup_due_at).update(backup_due_at=later)
        if moved and agent.desired == Desired.RUNNING and agent.status == Status.RUNNING:
            taking.ask(agent, kind=Kind.NIGHTLY, actor=ACTOR)
    return len(due)


def note_failure(agent: Agent, why: str, *, again: bool, now: datetime) -> None:
    """Count a failure and, with `again`, set the time of the next try. Called in the transaction that records the
    failure."""
    repository = repositories.row_of(agent)
    failures = repository.failures + 1
    Repository.objects.filter(pk=repository.pk).update(failures=failures, failure=why, failed_at=now)
    if again:
        wait = min(FIRST_RETRY * 2 ** min(failures - 1, 10), LONGEST_RETRY)
        Agent.objects.filter(pk=agent.pk).update(backup_due_at=now + wait)
