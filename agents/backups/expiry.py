"""Repositories of agents that are gone: removed from the store after FINAL_BACKUP_DAYS."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import obstore
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from obstore.exceptions import BaseError

from agents.backups import store
from agents.backups.models import Backup, Repository
from agents.models import Agent
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

BATCH = 20
RETRY = timedelta(hours=1)


def begin(agent_id: str, *, now: datetime) -> None:
    """Set the time when the repository will be removed. Called in the transaction that deletes the agent."""
    end = now + timedelta(days=operator_settings.FINAL_BACKUP_DAYS)
    Repository.objects.filter(pk=agent_id).update(expires_at=end, drill_due_at=None)


def take_out_due(now: datetime | None = None) -> int:
    """Remove the repositories that are due from the store. Returns their number. If the store fails, another try
    follows."""
    now = now or timezone.now()
    restored = Agent.objects.filter(restores=OuterRef("agent__backups__pk"))
    needed = Repository.objects.filter(Exists(restored), expires_at__lte=now).values("pk")  # a deletion is being undone
    due = list(Repository.objects.filter(expires_at__lte=now).exclude(pk__in=needed).order_by("expires_at")[:BATCH])
    for repository in due:
        try:
            _take_out(repository)
        except (BaseError, OSError) as error:
            log.warning(
                "a repository could not be removed from the store",
                extra={"agent": repository.pk, "error": type(error).__name__},
            )
            Repository.objects.filter(pk=repository.pk).update(expires_at=now + RETRY)
    return len(due)


def _take_out(repository: Repository) -> None:
    """Delete the files first: if the worker is killed in between, the next run comes here again."""
    if where := store.configured():
        objects = where.objects()
        for page in obstore.list(objects, prefix=repository.pk):
            obstore.delete(objects, [found["path"] for found in page])
    with transaction.atomic():
        Backup.objects.filter(agent=repository.pk).delete()
        repository.delete()
