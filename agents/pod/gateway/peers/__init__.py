"""The agent's peers: what its engine may ask them, through an MCP server of the gateway. Their tokens stay here."""
