"""Compare Stripe's payouts with the ledger: each must have the other's charges, refunds and payments."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from billing.models import Payment, StripeInvoice
from billing.models.payments import PaymentQuerySet
from billing.providers.stripe import api, configuration
from billing.providers.stripe.api import Json, StripeAway, StripeRefused
from billing.providers.stripe.returns import WAS_LOST
from billing.reconciled import Disagreement, Reconciled
from billing.vocabulary import CONFIRMED, PaymentKind, Provider

BACK = timedelta(days=60)
PAID_OUT_WITHIN = timedelta(days=14)
SECONDS = 25  # of reading; a page must end
CHARGES, REFUNDS = {"charge", "payment"}, {"refund", "payment_refund"}
FAILED = {"failed", "canceled"}
NOT_SENT_BACK = "sent back at Stripe, but not in the ledger"
TITLE = f"Stripe's payouts of the last {BACK.days} days"
HEAD = ("payout", "created", "arrives", "status", "amount", "fees", "charges", "refunds")


class OutOfTime(Exception):
    """There are more payouts than can be read in the time of a page."""


@dataclass(slots=True)
class PayoutReading:
    """A payout with the movements in it. None: Stripe does not say them, or not yet."""

    payout: Json
    moves: list[Json] | None = None
    intents: set[str] = field(default_factory=set)


def reconciled(*, now: datetime) -> Reconciled | None:
    """None if nothing is sold by Stripe here."""
    if not configuration.is_configured():
        return None
    found = Reconciled(title=TITLE, head=HEAD)
    deadline, whole = time.monotonic() + SECONDS, True
    readings: list[PayoutReading] = []
    try:
        readings.extend(_read(payout, deadline=deadline) for payout in _payouts(since=now - BACK, deadline=deadline))
    except (OutOfTime, StripeAway, StripeRefused) as problem:
        whole = False
        found.notes.append(f"Not all payouts were read ({_words(problem)}), so what is missing is not told.")
    gone: Counter[str] = Counter()
    for one in readings:
        found.rows.append(_row(one))
        found.differences += [*_of_payout(one), *_of_moves(one, gone)]
    unread = [one for one in readings if one.moves is None and one.payout.get("status") not in FAILED]
    found.notes += [f"{one.payout.get('id')} was not compared: Stripe does not say what it contains." for one in unread]
    if unread and whole:
        found.notes.append("A payment may be in what was not compared, so payments that are in no payout are not told.")
    elif whole:
        _note_not_paid_out(found, {intent for one in readings for intent in one.intents}, now=now)
    return found


def _note_not_paid_out(found: Reconciled, intents: set[str], *, now: datetime) -> None:
    rows = Payment.objects.filter(provider=Provider.STRIPE, kind__in=CONFIRMED, amount__gt=0)
    rows = rows.filter(at__gte=now - BACK, at__lt=now - PAID_OUT_WITHIN)
    nameless = rows.filter(Q(stripe_invoice=None) | Q(stripe_invoice__payment_intent="")).count()
    if nameless:
        found.notes.append(f"{nameless} payments were not compared: Stripe named no payment for them.")
    found.differences += _not_paid_out(rows, intents)


def _words(problem: Exception) -> str:
    return "it takes too long" if isinstance(problem, OutOfTime) else "Stripe does not answer"


def _payouts(*, since: datetime, deadline: float) -> Iterator[Json]:
    after, more = "", True
    while more:
        _in_time(deadline)
        page, more = api.payouts(since=since, after=after)
        yield from page
        after = str(page[-1].get("id") or "") if page else ""
        more = more and bool(after)


def _read(payout: Json, *, deadline: float) -> PayoutReading:
    """Stripe says the movements of automatic payouts alone, once it has put them together."""
    if not payout.get("automatic") or payout.get("reconciliation_status") != "completed":
        return PayoutReading(payout)
    moves: list[Json] = []
    after, more = "", True
    while more:
        _in_time(deadline)
        page, more = api.balance_transactions(str(payout.get("id")), after=after)
        moves += [one for one in page if not str(one.get("type")).startswith("payout")]
        after = str(page[-1].get("id") or "") if page else ""
        more = more and bool(after)
    return PayoutReading(payout, moves, {_intent(one) for one in moves if one.get("type") in CHARGES})


def _in_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise OutOfTime


def _row(one: PayoutReading) -> tuple[str, ...]:
    payout, moves = one.payout, one.moves or []
    counted = [str(sum(move.get("type") in kinds for move in moves)) for kinds in (CHARGES, REFUNDS)]
    fees = _money(sum(_cents(move, "fee") for move in moves), payout)
    told = (fees, *counted) if one.moves is not None else ("", "", "")
    days = (f"{_moment(payout, name):%Y-%m-%d}" for name in ("created", "arrival_date"))
    return (str(payout.get("id")), *days, str(payout.get("status")), _money(_cents(payout), payout), *told)


def _of_payout(one: PayoutReading) -> Iterator[Disagreement]:
    payout, why = one.payout, ""
    if payout.get("status") in FAILED:
        why = f"the payout is {payout.get('status')}: {payout.get('failure_code') or 'no reason'}"
    elif one.moves is not None and (net := sum(_cents(move, "net") for move in one.moves)) != _cents(payout):
        why = f"its movements add up to {_money(net, payout)}"
    if why:
        name, since = str(payout.get("id")), _moment(payout, "created")
        yield Disagreement(name=name, since=since, amount=_money(_cents(payout), payout), why=why)


def _of_moves(one: PayoutReading, gone: Counter[str]) -> Iterator[Disagreement]:
    """`gone` counts the cents that went back of each payment, in all payouts."""
    known = _ledger({_intent(move) for move in one.moves or () if move.get("type") in CHARGES | REFUNDS})
    for move in one.moves or ():
        if move.get("type") in REFUNDS:
            gone[_intent(move)] += _cents(_source(move))
        if move.get("type") in CHARGES | REFUNDS and (why := _why(move, known.get(_intent(move)), gone)):
            payment = known.get(_intent(move))
            source = _source(move)
            yield Disagreement(
                name=str(source.get("id") or move.get("id")),
                since=_moment(move, "created"),
                amount=_money(_cents(source), source),
                why=why,
                payment_id=payment.pk if payment else "",
            )


def _why(move: Json, payment: Payment | None, gone: Counter[str]) -> str:
    """Why the movement is not as in the ledger; empty if it is."""
    if payment is None:
        return "in a payout, but not in the ledger"
    if move.get("type") in REFUNDS:
        sent, told = gone[_intent(move)], _sent_back(payment)
        if sent <= told:
            return ""
        return f"sent back at Stripe, but only {told} of {sent} cents in the ledger" if told else NOT_SENT_BACK
    here, there = payment.amount, _cents(_source(move))
    code = str(_source(move).get("currency"))
    if here == there and payment.currency != code:
        return f"the ledger has it in {payment.currency.upper() or 'no currency'}"
    return "" if here == there else f"the ledger has {here} cents of it"


def _sent_back(payment: Payment) -> int:
    """The cents of the payment that the ledger's refunds sent back. What a bank took in a dispute is none of them."""
    rows = (row for row in payment.refunds.all() if row.kind == PaymentKind.REFUND and row.reason != WAS_LOST)
    return sum(int(row.amount or 0) for row in rows)


def _ledger(intents: set[str]) -> dict[str, Payment]:
    rows = StripeInvoice.objects.filter(payment_intent__in=intents - {""}, payment__isnull=False)
    rows = rows.select_related("payment").prefetch_related("payment__refunds")
    return {row.payment_intent: row.payment for row in rows if row.payment}


def _not_paid_out(rows: PaymentQuerySet, intents: set[str]) -> Iterator[Disagreement]:
    """Payments that should be in a payout by now."""
    for row in rows.filter(stripe_invoice__payment_intent__gt="").select_related("stripe_invoice").order_by("at"):
        if row.stripe_invoice.payment_intent not in intents:
            amount = _money(int(row.amount or 0), {"currency": row.currency})
            why = f"paid more than {PAID_OUT_WITHIN.days} days ago, and in no payout"
            yield Disagreement(name=row.external_id, since=row.at, amount=amount, why=why, payment_id=row.pk)


def _source(move: Json) -> Mapping[str, Any]:
    source = move.get("source")
    return source if isinstance(source, Mapping) else {}


def _intent(move: Json) -> str:
    found = _source(move).get("payment_intent")
    return found if isinstance(found, str) else ""


def _cents(one: Mapping[str, Any], name: str = "amount") -> int:
    found = one.get(name)
    return found if isinstance(found, int) else 0


def _moment(one: Mapping[str, Any], name: str) -> datetime:
    return datetime.fromtimestamp(min(max(_cents(one, name), 0), 2**33), UTC)


def _money(cents: int, one: Mapping[str, Any]) -> str:
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d} {str(one.get('currency')).upper()[:12]}"
