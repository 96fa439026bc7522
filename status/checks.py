"""One look at each thing the platform stands on. A check returns when all is well and raises whatever went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from accounts import mailing
from agents.backups import health
from agents.models import Cluster, Placement
from agents.runtimes import current_runtime
from catalog.refreshing import prices_checked_at
from catalog.version import updated_at
from config import redis
from config.celery import BEAT
from status import incidents
from status.models import Incident, Loop

LONGEST_QUEUE = 1_000

QUEUES = sorted({queue for _, _, queue in BEAT.values()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What the platform's status needs from the database, read in one look."""

    loops: dict[str, datetime]
    incidents: list[Incident]
    catalog_updated_at: datetime | None
    prices_checked_at: datetime | None
    mail_failed_at: datetime | None  # the mail server takes nothing since then
    backups: health.BackupHealth
    drills: health.Drills
    clusters: list[datetime | None]  # when each that pods may be on was last seen alive


def database() -> Records:
    """PostgreSQL answers queries on the tables of this release."""
    now = timezone.now()
    backups, drills = health.over_all(now=now)
    return Records(
        loops=dict(Loop.objects.values_list("name", "succeeded_at")),
        incidents=list(Incident.objects.prefetch_related("updates")[: incidents.NEWEST]),
        catalog_updated_at=updated_at(),
        prices_checked_at=prices_checked_at(),
        mail_failed_at=mailing.failing_since(now=now),
        backups=backups,
        drills=drills,
        clusters=_clusters(),
    )


def _clusters() -> list[datetime | None]:
    """One that was given up, with nobody left on it, is nobody's trouble."""
    if settings.AGENT_RUNTIME != "kubernetes":
        return []
    used = Q(cordoned=False) | Exists(Placement.objects.filter(cluster=OuterRef("pk")))
    return list(Cluster.objects.filter(used).values_list("observed_at", flat=True))


def cache() -> None:
    """Redis answers a ping."""
    redis.client().ping()


def queue() -> None:
    """The broker answers, and no queue is longer than workers that keep up would let it be."""
    pipeline = redis.client().pipeline(transaction=False)
    for name in QUEUES:
        pipeline.llen(name)
    overlong = {name: length for name, length in zip(QUEUES, pipeline.execute(), strict=True) if length > LONGEST_QUEUE}
    if overlong:
        raise RuntimeError(f"workers do not keep up: {overlong}")


def runtime() -> None:
    """The place where pods run tells us which ones it has."""
    current_runtime().observe()
