"""PostgreSQL restarts and Redis is away while many people pay: providers retry, and each payment counts once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from tests.billing.replaying.conftest import providers
from tests.billing.replaying.scenes import (
    Make,
    ProviderWorld,
    crypto_late,
    crypto_paid,
    gumroad_bought,
    lemon_bought,
    sound,
    stars_paid,
    stars_twice,
)
from tests.billing.replaying.stage import ProcessEnd, WorkProcess
from tests.stores import THROWAWAY, StoreServers

pytestmark = pytest.mark.slow

MAKES: list[Make] = [gumroad_bought, lemon_bought, crypto_paid, crypto_late, stars_paid, stars_twice]
EACH, PROCESSES = 4, 4
LASTS = 2.0  # seconds without a database


@pytest.fixture
def stores(transactional_db: None) -> Iterator[StoreServers]:
    """Servers for this test alone, which keep committed data. Django in this process uses them too."""
    own = StoreServers(THROWAWAY | {"synchronous_commit": "on"})
    own.embedded.update({"DATABASE_URL", "REDIS_URL"})
    own.start()
    own.create_database()
    at = connection.settings_dict
    before = at["HOST"], at["NAME"]
    _point(str(own.data), "agentpods")
    try:
        call_command("migrate", verbosity=0)
        yield own
    finally:
        _point(*before)
        own.stop()


def _point(host: str, name: str) -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # of Django's backend for PostgreSQL
    connection.settings_dict["HOST"], connection.settings_dict["NAME"] = host, name


class Outages:
    """Stops and starts servers, each time after a number of payments in the ledger."""

    def __init__(self, stores: StoreServers) -> None:
        self.stores, self.done = stores, list[str]()
        self._database, self._redis = stores.processes

    def strike(self) -> None:
        """Run all steps, or stop when everybody has paid."""
        steps = {3: self.redis_goes, 6: self.fast, 10: self.at_once, 14: self.redis_comes, 17: self.fast}
        for payments, step in steps.items():
            self._wait_for(payments)
            step()

    def _wait_for(self, payments: int) -> None:
        for _ in range(6000):
            with psycopg.connect(self.stores.database_url, autocommit=True) as database:
                row = database.execute("select count(*) from billing_payment").fetchone()
            if row is not None and row[0] >= payments:
                return
            time.sleep(0.01)

    def redis_goes(self) -> None:
        self._redis.kill()
        self._redis.wait()
        self.done.append("redis gone")

    def redis_comes(self) -> None:
        self.stores.start_redis()
        self.done.append("redis back")

    def fast(self) -> None:
        self._restart(signal.SIGINT)

    def at_once(self) -> None:
        """Stop PostgreSQL as a machine reset would: it replays its log at the next start."""
        self._restart(signal.SIGQUIT)

    def _restart(self, how: signal.Signals) -> None:
        self._database.send_signal(how)
        self._database.wait()
        time.sleep(LASTS)
        self._database = self.stores.start_database()
        self.done.append(f"postgres {how.name}")


def test_a_batch_of_payments_survives_restarts_of_postgres_and_the_loss_of_redis(
    stores: StoreServers, chain_world: ProviderWorld
) -> None:
    scenes = [make(chain_world) for _ in range(EACH) for make in MAKES]
    told = [one for scene in scenes for one in scene.told]
    ends: list[ProcessEnd] = []
    environment = {"DATABASE_URL": stores.database_url, "REDIS_URL": stores.redis_url}
    with WorkProcess(environment) as stage:
        how: dict[str, Any] = {"settings": providers(), "now": scenes[0].now}
        batch = threading.Thread(
            target=lambda: ends.extend(stage.run(told, processes=PROCESSES, times=2, seed=1, patient=True, **how))
        )
        batch.start()
        outages = Outages(stores)
        outages.strike()
        batch.join()
        assert len(outages.done) == 5
        assert {answer for end in ends for answer in end.answers} <= {0, 200}
        for scene in scenes:
            (end,) = stage.run(scene.again[0], settings=providers(), now=scene.later)
            assert set(end.answers) <= {0, 200}
    connection.close()  # the restart ended this connection
    for scene in scenes:
        scene.check()
    sound(max(scene.later for scene in scenes))
