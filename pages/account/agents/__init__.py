"""/account/agents/{id}: the pages of one agent."""
