"""The values of billing's fields, spelled as in docs/spec.md."""

from datetime import UTC, datetime

from django.db import models

# The end of an internal subscription, which never ends: `currentPeriodEnd` is never null (docs/spec.md: Subscription).
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)


class Period(models.TextChoices):
    MONTHLY = "monthly"
    ANNUAL = "annual"


class Provider(models.TextChoices):
    """The payment provider (docs/spec.md: Subscription)."""

    GUMROAD = "gumroad"
    LEMONSQUEEZY = "lemonsqueezy"
    USDT = "usdt"
    USDC = "usdc"
    STARS = "stars"
    STRIPE = "stripe"
    INTERNAL = "internal"


# Providers that sell licence keys: the provider renews a licence itself, and says until when it is paid.
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
    PAYMENT = "payment"
    RENEWAL = "renewal"
    CREDIT = "credit"
    GRANT = "grant"
    REFUND = "refund"
    CAME_BACK = "came back"  # a refund that failed: we have its money again
    REVOKE = "revoke"
    KEY_MOVE = "key move"
    MOVE = "move"  # the unused time of a deleted agent
    RESTORED = "restored"  # the provider says that a licence is paid again, by a charge that the ledger has already
    NEW_PLAN = "new plan"  # the provider changed the plan of a licence, and reports no charge


# Payments that came in through a provider. The owner gets an event.
CONFIRMED = {PaymentKind.PAYMENT, PaymentKind.RENEWAL}
