"""What happens to unused paid time: it is taken back, kept beside a licence that ends, parked, or moved to another
agent.

All functions run in the transaction of a caller who holds the agent's lock, as in billing/subscriptions.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction

from agents import timeline
from agents.configuring import profile
from agents.models import Agent, Reason
from billing import next_plans, spans, subscriptions
from billing.models import Payment, Span, Subscription
from billing.spans import SoldPlan, UnusedTime
from billing.vocabulary import CONFIRMED, LICENSED, PaymentKind, Provider, SubscriptionStatus
from catalog.engines import engine_of, fits
from catalog.tiers import tier_of


def held(payment: Payment) -> Agent:
    """The agent that has this payment's time now. Both this agent and the one that was paid for are locked.

    They differ if a deleted agent's time was moved, or if the licence was moved. Time that is disputed belongs to the
    agent that it was taken from.
    """
    while True:
        holder = _holder(payment)
        with suppress(_MovedMeanwhile), transaction.atomic():
            for agent_id in sorted({payment.agent_id, holder}):
                Agent.objects.lock(agent_id)
            if _holder(payment) == holder:
                return Agent.objects.get(pk=holder)
            raise _MovedMeanwhile  # releases these locks: taking a further one out of order could deadlock


class _MovedMeanwhile(Exception):
    """The time was moved to another agent before the locks were taken."""


def _holder(payment: Payment) -> str:
    disputed = Subscription.objects.filter(stripe_disputes__payment=payment, stripe_disputes__is_taken=True)
    row = Subscription.objects.paid().filter(spans__payment=payment).first() or disputed.first() or _licence_of(payment)
    return row.agent_id if row else payment.agent_id


def _licence_of(payment: Payment) -> Subscription | None:
    """The live subscription of the licence that was charged, for whichever agent its key pays now."""
    charged = payment.subscription
    if charged is None or payment.provider not in LICENSED:
        return None
    live = Subscription.objects.live().filter(provider=charged.provider, external_ref=charged.external_ref)
    return live.exclude(external_ref="").first()


def paid_by(agent: Agent) -> Subscription | None:
    """The subscription that pays for the agent, not counting a grant."""
    return Subscription.objects.paid().filter(agent=agent).first()


def park(agent: Agent, row: Subscription, *, actor: str, now: datetime, note: str) -> Subscription:
    """Cancel the subscription, and keep its unused time without counting it down. Without unused time, expire it."""
    rests = spans.take(row, now=now)
    if not rests:
        return subscriptions.expire(agent, row, at=min(now, row.current_period_end), actor=actor, now=now, note=note)
    row.current_period_end = spans.lay(row, rests, start=now)
    row.counted_at = row.parked_at = now
    row.canceled_at = row.canceled_at or now
    return subscriptions.move_to(agent, row, SubscriptionStatus.CANCELED, actor=actor, now=now, note=note)


def add(
    agent: Agent, rests: Sequence[UnusedTime], plan: SoldPlan, *, row: Subscription, actor: str, now: datetime
) -> Subscription:
    """Add unused time to the subscription that pays for the agent, or to a new subscription like `row`."""
    current = paid_by(agent)
    if current is None:
        next_plans.forget(agent, now=now)  # the choice was made for time that is over
        start = subscriptions.start_of(agent, now=now)
        seller, price = (_seller_of(rests), plan.usd) if row.is_licensed else (row.provider, row.price_usd)
        new = subscriptions.new(agent, plan, Provider(seller) if seller else None, price, now=now, until=start)
        new.current_period_end += spans.total(rests)
        new.anchor_day, new.brought_by = new.current_period_end.day, list(plan.by)
        new = subscriptions.activate(agent, new, actor=actor, now=now)
        spans.lay(new, rests, start=start)
        return new
    added = [spans.on_plan(rest, plan, spans.plan_of(current)) for rest in rests]
    rests = [*spans.take(current, now=now), *added]
    if current.is_licensed:
        start = subscriptions.put_beside(current, rests, till=subscriptions.licensed_until(current), now=now)
    else:
        start = subscriptions.start_of(agent, now=now)
        current.current_period_end, current.counted_at = start + spans.total(rests), now
        current.anchor_day = current.current_period_end.day
    spans.lay(current, rests, start=start)
    return subscriptions.activate(agent, current, actor=actor, now=now)


def take_back(agent: Agent, payment: Payment, *, actor: str, now: datetime, note: str) -> timedelta:
    """End the unused time that this payment bought; later time moves forward. Returns how much time was taken."""
    held = Subscription.objects.paid().filter(agent=agent, spans__payment=payment).distinct()
    row = Subscription.objects.select_for_update(of=("self",)).filter(pk__in=held.values("pk")).first()
    if row is None:
        return timedelta(0)
    rests = spans.left(row, now=now)
    kept = [rest for rest in rests if rest.payment_id != payment.pk]
    if len(kept) == len(rests):
        return timedelta(0)
    spans.take(row, now=now)
    if row.is_licensed:
        Span.objects.filter(subscription=row, payment=payment).delete()  # so that a late renewal gives none of it back
        spans.lay(row, kept, start=subscriptions.put_beside(row, kept, till=subscriptions.licensed_until(row), now=now))
    else:
        kept = kept if _holds(spans.brought(row), without=payment) else _go_home(agent, row, kept, without=payment)
        row.current_period_end = spans.lay(row, kept, start=subscriptions.start_of(agent, now=now)) if kept else now
        row.anchor_day, row.counted_at = row.current_period_end.day, now
        _name_after(row, kept, without=payment)
    row.save()
    if row.current_period_end <= now and not row.is_licensed:  # for a licence the provider says when it is over
        subscriptions.expire(agent, row, at=now, actor=actor, now=now, note=note)
    else:
        until = f"until {row.current_period_end:%Y-%m-%d %H:%M} UTC"
        timeline.note(agent, f"subscription {row.pk}: {note}, {until}", reason=Reason.PAYMENT, actor=actor, now=now)
    return spans.total(rests) - spans.total(kept)


def _holds(payments: Iterable[str], *, without: Payment | None = None) -> bool:
    """Whether the agent keeps a plan that these payments brought: at least one, maybe used up, was not refunded."""
    return bool(_paid_still(payments, without=without))


def _paid_still(names: Iterable[str], *, without: Payment | None) -> list[Payment]:
    known = Payment.objects.filter(pk__in=list(names), kind__in=CONFIRMED).order_by("at", "pk")
    known = known.exclude(pk=without.pk) if without else known
    return [one for one in known.prefetch_related("refunds", "stripe_disputes") if not _went_back(one)]


def _went_back(payment: Payment) -> bool:
    """Whether all of the payment went back and did not come again, or a dispute about it is still open."""
    if any(one.is_taken for one in payment.stripe_disputes.all()):
        return True
    whole = [back for back in payment.refunds.all() if back.kind == PaymentKind.REFUND and not back.is_part]
    if payment.amount is None or any(back.amount is None for back in whole):
        return bool(whole)
    return bool(whole) and payment.taken_off >= payment.amount - payment.over


def _home_of(
    agent: Agent, rests: Sequence[UnusedTime], *, without: Payment | None = None
) -> tuple[SoldPlan | None, Sequence[UnusedTime]]:
    """The plan to return to after the payments of the present plan are gone, and the time without plans that are gone
    too.

    A plan in between counts as long as one of its payments was not refunded, used up or not.
    """
    names = {name for rest in rests for one in rest.homes[1:] for name in one.plan.by}
    paid = {payment.pk for payment in _paid_still(names, without=without)}
    there = spans.but_for(rests, lambda plan: paid.isdisjoint(plan.by))
    plan = spans.home_of_all(there)
    if plan is None or not fits(engine_of(agent.engine), tier_of(plan.tier)):
        return None, rests
    return replace(plan, by=_all_that_brought(plan)), there


def _all_that_brought(plan: SoldPlan) -> tuple[str, ...]:
    """All payments for this plan: those with unused time, and earlier ones that are used up."""
    rows = Subscription.objects.filter(payments__in=plan.by, tier=plan.tier).order_by("current_period_end", "pk")
    earlier = [name for row in rows.distinct() for name in spans.brought(row)]
    return tuple(dict.fromkeys([*plan.by, *earlier]))


def _go_home(agent: Agent, row: Subscription, rests: Sequence[UnusedTime], *, without: Payment) -> list[UnusedTime]:
    """Return the subscription to the earlier plan, with all the time that it had there: the present plan's payments are
    gone.
    """
    plan, rests = _home_of(agent, rests, without=without)
    if plan is None:
        return list(rests)
    old = spans.plan_of(row)
    row.tier, row.period, row.tier_snapshot, row.price_usd = plan.tier, plan.period, plan.snapshot, plan.usd
    row.brought_by = list(plan.by)
    profile.follow_payment(agent, plan.tier)
    return spans.gone_home(rests, old, plan)


def _name_after(row: Subscription, kept: Sequence[UnusedTime], *, without: Payment | None = None) -> None:
    """Set the subscription's price and provider from its last payment. If only given days are left, the provider is
    None.

    If the last payment was for another plan, use the last payment that brought this plan, even if it is used up.
    """
    last = next((rest.payment_id for rest in reversed(kept) if not rest.is_gift), None)
    if last is None:
        row.provider = None
        return
    payment = Payment.objects.filter(pk=last).first()
    if payment is not None and payment.tier != row.tier:
        payment = next(reversed(_paid_still(spans.brought(row), without=without)), None)
    if payment is not None and payment.tier == row.tier and payment.price_usd is not None:
        row.provider, row.period, row.price_usd = payment.provider, payment.period, payment.price_usd


def end_licence(agent: Agent, row: Subscription, *, at: datetime, actor: str, now: datetime, note: str) -> Subscription:
    """End the licence's time `at` this moment. Time that was bought beside it becomes a subscription of its own."""
    rests = spans.take(row, now=now)
    subscriptions.expire(agent, row, at=at, actor=actor, now=now, note=note)
    if not rests:
        return row
    plan, start = spans.plan_of(row), subscriptions.start_of(agent, now=now)
    if not _holds(plan.by):
        home, known = _home_of(agent, rests)
        if home is not None:
            plan, rests = home, spans.gone_home(known, plan, home)
            profile.follow_payment(agent, plan.tier)
    seller = _seller_of(rests)
    beside = subscriptions.new(agent, plan, seller, plan.usd, now=now, until=start + spans.total(rests))
    beside.anchor_day, beside.brought_by = beside.current_period_end.day, list(plan.by)
    _name_after(beside, rests)
    beside = subscriptions.activate(agent, beside, actor=actor, now=now)
    spans.lay(beside, rests, start=start)
    return beside


def _seller_of(rests: Sequence[UnusedTime]) -> Provider | None:
    """The provider of the payment whose time runs first. None if that time was given."""
    first = Payment.objects.filter(pk=rests[0].payment_id, kind__in=CONFIRMED).first()
    return Provider(first.provider) if first else None
