"""PostgreSQL and Redis are really taken away: the alert fires, its runbook is followed, and the alert ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from accounts.models import User
from tests.deploy.alerts.breaking import Visitors, blocked, blocking, end
from tests.deploy.alerts.conftest import WatchedPlatform
from tests.deploy.alerts.judging import says
from tests.patience import wait_until
from tests.ports import free_port
from tests.scraping import scrape, scrape_until
from tests.status.conftest import Web
from tests.stores import StoreServers
from tests.workers import Workers, database_url

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.django_db(transaction=True)]

SECONDS = 60
TIMEOUTS = "agentpods_database_pool_timeouts_total"


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
