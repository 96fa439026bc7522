"""What an owner sets on an agent: profile, model key, channels, tools, MCP servers, peers, memory."""
