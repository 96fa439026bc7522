"""Tasks of the life cycle. Each gets ids and calls one rule."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from agents import suspension
from agents.channel_health import looking
from agents.domains import observing
from agents.inbound import handing_over, taking
from agents.running import reconciler, sweeper
from agents.watching import kept_logs, sampling, usage_hours


@shared_task(name="agents.reconcile")
def reconcile(agent_id: str) -> None:
    reconciler.reconcile(agent_id)


@shared_task(name="agents.reconcile_due")
def reconcile_due() -> None:
    reconciler.reconcile_due()


@shared_task(name="agents.sweep")
def sweep() -> None:
    sweeper.sweep()


@shared_task(name="agents.look_at_domains")
def look_at_domains() -> None:
    observing.look_at_due()


@shared_task(name="agents.unroute_domains")
def unroute_domains() -> None:
    observing.unroute_due(timezone.now())


@shared_task(name="agents.look_at_channels")
def look_at_channels() -> None:
    looking.look_at_due()


@shared_task(name="agents.sample")
def sample() -> None:
    sampling.sample()


@shared_task(name=suspension.TASK)
def enforce_suspensions() -> None:
    suspension.enforce()


@shared_task(name="agents.keep_logs")
def keep_logs() -> None:
    kept_logs.keep_due()


@shared_task(name=taking.TASK)
def hand_over_messages() -> None:
    handing_over.hand_over_due()


@shared_task(name="agents.forget_messages")
def forget_messages() -> None:
    """Delete old messages, and the other rows that this app keeps for some days only."""
    now = timezone.now()
    taking.purge(now=now)
    usage_hours.forget(now=now)
