"""The Celery tasks of Stripe. The table of periodic jobs is in config/celery.py."""

from __future__ import annotations

from celery import shared_task

from billing.providers.stripe import cancelling, feed, inbox, orders, repricing, sending
from config import clock


@shared_task(name="billing.process_stripe")
def process_stripe() -> None:
    inbox.process_due(now=clock.now())


@shared_task(name="billing.catch_up_with_stripe")
def catch_up_with_stripe() -> None:
    feed.catch_up(now=clock.now())


@shared_task(name="billing.check_cards")
def check_cards() -> None:
    feed.check_due(now=clock.now())


@shared_task(name="billing.cancel_cards")
def cancel_cards() -> None:
    cancelling.cancel_due(now=clock.now())


@shared_task(name="billing.reprice_cards")
def reprice_cards() -> None:
    repricing.reprice_due(now=clock.now())


@shared_task(name="billing.send_back_by_card")
def send_back_by_card() -> None:
    sending.send_due(now=clock.now())


@shared_task(name="billing.expire_stripe_orders")
def expire_stripe_orders() -> None:
    orders.expire_due(now=clock.now())
