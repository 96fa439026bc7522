"""Billing in the admin console: the ledger, subscriptions, orders, and the steps that operators take with a reason."""

from billing.admin import books, coupons, deletions, invoices, ledger, payouts, reports, sections, terms
from billing.providers import registry

registry.parts("admin")  # they register themselves

__all__ = ["books", "coupons", "deletions", "invoices", "ledger", "payouts", "reports", "sections", "terms"]
