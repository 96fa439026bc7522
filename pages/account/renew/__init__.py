"""/renew/{id}: paying for an agent."""
