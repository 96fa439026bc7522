"""Stripe: orders that are checkouts, the charges that follow them, and what goes back."""
