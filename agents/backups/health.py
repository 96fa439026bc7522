"""How backups are: over all agents for the platform's status, and of one for `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Min

from agents.backups.models import Repository
from agents.models import Agent, Desired

LATE = timedelta(hours=2)  # behind its moment of the night, the backup of an agent should have begun
FAILING_PER_CENT = 10  # of all repositories: one account's own agents are no trouble of the platform


@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    """`oldest_due` is since when the longest overdue backup waits, if one does."""

    are_made: bool
    repositories: int
    failing: int
    oldest_due: datetime | None

    def are_well(self, now: datetime) -> bool:
        if not self.are_made:
            return True
        late = self.oldest_due is not None and now - self.oldest_due > LATE
        return not late and self.failing * 100 < max(self.repositories, 1) * FAILING_PER_CENT


def over_all() -> Backups:
    live = Repository.objects.filter(expires_at=None)
    return Backups(
        are_made=bool(settings.BACKUP_STORE),
        repositories=live.count(),
        failing=live.filter(failures__gt=0).exclude(agent__desired=Desired.DELETED).count(),
        oldest_due=Agent.objects.filter(backup_due_at__isnull=False).aggregate(due=Min("backup_due_at"))["due"],
    )


def failing(agent: Agent) -> Repository | None:
    """Its repository, while its last backup failed."""
    return Repository.objects.filter(pk=agent.pk, failures__gt=0).first()
