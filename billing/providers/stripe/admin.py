"""The admin pages of Stripe: orders, subscriptions, invoices, events, disputes, refunds and customers."""

from django.contrib import admin

from billing.admin import totals
from billing.models import (
    CardSubscription,
    StripeCustomer,
    StripeDispute,
    StripeEvent,
    StripeInvoice,
    StripeOrder,
    StripeRefund,
)
from config.long_lists import WhenFilter
from config.read_only import WrittenByRules


@admin.register(StripeOrder)
class StripeOrderAdmin(WrittenByRules):
    list_display = ("id", "agent", "tier", "period", "price_usd", "status", "session_id", "created_at")
    list_filter = ("status", "tier", "period")
    list_select_related = ("agent",)
    search_fields = ("id", "agent__id", "user__email", "^session_id", "^customer_id")
    sortable_by = ()


@admin.register(CardSubscription)
class CardSubscriptionAdmin(WrittenByRules):
    list_display = (
        "subscription_id",
        "agent",
        "tier",
        "price_usd",
        "status",
        "cancels",
        "period_end",
        "canceled_at",
        "read_at",
        "last_error",
    )
    list_filter = ("status", "cancels", ("canceled_at", admin.EmptyFieldListFilter))
    list_select_related = ("agent",)
    search_fields = ("subscription_id", "customer_id", "agent__id", "agent__user__email")


@admin.register(StripeInvoice)
class StripeInvoiceAdmin(WrittenByRules):
    list_display = ("invoice_id", "card", "payment", "failed_at", "seen_at")
    list_filter = (("payment", admin.EmptyFieldListFilter), ("failed_at", admin.EmptyFieldListFilter))
    list_select_related = ("card", "payment")
    search_fields = ("invoice_id", "payment_intent", "card__subscription_id", "card__agent__id")


@admin.register(StripeEvent)
class StripeEventAdmin(WrittenByRules):
    list_display = (
        "event_id",
        "type",
        "object_id",
        "received_at",
        "due_at",
        "done_at",
        "attempts",
        "last_error",
        "stray",
    )
    list_filter = (
        ("received_at", WhenFilter),
        ("done_at", admin.EmptyFieldListFilter),
        ("stray", admin.EmptyFieldListFilter),
    )
    search_fields = ("event_id", "^object_id")
    sortable_by = ("received_at",)


@admin.register(StripeDispute)
class StripeDisputeAdmin(WrittenByRules):
    totals = totals.DISPUTES
    list_display = ("dispute_id", "payment", "status", "cents", "is_taken", "length", "seen_at", "closed_at")
    list_filter = ("status",)
    list_select_related = ("payment",)
    search_fields = ("dispute_id", "payment__id", "payment__agent__id")


@admin.register(StripeRefund)
class StripeRefundAdmin(WrittenByRules):
    list_display = ("payment", "refund_at", "refunded_at", "attempts", "last_error", "actor", "reason", "asked_at")
    list_filter = (("refunded_at", admin.EmptyFieldListFilter),)
    list_select_related = ("payment",)
    search_fields = ("payment__id", "payment__agent__id", "payment_intent")


@admin.register(StripeCustomer)
class StripeCustomerAdmin(WrittenByRules):
    list_display = ("customer_id", "user", "created_at")
    list_select_related = ("user",)
    search_fields = ("customer_id", "user__email")
