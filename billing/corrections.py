"""What operators do to an agent's term by hand: each a row of the ledger with who did it and why, none an event."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction

from agents.models import Agent
from billing import lapses, payments, prices, subscriptions
from billing.errors import NothingGranted, NothingToCredit, NothingToRefund
from billing.models import Payment, Subscription
from billing.payments import Receipt
from billing.stars import charges, refunds
from billing.subscriptions import Purchase
from billing.vocabulary import PaymentKind, Period, Provider
from config.ids import new_id

MAX_CREDIT_DAYS = 3_660
FREE = Decimal(0)


@transaction.atomic
def grant(agent: Agent, *, reason: str, actor: str, now: datetime) -> Payment:
    """Let it run for as long as nobody revokes it. Granting twice is one grant."""
    agent = payments.locked(agent.pk)
    held = Subscription.objects.live().filter(agent=agent, provider=Provider.INTERNAL).first()
    if held is not None:
        return held.payments.filter(kind=PaymentKind.GRANT).latest("at")
    purchase = _purchase(agent, Provider.INTERNAL)
    row = subscriptions.grant(agent, purchase, actor=actor, now=now)
    return _write(agent, row, PaymentKind.GRANT, purchase, reason=reason, actor=actor, now=now)


@transaction.atomic
def revoke(agent: Agent, *, reason: str, actor: str, now: datetime) -> Payment:
    """End the grant: what was paid counts again, else grace begins. Raises NothingGranted."""
    agent = payments.locked(agent.pk)
    row = Subscription.objects.live().filter(agent=agent, provider=Provider.INTERNAL).first()
    if row is None:
        raise NothingGranted(agent.pk)
    subscriptions.expire(agent, row, at=now, actor=actor, now=now, note="the grant was revoked")
    purchase = _purchase(agent, Provider.INTERNAL)
    return _write(agent, row, PaymentKind.REVOKE, purchase, reason=reason, actor=actor, now=now)


@transaction.atomic
def credit(agent: Agent, *, days: int, reason: str, actor: str, now: datetime, once: str = "") -> Payment:
    """Days on the agent's own plan, after what is paid; with the same word of `once`, once.

    Raises NothingToCredit for a number that is none.
    """
    if not 1 <= days <= MAX_CREDIT_DAYS:
        raise NothingToCredit(days, MAX_CREDIT_DAYS)
    agent = payments.locked(agent.pk)
    held = Subscription.objects.paid().filter(agent=agent).first()
    purchase = _purchase(agent, None)
    receipt = Receipt(
        provider=Provider.INTERNAL,
        external_id=f"crd_{once}:{agent.pk}" if once else new_id("crd"),
        kind=PaymentKind.CREDIT,
        agent_id=agent.pk,
        purchase=replace(purchase, tier=held.tier if held else agent.tier, length=timedelta(days=days)),
        actor=actor,
        reason=reason,
    )
    return payments.apply_payment(receipt, now=now)


@transaction.atomic
def refund(agent: Agent, *, reason: str, actor: str, now: datetime) -> Payment:
    """The money goes back: what it paid for ends now, and grace begins. Raises NothingToRefund.

    Stars are sent back by us, once this is committed; other money by whoever took it.
    """
    agent = payments.locked(agent.pk)
    row = Subscription.objects.paid().filter(agent=agent).first()
    if row is None:
        raise NothingToRefund(agent.pk)
    subscriptions.expire(agent, row, at=now, actor=actor, now=now, note="refunded")
    purchase = replace(_purchase(agent, None), tier=row.tier, period=Period(row.period), price_usd=row.price_usd)
    for charge_id in charges.to_send_back(row, now=now):
        refunds.ask(charge_id, reason=reason, actor=actor, now=now)
    return _write(agent, row, PaymentKind.REFUND, purchase, reason=reason, actor=actor, now=now)


def _purchase(agent: Agent, provider: Provider | None) -> Purchase:
    snapshot = prices.snapshot_of(agent.tier, Period.MONTHLY)
    return Purchase(provider=provider, tier=agent.tier, period=Period.MONTHLY, price_usd=FREE, tier_snapshot=snapshot)


def _write(
    agent: Agent,
    row: Subscription,
    kind: PaymentKind,
    purchase: Purchase,
    *,
    reason: str,
    actor: str,
    now: datetime,
) -> Payment:
    receipt = Receipt(
        provider=Provider.INTERNAL,
        external_id=new_id("act"),
        kind=kind,
        agent_id=agent.pk,
        purchase=purchase,
        actor=actor,
        reason=reason,
    )
    written = payments.write(receipt, agent, now=now, subscription=row)
    changed = lapses.paid_again if kind == PaymentKind.GRANT else lapses.settle
    changed(agent, now=now)
    return written
