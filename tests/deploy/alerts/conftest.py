"""A platform that tests break, and what Prometheus thinks of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from accounts.models import User
from tests.agents.backups.conftest import pod, source, steps
from tests.agents.backups.killing import endpoint, store
from tests.agents.backups.real import program, url
from tests.agents.conftest import bridge, catalog, client, gateway_of, make_agent, owner, running, runtime
from tests.deploy.alerts.judging import firing, page
from tests.status.conftest import fresh_look

__all__ = ["bridge", "catalog", "client", "endpoint", "gateway_of", "make_agent", "owner", "pod", "program"]
__all__ += ["running", "runtime", "source", "steps", "store", "url"]


@pytest.fixture
def console(db: None) -> Client:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    return console


class WatchedPlatform:
    """Asks for the metrics again and again. `fires()` is about the time since it was asked before."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._before = directory, page()

    def fires(self) -> set[str]:
        before, self._before = self._before, page()
        return firing(before, self._before, self._directory)

    def look(self) -> None:
        """What happened until now is not part of what is asked next."""
        self._before = page()


@pytest.fixture
def watched(db: None, tmp_path: Path) -> WatchedPlatform:
    fresh_look()
    return WatchedPlatform(tmp_path)
