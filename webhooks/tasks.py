"""The Celery tasks of delivery. They carry no ids, because the rows say what is due."""

from __future__ import annotations

from typing import Any

from celery.signals import celeryd_after_setup, worker_shutdown, worker_shutting_down

from config.rule_tasks import plain, timed
from webhooks import delivery_loop, purging, standby

QUEUE = "webhooks"

drain = plain("webhooks.drain", delivery_loop.drain)
purge = timed("webhooks.purge", purging.purge)


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
