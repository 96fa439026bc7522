"""Money in the console: the ledger, what it bought, what was ordered; and what operators do by hand, with a reason."""

from billing.admin import books, crypto, invoices, ledger, stars, stripe, terms

__all__ = ["books", "crypto", "invoices", "ledger", "stars", "stripe", "terms"]
