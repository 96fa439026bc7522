"""Invoices and credit notes: issued with the ledger's rows, shown as PDF."""
