"""Reports for bookkeeping, from the ledger, the spans and the invoices (docs/billing.md: Reports)."""
