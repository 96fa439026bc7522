"""The order for a backup, as a pod's bridge gets it, and the contents of the pod's data directory."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from agents.backups import credentials, repositories
from agents.models import Agent
from agents.pod.bridge import backup


def order_of(agent: Agent, url: str, **changes: Any) -> backup.PodOrder:
    token = credentials.mint(agent.pk, may_add=changes.pop("may_add", 10**9))
    repository = repositories.of(agent)
    way = f"{url}/{changes.pop('repository', agent.pk)}/"
    known = {"id": "bkp_1", "agent_id": agent.pk, "url": way, "token": token, "most_bytes": 10**9}
    return backup.PodOrder(**{**known, "password": repository.password, **changes})


def contents(data: Path) -> dict[str, str]:
    found = (path for path in data.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}
