"""The Celery tasks of billing. Each takes ids and calls one rule. With a wrong clock a task fails (config/clock.py)."""

from __future__ import annotations

from celery import shared_task

from billing import invariants, lapses, licence_cards, spans, verification
from billing.leaving import closing, exports
from billing.providers.crypto import misplaced, scanning, watching
from billing.providers.stars import feed, refunds
from billing.providers.stars import orders as stars_orders
from billing.providers.stripe import cancelling, inbox, repricing, sending
from billing.providers.stripe import feed as stripe_feed
from billing.providers.stripe import orders as stripe_orders
from billing.reports import deferred
from config import clock


@shared_task(name="billing.step")
def step(agent_id: str) -> None:
    clock.now()
    lapses.step(agent_id)


@shared_task(name="billing.step_due")
def step_due() -> None:
    lapses.step_due(now=clock.now())


@shared_task(name="billing.check_invariants")
def check_invariants() -> None:
    clock.now()
    invariants.report()


@shared_task(name="billing.purge")
def purge() -> None:
    inbox.purge(now=clock.now())
    spans.forget_passed()


@shared_task(name="billing.close_months")
def close_months() -> None:
    deferred.close_months(now=clock.now())


@shared_task(name="billing.expire_stars_orders")
def expire_stars_orders() -> None:
    stars_orders.expire_due(now=clock.now())


@shared_task(name="billing.send_back_stars")
def send_back_stars() -> None:
    refunds.send_due(now=clock.now())


@shared_task(name="billing.reconcile_stars")
def reconcile_stars() -> None:
    feed.reconcile(now=clock.now())


@shared_task(name="billing.process_stripe")
def process_stripe() -> None:
    inbox.process_due(now=clock.now())


@shared_task(name="billing.catch_up_with_stripe")
def catch_up_with_stripe() -> None:
    stripe_feed.catch_up(now=clock.now())


@shared_task(name="billing.check_cards")
def check_cards() -> None:
    stripe_feed.check_due(now=clock.now())


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
    stripe_orders.expire_due(now=clock.now())


@shared_task(name="billing.verify")
def verify(subscription_id: str) -> None:
    verification.verify(subscription_id, now=clock.now())


@shared_task(name="billing.verify_due")
def verify_due() -> None:
    clock.now()
    verification.verify_due()


@shared_task(name="billing.stop_card")
def stop_card(subscription_id: str) -> None:
    licence_cards.stop(subscription_id, now=clock.now())


@shared_task(name="billing.stop_cards_due")
def stop_cards_due() -> None:
    clock.now()
    licence_cards.stop_due()


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


@shared_task(name="billing.make_exports")
def make_exports() -> None:
    exports.make_due(now=clock.now())


@shared_task(name="billing.close_accounts")
def close_accounts() -> None:
    closing.step_due(now=clock.now())
