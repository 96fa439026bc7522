"""The Celery app and the table of periodic jobs: one line for each job."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, bootsteps
from celery.signals import beat_init, worker_init, worker_ready

from config import heap, log_context, preload, pulse, tracing
from config.metrics import listener, tasks
from config.tracing import starting

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("agentpods")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["agents.backups", "agents.clusters", "config.jobs"])  # packages of an app

# name: (task, seconds between runs, queue). A run that waited longer than its period is dropped; the next one does the
# work.
BEAT: dict[str, tuple[str, float, str]] = {
    "agents.reconcile_due": ("agents.reconcile_due", 1.0, "lifecycle"),
    "agents.sweep": ("agents.sweep", 60.0, "lifecycle"),
    "agents.sample": ("agents.sample", 60.0, "lifecycle"),
    "agents.exchange_spending_due": ("agents.exchange_spending_due", 5.0, "lifecycle"),
    "agents.keep_logs": ("agents.keep_logs", 30.0, "lifecycle"),
    "agents.hand_over_messages": ("agents.hand_over_messages", 3.0, "lifecycle"),
    "agents.forget_messages": ("agents.forget_messages", 3600.0, "lifecycle"),
    "agents.look_at_domains": ("agents.look_at_domains", 30.0, "lifecycle"),
    "agents.look_at_channels": ("agents.look_at_channels", 15.0, "lifecycle"),
    "agents.enforce_suspensions": ("agents.enforce_suspensions", 2.0, "lifecycle"),
    "backups.take_due": ("backups.take_due", 2.0, "lifecycle"),
    "backups.ask_due": ("backups.ask_due", 30.0, "default"),
    "backups.expire": ("backups.expire", 600.0, "default"),
    "backups.drill_due": ("backups.drill_due", 600.0, "default"),
    "webhooks.drain": ("webhooks.drain", 2.0, "webhooks"),
    "webhooks.purge": ("webhooks.purge", 3600.0, "default"),
    "accounts.send_codes": ("accounts.send_codes", 10.0, "default"),
    "accounts.send_letters": ("accounts.send_letters", 30.0, "default"),
    "catalog.show_deployments": ("catalog.show_deployments", 60.0, "default"),
    "accounts.purge": ("accounts.purge", 3600.0, "default"),
    "billing.step_due": ("billing.step_due", 10.0, "billing"),
    "billing.scan_chain": ("billing.scan_chain", 15.0, "billing"),
    "billing.watch_chain": ("billing.watch_chain", 600.0, "billing"),
    "billing.reread_chain": ("billing.reread_chain", 3600.0, "billing"),
    "billing.look_for_misplaced": ("billing.look_for_misplaced", 3600.0, "billing"),
    "billing.verify_due": ("billing.verify_due", 60.0, "billing"),
    "billing.stop_cards_due": ("billing.stop_cards_due", 60.0, "billing"),
    "billing.expire_stars_orders": ("billing.expire_stars_orders", 30.0, "billing"),
    "billing.send_back_stars": ("billing.send_back_stars", 30.0, "billing"),
    "billing.reconcile_stars": ("billing.reconcile_stars", 300.0, "billing"),
    "billing.close_months": ("billing.close_months", 600.0, "billing"),
    "billing.process_stripe": ("billing.process_stripe", 10.0, "billing"),
    "billing.catch_up_with_stripe": ("billing.catch_up_with_stripe", 300.0, "billing"),
    "billing.check_cards": ("billing.check_cards", 300.0, "billing"),
    "billing.cancel_cards": ("billing.cancel_cards", 30.0, "billing"),
    "billing.reprice_cards": ("billing.reprice_cards", 60.0, "billing"),
    "billing.send_back_by_card": ("billing.send_back_by_card", 30.0, "billing"),
    "billing.expire_stripe_orders": ("billing.expire_stripe_orders", 30.0, "billing"),
    "billing.close_accounts": ("billing.close_accounts", 30.0, "billing"),
    "billing.make_exports": ("billing.make_exports", 30.0, "billing"),
    "billing.purge": ("billing.purge", 3600.0, "billing"),
    "config.run_jobs": ("config.run_jobs", 2.0, "default"),
    "status.measure": ("status.measure", 60.0, "default"),
    "billing.check_invariants": ("billing.check_invariants", 86400.0, "billing"),
}


def _options(seconds: float, queue: str) -> dict[str, Any]:
    return {"queue": queue, "expires": seconds, "headers": {tracing.PERIODIC: True}}


log_context.follow()
app.conf.beat_schedule = {
    name: {"task": task, "schedule": seconds, "options": _options(seconds, queue)}
    for name, (task, seconds, queue) in BEAT.items()
}


class Pulse(bootsteps.StartStopStep):
    """A worker's sign of life. The loop that takes tasks gives it, so it stops while the broker does not answer."""

    def start(self, consumer: Any) -> None:
        self.beats = consumer.timer.call_repeatedly(pulse.SECONDS / 2, consumer.call_soon, (pulse.beat,))

    def stop(self, consumer: Any) -> None:
        self.beats.cancel()


app.steps["consumer"].add(Pulse)


@worker_init.connect(dispatch_uid="config.preload")
def load(**_: object) -> None:
    preload.run()


@worker_ready.connect(dispatch_uid="config.settle")
def settle(**_: object) -> None:
    heap.settle()
    starting.start("worker")
    tasks.count()
    listener.serve()


@beat_init.connect(dispatch_uid="config.metrics")
def serve_metrics(**_: object) -> None:
    listener.serve()
