"""What every driver of a payment provider promises (design: Billing).

A driver talks to the outside and knows no transaction: rules call it before or after theirs, never inside. What it
cannot find out is unknown, and unknown is never unpaid (design: Invariants 5).
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
class Offer:
    """What is shown of a provider (spec: PaymentProvider). Absent fields are left out."""

    id: Provider
    label: str
    active: bool  # false is `status: soon`: not configured, so nothing can be bought with it
    buy_url: str | None = None
    buy_urls: dict[str, str] = field(default_factory=dict)  # tier id to address
    note: str | None = None


class Driver(Protocol):
    @property
    def offer(self) -> Offer: ...

    def money_seen(self, order: Order) -> bool:
        """Whether some of the order's money is on its way, settled or not. Raises Unavailable when nobody can tell."""
        ...

    def money_noted(self, order: Order) -> bool:
        """The same as far as our own rows know: asked with the order locked, so nobody else is asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a provider's card was charged for a licence, and how much of it went back: cents of USD, without taxes.

    Of another currency nobody tells how much it was: `cents` are 0, and `all_back` alone says that it went back.
    """

    name: str
    at: datetime
    cents: int
    back: int = 0
    all_back: bool = False

    @property
    def went_back(self) -> bool:
        return self.all_back or self.back >= self.cents > 0


class Answer(Enum):
    PAID = "paid"
    UNPAID = "unpaid"
    UNKNOWN = "unknown"  # a time-out, 429, 5xx, or a body that makes no sense


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a provider says of a licence key. With PAID all of the purchase is there; else `reason` says why not."""

    answer: Answer
    reason: str = ""
    external_ref: str = ""  # the provider's name of the purchase, which outlives a rotated key
    till: datetime | None = None  # paid until
    tier: str = ""
    period: Period | None = None
    price_usd: Decimal | None = None
    cancels: bool = False  # it will not renew
    revoked: bool = False  # refunded, charged back or taken away: ends at once, not at `till`
    went_back: bool = False  # and the money with it
    failed: bool = False  # the provider could not charge a renewal, as far as it tells
    exhausted: bool = False  # no activation is left at the provider
    used: int | None = None  # activations, where the provider counts them
    charges: tuple[Charge, ...] = ()  # oldest first, where the provider tells
    card_ref: str = ""  # its name of what charges the card again and again


class LicenceDriver(Driver, Protocol):
    counts_activations: bool  # whether its provider binds keys, so that `activate` and `release` do something there
    stops_cards: bool  # whether `stop_card` does something there
    cancel_url: str  # where its buyers have their cards charged no more
    unseen: str  # what it does not tell with these settings, for operators; empty for nothing

    def verify(self, key: str, *, now: datetime) -> Verdict:
        """Ask what the key is worth. Consumes no use and no activation, however often.

        Raises Unavailable while we hold ourselves back: that is no answer, and none of the provider's.
        """
        ...

    def activate(self, key: str, *, agent_id: str) -> str:
        """Bind the key to the agent at the provider; returns the activation's name, empty where there is none.

        Twice for the same agent is harmless. Raises Unavailable, LicenceRefused.
        """
        ...

    def release(self, key: str, *, instance: str) -> None:
        """Undo `activate`. What is released already, or unknown there, succeeds."""
        ...

    def stop_card(self, external_ref: str) -> bool:
        """Have the card charged no more for what was sold; false where we cannot. Raises Unavailable."""
        ...
