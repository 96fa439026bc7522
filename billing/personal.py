"""Billing's part of a person's data export and of the erasure of a person."""

from __future__ import annotations

from collections.abc import Iterator

from accounts.models import User
from billing.models import BillingDetails, CardSubscription, DataExport, Invoice, Order, Payment, Subscription
from billing.models.stripe import ENDED
from config.personal import Section, rows


def exported(user: User) -> Iterator[Section]:
    """The person's billing data, in sections. Licence keys are left out: anybody who has a key can use it."""
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


def still_charged(user: User) -> str:
    """Which cards their providers may still charge, in words. Empty if none."""
    if CardSubscription.objects.filter(agent__user=user).exclude(status__in=ENDED).exists():
        return "its cards at Stripe"
    return "its licences' cards" if Subscription.objects.filter(user=user, stop_card_at__isnull=False).exists() else ""


def erase(user: User) -> None:
    """Delete the person's billing details and exports, and the email in invoices. Payments and invoices stay.

    Needs a transaction. Calling this twice is harmless.
    """
    BillingDetails.objects.filter(user=user).delete()
    DataExport.objects.filter(user=user).delete()
    for invoice in Invoice.objects.filter(user=user).exclude(buyer__email="").only("pk", "buyer"):
        Invoice.objects.filter(pk=invoice.pk).update(buyer={**invoice.buyer, "email": ""})
