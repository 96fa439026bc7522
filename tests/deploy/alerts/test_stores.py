"""PostgreSQL and Redis are really taken away: the alert fires, its runbook is followed, and the alert ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import requests
from django.db import connection

from accounts.models import User
from tests.deploy.alerts.breaking import Visitors, blocked, blocking, end
from tests.deploy.alerts.conftest import WatchedPlatform
from tests.deploy.alerts.judging import asked, says
from tests.patience import wait_until
from tests.ports import free_port
from tests.scraping import scrape, scrape_until
from tests.status.conftest import Web
from tests.stores import StoreServers
from tests.workers import Workers, database_url

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.django_db(transaction=True)]

SECONDS = 60
TIMEOUTS = "agentpods_database_pool_timeouts_total"


class WayToDatabase:
    """The only way of programs to the database: the socket of the real server, under a name of our own."""

    def __init__(self, directory: Path) -> None:
        (self._socket,) = Path(connection.settings_dict["HOST"]).glob(".s.PGSQL.*[0-9]")
        self._name = directory / self._socket.name
        self.url = f"postgresql://postgres@/{connection.settings_dict['NAME']}?host={directory}"
        self.open()

    def open(self) -> None:
        self._name.symlink_to(self._socket)

    def close(self) -> None:
        """Nobody comes in any more, and who is in is thrown out."""
        self._name.unlink()
        with psycopg.connect(database_url(), autocommit=True) as other:
            other.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> all(%s)",
                [[other.info.backend_pid, connection.connection.info.backend_pid]],
            )


def test_database_down(watched: WatchedPlatform, celery: Workers, web: Web, tmp_path: Path) -> None:
    way = WayToDatabase(tmp_path)
    celery.beat(environment={"DATABASE_URL": way.url, "METRICS_PORT": str(port := free_port())})
    site = web({"DATABASE_URL": way.url})
    wait_until(lambda: requests.get(f"{site}/health/ready", timeout=30).status_code == 200, SECONDS)
    way.close()
    watched.process("beat", port)
    assert "DatabaseDown" in watched.fires()
    says("DatabaseDown", "`GET /health/ready`: 503", "`error connecting in` is followed by the reason")
    wait_until(lambda: requests.get(f"{site}/health/ready", timeout=30).status_code == 503, SECONDS)
    wait_until(lambda: "error connecting in" in (tmp_path / "beat.log").read_text(errors="replace"), SECONDS)
    says("DatabaseDown", "repair the server. Nothing else needs a step: programs connect again by themselves")
    assert asked("DatabaseDown", "select count(*) from pg_stat_activity")
    assert len(asked("DatabaseDown", "select pid, now() - query_start")) <= 5
    way.open()
    wait_until(lambda: requests.get(f"{site}/health/ready", timeout=30).status_code == 200, SECONDS)
    wait_until(lambda: scrape(port).value("agentpods_figures_up") == 1, SECONDS)
    assert "DatabaseDown" not in watched.fires()


@pytest.fixture
def redis() -> Iterator[StoreServers]:
    """A Redis of the test's own."""
    stores = StoreServers()
    stores.embedded.add("REDIS_URL")
    stores.start()
    yield stores
    stores.stop()


def test_redis_down(watched: WatchedPlatform, celery: Workers, web: Web, redis: StoreServers) -> None:
    def parts() -> set[str]:
        components = requests.get(f"{site}/status", timeout=30).json()["components"]
        return {one["id"] for one in components if one["status"] == "down"} & {"cache", "queue"}

    environment = {"REDIS_URL": redis.redis_url}
    celery.beat(environment={**environment, "METRICS_PORT": str(port := free_port())})
    celery.start("webhooks", environment={**environment, "METRICS_PORT": str(of_worker := free_port())})
    site = web({**environment, "DATABASE_URL": database_url()})
    (server,) = redis.processes
    server.kill()
    server.wait()
    watched.process("beat", port)
    assert "RedisDown" in watched.fires()
    says("RedisDown", "Requests are served", "`GET /status`: `cache` and `queue`")
    assert requests.get(f"{site}/tiers", timeout=30).status_code == 200
    wait_until(lambda: parts() == {"cache", "queue"}, SECONDS)
    says("RedisDown", "restart the server. It may come back empty", "Workers connect again by themselves")
    (redis.root / "redis.sock").unlink(missing_ok=True)
    redis.start_redis()
    done = scrape(of_worker).value("agentpods_tasks_total") or 0
    scrape_until(of_worker, lambda found: (found.value("agentpods_tasks_total") or 0) > done)
    wait_until(lambda: scrape(port).value("agentpods_redis_up") == 1, SECONDS)
    assert not parts()
    assert "RedisDown" not in watched.fires()


def test_database_pool_exhausted(watched: WatchedPlatform, web: Web, owner: User) -> None:
    changes = {"DATABASE_URL": database_url(), "DATABASE_POOL_SIZE": "4", "METRICS_PORT": str(port := free_port())}
    visitors = Visitors(web(changes), owner)
    watched.process("web", port)
    with blocked("agents_agent") as forgotten, visitors.come(12) as statuses:
        says("DatabasePoolExhausted", "`agentpods_database_pool_idle` and `agentpods_database_pool_waiting`")
        found = scrape_until(port, lambda one: one.value("agentpods_database_pool_waiting"))
        assert found.value("agentpods_database_pool_idle") == 0
        assert blocking() == forgotten
        scrape_until(port, lambda one: one.value(TIMEOUTS))
        end(forgotten)
    assert set(statuses) <= {200, 500, 503}
    assert {500, 503} & set(statuses)
    assert "DatabasePoolExhausted" in watched.fires()
    with visitors.come(12) as statuses:
        pass
    assert set(statuses) == {200}
    assert "DatabasePoolExhausted" not in watched.fires()
