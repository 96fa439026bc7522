"""Changes to an agent's term by an operator.

Each one is a row of the ledger that says who did it and why; none is an event.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction

from agents import timeline
from agents.models import Agent, Reason
from billing import dunning, part_refunds, payments, prices, revocations, spans, subscriptions, unused_time
from billing.errors import NothingGranted, NothingToCredit, NothingToRefund
from billing.licences import CHECKED_EVERY
from billing.models import Payment, Subscription
from billing.models.payments import refund_name
from billing.payments import Receipt
from billing.providers import registry
from billing.subscriptions import FREE, Purchase
from billing.sums import moved
from billing.vocabulary import LICENSED, PaymentKind, Period, Provider
from config.ids import new_id

MAX_CREDIT_DAYS = 3_660


@transaction.atomic
def grant(agent: Agent, *, reason: str, actor: str, now: datetime) -> Payment:
    """Let the agent run without an end, until an operator revokes the grant. Granting twice makes one grant."""
    agent = Agent.objects.lock(agent.pk)
    held = Subscription.objects.live().filter(agent=agent, provider=Provider.INTERNAL).first()
    if held is not None:
        return held.payments.filter(kind=PaymentKind.GRANT).latest("at")
    purchase = _purchase(agent, Provider.INTERNAL)
    row = subscriptions.grant(agent, purchase, actor=actor, now=now)
    return _write(agent, row, PaymentKind.GRANT, purchase, reason=reason, actor=actor, now=now)


@transaction.atomic
def revoke(agent: Agent, *, reason: str, actor: str, now: datetime) -> Payment:
    """End the grant.

    If the agent has paid time, that time counts again; otherwise grace begins. Raises NothingGranted.
    """
    agent = Agent.objects.lock(agent.pk)
    row = Subscription.objects.live().filter(agent=agent, provider=Provider.INTERNAL).first()
    if row is None:
        raise NothingGranted(agent.pk)
    subscriptions.expire(agent, row, at=now, actor=actor, now=now, note="the grant was revoked")
    purchase = _purchase(agent, Provider.INTERNAL)
    return _write(agent, row, PaymentKind.REVOKE, purchase, reason=reason, actor=actor, now=now)


@transaction.atomic
def credit(agent: Agent, *, days: int, reason: str, actor: str, now: datetime, once: str = "") -> Payment:
    """Add days of the agent's own plan after its paid time. Calls with the same `once` add the days only once.

    Raises NothingToCredit when `days` is not between 1 and 3,660.
    """
    if not 1 <= days <= MAX_CREDIT_DAYS:
        raise NothingToCredit(days, MAX_CREDIT_DAYS)
    agent = Agent.objects.lock(agent.pk)
    agent = subscriptions.expire_ended(agent, now=now)
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
def refund(agent: Agent, *, reason: str, actor: str, now: datetime) -> list[Payment]:
    """Refund all time that is bought and not used: each payment as in `refund_payment`.

    Given days stay, and no card is charged any more. Raises NothingToRefund.
    """
    agent = Agent.objects.lock(agent.pk)
    back = refundable(agent, now=now)
    if not back:
        raise NothingToRefund(agent.pk)
    for driver in registry.drivers():
        driver.stop_charging(agent, now=now)
    return [_refund(agent, payment, reason=reason, actor=actor, now=now) for payment in back]


@transaction.atomic
def refund_payment(payment: Payment, *, reason: str, actor: str, now: datetime) -> Payment:
    """Refund one payment: the rest of the time that it bought ends now, and the time of other payments stays.

    After the commit we send the money back where the provider lets us. The operator sends other money back at the
    provider or from a wallet; the ledger gets its row even if none of its time is left. Raises NothingToRefund.
    """
    agent = unused_time.held(payment)
    if payment in refundable(agent, now=now):
        return _refund(agent, payment, reason=reason, actor=actor, now=now)
    if not part_refunds.is_by_hand(payment):
        raise NothingToRefund(payment.pk)
    receipt = _way_back(payment, actor=actor, reason=reason)
    written = payments.write(receipt, payment.agent, now=now, subscription=payment.subscription)
    words = f"{moved(written)} of payment {payment.pk} went back; none of its time was left: {reason}"
    timeline.note(agent, words, reason=Reason.PAYMENT, actor=actor, now=now)
    return written


def refundable(agent: Agent, *, now: datetime) -> list[Payment]:
    """The payments that still have unused time, in the order of that time. A licence's last charge comes first."""
    row = Subscription.objects.paid().filter(agent=agent).first()
    if row is None:
        return []
    names = dict.fromkeys(rest.payment_id for rest in spans.left(row, now=now) if not rest.is_gift)
    found = Payment.objects.in_bulk([name for name in names if name])
    licence = revocations.charged_last(row) if row.is_licensed else None
    first = [licence] if licence and now < subscriptions.licensed_until(row) else []
    return [*first, *(found[name] for name in names if name)]


def _refund(agent: Agent, payment: Payment, *, reason: str, actor: str, now: datetime) -> Payment:
    if payment.provider in LICENSED:
        live = Subscription.objects.live().filter(agent=agent, provider=payment.provider)
        row = live.select_for_update(of=("self",)).get()
        unused_time.end_licence(agent, row, at=now, actor=actor, now=now, note="refunded")
        row.check_at = now + CHECKED_EVERY  # its provider may still charge the next period
        row.save(update_fields=["check_at"])
    else:
        unused_time.take_back(agent, payment, actor=actor, now=now, note="refunded")
    driver = registry.driver_of(Provider(payment.provider))
    if driver and driver.sends_back:
        driver.send_back(payment, reason=reason, actor=actor, now=now)
    receipt = _way_back(payment, actor=actor, reason=reason)
    written = payments.write(receipt, payment.agent, now=now, subscription=payment.subscription)
    dunning.settle(agent, now=now)
    return written


def _way_back(payment: Payment, *, actor: str, reason: str) -> Receipt:
    """The refund for the ledger, written at once. For money that we send back ourselves, the amount follows in another
    row, when the provider confirms it.

    The part that was overpaid is not included: an operator decides about it separately (billing/decisions.py).
    """
    ours = registry.sends_back(payment.provider)
    return Receipt(
        provider=Provider.INTERNAL if ours else Provider(payment.provider),
        external_id=new_id("act") if ours else refund_name(payment.external_id),
        kind=PaymentKind.REFUND,
        agent_id=payment.agent_id,
        purchase=Purchase.of(payment, price_usd=payment.price_usd or FREE),
        amount=None if ours else part_refunds.still_ours(payment),
        currency="" if ours else payment.currency,
        refund_of=payment.pk,
        actor=actor,
        reason=reason,
    )


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
    changed = dunning.paid_again if kind == PaymentKind.GRANT else dunning.settle
    changed(agent, now=now)
    return written
