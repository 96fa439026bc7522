"""The tables of billing: the ledger, subscriptions, orders, and agents that nobody pays for."""

from billing.models.coupons import Coupon
from billing.models.crypto import ChainState, CryptoOrder, Deposit, DepositAddress, HighWater, Misplaced, Sweep
from billing.models.decisions import Decision
from billing.models.deletions import AccountDeletion, DeletionStage
from billing.models.dunning import Lapse
from billing.models.exports import DataExport, ExportState
from billing.models.invoices import BillingDetails, Invoice, InvoiceKind, InvoiceSeries, TaxRate
from billing.models.next_plans import NextPlan
from billing.models.orders import Order
from billing.models.payments import Payment
from billing.models.reports import DeferredRevenue, Payouts, Reports
from billing.models.spans import PassedPlan, Span
from billing.models.stars import StarsFeed, StarsOrder, Stray, StrayCharge
from billing.models.stripe import (
    CardSubscription,
    StripeCustomer,
    StripeDispute,
    StripeEvent,
    StripeFeed,
    StripeInvoice,
    StripeOrder,
    StripeRefund,
)
from billing.models.subscriptions import Subscription
from billing.models.terms import AgentTerm, Books

__all__ = [
    "AccountDeletion",
    "AgentTerm",
    "BillingDetails",
    "Books",
    "CardSubscription",
    "ChainState",
    "Coupon",
    "CryptoOrder",
    "DataExport",
    "Decision",
    "DeferredRevenue",
    "DeletionStage",
    "Deposit",
    "DepositAddress",
    "ExportState",
    "HighWater",
    "Invoice",
    "InvoiceKind",
    "InvoiceSeries",
    "Lapse",
    "Misplaced",
    "NextPlan",
    "Order",
    "PassedPlan",
    "Payment",
    "Payouts",
    "Reports",
    "Span",
    "StarsFeed",
    "StarsOrder",
    "Stray",
    "StrayCharge",
    "StripeCustomer",
    "StripeDispute",
    "StripeEvent",
    "StripeFeed",
    "StripeInvoice",
    "StripeOrder",
    "StripeRefund",
    "Subscription",
    "Sweep",
    "TaxRate",
]
