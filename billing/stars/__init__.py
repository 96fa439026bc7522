"""Telegram Stars: orders that are invoices, the charges that pay them, and what goes back."""
