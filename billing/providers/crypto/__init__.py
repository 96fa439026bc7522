"""Stablecoins: one deposit address per agent. We only read the chain, we never write to it."""
