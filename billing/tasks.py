"""The Celery tasks of billing. Each takes ids and calls one rule. With a wrong clock a task fails (config/clock.py)."""

from __future__ import annotations

from celery import shared_task

from billing import dunning, invariants, licence_cards, spans, verification
from billing.leaving import closing, exports
from billing.providers import registry
from billing.reports import deferred
from config import clock
from config.rule_tasks import checked, clocked

registry.parts("tasks")  # those of payment providers

step = checked("billing.step", dunning.step)
step_due = clocked("billing.step_due", dunning.step_due)
check_invariants = checked("billing.check_invariants", invariants.report)
close_months = clocked("billing.close_months", deferred.close_months)
verify = clocked("billing.verify", verification.verify)
verify_due = checked("billing.verify_due", verification.verify_due)
stop_card = clocked("billing.stop_card", licence_cards.stop)
stop_cards_due = checked("billing.stop_cards_due", licence_cards.stop_due)
make_exports = clocked("billing.make_exports", exports.make_due)
close_accounts = clocked("billing.close_accounts", closing.step_due)


@shared_task(name="billing.purge")
def purge() -> None:
    now = clock.now()
    for driver in registry.drivers():
        driver.purge(now=now)
    spans.forget_passed()
