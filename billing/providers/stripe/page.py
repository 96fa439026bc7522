"""Cards on the owners' pages."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext, pgettext

from agents.models import Agent
from billing.models import CardSubscription, Order, StripeOrder
from billing.providers.page import LinkOrder, ProviderPage
from billing.vocabulary import OrderStatus, Period, Provider
from pages.account import words
from pages.account.names import plan_name
from pages.words import usd


class StripePage(ProviderPage):
    @property
    def name(self) -> str:
        """The customer need not know who processes the card."""
        return pgettext("way to pay", "Card")

    @property
    def next_step(self) -> str:
        return gettext("Continue to the card")

    def about(self, agent: Agent) -> str:
        if CardSubscription.objects.renewing().filter(agent=agent).exists():
            return gettext("Your card is charged already. Choose this for another plan or period only.")
        return gettext("By card: it is charged for each month or year, until you cancel.")

    def order(self, order: Order, *, now: datetime) -> LinkOrder:
        """`state` is waiting or expired."""
        checkout = StripeOrder.objects.get(pk=order.pk)
        state = "waiting" if checkout.status == OrderStatus.PENDING else "expired"
        expires, overdue = words.moment(checkout.expires_at), checkout.expires_at <= now
        strong, progress = _progress(state, expires, overdue=overdue)
        return LinkOrder(
            order=checkout,
            state=state,
            plan=plan_name(checkout.tier),
            expires=expires,
            overdue=overdue,
            title=gettext("Pay %(price)s by card") % {"price": usd(checkout.price_usd)},
            strong=strong,
            progress=progress,
            link=checkout.checkout_url,
            action=gettext("Enter the card at Stripe"),
            notes=[_again(checkout)],
        )

    def arrived(self, *, plan: str, till: str) -> str:
        text = gettext("Your payment by card has arrived. The agent has the plan %(plan)s until %(till)s.")
        return text % {"plan": plan, "till": till}


def _progress(state: str, expires: str, *, overdue: bool) -> tuple[str, str]:
    if state == "expired":
        return "", gettext("Nobody paid in time, and the checkout is closed. Order again below.")
    if overdue:
        return "", gettext("The time for this checkout is over. Order again below.")
    until = gettext("The checkout is open until %(expires)s.") % {"expires": expires}
    return gettext("Waiting for your payment."), until


def _again(order: StripeOrder) -> str:
    if order.period == Period.ANNUAL:
        return gettext("It is charged again each year, until you cancel.")
    return gettext("It is charged again each month, until you cancel.")


def page(provider: Provider) -> StripePage:
    return StripePage(provider)
