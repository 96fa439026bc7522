"""`GET /agents/{id}/logs`: the log lines of the agent's pods, for its owner, while the pods live and afterwards."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from agents import tasks
from agents.models import Agent, KeptLog, Reason
from agents.running import lifecycle
from agents.watching import log_following, logs
from tests.agents.conftest import MakeAgent, settle
from tests.agents.pod.bridge.process import eventually
from tests.agents.views.conftest import GatewayOf
from tests.doubles.bridge import BridgeDouble, line

NUMBERS = [f"line {number}" for number in range(12)]


def ask(client: APIClient, agent: Agent, **asked: Any) -> Any:
    return client.get(f"/agents/{agent.pk}/logs", asked)


def texts(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [entry["text"] for entry in answer.json()["logs"] if entry["source"] == "engine"]


@pytest.fixture
def talking(running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble, client: APIClient) -> Agent:
    """An agent whose engine has written twelve lines."""
    bridge.said = [line(text) for text in NUMBERS]
    gateway_of(running)
    eventually(lambda: texts(ask(client, running)) == NUMBERS, what="the lines")
    return running


def test_the_newest_lines_come_in_their_order_with_time_source_and_level(client: APIClient, talking: Agent) -> None:
    answer = ask(client, talking, limit=3)
    body = answer.json()
    assert set(body) == {"logs", "cursor", "live", "gap"}
    assert [set(entry) for entry in body["logs"]] == [{"time", "source", "level", "text"}] * 3
    assert [entry["text"] for entry in body["logs"]] == NUMBERS[-3:]
    assert body["logs"][0]["time"].endswith("Z")
    assert (body["live"], body["gap"]) == (True, False)
    assert "Link" not in answer.headers


def test_page_after_page_nothing_is_missed_or_repeated(client: APIClient, talking: Agent, bridge: BridgeDouble) -> None:
    answer = ask(client, talking, after=logs.OLDEST, limit=5, source="engine")
    found = texts(answer)
    while "Link" in answer.headers:
        assert answer.headers["Link"].endswith('>; rel="next"')
        answer = client.get(answer.headers["Link"].partition("<")[2].partition(">")[0])
        found += texts(answer)
    assert found == NUMBERS
    cursor = answer.json()["cursor"]
    assert texts(ask(client, talking, after=cursor)) == []
    bridge.said.append(line("news"))
    assert eventually(lambda: texts(ask(client, talking, after=cursor)), what="news") == ["news"]


def test_odd_questions_are_refused_by_their_field(
    client: APIClient, other: APIClient, talking: Agent, make_agent: MakeAgent
) -> None:
    assert ask(client, talking, after="", limit="", source="").status_code == 200
    junk = base64.urlsafe_b64encode(b"../../x.y.z").decode()
    wrong: list[tuple[str, Any]] = [
        ("limit", 0),
        ("limit", 1001),
        ("limit", "many"),
        ("source", "owner"),
        ("after", "nonsense"),
        ("after", junk),
        ("after", "\u00e9"),
        ("after", "A" * 5000),
    ]
    for field, value in wrong:
        answer = ask(client, talking, **{field: value})
        assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, field), value
    cursor = ask(client, talking).json()["cursor"]
    foreign = ask(client, make_agent(), after=cursor)
    assert (foreign.status_code, "another agent" in foreign.json()["message"]) == (400, True)
    assert ask(other, talking).status_code == 404
    assert other.get(f"/agents/{talking.pk}/logs", HTTP_ACCEPT="text/event-stream").status_code == 404


def test_a_cursor_of_the_future_or_of_a_forgotten_pod_is_answered_and_says_so(
    client: APIClient, talking: Agent
) -> None:
    cursor = logs.cursor_of(talking, ask(client, talking).json()["cursor"])
    future = logs.text_of(talking, logs.Cursor(cursor.life, cursor.offset + 10**9))
    body = ask(client, talking, after=future).json()
    assert (body["logs"], body["gap"], body["cursor"]) == ([], True, logs.text_of(talking, cursor))
    forgotten = ask(client, talking, after=logs.text_of(talking, logs.Cursor("00000000000000000", 7)))
    assert (texts(forgotten), forgotten.json()["gap"]) == (NUMBERS, True)


def test_an_agent_without_a_pod_has_no_lines_yet(client: APIClient, make_agent: MakeAgent) -> None:
    assert ask(client, make_agent()).json() == {"logs": [], "cursor": None, "live": False, "gap": False}


def test_the_last_lines_of_a_stopped_pod_are_there_and_say_that_it_is_gone(
    client: APIClient, talking: Agent, gateway_of: GatewayOf
) -> None:
    cursor = ask(client, talking, after=logs.OLDEST, limit=4, source="engine").json()["cursor"]
    lifecycle.pause(talking, reason=Reason.OWNER, actor="user:x")
    assert settle(talking).status == "stopped"
    gateway_of.stop_all()
    answer = ask(client, talking)
    assert (texts(answer), answer.json()["live"]) == (NUMBERS, False)
    rest = ask(client, talking, after=cursor, source="engine")
    assert (texts(rest), rest.json()["gap"]) == (NUMBERS[4:], False)


def test_the_log_goes_on_from_the_pod_that_is_gone_to_the_next(
    client: APIClient, talking: Agent, gateway_of: GatewayOf, bridge: BridgeDouble, tmp_path: Any
) -> None:
    cursor = ask(client, talking, after=logs.OLDEST, limit=4, source="engine").json()["cursor"]
    lifecycle.rebuild(talking, actor="user:x")
    settled = settle(talking)
    gateway_of.stop_all()
    bridge.said, bridge.life = [line("of the next pod")], "f" * 16
    (tmp_path / "next").mkdir()
    gateway_of(settled, run_dir=str(tmp_path / "next"))
    eventually(lambda: texts(ask(client, talking))[-1] == "of the next pod", what="the next pod's line")
    assert texts(ask(client, talking)) == [*NUMBERS, "of the next pod"]
    found: list[str] = []
    answer = ask(client, talking, after=cursor, source="engine", limit=3)
    while True:
        assert not answer.json()["gap"]
        found += texts(answer)
        if "Link" not in answer.headers:
            break
        answer = ask(client, talking, after=answer.json()["cursor"], source="engine", limit=3)
    assert found == [*NUMBERS[4:], "of the next pod"]


def test_a_deleted_agents_log_is_forgotten(talking: Agent) -> None:
    lifecycle.pause(talking, reason=Reason.OWNER, actor="user:x")
    settle(talking)
    assert KeptLog.objects.filter(agent=talking).exists()
    lifecycle.delete(talking, actor="user:x")
    settle(talking)
    assert not KeptLog.objects.filter(agent=talking).exists()


def events(answer: Any) -> Iterator[tuple[str, Any, str]]:
    """Name, data and id of each event in the stream."""
    for piece in answer.streaming_content:
        for block in piece.decode().split("\n\n"):
            fields = dict(one.split(": ", 1) for one in block.splitlines() if ": " in one and not one.startswith(":"))
            if "event" in fields:
                yield fields["event"], json.loads(fields["data"]), fields.get("id", "")


@pytest.mark.django_db(transaction=True)
def test_a_follower_hears_what_comes_and_the_end(
    client: APIClient, talking: Agent, bridge: BridgeDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_following, "LOOK_SECONDS", 0)
    monkeypatch.setattr(log_following, "BEAT_SECONDS", 1)
    cursor = ask(client, talking).json()["cursor"]
    answer = client.get(f"/agents/{talking.pk}/logs", HTTP_ACCEPT="text/event-stream", HTTP_LAST_EVENT_ID=cursor)
    assert answer["Content-Type"] == "text/event-stream"
    heard = events(answer)
    assert next(heard)[:2] == ("state", {"status": "running", "live": True})
    bridge.said.append(line("news"))
    name, data, cursor = next(heard)
    assert (name, data["text"]) == ("log", "news")
    assert ask(client, talking, after=cursor).json()["logs"] == []
    lifecycle.delete(talking, actor="user:x")
    settle(talking)
    assert [name for name, _, _ in heard][-1] == "end"
    answer.close()


@pytest.mark.django_db(transaction=True)
def test_a_follower_hears_no_more_once_its_session_has_ended(
    client: APIClient, owner: User, talking: Agent, bridge: BridgeDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_following, "LOOK_SECONDS", 0)
    monkeypatch.setattr(log_following, "BEAT_SECONDS", 1)
    answer = client.get(f"/agents/{talking.pk}/logs", HTTP_ACCEPT="text/event-stream")
    heard = events(answer)
    assert next(heard)[0] == "state"
    owner.sessions.all().delete()
    bridge.said.append(line("for the owner alone"))
    *_, (name, data, _) = heard
    assert (name, data["message"]) == ("end", "this credential is not valid any more")
    answer.close()


@pytest.mark.django_db(transaction=True)
def test_what_a_pod_would_take_along_is_kept_now_and_then(
    client: APIClient, talking: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    """A pod in a cluster may disappear without a message."""
    tasks.keep_logs()
    bridge.said.append(line("said after that"))
    eventually(lambda: texts(ask(client, talking))[-1] == "said after that", what="the line")
    gateway_of.stop_all()
    answer = ask(client, talking)
    assert (texts(answer), answer.json()["live"]) == (NUMBERS, False)


@pytest.mark.django_db(transaction=True)
def test_an_account_follows_so_many_logs_at_once(client: APIClient, talking: Agent, settings: Settings) -> None:
    settings.LOG_FOLLOWERS_PER_ACCOUNT = 1
    first = client.get(f"/agents/{talking.pk}/logs", HTTP_ACCEPT="text/event-stream")
    refused = client.get(f"/agents/{talking.pk}/logs", HTTP_ACCEPT="text/event-stream")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "10")
    first.close()
    again = client.get(f"/agents/{talking.pk}/logs", HTTP_ACCEPT="text/event-stream")
    assert again.status_code == 200
    again.close()
