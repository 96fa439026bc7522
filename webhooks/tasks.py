"""Tasks of delivery: no ids, because what is due is in the rows."""

from __future__ import annotations

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from webhooks import draining, purging


@shared_task(name="webhooks.drain")
def drain() -> None:
    draining.drain()


@shared_task(name="webhooks.purge")
def purge() -> None:
    purging.purge(now=timezone.now())


@worker_shutting_down.connect(dispatch_uid="webhooks.stop")
def stop(**_: object) -> None:
    """Let the drain of this process end what it has begun and begin nothing more."""
    draining.stopping.set()
