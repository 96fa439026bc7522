"""Many backups wait for a place: it costs no more to give a place than with few, and the oldest one is next."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from agents.backups import taking
from agents.backups.models import Backup, Kind, Stage
from agents.models import Agent

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

Crowd = Callable[[int, list[User]], list[str]]
LONG_AGO = timedelta(hours=3)
MANY = 1_000


@pytest.fixture
def crowd(running: Agent, settings: Any, tmp_path: Any) -> Crowd:
    """Make agents, in turn for each account, whose backups have waited for hours. Gives their ids, oldest first."""
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    known = {name: value for name, value in vars(running).items() if name != "user_id" and not name.startswith("_")}

    def make(count: int, accounts: list[User]) -> list[str]:
        first = Agent.objects.count()
        agents = [
            Agent(
                **{**known, "id": f"agt_{number:024}", "slug": f"s{number}", "suffix": f"x{number}"},
                user=accounts[number % len(accounts)],
            )
            for number in range(first, first + count)
        ]
        backups = [
            Backup(
                agent=agent,
                name="1",
                kind=Kind.NIGHTLY,
                namespace="x",
                generation=1,
                actor="x",
                asked_at=timezone.now() - LONG_AGO + number * timedelta(milliseconds=1),
            )
            for number, agent in enumerate(agents)
        ]
        Agent.objects.bulk_create(agents, batch_size=500)
        Backup.objects.bulk_create(backups, batch_size=500)
        with connection.cursor() as cursor:
            cursor.execute("analyze agents_agent, agents_backup")
        return [one.pk for one in backups]

    return make


def accounts(count: int) -> list[User]:
    return [User.objects.create_user(f"{number}@example.com") for number in range(count)]


def begun() -> set[str]:
    return set(Backup.objects.filter(stage=Stage.RUNNING).values_list("pk", flat=True))


def statements(call: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        call()
    return [one["sql"] for one in asked]


def test_free_places_go_to_the_oldest_at_one_look(crowd: Crowd) -> None:
    waiting = crowd(50, accounts(20))
    taking.take_due(timezone.now() - timedelta(hours=1))  # no step of a backup is due at that time
    assert begun() == set(waiting[: taking.AT_ONCE])


def test_an_account_whose_backups_are_the_oldest_has_two_places_of_them(crowd: Crowd) -> None:
    one, *others = accounts(7)
    mine, theirs = crowd(30, [one]), crowd(6, others)
    taking.take_due(timezone.now() - timedelta(hours=1))
    assert begun() == {*mine[:2], *theirs}


def test_those_that_wait_are_not_looked_at(crowd: Crowd) -> None:
    crowd(60, accounts(30))
    taking.take_due(timezone.now() - timedelta(hours=1))
    assert not Backup.objects.filter(stage=Stage.WANTED, look_at__isnull=False).exists()
    assert Backup.objects.due(timezone.now()).count() == taking.AT_ONCE


@pytest.mark.sampled
def test_asking_and_looking_cost_the_same_however_many_wait(crowd: Crowd) -> None:
    owners = accounts(40)
    crowd(40, owners)
    early = timezone.now() - timedelta(hours=1)
    few = statements(lambda: taking.take_due(early)), statements(lambda: taking.take_due(early))
    Backup.objects.filter(stage=Stage.RUNNING).update(stage=Stage.FAILED)
    crowd(MANY, owners)
    many = statements(lambda: taking.take_due(early)), statements(lambda: taking.take_due(early))
    last = Backup.objects.filter(stage=Stage.WANTED).last()
    assert last is not None
    assert [len(one) for one in many] == [len(one) for one in few]
    assert len(statements(lambda: taking.step(last.pk, now=early))) <= len(few[1])


@pytest.mark.sampled
def test_the_oldest_that_waits_is_found_by_an_index(crowd: Crowd) -> None:
    """If the query plan read more rows when more backups wait, this test would fail."""
    crowd(MANY, accounts(40))
    asked = statements(lambda: taking.take_due(timezone.now() - timedelta(hours=1)))
    read = [sql for sql in asked if sql.startswith("SELECT") and "agents_backup" in sql]
    assert len(read) > taking.AT_ONCE
    for sql in read:
        with connection.cursor() as cursor:
            cursor.execute(f"explain (analyze, format json) {sql}")
            (plan,) = json.loads(json.dumps(cursor.fetchone()[0]))
        assert rows_read(plan["Plan"]) < MANY / 5, sql


def rows_read(plan: dict[str, Any]) -> int:
    """The most rows that one node of the plan reads, with the rows that it filters out."""
    below = [rows_read(one) for one in plan.get("Plans", [])]
    thrown = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
    return max([int((plan["Actual Rows"] + thrown) * plan["Actual Loops"]), *below])
