"""What a payment provider's `page.py` says on the owners' pages. All its texts are translated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import ClassVar, cast

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from agents.models import Agent
from billing.models import Order, Payment
from billing.providers import registry
from billing.vocabulary import LICENSED, Provider
from config.errors import ServiceError


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOrder:
    """An order that waits for its payment, or has expired. `template` shows it."""

    order: Order
    state: str  # "expired", or a word for what the customer waits for
    plan: str
    expires: str
    overdue: bool  # it should not be paid any more
    missing: str = ""  # set if a part was received
    template: ClassVar[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOrder(ShownOrder):
    title: str
    strong: str  # before `progress`, empty if the order can no longer be paid
    progress: str
    link: str
    action: str  # the text of the link
    notes: list[str]
    code: SafeString | None = None  # the link as a QR code
    scan: str = ""  # what to do with the code
    template: ClassVar[str] = "account/renew_link.html"


class ProviderPage(ABC):
    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    @property
    def name(self) -> str:
        """The usual name of this way to pay."""
        return registry.name_of(self.provider)

    @property
    def next_step(self) -> str:
        """The text of the button that places an order."""
        return gettext("Make the invoice")

    @abstractmethod
    def about(self, agent: Agent) -> str:
        """How it is paid, in the choice of ways to pay."""

    def order(self, order: Order, *, now: datetime) -> ShownOrder:
        """The order for the person who pays it."""
        raise NotImplementedError

    def to_pay(self, price_usd: Decimal) -> str:
        """What this price is in the provider's own currency. Empty where dollars are paid."""
        return ""

    def arrived(self, *, plan: str, till: str) -> str:
        text = gettext("Your payment with %(provider)s has arrived. The agent has the plan %(plan)s until %(till)s.")
        return text % {"provider": self.name, "plan": plan, "till": till}

    def amount(self, payment: Payment) -> str:
        """The amount of a payment that was not in dollars."""
        return f"{payment.amount} {payment.currency}"

    def over(self, payment: Payment) -> str:
        """How much more than the price was paid, with its currency. Empty if it was not more."""
        return ""

    def transaction(self, payment: Payment) -> str:
        """The id by which the customer finds the payment elsewhere."""
        return ""

    def refusal(self, error: ServiceError) -> str:
        """The provider's own error in plain words. Empty for any other error."""
        return ""


class LicencePage(ProviderPage):
    """The page of a provider that sells licence keys. It needs no `page.py`."""

    def about(self, agent: Agent) -> str:
        return gettext("By card: you buy a licence key there and enter it here.")


def page_of(provider: str) -> ProviderPage | None:
    """The provider's page. None for a provider that cannot be bought from."""
    if provider not in registry.PACKAGES:
        return None
    part = registry.part_of(Provider(provider), "page")
    if part is None and provider in LICENSED:
        return LicencePage(Provider(provider))
    return cast("ProviderPage", part.page(Provider(provider))) if part else None


def refusal(error: ServiceError) -> str:
    """The error in plain words, if it is one of a provider's own. Placing an order may ask the provider of another."""
    pages = (page_of(provider) for provider in registry.PACKAGES)
    return next((text for page in pages if page and (text := page.refusal(error))), "")
