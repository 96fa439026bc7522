"""Telegram Stars: orders are invoices, charges pay them, and some charges are sent back."""
