from __future__ import annotations

from typing import Any

import pytest

from agents.models import Agent


@pytest.fixture
def host(transactional_db: None, running: Agent, settings: Any) -> str:
    """The `Host` header of a running agent."""
    return f"{running.slug}.{settings.PLATFORM_DOMAIN}:8001"
