"""Tasks of delivery: no ids, because what is due is in the rows."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import celeryd_after_setup, worker_shutdown, worker_shutting_down
from django.utils import timezone

from webhooks import draining, purging, standby

QUEUE = "webhooks"


@shared_task(name="webhooks.drain")
def drain() -> None:
    draining.drain()


@shared_task(name="webhooks.purge")
def purge() -> None:
    purging.purge(now=timezone.now())


@celeryd_after_setup.connect(dispatch_uid="webhooks.start")
def start(instance: Any, **_: object) -> None:
    """Before the broker is asked for: deliveries do not wait for it."""
    if QUEUE in instance.app.amqp.queues.consume_from:
        standby.start()


@worker_shutting_down.connect(dispatch_uid="webhooks.stop")
def stop(**_: object) -> None:
    """Let the drain of this process end what it has begun and begin nothing more."""
    draining.stopping.set()


@worker_shutdown.connect(dispatch_uid="webhooks.join")
def join(**_: object) -> None:
    standby.join()
