"""Stablecoins: one deposit address an agent, and a chain that is read and never written."""
