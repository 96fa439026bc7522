"""Telegram Stars on the owners' pages."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext, ngettext

from agents.models import Agent
from billing.models import Order, Payment, StarsOrder
from billing.providers.page import LinkOrder, ProviderPage
from billing.providers.stars import orders, telegram
from billing.vocabulary import OrderStatus, Provider
from config.errors import ServiceError
from config.operator_settings import operator_settings
from pages.account import words
from pages.account.names import plan_name
from pages.account.renew import qr


class StarsPage(ProviderPage):
    def about(self, agent: Agent) -> str:
        return gettext("In Telegram, with an invoice that anybody can pay.")

    def to_pay(self, price_usd: Decimal) -> str:
        stars = orders.in_stars(price_usd, operator_settings.STAR_USD)
        return ngettext("To pay: %(stars)s star.", "To pay: %(stars)s stars.", stars) % {"stars": stars}

    def order(self, order: Order, *, now: datetime) -> LinkOrder:
        """`state` is waiting, held or expired."""
        invoice = StarsOrder.objects.get(pk=order.pk)
        held = invoice.hold_until is not None and invoice.hold_until > now
        pending, overdue = invoice.status == OrderStatus.PENDING, invoice.expires_at <= now
        stars, expires = invoice.amount_stars, words.moment(invoice.expires_at)
        state = ("held" if held else "waiting") if pending else "expired"
        strong, progress = _progress(state, expires, overdue=overdue)
        return LinkOrder(
            order=invoice,
            state=state,
            plan=plan_name(invoice.tier),
            expires=expires,
            overdue=overdue,
            title=ngettext("Pay %(stars)s star in Telegram", "Pay %(stars)s stars in Telegram", stars)
            % {"stars": stars},
            strong=strong,
            progress=progress,
            link=invoice.invoice_link,
            action=gettext("Open the invoice in Telegram"),
            notes=[gettext("Anybody can pay it. The payment is for this agent.")],
            code=qr.drawing(invoice.invoice_link),
            scan=gettext("Scan the invoice with your phone."),
        )

    def amount(self, payment: Payment) -> str:
        if payment.currency != telegram.CURRENCY:
            return super().amount(payment)
        count = int(payment.amount or 0)
        return ngettext("%(count)d star", "%(count)d stars", count) % {"count": count}

    def refusal(self, error: ServiceError) -> str:
        if isinstance(error, telegram.TelegramAway):
            return gettext("Telegram does not answer at the moment. Nothing was ordered: try again soon.")
        return ""


def _progress(state: str, expires: str, *, overdue: bool) -> tuple[str, str]:
    if state == "expired":
        return "", gettext("Nobody paid this invoice in time, and it can no longer be paid. Order again below.")
    if state == "held":
        return gettext("Somebody is paying this invoice right now."), ""
    if overdue:
        return "", gettext("The time for this invoice is over. Order again below.")
    until = gettext("The invoice can be paid until %(expires)s.") % {"expires": expires}
    return gettext("Waiting for your payment."), until


def page(provider: Provider) -> StarsPage:
    return StarsPage(provider)
