"""Names that a backup has for what is not a file of the agent's, shared by whoever makes and whoever unpacks one."""

from __future__ import annotations

# Ours in an agent's data directory; no engine has a directory of this name.
OWN = ".agentpods"
# Whole copies of databases, each below its own path.
COPIES = f"{OWN}/databases"
