"""What a seller's bookkeeping asks for, read from the ledger, the spans and the invoices.

docs/how-to/refunds-and-invoices.md: Reports."""
