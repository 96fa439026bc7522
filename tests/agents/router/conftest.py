from __future__ import annotations

from typing import Any

import pytest

from agents.models import Agent


@pytest.fixture
def host(transactional_db: None, running: Agent, settings: Any) -> str:
    """The `Host` of an agent that runs."""
    return f"{running.slug}.{settings.PLATFORM_DOMAIN}:8001"
