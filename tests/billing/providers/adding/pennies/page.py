"""Pennies on the owners' pages."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext

from agents.models import Agent
from billing.models import Order
from billing.providers.page import LinkOrder, ProviderPage
from billing.vocabulary import OrderStatus, Provider
from config.errors import ServiceError
from pages.account import words
from pages.account.names import plan_name
from pages.words import usd
from tests.billing.providers.adding.pennies import orders, reasons
from tests.billing.providers.adding.pennies.service import PenniesAway


class PenniesPage(ProviderPage):
    @property
    def next_step(self) -> str:
        return gettext("Open the bill")

    def about(self, agent: Agent) -> str:
        return gettext("From your jar of pennies.")

    def order(self, order: Order, *, now: datetime) -> LinkOrder:
        is_open, expires = order.status == OrderStatus.PENDING, words.moment(order.expires_at)
        until = gettext("The bill can be paid until %(expires)s.") % {"expires": expires}
        return LinkOrder(
            order=order,
            state="waiting" if is_open else "expired",
            plan=plan_name(order.tier),
            expires=expires,
            overdue=order.expires_at <= now,
            title=gettext("Pay %(price)s in pennies") % {"price": usd(order.price_usd)},
            strong=gettext("Waiting for your payment.") if is_open else "",
            progress=until if is_open else gettext("Nobody paid this bill in time. Order again below."),
            link=orders.bill_of(order),
            action=gettext("Pay the bill"),
            notes=[],
        )

    def refusal(self, error: ServiceError) -> str:
        return gettext(reasons.AWAY) if isinstance(error, PenniesAway) else ""


def page(provider: Provider) -> PenniesPage:
    return PenniesPage(provider)
