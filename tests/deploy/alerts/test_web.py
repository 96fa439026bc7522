"""Web really fails, is slow and is overloaded: the alert fires, its runbook is followed, and the alert ends."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from accounts.models import User
from tests.deploy.alerts.breaking import Visitors, blocked, blocking, end
from tests.deploy.alerts.conftest import WatchedPlatform
from tests.deploy.alerts.judging import asked, says
from tests.patience import wait_until
from tests.ports import free_port
from tests.scraping import scrape_until
from tests.status.conftest import Web
from tests.workers import database_url

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.django_db(transaction=True)]

SECONDS = 60
SLOW = timedelta(seconds=2)
REFUSED = "agentpods_web_refused_requests_total"


@pytest.fixture
def visitors(watched: WatchedPlatform, web: Web, owner: User) -> Visitors:
    """Visitors of a real web process, which is watched."""
    port = free_port()
    url = web({"DATABASE_URL": database_url(), "METRICS_PORT": str(port)})
    watched.process("web", port)
    return Visitors(url, owner, port=port)


def test_api_errors(watched: WatchedPlatform, visitors: Visitors, tmp_path: Path) -> None:
    def migrate(old: str, new: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"alter table agents_agent rename column {old} to {new}")

    migrate("name", "name_of_a_newer_release")
    try:
        answers = [visitors.get(path) for path in ("/agents", "/agents", "/tiers")]
        assert [answer.status_code for answer in answers] == [500, 500, 200]
        assert "ApiErrors" in watched.fires()
        says("ApiErrors", "The log of web, level `ERROR`: each has a traceback")
        assert answers[0].headers["Request-Id"]
        log = (tmp_path / "web.log").read_text(errors="replace")
        assert "ERROR django.request: Internal Server Error: /agents" in log
        assert "column agents_agent.name does not exist" in log
        says("ApiErrors", "Did it begin with a release, a migration", "go back to the release before")
    finally:
        migrate("name_of_a_newer_release", "name")
    assert visitors.get("/agents").status_code == 200
    assert "ApiErrors" not in watched.fires()


def test_api_slow(watched: WatchedPlatform, visitors: Visitors) -> None:
    def longest() -> timedelta:
        rows = asked("DatabasePoolExhausted", "select pid, pg_blocking_pids")
        return max((row[2] for row in rows if row[1]), default=timedelta())  # type: ignore[type-var,return-value]

    with blocked("agents_agent") as forgotten, visitors.come(5) as statuses:
        says("ApiSlow", "wait for a lock, as in [DatabasePoolExhausted]", "a connection blocks the others: see there")
        assert blocking() == forgotten
        wait_until(lambda: longest() > SLOW, SECONDS)
        end(forgotten)
    assert statuses == [200] * 5
    assert "ApiSlow" in watched.fires()
    assert {visitors.get().status_code for _ in range(60)} == {200}
    assert "ApiSlow" not in watched.fires()


def test_web_overloaded(watched: WatchedPlatform, visitors: Visitors) -> None:
    with blocked("agents_agent") as forgotten, visitors.come(100) as statuses:
        says("WebOverloaded", "`agentpods_database_pool_waiting`: do all threads wait for the database?")
        scrape_until(visitors.port, lambda found: (found.value("agentpods_database_pool_waiting") or 0) >= 4)
        says("WebOverloaded", "Threads wait for the database: see [DatabasePoolExhausted]")
        assert blocking() == forgotten
        scrape_until(visitors.port, lambda found: (found.value(REFUSED, status="503") or 0) > 6)
        end(forgotten)
    assert 503 in statuses
    assert "WebOverloaded" in watched.fires()
    with visitors.come(20) as statuses:
        pass
    assert set(statuses) == {200}
    assert "WebOverloaded" not in watched.fires()
