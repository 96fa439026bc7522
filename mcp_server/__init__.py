"""The MCP server at `/mcp`: models drive the service by tools.

Each tool is a call of the HTTP API, inside this process.
"""
