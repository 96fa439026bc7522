"""Gumroad: licence keys of memberships and of one-off sales."""
