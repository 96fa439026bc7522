"""An owner limits what model calls may cost in turns that an API key starts."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
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
from agents.models import Agent, KeyUsage
from agents.spending import exchanging, key_limits, key_turns, news, telling
from tests.agents.conftest import MakeAgent, event_types
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.spending.conftest import ONE_CALL, KeyClient, MakeKey, Serve, call, during
from tests.doubles.bridge import BridgeDouble
from tests.doubles.model_server import ModelServer, Mood

NONE = {"usdPerDay": None, "usdPerMonth": None}
UNSPENT = {"usdToday": 0, "usdThisMonth": 0}
CENT = Decimal("0.01")


def put(client: APIClient, key: KeyClient, **body: Any) -> Any:
    return client.put(f"/keys/{key.key.pk}/limits", body, format="json")


def spend(key: KeyClient, agent: Agent, usd: str, *, days_ago: int = 0) -> None:
    """As if the key's turns with the agent had cost this."""
    day = timezone.now().date() - timedelta(days=days_ago)
    KeyUsage.objects.update_or_create(api_key=key.key, agent=agent, day=day, defaults={"usd": Decimal(usd)})
    telling.tell(agent, now=timezone.now())


def left_for(calls: int) -> Decimal:
    """What a key has spent of a cent, if it has these calls left."""
    return CENT - ONE_CALL * calls


def words_of(gateway: GatewayProcess) -> str:
    """What the engine is told about a refused call, in the provider's own form."""
    refused = gateway.call_model("/llm/openai/v1/chat/completions", json={"model": "gpt-6-luna", "messages": []})
    assert refused.status_code == 402
    return str(refused.json()["error"]["message"])


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


def test_at_the_limit_the_calls_of_a_turn_are_refused_with_words(
    agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey, model: ModelServer
) -> None:
    gateway, said = serve(agent), []
    limited = make_key("night driver", day_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(2)))
    during(bridge, lambda: said.append((call(gateway, 2), words_of(gateway))))
    limited.chat(agent)
    [(answers, words)] = said
    assert answers == [200, 200]
    assert "the limit of the API key 'night driver' of 0.01 USD for a day is reached" in words
    assert "or when the owner raises the limit of the key" in words
    assert len(model.turns()) == 2
    exchanging.exchange(agent.pk)
    assert limited.chat(agent).status_code == 503
    assert limited.get(f"/keys/{limited.key.pk}/limits").json()["limits"]["usdToday"] == float(CENT)


def test_figures_that_the_control_plane_does_not_have_yet_count_at_a_new_turn(
    agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey
) -> None:
    gateway, said = serve(agent), []
    limited = make_key("limited", day_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(3)))
    during(bridge, lambda: said.extend(call(gateway, 2)))
    assert limited.chat(agent).status_code == 200
    assert limited.chat(agent).status_code == 200  # what the first took is still in the gateway
    assert said == [200, 200, 200, 402]


def test_figures_that_the_control_plane_has_are_not_counted_twice(
    agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey
) -> None:
    gateway, said = serve(agent), []
    limited = make_key("limited", day_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(4)))
    during(bridge, lambda: said.extend(call(gateway, 2)))
    limited.chat(agent)
    exchanging.exchange(agent.pk)  # the batch is added here, and not confirmed to the gateway yet
    limited.chat(agent)
    assert said == [200, 200, 200, 200]
    exchanging.exchange(agent.pk)
    assert limited.chat(agent).status_code == 503


def test_a_limit_that_is_lowered_holds_in_the_turn_that_runs(
    client: APIClient, agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey
) -> None:
    gateway, both = serve(agent), threading.Barrier(2, timeout=20)
    limited = make_key("limited", day_usd=Decimal(100))
    exchanging.exchange(agent.pk)
    spend(limited, agent, "5")
    during(bridge, lambda: (both.wait(), both.wait()))
    with limited.turn(agent, gateway):
        both.wait()
        assert call(gateway) == [200]
        put(client, limited, usdPerDay=4)
        exchanging.exchange(agent.pk)
        assert call(gateway) == [402]
        put(client, limited)
        exchanging.exchange(agent.pk)
        assert call(gateway) == [200]
        both.wait()


def test_the_limit_of_a_revoked_key_holds_in_the_turn_that_runs(
    client: APIClient, agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey
) -> None:
    gateway, both = serve(agent), threading.Barrier(2, timeout=20)
    limited = make_key("limited", day_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(1)))
    during(bridge, lambda: (both.wait(), both.wait()))
    with limited.turn(agent, gateway):
        both.wait()
        client.delete(f"/keys/{limited.key.pk}")
        exchanging.exchange(agent.pk)
        assert call(gateway, 2) == [200, 402]
        both.wait()
    later = timezone.now() + key_limits.LAST_TURNS
    assert news.of([agent], now=later)[agent.pk]["keys"] == {"all": True, "states": []}


def test_while_a_turn_of_a_limited_key_is_open_calls_of_others_are_refused_too(
    agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey, key: KeyClient
) -> None:
    """Nobody knows for which of the turns a call is, so an engine cannot hide behind another key's turn."""
    gateway, both = serve(agent), threading.Barrier(3, timeout=20)
    limited = make_key("limited", day_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(1)))
    during(bridge, lambda: (both.wait(), both.wait()))
    with limited.turn(agent, gateway), key.turn(agent, gateway):
        both.wait()
        assert call(gateway, 2) == [200, 402]
        both.wait()


def test_an_engine_that_waits_for_the_end_of_the_turn_is_refused(agent: Agent, serve: Serve, make_key: MakeKey) -> None:
    gateway, limited = serve(agent), make_key("limited", day_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(1)))
    assert limited.chat(agent).status_code == 200
    assert call(gateway, 2) == [200, 402]


def test_a_restarted_gateway_knows_the_limits(
    agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey
) -> None:
    gateway, limited = serve(agent, inside=False), make_key("limited", day_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(3)))
    during(bridge, lambda: call(gateway, 2))
    limited.chat(agent)
    exchanging.exchange(agent.pk)
    gateway.stop()
    after, said = serve(agent, inside=False, run_dir=str(gateway.run_dir)), []
    during(bridge, lambda: said.extend(call(after, 2)))
    limited.chat(agent)
    assert said == [200, 402]


def test_twenty_turns_at_once_exceed_the_limit_by_one_call_at_most(
    agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey, model: ModelServer
) -> None:
    gateway, limited = serve(agent), make_key("limited", day_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(5)))
    model.mood, model.pause = Mood.SLOW, 0.1
    during(bridge, lambda: call(gateway, 2, max_tokens=5))
    body = {"api_key": key_turns.begin(limited.key, agent=agent, now=timezone.now())}

    def turn(number: int) -> int:
        sent = {**body, "message": "hi", "session_id": f"ses_{number}"}
        return gateway.ask("POST", "/chat", token=agent.management_token, json=sent).status_code

    with ThreadPoolExecutor(20) as threads:
        assert list(threads.map(turn, range(20)))
    exchanging.exchange(agent.pk)
    used, _ = key_limits.spent_by(limited.key, now=timezone.now())
    assert CENT - 2 * ONE_CALL < used <= CENT + ONE_CALL


def test_another_agent_is_told_what_the_key_has_left(
    agent: Agent, make_agent: MakeAgent, make_key: MakeKey, stranger: User
) -> None:
    limited, second = make_key("limited", day_usd=Decimal(1)), make_agent(name="second")
    make_key("of the second", agent_id=second.pk, day_usd=Decimal(1))
    spend(limited, second, "0.25")
    told = news.of([agent, second], now=timezone.now())
    assert {one["name"] for one in told[second.pk]["keys"]["states"]} == {"limited", "of the second"}
    [state] = told[agent.pk]["keys"]["states"]
    expected = {"limits": {"day": 10**10}, "spent": {"day": 25 * 10**8, "month": 25 * 10**8}}
    assert state == {"id": limited.key.pk, "name": "limited", **expected}


def test_with_more_keys_than_are_told_a_gateway_forgets_none(
    agent: Agent, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_limits, "TOLD", 1)
    make_key("never used", day_usd=Decimal(1))
    used = make_key("used", day_usd=Decimal(1))
    ApiKey.objects.filter(pk=used.key.pk).update(last_used_at=timezone.now())
    told = news.of([agent], now=timezone.now())[agent.pk]["keys"]
    assert ([one["name"] for one in told["states"]], told["all"]) == (["used"], False)


def test_a_model_without_a_price_is_refused(
    agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey
) -> None:
    gateway, said = serve(agent, model="unheard-of"), []
    limited = make_key("limited", day_usd=CENT)
    exchanging.exchange(agent.pk)
    sent = {"model": "unheard-of", "messages": []}
    during(bridge, lambda: said.append(gateway.call_model("/llm/openai/v1/chat/completions", json=sent)))
    limited.chat(agent)
    assert [(one.status_code, "no price" in one.text) for one in said] == [(402, True)]


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


def test_a_deleted_row_of_a_key_takes_its_figures_along(agent: Agent, make_key: MakeKey) -> None:
    limited = make_key("limited", day_usd=CENT)
    spend(limited, agent, "1")
    limited.key.delete()
    assert not KeyUsage.objects.exists()
    assert news.of([agent], now=timezone.now())[agent.pk]["keys"] == {"all": True, "states": []}
