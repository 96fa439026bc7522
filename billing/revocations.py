"""End a licence that is definitely not paid any more: refunded, charged back, disabled or ended.

The ledger records it.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from agents.models import Agent, Desired
from billing import agent_terms, dunning, mails, part_refunds, payments, reminders, subscriptions, unused_time
from billing.models import Payment, Subscription
from billing.payments import Receipt
from billing.subscriptions import Purchase
from billing.vocabulary import CONFIRMED, PaymentKind, Provider


@transaction.atomic
def revoke(
    subscription_id: str, *, reason: str, actor: str, now: datetime, went_back: bool = False, failed: bool = False
) -> Subscription:
    """End the licence's subscription. Time that was bought beside it runs on, if its own money was not refunded.

    `went_back`: the money was refunded, so the ledger gets the amount of the last charge. `failed`: the provider could
    not charge a renewal; the owner is told if a renewal was due.
    """
    known = Subscription.objects.get(pk=subscription_id)
    if not known.is_live:
        if went_back:
            _note_late(known, actor=actor, now=now)  # it may lock other agents, so this agent is not locked
        return known
    agent = Agent.objects.lock(known.agent_id)
    row = Subscription.objects.select_for_update(of=("self",)).get(pk=subscription_id)
    if not row.is_live:  # a parallel call was faster; the next check notes the refund as late
        return row
    ran_out = subscriptions.licensed_until(row)
    was_to_renew = reminders.renews_itself(row) and ran_out <= now and failed and not went_back
    if now < ran_out:
        _write(agent, row, reason=reason, actor=actor, now=now, went_back=went_back)
    at = now if now < ran_out else min(now, max(ran_out, row.paid_seen_at or ran_out))
    unused_time.end_licence(agent, row, at=at, actor=actor, now=now, note=reason)
    if agent.desired == Desired.DELETED:
        # so that the next step of the term parks the time bought beside the licence
        dunning.look_again(agent.pk, at=now)
    else:
        agent = dunning.settle(agent, now=now)
        if was_to_renew:
            mails.renewal_failed(
                agent, Provider(row.provider or ""), stops_at=agent_terms.term(agent, now=now).stops_at
            )
    return row


def _note_late(row: Subscription, *, actor: str, now: datetime) -> None:
    """Write once that the last charge was refunded after its time was over."""
    charged = charged_last(row)
    if charged is None or not charged.price_usd:
        return
    if charged.amount is None:
        part_refunds.note_all(charged, actor=actor, now=now)
    else:
        part_refunds.note(charged, returned=int(charged.amount), actor=actor, now=now)


def charged_last(row: Subscription) -> Payment | None:
    """The last charge of the licence by its provider, even if the key paid for another agent then."""
    same = Q(subscription__provider=row.provider, subscription__external_ref=row.external_ref)
    charged = Payment.objects.filter(same, kind__in=CONFIRMED, provider=row.provider)
    return charged.order_by("at", "external_id", "id").last()  # the id contains the day until which it pays


def _write(agent: Agent, row: Subscription, *, reason: str, actor: str, now: datetime, went_back: bool) -> None:
    charged = charged_last(row)
    amount = part_refunds.still_ours(charged) if charged and went_back else None
    receipt = Receipt(
        provider=Provider(row.provider or Provider.INTERNAL),
        external_id=f"{row.external_ref}:over:{agent.pk}:{agent.payments.count()}",
        kind=PaymentKind.REVOKE,
        agent_id=agent.pk,
        purchase=Purchase.as_in(row, provider=Provider(row.provider or Provider.INTERNAL)),
        amount=amount,
        currency=charged.currency if charged and amount is not None else "",
        refund_of=charged.pk if charged and went_back else None,
        actor=actor,
        reason=reason[:500],
    )
    payments.write(receipt, agent, now=now, subscription=row)
