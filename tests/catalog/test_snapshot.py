"""The catalog in memory: one cheap check a second, and a change reaches every process within that second."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import NoReturn

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from catalog import loading, snapshot, version
from catalog.models import Article, Persona, Tier
from tests.patience import wait_until
from tests.webs import Web

pytestmark = pytest.mark.unmeasured


@pytest.mark.usefixtures("catalog")
def test_a_second_without_change_costs_one_small_query(
    django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)  # on a busy machine a hundred calls may take a second
    first = snapshot.current()
    with django_assert_num_queries(0):
        for _ in range(100):
            assert snapshot.current() is first
    monkeypatch.setattr(snapshot._holder, "_checked_at", time.monotonic() - 600)
    with django_assert_num_queries(1) as queries:
        for _ in range(100):
            assert snapshot.current() is first
    assert "catalog_catalogversion" in queries[0]["sql"]


@pytest.mark.usefixtures("catalog")
def test_a_change_is_seen_after_a_second_and_read_once() -> None:
    before = snapshot.current()
    Tier.objects.get(id="tiny").save()
    time.sleep(snapshot.CHECK_SECONDS)
    after = snapshot.current()
    assert after is not before
    assert snapshot.current() is after


@pytest.mark.usefixtures("catalog")
def test_rows_no_longer_offered_stay_in_memory_for_the_agents_that_have_them() -> None:
    Tier.objects.filter(id="large").update(hidden=True)
    snapshot.forget()
    now = snapshot.current()
    assert "large" in now.tiers
    assert "large" not in snapshot.offered(now.tiers)


@pytest.mark.django_db
def test_an_empty_database_is_an_empty_catalog() -> None:
    now = snapshot.current()
    assert now.version == ""
    assert (now.tiers, now.personas) == ({}, {})


@pytest.mark.usefixtures("catalog")
def test_a_rolled_back_change_is_forgotten() -> None:
    before = version.CatalogVersion.objects.get().token
    with transaction.atomic():
        Tier.objects.get(id="tiny").save()
        rolled_back = version.CatalogVersion.objects.get().token
        transaction.set_rollback(True)
    assert version.CatalogVersion.objects.get().token == before
    Tier.objects.get(id="tiny").save()
    assert version.CatalogVersion.objects.get().token not in {before, rolled_back}


@pytest.mark.usefixtures("catalog")
def test_a_catalog_that_changes_while_it_is_read_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read_rows = snapshot._read_rows
    reads: list[str] = []

    def while_somebody_writes(at: str, before: snapshot.Snapshot | None) -> snapshot.Snapshot:
        rows = read_rows(at, before)
        if len(reads) < 1:
            version.bump()
        reads.append(at)
        return rows

    monkeypatch.setattr(snapshot, "_read_rows", while_somebody_writes)
    snapshot.forget()
    assert snapshot.current().version == version.current()
    assert len(reads) == 2


@pytest.mark.django_db(transaction=True)
def test_while_the_database_is_away_the_last_catalog_is_served() -> None:
    loading.load()
    before = snapshot.current()
    time.sleep(snapshot.CHECK_SECONDS)
    with connection.execute_wrapper(_refuse):
        assert snapshot.current() is before
        assert snapshot.current() is before


@pytest.mark.django_db(transaction=True)
def test_without_any_catalog_a_database_that_is_away_is_an_error() -> None:
    with connection.execute_wrapper(_refuse), pytest.raises(OperationalError):
        snapshot.current()


@pytest.mark.django_db(transaction=True)
def test_threads_that_come_together_read_the_catalog_once() -> None:
    loading.load()
    found: list[snapshot.Snapshot] = []

    def look() -> None:
        try:
            found.append(snapshot.current())
        finally:
            connection.close()

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(one) for one in found}) == 1


def test_two_web_processes_see_a_change_within_a_second(webs: list[Web]) -> None:
    for price in range(6, 9):
        assert all(web.get("/tiers").ok for web in webs)  # both have just checked the catalog
        tier = Tier.objects.get(id="tiny")
        tier.monthly_usd = Decimal(price)
        tier.save()
        wait_until(lambda: _prices(webs) == {price}, seconds=1)  # noqa: B023 # called before the next price
        assert len({web.get("/tiers").headers["ETag"] for web in webs}) == 1


def _prices(webs: list[Web]) -> set[int]:
    return {web.get("/tiers").json()["tiers"][0]["monthlyUsd"] for web in webs}


@pytest.mark.sampled
def test_a_published_persona_is_there_in_both_and_gone_when_hidden(webs: list[Web]) -> None:
    public = len(webs[0].get("/personas").json()["personas"])
    Persona.objects.get(id="exam-coach").save()
    persona = Persona.objects.get(id="exam-coach")
    persona.hidden = True
    persona.save()
    wait_until(lambda: {web.get("/personas/exam-coach").status_code for web in webs} == {404}, seconds=1)
    assert [len(web.get("/personas").json()["personas"]) for web in webs] == [public - 1] * 2


def test_over_the_wire_head_has_no_body_and_a_304_neither(webs: list[Web]) -> None:
    web = webs[0]
    full = web.get("/personas", **{"Accept-Encoding": "gzip"})
    assert full.headers["Content-Encoding"] == "gzip"
    head = web.head("/personas")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["ETag"] == full.headers["ETag"]
    fresh = web.get("/personas", **{"If-None-Match": full.headers["ETag"]})
    assert (fresh.status_code, fresh.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/personas/night-owl", "/en/p/night-owl", "/p/night-owl/first", "/sitemap.xml", "/sitemaps/1.xml"]
)
def test_a_change_between_two_looks_of_a_request_is_seen_by_the_next(
    api: APIClient, community: Persona, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    article = Article.objects.create(persona=community, slug="first", title="First", body="x", status="published")
    before = api.get(path).content
    current = snapshot.current

    def then_changed() -> snapshot.Snapshot:
        now = current()
        monkeypatch.setattr(snapshot, "current", current)
        article.title, article.updated_at = "Second", timezone.now()
        article.save()
        Persona.objects.filter(id=community.id).update(name="Barn Owl", updated_at=datetime(2027, 1, 1, tzinfo=UTC))
        snapshot.look()
        return now

    monkeypatch.setattr(snapshot, "current", then_changed)
    api.get(path)
    kept = api.get(path).content
    snapshot.forget()
    assert kept == api.get(path).content != before


class CountedLock:
    """A lock that counts how often it was asked for."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked = 0

    def acquire(self, timeout: float = -1) -> bool:
        self.asked += 1
        return self.lock.acquire(timeout=timeout)

    def release(self) -> None:
        self.lock.release()


@pytest.mark.usefixtures("catalog")
def test_while_a_look_hangs_an_answer_waits_for_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot.current()
    lock = CountedLock()
    monkeypatch.setattr(snapshot, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)
    monkeypatch.setattr(snapshot._holder, "_checked_at", time.monotonic() - 601)
    monkeypatch.setattr(snapshot._holder, "_lock", lock)
    lock.lock.acquire()  # held like this by a thread whose check gets no answer from the database
    assert [snapshot.current() for _ in range(100)] == [before] * 100
    assert lock.asked == 1


def _refuse(*_: object) -> NoReturn:
    raise OperationalError("the server is away")
