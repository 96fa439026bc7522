"""Money in the console: the ledger, what it bought, what was ordered; and what operators do by hand, with a reason."""

from billing.admin import books, coupons, crypto, deletions, invoices, ledger, reports, stars, stripe, terms

__all__ = ["books", "coupons", "crypto", "deletions", "invoices", "ledger", "reports", "stars", "stripe", "terms"]
