"""What an agent's egress broker is told and what it tells: the list of hosts, secrets, and the log of hosts."""
