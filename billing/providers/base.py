"""The interface of all payment drivers.

A driver calls the provider, never inside a transaction: rules call the driver before or after their transaction. An
answer that the driver cannot get means "unknown", never "unpaid".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from billing.vocabulary import Period, Provider

if TYPE_CHECKING:
    from billing.models import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOffer:
    """The public data of a provider (docs/spec.md: PaymentProvider). Fields without a value are left out."""

    id: Provider
    label: str
    active: bool  # False: not set up, shown as `status: soon`, and nothing can be bought with it
    buy_url: str | None = None
    buy_urls: dict[str, str] = field(default_factory=dict)  # tier id to URL
    note: str | None = None


class ProviderDriver(Protocol):
    @property
    def offer(self) -> ProviderOffer: ...

    def money_seen(self, order: Order) -> bool:
        """Whether money for the order is on its way, final or not. Raises Unavailable if the provider does not say."""
        ...

    def money_noted(self, order: Order) -> bool:
        """Like `money_seen`, but from our own rows alone: the order is locked, so no provider is called."""
        ...


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


class LicenceDriver(ProviderDriver, Protocol):
    counts_activations: bool  # whether the provider counts activations, so that `activate` and `release` have an effect
    stops_cards: bool  # whether `stop_card` has an effect
    cancel_url: str  # the page where buyers stop the charges of their card
    unseen: str  # for operators: what we cannot see with the present settings; empty if nothing

    def verify(self, key: str, *, now: datetime) -> Verdict:
        """Ask what the key is worth. Uses up nothing at the provider, however often it is called.

        Raises Unavailable when our own rate limit stops the call: the provider was not asked.
        """
        ...

    def activate(self, key: str, *, agent_id: str) -> str:
        """Activate the key for the agent at the provider. Returns the activation's id, or empty if the provider has
        none.

        Calling it twice for the same agent is harmless. Raises Unavailable, LicenceRefused.
        """
        ...

    def release(self, key: str, *, instance: str) -> None:
        """Release an activation. Succeeds if it is already released or unknown at the provider. Raises Unavailable."""
        ...

    def stop_card(self, external_ref: str) -> bool:
        """Stop the charges of the card for this purchase. Returns False if we cannot. Raises Unavailable."""
        ...
