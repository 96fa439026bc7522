"""The samples of the platform's health: one for each half minute, also of the time without a database."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection
from rest_framework.test import APIClient

from config.metrics.requests import REFUSED
from status.models import HealthSample
from status.watch import samples, watcher
from status.watch.samples import Answered
from status.watch.watcher import Watcher
from tests.status.conftest import fresh_look

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def monotonic(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The watcher's own clock: change its only element."""
    at = [1_000.0]
    monkeypatch.setattr("status.watch.watcher.time.monotonic", lambda: at[0])
    return at


def test_two_web_processes_store_one_sample_and_add_their_requests(api: APIClient) -> None:
    fresh_look()
    one, other = Watcher(), Watcher()
    api.get("/tiers")
    REFUSED.labels("503").inc()
    one.look()
    one.look()  # on a busy machine the first check took too long, and its sample waited for this
    other.look()
    sample = HealthSample.objects.latest("at")
    assert (sample.requests, sample.failed) == (4, 2)  # both count those of this one process
    assert samples.store(["cache"], Answered(5, 2)) is None
    sample.refresh_from_db()
    assert (sample.requests, sample.failed, "cache" in sample.down) == (9, 4, False)


def test_what_was_seen_while_the_database_was_down_is_stored_afterwards(
    monotonic: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise OperationalError("the server is away")

    looking = Watcher()
    with connection.execute_wrapper(away):
        for _ in range(36):  # six minutes, three looks in each half minute
            looking.look()
            monotonic[0] += watcher.LOOK_SECONDS
    assert not HealthSample.objects.exists()
    fresh_look()
    looking.look()
    down = [one.down for one in HealthSample.objects.order_by("at")]
    assert len(down) in {12, 13}
    assert down[:12] == [["database"]] * 12
    from status.models import Incident

    assert Incident.objects.get().title == "The database does not answer"


def test_samples_that_wait_are_bounded(monotonic: list[float]) -> None:
    looking = Watcher()
    for _ in range(300):
        looking._keep()
        monotonic[0] += 30
    assert len(looking._waiting) == watcher.MOST_WAITING
