"""The mails that billing sends, in the language that the owner chose, or else in the agent's language."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy

from accounts import mail_choices
from agents.models import Agent
from billing.models import Invoice, Payment
from billing.providers import registry
from billing.sums import moved
from billing.term import Term
from billing.vocabulary import CONFIRMED, PaymentKind, Period, Provider
from catalog.tiers import tier_of
from config import links, outgoing_mail


def remind(agent: Agent, term: Term, *, day: int) -> None:
    """Send the mail of a notice: `day` days before the pod stops, or 0 when it has stopped."""
    name = "pod_stopped" if day == 0 else "pod_stops"
    stops_at, deletes_at = term.stops_at or "", term.deletes_at or ""
    _write(agent, name, days=day, mode=str(term.mode), stops_at=stops_at, deletes_at=deletes_at)


def tell_of(payment: Payment, *, invoice: Invoice | None) -> None:
    """Send the mail about a ledger row: a receipt for a payment, a refund mail for a refund, nothing for other rows."""
    if payment.kind in CONFIRMED:
        _write_of(payment, "payment_received", invoice)
    elif _went_back(payment):
        _write_of(payment, "payment_refunded", invoice)


def paid_time_ends(agent: Agent, *, at: datetime) -> None:
    """Tell the owner that the paid time ends at `at` and that nothing renews it."""
    _write(agent, "paid_time_ends", ends_at=at)


def renewal_failed(agent: Agent, provider: Provider, *, stops_at: datetime | None, invoice_url: str = "") -> None:
    """Tell the owner that the card could not be charged.

    `stops_at` is when the pod stops unless somebody pays, if known.
    """
    _write(
        agent,
        "renewal_failed",
        provider=registry.name_of(provider),
        stops_at=stops_at or "",
        invoice_url=invoice_url,
    )


def _went_back(payment: Payment) -> bool:
    """Whether money really went back. Stars that are only asked for have no row of their provider yet."""
    if payment.kind == PaymentKind.REVOKE:
        return payment.amount is not None
    return payment.kind == PaymentKind.REFUND and payment.provider != Provider.INTERNAL


def _bought(payment: Payment) -> bool:
    """Whether this money bought time, or its refund took time away."""
    charged = payment.refund_of or payment
    return payment.subscription_id is not None and not payment.is_part and not charged.unapplied


def _write_of(payment: Payment, name: str, invoice: Invoice | None) -> None:
    _write(
        payment.agent,
        name,
        amount=moved(payment),
        provider=registry.name_of(payment.provider),
        payment_id=payment.pk,
        plan=gettext_lazy(tier_of(payment.tier).name) if payment.tier else "",
        yearly=payment.period == Period.ANNUAL,
        bought=_bought(payment),
        part=payment.is_part,
        paid_till=payment.paid_till or "",
        invoice=invoice.number if invoice else "",
        invoice_url=links.invoice(invoice.pk) if invoice else "",
    )


def _write(agent: Agent, name: str, /, **context: Any) -> None:
    mail = outgoing_mail.rendered(
        name,
        lang=mail_choices.language(agent.user, otherwise=agent.lang),
        name=agent.name,
        agent_id=agent.pk,
        **context,
    )
    outgoing_mail.write(agent.user_id, mail)
