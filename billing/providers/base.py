"""What a payment provider's `driver.py` offers to the rules (CONTRIBUTING.md: Add a payment provider).

A driver calls the provider, never inside a transaction: rules call the driver before or after their transaction. An
answer that the driver cannot get means "unknown", never "unpaid".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from billing.vocabulary import Period, Provider

if TYPE_CHECKING:
    from accounts.models import User
    from agents.models import Agent
    from billing.models import Order, Payment


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOffer:
    """The public data of a provider (docs/spec.md: PaymentProvider). Fields without a value are left out."""

    id: Provider
    label: str
    active: bool  # False: not set up, shown as `status: soon`, and nothing can be bought with it
    buy_url: str | None = None
    buy_urls: dict[str, str] = field(default_factory=dict)  # tier id to URL
    note: str | None = None


class Currency(ABC):
    """What a provider is paid in, if it is not US dollars."""

    code: str  # as in Payment.currency
    name: str  # stands after an amount

    @abstractmethod
    def decimals(self, payment: Payment | None = None) -> int | None:
        """The number of decimals of this payment, or of money without a payment. None if it is unknown."""


class ProviderDriver(ABC):
    """The contract of a payment provider. The defaults are right for most providers."""

    name: str  # as people know it
    ordered_at: str = ""  # the endpoint that takes orders; empty where licence keys are sold
    takes_coupons: bool = True
    by_card: bool = False  # it charges a card for each period; a new order may replace what the card is charged for
    sends_back: bool = False  # after an operator's refund we send the money back, and the provider reports it
    returns_strays: bool = False  # money that bought nothing goes back by itself, so no operator decides about it
    shown_for: timedelta = timedelta(days=1)  # how long the page shows an unpaid order
    taken_late: timedelta = timedelta(0)  # how long after its order has expired money still pays it
    currency: Currency | None = None

    @property
    @abstractmethod
    def offer(self) -> ProviderOffer: ...

    def order(self, agent: Agent, *, tier: str, period: Period, coupon: str, now: datetime) -> Order:
        """Place an order that can be paid. Ordering the same again returns the same order."""
        raise NotImplementedError

    def money_seen(self, order: Order) -> bool:
        """Whether money for the order is on its way, final or not. Raises Unavailable if the provider does not say."""
        return self.money_noted(order)

    def money_noted(self, order: Order) -> bool:
        """Like `money_seen`, but from our own rows alone: the order is locked, so no provider is called."""
        return False

    def send_back(self, payment: Payment, *, reason: str, actor: str, now: datetime) -> None:
        """Send a payment's money back after the commit. Called only where `sends_back`."""
        raise NotImplementedError

    def stop_charging(self, agent: Agent, *, now: datetime) -> None:  # noqa: B027
        """Charge no card for this agent any more. The caller holds the agent's lock."""

    def purge(self, *, now: datetime) -> None:  # noqa: B027
        """Delete what is no longer needed. Called every hour."""

    def forget(self, user: User) -> None:  # noqa: B027
        """Erase the person at the provider. Calling this twice is harmless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceCharge:
    """One charge for a licence and the refunded part of it, in US cents without taxes.

    If the charge was in another currency, its amount is unknown: `cents` is 0, and only `all_back` tells of a refund.
    """

    name: str
    at: datetime
    cents: int
    back: int = 0
    all_back: bool = False

    @property
    def went_back(self) -> bool:
        return self.all_back or self.back >= self.cents > 0


class ProviderAnswer(Enum):
    PAID = "paid"
    UNPAID = "unpaid"
    UNKNOWN = "unknown"  # a time-out, 429, 5xx, or a body that cannot be understood


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A provider's answer about a licence key. With PAID the purchase is filled in; otherwise `reason` says why not."""

    answer: ProviderAnswer
    reason: str = ""
    external_ref: str = ""  # the provider's id of the purchase; it stays the same when the key is replaced
    till: datetime | None = None  # the end of the paid time
    tier: str = ""
    period: Period | None = None
    price_usd: Decimal | None = None
    cancels: bool = False  # it will not renew
    revoked: bool = False  # refunded, charged back or disabled: ends at once, not at `till`
    went_back: bool = False  # the money was refunded
    failed: bool = False  # the provider could not charge a renewal, if it tells
    exhausted: bool = False  # the provider has no activation left for this key
    used: int | None = None  # number of activations, if the provider counts them
    charges: tuple[LicenceCharge, ...] = ()  # oldest first, if the provider lists them
    card_ref: str = ""  # the provider's id of the subscription that charges the card


class LicenceDriver(ProviderDriver):
    """A provider that sells licence keys. It has no orders."""

    takes_coupons = False
    cancel_url: str  # the page where buyers stop the charges of their card

    @property
    def counts_activations(self) -> bool:
        """Whether the provider counts activations, so that `activate` and `release` have an effect."""
        return False

    @property
    def stops_cards(self) -> bool:
        """Whether `stop_card` has an effect."""
        return False

    @property
    def unseen(self) -> str:
        """For operators: what we cannot see with the present settings. Empty if nothing."""
        return ""

    @property
    def signs(self) -> bool:
        """Whether the provider signs what it sends to our webhook."""
        return False

    def check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Raises Unauthorized unless the provider signed this body. Called only where `signs`."""
        raise NotImplementedError

    @abstractmethod
    def verify(self, key: str, *, now: datetime) -> Verdict:
        """Ask what the key is worth. Uses up nothing at the provider, however often it is called.

        Raises Unavailable when our own rate limit stops the call: the provider was not asked.
        """

    @abstractmethod
    def activate(self, key: str, *, agent_id: str) -> str:
        """Activate the key for the agent at the provider. Returns the activation's id, or empty if the provider has
        none.

        Calling it twice for the same agent is harmless. Raises Unavailable, LicenceRefused.
        """

    def release(self, key: str, *, instance: str) -> None:
        """Release an activation. Succeeds if it is already released or unknown at the provider. Raises Unavailable."""

    def stop_card(self, external_ref: str) -> bool:
        """Stop the charges of the card for this purchase. Returns False if we cannot. Raises Unavailable."""
        return False
