"""Tasks of the life cycle. Each gets ids and calls one rule."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.utils import timezone

from agents import runtimes, suspension
from agents.channel_health import looking
from agents.domains import observing
from agents.egress import forgetting as egress_forgetting
from agents.inbound import handing_over, taking
from agents.replay import keeping
from agents.running import reconciler, sweeper
from agents.spending import exchanging, forgetting
from agents.watching import kept_logs, sampling, usage_hours
from config.rule_tasks import plain, timed

QUEUE = "lifecycle"  # the worker of this queue starts pods

reconcile = plain("agents.reconcile", reconciler.reconcile)
reconcile_due = plain("agents.reconcile_due", reconciler.reconcile_due)
sweep = plain("agents.sweep", sweeper.sweep)
look_at_domains = plain("agents.look_at_domains", observing.look_at_due)
unroute_domains = timed("agents.unroute_domains", observing.unroute_due)
look_at_channels = plain("agents.look_at_channels", looking.look_at_due)
sample = plain("agents.sample", sampling.sample)
enforce_suspensions = plain(suspension.TASK, suspension.enforce)
exchange_spending = plain("agents.exchange_spending", exchanging.exchange)
exchange_spending_due = plain("agents.exchange_spending_due", exchanging.exchange_due)
keep_logs = plain("agents.keep_logs", kept_logs.keep_due)
hand_over_messages = plain(taking.TASK, handing_over.hand_over_due)


@shared_task(name="agents.forget_messages")
def forget_messages() -> None:
    """Delete old messages, and the other rows that this app keeps for some days only."""
    now = timezone.now()
    taking.purge(now=now)
    usage_hours.forget(now=now)
    forgetting.forget(now=now)
    keeping.forget(now=now)
    egress_forgetting.forget(now=now)


@worker_ready.connect(dispatch_uid="agents.warm_up")
def warm_up(sender: Any, **_: object) -> None:
    if QUEUE in sender.app.amqp.queues.consume_from:
        runtimes.warm_up()
