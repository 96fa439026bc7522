"""The Celery tasks of billing. Each takes ids and calls one rule. With a wrong clock a task fails (config/clock.py)."""

from __future__ import annotations

from celery import shared_task

from billing import dunning, invariants, licence_cards, spans, verification
from billing.leaving import closing, exports
from billing.providers import registry
from billing.reports import deferred
from config import clock

registry.parts("tasks")  # those of payment providers


@shared_task(name="billing.step")
def step(agent_id: str) -> None:
    clock.now()
    dunning.step(agent_id)


@shared_task(name="billing.step_due")
def step_due() -> None:
    dunning.step_due(now=clock.now())


@shared_task(name="billing.check_invariants")
def check_invariants() -> None:
    clock.now()
    invariants.report()


@shared_task(name="billing.purge")
def purge() -> None:
    now = clock.now()
    for driver in registry.drivers():
        driver.purge(now=now)
    spans.forget_passed()


@shared_task(name="billing.close_months")
def close_months() -> None:
    deferred.close_months(now=clock.now())


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


@shared_task(name="billing.make_exports")
def make_exports() -> None:
    exports.make_due(now=clock.now())


@shared_task(name="billing.close_accounts")
def close_accounts() -> None:
    closing.step_due(now=clock.now())
