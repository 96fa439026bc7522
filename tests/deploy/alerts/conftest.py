"""A platform that tests break, and what Prometheus thinks of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from django.test import Client

from accounts.models import User
from tests.agents.backups.conftest import pod, source, steps
from tests.agents.backups.real import program, url
from tests.agents.conftest import bridge, catalog, client, gateway_of, make_agent, owner, running, runtime
from tests.deploy.alerts.judging import Page, firing, page, page_of
from tests.scraping import scrape_until
from tests.status.conftest import fresh_look, web
from tests.webhooks.conftest import clock, deliver, loopback, receiver

__all__ = ["bridge", "catalog", "client", "clock", "deliver", "gateway_of", "loopback", "make_agent", "owner"]
__all__ += ["pod", "program", "receiver", "running", "runtime", "source", "steps", "url", "web"]


@pytest.fixture
def console(db: None) -> Client:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    return console


class WatchedPlatform:
    """Asks for the metrics again and again. `fires()` is about the time since it was asked before."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._ask, self._before = directory, page, page()

    def process(self, name: str, port: int) -> None:
        """From now on it asks this process, and no other."""
        scrape_until(port, lambda found: found.samples)
        self._ask = partial(page_of, name, port)
        self.look()

    def fires(self) -> set[str]:
        before, self._before = self._before, self._ask()
        return firing(before, self._before, self._directory)

    def look(self) -> Page:
        """What happened until now is not part of what is asked next."""
        self._before = self._ask()
        return self._before


@pytest.fixture
def watched(db: None, tmp_path: Path) -> WatchedPlatform:
    fresh_look()
    return WatchedPlatform(tmp_path)
