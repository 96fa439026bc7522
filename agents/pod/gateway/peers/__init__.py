"""Lets the engine ask the agent's peers, through an MCP server of the gateway. The engine never sees the
peers' tokens.
"""
