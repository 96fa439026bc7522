"""The Celery tasks of Telegram Stars. The table of periodic jobs is in config/celery.py."""

from __future__ import annotations

from celery import shared_task

from billing.providers.stars import feed, orders, refunds
from config import clock


@shared_task(name="billing.expire_stars_orders")
def expire_stars_orders() -> None:
    orders.expire_due(now=clock.now())


@shared_task(name="billing.send_back_stars")
def send_back_stars() -> None:
    refunds.send_due(now=clock.now())


@shared_task(name="billing.reconcile_stars")
def reconcile_stars() -> None:
    feed.reconcile(now=clock.now())
