"""An owner limits what model calls may cost in turns that an API key starts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys, letters
from accounts.models import ApiKey, User
from accounts.scopes import Scope
from agents.models import Agent
from agents.spending import key_limits, key_turns, news
from agents.spending.models import KeyUsage
from tests.agents.conftest import MakeAgent, event_types
from tests.agents.spending.conftest import (
    CENT,
    KeyClient,
    MakeKey,
    Serve,
    put,
    spend,
)
from tests.doubles.bridge import BridgeDouble
from tests.doubles.name_server import NameServer

NONE = {"usdPerDay": None, "usdPerMonth": None}
UNSPENT = {"usdToday": 0, "usdThisMonth": 0}


def test_limits_are_set_with_the_key_or_later_and_are_read_again(client: APIClient, owner: User) -> None:
    body = {"name": "a", "scopes": ["operate"], "usdPerDay": 2.5, "usdPerMonth": 25}
    made = client.post("/keys", body, format="json").json()
    assert set(made["key"]) == {"id", "name", "prefix", "createdAt", "lastUsedAt", "revokedAt"}
    path = f"/keys/{made['key']['id']}/limits"
    assert client.get(path).json() == {"limits": {"usdPerDay": 2.5, "usdPerMonth": 25, **UNSPENT}}
    shown = client.get("/keys?fields=usdPerDay,usdPerMonth").json()["keys"]
    assert shown == [{"usdPerDay": 2.5, "usdPerMonth": 25}]
    assert client.put(path, {"usdPerDay": 7}, format="json").json()["limits"] == {**NONE, "usdPerDay": 7, **UNSPENT}
    assert client.put(path, {}, format="json").json()["limits"] == {**NONE, **UNSPENT}


@pytest.mark.parametrize(
    "body", [{"usdPerDay": 0}, {"usdPerMonth": "much"}, {"usdPerDay": 0.001}, {"usdPerMonth": 1e9}, {"usdPerDay": True}]
)
def test_a_wrong_limit_is_refused_by_its_name(client: APIClient, key: KeyClient, body: dict[str, Any]) -> None:
    for answer in (
        put(client, key, **body),
        client.post("/keys", {"name": "a", "scopes": ["operate"], **body}, format="json"),
    ):
        assert (answer.status_code, next(iter(body)) in answer.json()["message"]) == (400, True)
    assert ApiKey.objects.filter(day_usd=None, month_usd=None).count() == 1


def test_a_misspelt_name_lifts_no_limit(client: APIClient, key: KeyClient) -> None:
    put(client, key, usdPerDay=7)
    answer = put(client, key, usdPerday=5)
    assert (answer.status_code, "usdPerDay, usdPerMonth" in answer.json()["message"]) == (400, True)
    assert ApiKey.objects.filter(day_usd=7).exists()


def test_a_key_that_starts_no_turns_has_no_such_limit(client: APIClient, make_key: MakeKey, owner: User) -> None:
    reader = make_key("reader", scopes=[Scope.READ])
    full, _ = keys.create(owner, name="full", now=timezone.now())
    for key_id in (reader.key.pk, full.pk):
        refused = client.put(f"/keys/{key_id}/limits", {"usdPerDay": 1}, format="json")
        assert (refused.status_code, "operate" in refused.json()["message"]) == (400, True)
        assert client.put(f"/keys/{key_id}/limits", {}, format="json").status_code == 200
    assert client.post("/keys", {"name": "a", "usdPerDay": 1}, format="json").status_code == 400
    assert client.post("/keys", {"name": "a", "scopes": ["pay"], "usdPerDay": 1}, format="json").status_code == 400


def test_no_key_changes_limits_or_makes_keys(key: KeyClient, owner: User, make_key: MakeKey) -> None:
    limited = make_key("limited", day_usd=CENT)
    for one in (key, limited, KeyClient(*keys.create(owner, name="full", now=timezone.now()))):
        assert put(one, limited, usdPerDay=100).status_code == 403
        body = {"name": "larger", "scopes": ["operate"], "usdPerDay": 100}
        assert one.post("/keys", body, format="json").status_code == 403
        assert one.post("/keys", {"name": "without", "scopes": ["operate"]}, format="json").status_code == 403
    limited.key.refresh_from_db()
    assert limited.key.day_usd == CENT


def test_a_limited_key_reads_its_own_limits_alone(
    client: APIClient, other: APIClient, key: KeyClient, make_key: MakeKey
) -> None:
    limited = make_key("limited", month_usd=Decimal(3))
    own = f"/keys/{limited.key.pk}/limits"
    assert limited.get(own).json()["limits"]["usdPerMonth"] == 3
    assert [one.get(own).status_code for one in (client, key, other)] == [200, 404, 404]
    assert put(other, limited, usdPerDay=1).status_code == 404
    assert client.put("/keys/key_0/limits", {}, format="json").status_code == 404


def test_a_key_with_nothing_left_starts_no_turn(
    client: APIClient, agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey
) -> None:
    serve(agent)
    limited = make_key("night driver", day_usd=Decimal(1), month_usd=Decimal(2))
    spend(limited, agent, "0.99")
    assert limited.chat(agent).status_code == 200
    spend(limited, agent, "1")
    begun = len(bridge.turns)
    asked = {"model": "any", "messages": [{"role": "user", "content": "hi"}]}
    for refused in (
        limited.chat(agent),
        limited.chat(agent, headers={"Accept": "text/event-stream"}),
        limited.post(f"/agents/{agent.pk}/v1/chat/completions", asked, format="json"),
        limited.post(f"/agents/{agent.pk}/talk-test"),
    ):
        message = refused.json()["message"]
        assert (refused.status_code, refused.json()["error"]) == (503, "INTERNAL")
        assert "model: the limit of your API key 'night driver' of 1.00 USD for a day is reached" in message
        assert f"PUT /keys/{limited.key.pk}/limits" in message
        assert 0 < int(refused.headers["Retry-After"]) <= 86_401
    assert len(bridge.turns) == begun
    assert client.post(f"/agents/{agent.pk}/chat", {"message": "hi"}, format="json").status_code == 200
    put(client, limited, usdPerDay=1.5)
    assert limited.chat(agent).status_code == 200


def test_turns_with_all_agents_count_together_and_deleted_ones_too(
    client: APIClient, agent: Agent, make_agent: MakeAgent, serve: Serve, make_key: MakeKey
) -> None:
    serve(agent)
    limited, second = make_key("limited", month_usd=Decimal(1)), make_agent(name="second")
    spend(limited, second, "0.6")
    spend(limited, agent, "0.3")
    assert limited.chat(agent).status_code == 200
    Agent.objects.filter(pk=second.pk).update(desired="deleted", status="deleted")
    spend(limited, agent, "0.4")
    assert "for a month is reached" in limited.chat(agent).json()["message"]
    assert client.get(f"/keys/{limited.key.pk}/limits").json()["limits"]["usdThisMonth"] == 1


def test_a_day_and_a_month_begin_anew_at_midnight_utc(agent: Agent, make_key: MakeKey) -> None:
    limited = make_key("limited", day_usd=Decimal(1), month_usd=Decimal(10))
    for day, usd in ((28, "1"), (29, "1"), (30, "1")):
        KeyUsage.objects.create(api_key=limited.key, agent=agent, day=f"2026-11-{day}", usd=Decimal(usd))
    with time_machine.travel("2026-11-30T23:59:59Z", tick=False), pytest.raises(key_turns.KeyLimitReached) as reached:
        key_turns.begin(limited.key, agent=agent, now=timezone.now())
    assert reached.value.headers["Retry-After"] == "2"
    with time_machine.travel("2026-12-01T00:00:00Z", tick=False):
        told = key_turns.begin(limited.key, agent=agent, now=timezone.now())
        assert told is not None
        assert told["spent"] == {"day": 0, "month": 0}
    with time_machine.travel("2026-11-27T12:00:00Z", tick=False):
        told = key_turns.begin(limited.key, agent=agent, now=timezone.now())
        assert told is not None
        assert told["spent"] == {"day": 0, "month": 0}  # days to come are not counted before


def test_all_agents_are_told_what_the_keys_have_left(
    agent: Agent, make_agent: MakeAgent, make_key: MakeKey, stranger: User
) -> None:
    """A key for one agent too: the agent may ask the others for it."""
    limited, second, theirs = (
        make_key("limited", day_usd=Decimal(1)),
        make_agent(name="second"),
        make_agent(user=stranger),
    )
    make_key("of the second", agent_id=second.pk, day_usd=Decimal(1))
    spend(limited, second, "0.25")
    told = news.of([agent, second, theirs], now=timezone.now())
    assert told[agent.pk]["keys"] == told[second.pk]["keys"]
    states = {one["name"]: one for one in told[agent.pk]["keys"]["states"]}
    expected = {"limits": {"day": 10**10}, "spent": {"day": 25 * 10**8, "month": 25 * 10**8}}
    assert states["limited"] == {"id": limited.key.pk, "name": "limited", **expected}
    assert set(states) == {"limited", "of the second"}
    assert told[theirs.pk]["keys"] == {"all": True, "states": []}


def test_with_more_keys_than_are_told_a_gateway_forgets_none(
    agent: Agent, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_limits, "TOLD", 1)
    make_key("never used", day_usd=Decimal(1))
    used = make_key("used", day_usd=Decimal(1))
    ApiKey.objects.filter(pk=used.key.pk).update(last_used_at=timezone.now())
    told = news.of([agent], now=timezone.now())[agent.pk]["keys"]
    assert ([one["name"] for one in told["states"]], told["all"]) == (["used"], False)


def test_the_owner_is_told_once_at_eighty_and_once_at_a_hundred_percent(
    client: APIClient, agent: Agent, make_key: MakeKey
) -> None:
    limited = make_key("night driver", day_usd=Decimal(1))
    spend(limited, agent, "0.79")
    assert _subjects() == []
    spend(limited, agent, "0.8")
    spend(limited, agent, "0.9")
    assert _subjects() == ["The API key night driver has nearly reached its limit"]
    spend(limited, agent, "1")
    spend(limited, agent, "1.1")
    assert _subjects()[1:] == ["The API key night driver has reached its limit"]
    assert [one for one in event_types(agent) if one.startswith("limit.")] == ["limit.near", "limit.reached"]
    [event] = [one for one in client.get("/events").json()["events"] if one["type"] == "limit.reached"]
    assert (event["data"]["of"], event["data"]["keyName"]) == ("key", "night driver")


def _subjects() -> list[str]:
    letters.send_due(now=timezone.now())
    return [str(one.subject) for one in mail.outbox if "limit" in one.subject]


def test_a_key_whose_turns_are_limited_opens_no_page(agent: Agent, serve: Serve, make_key: MakeKey) -> None:
    serve(agent)
    limited, free = make_key("limited", day_usd=CENT), make_key("free")
    assert [one.post(f"/agents/{agent.pk}/ticket").status_code for one in (limited, free)] == [403, 200]


def test_a_key_whose_turns_are_limited_does_not_see_what_opens_other_doors(
    client: APIClient, agent: Agent, make_key: MakeKey
) -> None:
    made = client.put(f"/agents/{agent.pk}/a2a", {"enabled": True}, format="json").json()["agent"]
    assert made["a2aToken"]
    limited, free = make_key("limited", month_usd=CENT), make_key("free")
    for one, token in ((limited, None), (free, made["a2aToken"])):
        read = one.get(f"/agents/{agent.pk}")
        listed = one.get("/agents").json()["agents"][0]
        changed = one.patch(
            f"/agents/{agent.pk}", {"name": one.key.name}, format="json", headers={"If-Match": read["ETag"]}
        )
        assert changed.status_code == 200
        told = [body["a2aToken"] for body in (read.json()["agent"], listed, changed.json()["agent"])]
        assert told == [token, token, token]
    put(client, limited)
    assert limited.get(f"/agents/{agent.pk}").json()["agent"]["a2aToken"] == made["a2aToken"]


def test_no_answer_to_a_change_shows_such_a_key_what_opens_other_doors(
    client: APIClient, agent: Agent, make_key: MakeKey, dns: NameServer, settings: Any
) -> None:
    settings.MAX_FREE_AGENTS = settings.MAX_TRIALS = 10
    client.put(f"/agents/{agent.pk}/a2a", {"enabled": True}, format="json")
    new = {"personaId": agent.persona_id, "tier": "tiny", "a2a": {"enabled": True}}
    for one, is_shown in ((make_key("limited", month_usd=CENT), False), (make_key("free"), True)):
        made = one.post("/agents", new, format="json")
        hooked = one.put(f"/agents/{agent.pk}/webhook", {"url": "https://93.184.215.14/x"}, format="json")
        named = one.put(f"/agents/{agent.pk}/domain", {"domain": "bot.example.org"}, format="json")
        for answer in (made, hooked, named):
            assert answer.status_code == 200, answer.content
            assert bool(answer.json()["agent"]["a2aToken"]) is is_shown


def test_a_deleted_row_of_a_key_takes_its_figures_along(agent: Agent, make_key: MakeKey) -> None:
    limited = make_key("limited", day_usd=CENT)
    spend(limited, agent, "1")
    limited.key.delete()
    assert not KeyUsage.objects.exists()
    assert news.of([agent], now=timezone.now())[agent.pk]["keys"] == {"all": True, "states": []}
