from __future__ import annotations

from tests.agents.conftest import catalog, make_agent, owner, runtime
from tests.webhooks.conftest import loopback, receiver

__all__ = ["catalog", "loopback", "make_agent", "owner", "receiver", "runtime"]
