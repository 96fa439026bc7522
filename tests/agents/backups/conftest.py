"""An agent with a pod that makes backups, on an installation with a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from agents.backups import taking
from agents.models import Agent, Repository
from tests.agents.conftest import GatewayOf

Steps = Callable[[], None]


@pytest.fixture
def pod(running: Agent, gateway_of: GatewayOf, settings: Any, tmp_path: Any) -> Agent:
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    Repository.objects.create(agent=running, password="of the repository", made_at=timezone.now())
    gateway_of(running)
    return running


@pytest.fixture
def steps() -> Steps:
    """The next step of each backup that is being made."""

    def take() -> None:
        taking.take_due(timezone.now() + taking.LEASE)

    return take
