"""Stripe: orders are checkouts, then charges follow for each period, and refunds and disputes."""
