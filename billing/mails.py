"""What billing writes to people, in the language that they chose, else that of the agent it is about."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext_lazy

from accounts import mail_choices
from agents.models import Agent
from billing.models import Invoice, Payment
from billing.sums import moved
from billing.term import Term
from billing.vocabulary import CONFIRMED, NAMES, PaymentKind, Period, Provider
from catalog.tiers import tier_of
from config import links, post


def remind(agent: Agent, term: Term, *, day: int) -> None:
    """The mail of a notice: `day` days before the pod stops, 0 when it has stopped."""
    name = "pod_stopped" if day == 0 else "pod_stops"
    stops_at, deletes_at = term.stops_at or "", term.deletes_at or ""
    _write(agent, name, days=day, mode=str(term.mode), stops_at=stops_at, deletes_at=deletes_at)


def tell_of(payment: Payment, *, invoice: Invoice | None) -> None:
    """Of a row of the ledger: a receipt where money came in, another mail where it went back; else nothing."""
    if payment.kind in CONFIRMED:
        _write_of(payment, "payment_received", invoice)
    elif _went_back(payment):
        _write_of(payment, "payment_refunded", invoice)


def paid_time_ends(agent: Agent, *, at: datetime) -> None:
    """What is paid ends then, and nothing renews it."""
    _write(agent, "paid_time_ends", ends_at=at)


def renewal_failed(agent: Agent, provider: Provider, *, stops_at: datetime | None, invoice_url: str = "") -> None:
    """The card was not charged. `stops_at`: when the pod stops unless somebody pays, where that is known."""
    _write(
        agent,
        "renewal_failed",
        provider=NAMES[provider],
        stops_at=stops_at or "",
        invoice_url=invoice_url,
    )


def _went_back(payment: Payment) -> bool:
    """Stars that are asked for, and go later, have no row of their provider's yet."""
    if payment.kind == PaymentKind.REVOKE:
        return payment.amount is not None
    return payment.kind == PaymentKind.REFUND and payment.provider != Provider.INTERNAL


def _bought(payment: Payment) -> bool:
    """Whether this money bought time, or took it away again."""
    charged = payment.refund_of or payment
    return payment.subscription_id is not None and not payment.is_part and not charged.unapplied


def _write_of(payment: Payment, name: str, invoice: Invoice | None) -> None:
    _write(
        payment.agent,
        name,
        amount=moved(payment),
        provider=NAMES[Provider(payment.provider)],
        payment_id=payment.pk,
        plan=gettext_lazy(tier_of(payment.tier).name) if payment.tier else "",
        yearly=payment.period == Period.ANNUAL,
        bought=_bought(payment),
        part=payment.is_part,
        paid_till=payment.paid_till or "",
        invoice=invoice.number if invoice else "",
        invoice_url=links.invoice(invoice.pk) if invoice else "",
    )


def _write(agent: Agent, name: str, /, **context: object) -> None:
    mail = post.rendered(
        name,
        lang=mail_choices.language(agent.user, otherwise=agent.lang),
        name=agent.name,
        agent_id=agent.pk,
        **context,
    )
    post.write(agent.user_id, mail)
