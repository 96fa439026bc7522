"""The Celery tasks of delivery. They carry no ids, because the rows say what is due."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import celeryd_after_setup, worker_shutdown, worker_shutting_down
from django.utils import timezone

from webhooks import delivery_loop, purging, standby

QUEUE = "webhooks"


@shared_task(name="webhooks.drain")
def drain() -> None:
    delivery_loop.drain()


@shared_task(name="webhooks.purge")
def purge() -> None:
    purging.purge(now=timezone.now())


@celeryd_after_setup.connect(dispatch_uid="webhooks.start")
def start(instance: Any, **_: object) -> None:
    """Called before the worker connects to the broker: deliveries do not wait for the broker."""
    if QUEUE in instance.app.amqp.queues.consume_from:
        standby.start()


@worker_shutting_down.connect(dispatch_uid="webhooks.stop")
def stop(**_: object) -> None:
    """Let the drain of this process finish what it has begun, and begin nothing new."""
    delivery_loop.stopping.set()


@worker_shutdown.connect(dispatch_uid="webhooks.join")
def join(**_: object) -> None:
    standby.join()
