from __future__ import annotations

from tests.agents.conftest import owner
from tests.webhooks.conftest import trusted

__all__ = ["owner", "trusted"]
