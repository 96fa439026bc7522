"""The agent's A2A endpoint: card, JSON-RPC in the dialects 1.0 and 0.3, tasks in memory. Every message is a turn."""
