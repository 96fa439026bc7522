"""Counts what the agent's model calls take, and refuses calls above the owner's limits."""
