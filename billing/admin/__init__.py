"""Billing in the admin console: the ledger, subscriptions, orders, and the steps that operators take with a reason."""

from billing.admin import books, coupons, crypto, deletions, invoices, ledger, reports, stars, stripe, terms

__all__ = ["books", "coupons", "crypto", "deletions", "invoices", "ledger", "reports", "stars", "stripe", "terms"]
