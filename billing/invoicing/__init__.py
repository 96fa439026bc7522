"""Invoices and credit notes: issued together with rows of the ledger, and shown as PDF."""
