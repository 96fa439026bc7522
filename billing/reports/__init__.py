"""Reports for bookkeeping, from the ledger, the spans and the invoices (docs/how-to/refunds-and-invoices.md)."""
