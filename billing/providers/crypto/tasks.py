"""The Celery tasks of stablecoins. The table of periodic jobs is in config/celery.py."""

from __future__ import annotations

from celery import shared_task

from billing.providers.crypto import misplaced, scanning, watching
from config import clock


@shared_task(name="billing.scan_chain")
def scan_chain() -> None:
    scanning.scan(now=clock.now())


@shared_task(name="billing.watch_chain")
def watch_chain() -> None:
    watching.watch(now=clock.now())


@shared_task(name="billing.reread_chain")
def reread_chain() -> None:
    watching.reread(now=clock.now())


@shared_task(name="billing.look_for_misplaced")
def look_for_misplaced() -> None:
    misplaced.look(now=clock.now())
