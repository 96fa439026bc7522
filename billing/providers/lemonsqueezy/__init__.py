"""Lemon Squeezy: licence keys of subscriptions."""
