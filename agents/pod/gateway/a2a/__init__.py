"""The agent's A2A endpoint: the card, JSON-RPC in the protocol versions 1.0 and 0.3, and tasks in memory. Every message
is a turn.
"""
