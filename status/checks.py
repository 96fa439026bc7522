"""One look at each thing the platform stands on. A check returns when all is well and raises whatever went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import redis
from celery import current_app
from django.conf import settings
from django.db import connection

from agents.runtimes import current_runtime
from catalog.version import updated_at
from config.celery import BEAT
from status.models import Incident, Loop

REDIS_TIMEOUT_SECONDS = 1.0
LONGEST_QUEUE = 1_000
NEWEST_INCIDENTS = 100

QUEUES = sorted({queue for _, _, queue in BEAT.values()})


class QueueTooLong(Exception):
    """Workers do not keep up with what is waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What the platform's status needs from the database, read in one look."""

    loops: dict[str, datetime]
    incidents: list[Incident]
    catalog_updated_at: datetime | None


def database() -> Records:
    """PostgreSQL answers queries on the tables of this release."""
    try:
        return Records(
            loops=dict(Loop.objects.values_list("name", "succeeded_at")),
            incidents=list(Incident.objects.all()[:NEWEST_INCIDENTS]),
            catalog_updated_at=updated_at(),
        )
    finally:
        connection.close()  # back to the pool: this thread ends


def cache() -> None:
    """Redis answers a ping."""
    with redis.Redis.from_url(
        settings.REDIS_URL.replace("redis+socket://", "unix://", 1),
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
    ) as client:
        client.ping()


def queue() -> None:
    """The broker answers, and no queue is longer than workers that keep up would let it be."""
    with current_app.connection_for_read() as broker:
        lengths = {name: broker.default_channel.client.llen(name) for name in QUEUES}
    if overlong := {name: length for name, length in lengths.items() if length > LONGEST_QUEUE}:
        raise QueueTooLong(str(overlong))


def runtime() -> None:
    """The place where pods run tells us which ones it has."""
    current_runtime().observe()
