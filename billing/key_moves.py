"""An operator moves a licence to another agent. The ledger says who did it and why."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from agents.errors import NoSuchAgent
from agents.models import Agent, Desired
from billing import dunning, licence_activations, licences, orders, unused_time
from billing.errors import LicenceHeld, NothingToMove
from billing.licences import Key, Sold
from billing.models import Subscription
from billing.providers import registry
from billing.vocabulary import Provider
from catalog.engines import check_tier, engine_of
from catalog.tiers import tier_of


def move(agent: Agent, *, to: str, reason: str, actor: str, now: datetime) -> Subscription:
    """Let the agent's licence pay for the agent `to` from now on. For the agent that it leaves, grace begins.

    Time that was bought beside the licence stays with its agent. The activation at the provider is released first. If a
    later step fails, the next verification repairs it, and the move can be repeated.
    Raises NothingToMove, NoSuchAgent, LicenceHeld, OtherPlanByCard, LicenceRefused, EngineBelowMinTier, NotConfigured,
    and Unavailable when the provider gives no answer.
    """
    row = _held(agent)
    taker = _taker(to, row)
    driver = registry.licence_driver(Provider(row.provider or ""))
    key = Key(provider=Provider(row.provider or ""), text=row.license_key or "")
    sold = Sold(key=key, verdict=licences.paid(driver.verify(key.text, now=now)))
    check_tier(engine_of(taker.engine), tier_of(sold.verdict.tier))
    orders.refuse_beside_card(taker, sold.verdict.tier)
    licence_activations.deactivate(driver, row)
    taken = _hand_over(row, taker, sold, reason=reason, actor=actor, now=now)
    return licence_activations.activate(driver, taken, now=now)


def _held(agent: Agent) -> Subscription:
    row = Subscription.objects.live().filter(agent=agent).exclude(license_fingerprint="").first()
    if row is None:
        raise NothingToMove(agent.pk)
    return row


def _taker(agent_id: str, row: Subscription) -> Agent:
    taker = Agent.objects.filter(pk=agent_id).exclude(desired=Desired.DELETED).exclude(pk=row.agent_id).first()
    if taker is None:
        raise NoSuchAgent
    if held := Subscription.objects.live().filter(agent=taker).exclude(license_fingerprint="").first():
        raise LicenceHeld(held)
    return taker


@transaction.atomic
def _hand_over(row: Subscription, taker: Agent, sold: Sold, *, reason: str, actor: str, now: datetime) -> Subscription:
    # always locked in the same order, so that two opposite moves cannot deadlock
    for agent_id in sorted([row.agent_id, taker.pk]):
        Agent.objects.lock(agent_id)
    giver = Agent.objects.get(pk=row.agent_id)
    row = Subscription.objects.select_for_update(of=("self",)).get(pk=row.pk)
    if not row.is_live:
        raise NothingToMove(giver.pk)
    unused_time.end_licence(giver, row, at=now, actor=actor, now=now, note=f"its licence moved to {taker.pk}: {reason}")
    dunning.settle(Agent.objects.lock(giver.pk), now=now)
    return licences.receive(taker.pk, sold, actor=actor, now=now, reason=reason).subscription
