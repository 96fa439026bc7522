"""One check for each thing that the platform needs. A check returns if all is well, and otherwise raises."""

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
    """What the platform's status needs from the database, read in one check."""

    loops: dict[str, datetime]
    incidents: list[Incident]
    catalog_updated_at: datetime | None
    prices_checked_at: datetime | None
    mail_failed_at: datetime | None  # since when the mail server has been failing
    backups: health.BackupHealth
    drills: health.Drills
    clusters: list[datetime | None]  # for each cluster in use: when it was last observed


def database() -> Records:
    """Read the records. Shows that PostgreSQL answers queries on the tables of this release."""
    now = timezone.now()
    backups, drills = health.over_all(now=now)
    return Records(
        loops=dict(Loop.objects.values_list("name", "succeeded_at")),
        incidents=incidents.newest(),
        catalog_updated_at=updated_at(),
        prices_checked_at=prices_checked_at(),
        mail_failed_at=mailing.failing_since(now=now),
        backups=backups,
        drills=drills,
        clusters=_clusters(),
    )


def _clusters() -> list[datetime | None]:
    """When each cluster in use was last observed. A cordoned cluster without agents does not count."""
    if settings.AGENT_RUNTIME != "kubernetes":
        return []
    used = Q(cordoned=False) | Exists(Placement.objects.filter(cluster=OuterRef("pk")))
    return list(Cluster.objects.filter(used).values_list("observed_at", flat=True))


def cache() -> None:
    """Check that Redis answers a ping."""
    redis.client().ping()


def queue() -> None:
    """Check that the broker answers and that no queue is longer than LONGEST_QUEUE: workers keep up."""
    overlong = {name: length for name, length in queue_lengths().items() if length > LONGEST_QUEUE}
    if overlong:
        raise RuntimeError(f"workers do not keep up: {overlong}")


def queue_lengths() -> dict[str, int]:
    """How many tasks wait in each queue. Raises RedisError."""
    pipeline = redis.client().pipeline(transaction=False)
    for name in QUEUES:
        pipeline.llen(name)
    return dict(zip(QUEUES, pipeline.execute(), strict=True))


def runtime() -> None:
    """Check that the place where pods run can list its pods."""
    current_runtime().observe()
