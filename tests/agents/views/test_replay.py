"""`/agents/{id}/replay`: reading, switching and deleting what an agent did."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.models import User
from agents import personal
from agents.models import Agent, Transition
from agents.replay import listing
from agents.replay.models import ReplayEntry
from tests.agents.replay.conftest import entry, hand_over, stored


@pytest.fixture
def agent(running: Agent) -> Agent:
    return running


def path(agent: Agent, **query: Any) -> str:
    return f"/agents/{agent.pk}/replay" + (f"?{urlencode(query)}" if query else "")


def kinds(client: APIClient, url: str) -> list[str]:
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return [row["kind"] for row in answer.json()["replay"]]


def test_an_entry_has_all_that_is_known_and_null_for_the_rest(client: APIClient, agent: Agent) -> None:
    hand_over(
        agent, entry(session="ses_1", ms=84, asked="Which owls?", answered="All of them.", model="openai:gpt-6-luna")
    )
    body = client.get(path(agent)).json()
    assert body["recording"] is True
    (row,) = body["replay"]
    assert row.pop("id").startswith("rpl_")
    assert row.pop("at").endswith("Z")
    assert row == {
        "kind": "model.call",
        "door": "chat",
        "session": "ses_1",
        "turn": None,
        "model": "openai:gpt-6-luna",
        "inputTokens": 10,
        "cachedTokens": 0,
        "outputTokens": 5,
        "estimated": False,
        "usd": 0.0000035,
        "durationMs": 84,
        "hop": None,
        "cause": None,
        "error": None,
        "tool": None,
        "asked": "Which owls?",
        "answered": "All of them.",
        "arguments": None,
        "count": None,
    }


def test_pages_go_on_where_the_one_before_ended(client: APIClient, agent: Agent) -> None:
    stored(agent, 7, session="s")
    stored(agent, 3, kind="turn.ended")
    seen, url = [], path(agent, limit=3, session="s", kind="turn.began", fields="id,at")
    while url:
        answer = client.get(url)
        seen += answer.json()["replay"]
        url = answer.headers.get("Link", "").removeprefix("<").partition(">")[0]
        url = url[url.find("/agents") :] if url else ""
    assert len({row["id"] for row in seen}) == 7
    assert [row["at"] for row in seen] == sorted((row["at"] for row in seen), reverse=True)
    assert {tuple(row) for row in seen} == {("id", "at")}


def test_it_is_narrowed_by_time_conversation_and_kind(client: APIClient, agent: Agent) -> None:
    stored(agent, 3, every=timedelta(days=1), session="a")
    stored(agent, 1, kind="turn.failed", session="b")
    now = timezone.now()
    assert len(kinds(client, path(agent))) == 4
    assert len(kinds(client, path(agent, **{"from": (now - timedelta(hours=30)).isoformat()}))) == 3
    assert len(kinds(client, path(agent, to=(now - timedelta(hours=30)).isoformat()))) == 1
    assert kinds(client, path(agent, session="b")) == ["turn.failed"]
    assert kinds(client, path(agent, kind="turn.failed")) == ["turn.failed"]
    assert kinds(client, path(agent, session="' OR 1=1")) == []


def test_what_is_older_than_thirty_days_is_not_shown(client: APIClient, agent: Agent) -> None:
    stored(agent, 40, every=timedelta(days=1))
    assert len(kinds(client, path(agent))) == 30


@pytest.mark.parametrize(
    "query",
    [
        {"kind": "agent.deleted"},
        {"limit": 0},
        {"limit": 1001},
        {"cursor": "x"},
        {"from": "yesterday"},
        {"to": "2026-13-01T00:00:00Z"},
        {"fields": "texts"},
        {"session": "x" * 129},
        {"session": "a\0b"},
    ],
)
def test_a_wrong_query_is_refused_by_its_name(client: APIClient, agent: Agent, query: dict[str, Any]) -> None:
    answer = client.get(path(agent, **query))
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(next(iter(query)))


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z"])
def test_the_ends_of_time_are_no_fault(client: APIClient, agent: Agent, moment: str) -> None:
    stored(agent, 3)
    for query in ({"from": moment}, {"to": moment}, {"from": moment, "to": moment, "limit": 1}):
        assert client.get(path(agent, **query)).status_code in {200, 400}


def test_other_accounts_find_no_such_agent(other: APIClient, agent: Agent) -> None:
    stored(agent, 1)
    for answer in (
        other.get(path(agent)),
        other.put(path(agent), {"recording": False}, format="json"),
        other.delete(path(agent)),
    ):
        assert answer.status_code == 404
        assert answer.json()["message"].startswith("no such agent")
    assert ReplayEntry.objects.count() == 1


def test_a_hundred_thousand_rows_take_the_same_few_queries(client: APIClient, agent: Agent) -> None:
    stored(agent, 3, session="a")
    few = queries(client, path(agent, limit=100))
    stored(agent, 100_000, every=timedelta(seconds=20), session="b")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agents_replayentry")
    began = time.monotonic()
    assert queries(client, path(agent, limit=100)) == few
    assert queries(client, path(agent, limit=100, session="a")) == few
    answer = client.get(path(agent, limit=1000))
    assert len(answer.json()["replay"]) == 1000
    assert time.monotonic() - began < 20
    assert queries(client, path(agent, limit=100, kind="turn.failed")) == few
    shown = listing.page(agent, session="a", limit=10)
    assert len(shown.rows) == 3
    assert client.delete(path(agent)).status_code == 204
    assert not ReplayEntry.objects.exists()


def queries(client: APIClient, url: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        assert client.get(url).status_code == 200
    return len(seen)


def test_the_owner_switches_it_off_and_on(client: APIClient, agent: Agent, owner: User) -> None:
    hand_over(agent, entry())
    assert client.put(path(agent), {"recording": False}, format="json").json() == {"recording": False}
    hand_over(agent, entry(), number=2)
    body = client.get(path(agent)).json()
    assert (body["recording"], len(body["replay"])) == (False, 1)
    assert client.put(path(agent), {"recording": True}, format="json").json() == {"recording": True}
    hand_over(agent, entry(), number=3)
    assert len(client.get(path(agent)).json()["replay"]) == 2
    notes = Transition.objects.filter(agent=agent, note__contains="replay").order_by("pk")
    assert [(row.note, row.actor) for row in notes] == [
        ("the replay is not recorded any more", f"user:{owner.pk}"),
        ("the replay is recorded", f"user:{owner.pk}"),
    ]


def test_the_owner_reads_in_the_events_which_key_switched_or_deleted_it(
    client: APIClient, agent: Agent, owner: User
) -> None:
    key, secret = keys.create(owner, name="Deputy", now=timezone.now())
    deputy = APIClient(headers={"Authorization": f"Bearer {secret}"})
    deputy.put(path(agent), {"recording": False}, format="json")
    deputy.put(path(agent), {"recording": False}, format="json")  # changes nothing
    deputy.delete(path(agent, session="ses_1"))
    client.delete(path(agent))
    told = [event for event in client.get("/events").json()["events"] if event["type"].startswith("replay.")]
    shown = [(one["type"], one["data"], one["agent"]["id"]) for one in sorted(told, key=lambda one: one["createdAt"])]
    assert shown == [
        ("replay.switched", {"recording": False, "by": f"key:{key.pk}"}, agent.pk),
        ("replay.deleted", {"session": "ses_1", "by": f"key:{key.pk}"}, agent.pk),
        ("replay.deleted", {"session": None, "by": f"user:{owner.pk}"}, agent.pk),
    ]


@pytest.mark.parametrize("body", [{}, {"recording": "no"}, {"recording": None}, {"recording": 0}])
def test_the_switch_takes_true_or_false(client: APIClient, agent: Agent, body: dict[str, Any]) -> None:
    answer = client.put(path(agent), body, format="json")
    assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, "recording")


def test_one_conversation_or_all_is_deleted(client: APIClient, agent: Agent) -> None:
    stored(agent, 2, session="a")
    stored(agent, 3, session="b")
    assert [client.delete(path(agent, session="a")).status_code for _ in range(2)] == [204, 204]
    assert set(ReplayEntry.objects.values_list("session", flat=True)) == {"b"}
    assert client.delete(path(agent)).content == b""
    assert not ReplayEntry.objects.exists()
    notes = (
        Transition.objects.filter(agent=agent, note__contains="replay").values_list("note", flat=True).order_by("pk")
    )
    assert list(notes) == ["the replay of a conversation was deleted"] * 2 + ["the replay was deleted"]


def test_an_empty_conversation_is_no_request_to_delete_all(client: APIClient, agent: Agent) -> None:
    stored(agent, 2)
    assert client.delete(f"{path(agent)}?session=").status_code == 400
    assert ReplayEntry.objects.count() == 2


def test_a_dry_run_deletes_nothing(client: APIClient, agent: Agent) -> None:
    stored(agent, 2)
    answer = client.delete(path(agent, dryRun="true"))
    assert (answer.status_code, answer.headers["Dry-Run"]) == (204, "true")
    assert ReplayEntry.objects.count() == 2
    hand_over(agent, entry())
    assert ReplayEntry.objects.count() == 3


def test_a_person_takes_it_along_and_it_goes_with_the_account(owner: User, agent: Agent) -> None:
    hand_over(agent, entry(asked="Which owls?", session="s"))
    rows = dict(personal.exported(owner))["replay"]
    (row,) = rows
    assert (row["agent_id"], row["session"], row["asked"], row["input"]) == (agent.pk, "s", "Which owls?", 10)
    personal.erase(owner)
    assert not ReplayEntry.objects.exists()
