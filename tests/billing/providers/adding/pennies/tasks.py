"""The Celery tasks of Pennies."""

from __future__ import annotations

from celery import shared_task

from config import clock
from tests.billing.providers.adding.pennies import orders


@shared_task(name="billing.expire_pennies_orders")
def expire_pennies_orders() -> None:
    orders.expire_due(now=clock.now())
