"""What this app knows of a person: what they paid, as for the file they take along."""

from __future__ import annotations

from collections.abc import Iterator

from accounts.models import User
from billing.models import BillingDetails, Invoice, Order, Payment, Subscription
from config.personal import Section, rows


def exported(user: User) -> Iterator[Section]:
    """Licence keys are secrets: whoever has one can use it."""
    yield "billing-details", rows(BillingDetails.objects.filter(user=user), "name", "address", "country", "tax_id")
    yield (
        "subscriptions",
        rows(
            Subscription.objects.filter(user=user),
            *(
                "id",
                "agent_id",
                "tier",
                "period",
                "status",
                "provider",
                "price_usd",
                "created_at",
                "current_period_end",
            ),
            *("canceled_at", "expired_at"),
        ),
    )
    yield (
        "orders",
        rows(
            Order.objects.filter(user=user),
            *("id", "agent_id", "provider", "tier", "period", "price_usd", "status", "created_at", "paid_at"),
        ),
    )
    yield (
        "payments",
        rows(
            Payment.objects.filter(user=user),
            *("id", "agent_id", "kind", "provider", "external_id", "tier", "period", "price_usd", "amount", "currency"),
            *("paid_till", "at"),
        ),
    )
    yield (
        "invoices",
        rows(
            Invoice.objects.filter(user=user),
            *("id", "number", "kind", "agent_id", "created_at", "seller", "buyer", "description", "paid_with"),
            *("total_usd", "tax_usd", "tax_name", "tax_percent", "reverse_charge"),
        ),
    )
