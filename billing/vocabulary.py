"""The words of billing, as the spec spells them."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import models

# When nothing ends: an internal subscription is paid until then (spec: Subscription `currentPeriodEnd` is never null).
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)


class Period(models.TextChoices):
    MONTHLY = "monthly"
    ANNUAL = "annual"


class Provider(models.TextChoices):
    """Who money comes through (spec: Subscription `provider`)."""

    GUMROAD = "gumroad"
    LEMONSQUEEZY = "lemonsqueezy"
    USDT = "usdt"
    USDC = "usdc"
    STARS = "stars"
    STRIPE = "stripe"
    INTERNAL = "internal"


# As people call them.
NAMES = {
    Provider.GUMROAD: "Gumroad",
    Provider.LEMONSQUEEZY: "Lemon Squeezy",
    Provider.USDT: "USDT",
    Provider.USDC: "USDC",
    Provider.STARS: "Telegram Stars",
    Provider.STRIPE: "Stripe",
}

# Sold by licence key: the provider says until when it is paid, and takes renewals by itself.
LICENSED = {Provider.GUMROAD, Provider.LEMONSQUEEZY}


class Asset(models.TextChoices):
    """The stablecoins; each is a provider of the same name."""

    USDT = "usdt"
    USDC = "usdc"


class SubscriptionStatus(models.TextChoices):
    ACTIVE = "active"
    CANCELED = "canceled"
    EXPIRED = "expired"


class OrderStatus(models.TextChoices):
    PENDING = "pending"
    PAID = "paid"
    EXPIRED = "expired"


class TermMode(models.TextChoices):
    TRIAL = "trial"
    GRACE = "grace"
    PAID = "paid"
    INTERNAL = "internal"


class PaymentKind(models.TextChoices):
    """What a row of the ledger is."""

    PAYMENT = "payment"
    RENEWAL = "renewal"
    CREDIT = "credit"
    GRANT = "grant"
    REFUND = "refund"
    CAME_BACK = "came back"  # a refund that failed: its money is ours again
    REVOKE = "revoke"
    KEY_MOVE = "key move"
    MOVE = "move"  # what was left of a deleted agent's time
    RESTORED = "restored"  # its provider calls a licence paid again, for what it had charged already
    NEW_PLAN = "new plan"  # its provider changed what a licence is for, and says of no charge


# Money that came in through a provider, and of which the owner is told by an event.
CONFIRMED = {PaymentKind.PAYMENT, PaymentKind.RENEWAL}
