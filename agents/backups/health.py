"""The state of backups: over all agents for the platform's status, and of one agent for `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Min, Q
from django.db.models.functions import Coalesce

from agents.backups.models import Repository
from agents.models import Agent, Desired, Status

LATE = timedelta(hours=2)  # a nightly backup should begin at most so long after it is due
OLD = timedelta(hours=36)  # one night, and the retries after a failure
DRILL_LATE = timedelta(days=9)  # since the last drill of any repository
FAILING_PER_CENT = 10  # of all repositories: a single account with failing agents is no problem of the platform


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupHealth:
    """`oldest_due` is since when the most overdue backup waits. `oldest` is the time of the oldest backup among the
    agents that should have a newer one."""

    are_made: bool
    repositories: int
    failing: int
    oldest_due: datetime | None
    old: int = 0
    oldest: datetime | None = None

    def are_well(self, now: datetime) -> bool:
        if not self.are_made:
            return True
        late = self.oldest_due is not None and now - self.oldest_due > LATE
        return not late and _are_few(self.failing, self.repositories) and _are_few(self.old, self.repositories)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drills:
    """The drills of all repositories. `held` counts repositories with a drill, `failed` those whose last drill failed.
    `due_since` is the due time of the repository that waits longest."""

    held: int
    failed: int
    last: datetime | None
    due_since: datetime | None

    def are_well(self, now: datetime) -> bool:
        waits = self.due_since is not None and now - self.due_since > DRILL_LATE
        none = waits and (self.last is None or now - self.last > DRILL_LATE)
        return not none and _are_few(self.failed, self.held)


def _are_few(failing: int, all_of_them: int) -> bool:
    return failing * 100 < max(all_of_them, 1) * FAILING_PER_CENT


def over_all(*, now: datetime) -> tuple[BackupHealth, Drills]:
    drilled = Q(drilled_at__isnull=False)
    live = Repository.objects.filter(expires_at=None).aggregate(
        repositories=Count("pk"),
        failing=Count("pk", filter=Q(failures__gt=0) & ~Q(agent__desired=Desired.DELETED)),
        held=Count("pk", filter=drilled),
        failed=Count("pk", filter=drilled & ~Q(drill_failure="")),
        last=Max("drilled_at"),
        due_since=Min("drill_due_at"),
    )
    due = Agent.objects.filter(backup_due_at__isnull=False).aggregate(due=Min("backup_due_at"))["due"]
    backups = BackupHealth(
        are_made=bool(settings.BACKUP_STORE),
        repositories=live.pop("repositories"),
        failing=live.pop("failing"),
        oldest_due=due,
        **_old(now),
    )
    return backups, Drills(**live)


def _old(now: datetime) -> dict[str, Any]:
    """How many running agents should have a newer backup, and the oldest time among them."""
    old = Agent.objects.filter(is_overdue(now))
    return old.aggregate(old=Count("pk"), oldest=Min(Coalesce("last_backup_at", "status_since")))


def is_overdue(now: datetime) -> Q:
    """The running agents that should have a newer backup."""
    before = now - OLD
    running = Q(status=Status.RUNNING, desired=Desired.RUNNING, status_since__lt=before)
    return running & (Q(last_backup_at__lt=before) | Q(last_backup_at=None))


def failing(agent: Agent) -> Repository | None:
    """The agent's repository if the last backup failed, else None."""
    return Repository.objects.filter(pk=agent.pk, failures__gt=0).first()
