"""Turns of a conversation with a running agent, and where agents that can be spoken to are listed."""
