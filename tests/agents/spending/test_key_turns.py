"""What the turns that an API key starts take at their models is counted for the key."""

from __future__ import annotations

import signal
import threading
import time
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.keys import KeyLimits
from accounts.models import ApiKey, User
from accounts.scopes import Scope
from agents.models import Agent
from agents.pod import tickets
from agents.pod.gateway.spending import open_turns
from agents.running import pods
from agents.runtimes import current_runtime, pod_spending
from agents.spending import adding, exchanging, forgetting, news
from agents.spending.models import KeyUsage
from tests.agents.conftest import MakeAgent
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.spending.conftest import ONE_CALL, KeyClient, MakeKey, Serve, call, during
from tests.doubles.bridge import BridgeDouble
from tests.doubles.model_server import ModelServer, Mood


def by_key(client: APIClient, agent: Agent) -> dict[str, tuple[int, int, float]]:
    """Calls, tokens of input and USD by the keys' names, as the API tells them."""
    exchanging.exchange(agent.pk)
    told = client.get(f"/agents/{agent.pk}/usage", {"by": "key"}).json()["usage"]
    return {row["keyName"]: (row["calls"], row["inputTokens"], row["usd"]) for row in told["rows"]}


def taken(calls: int) -> tuple[int, int, float]:
    return calls, 10 * calls, float(ONE_CALL * calls)


def test_a_keys_turns_are_counted_to_the_token(
    client: APIClient, agent: Agent, serve: Serve, bridge: BridgeDouble, key: KeyClient, model: ModelServer
) -> None:
    gateway = serve(agent)
    during(bridge, lambda: call(gateway, 2))
    assert key.chat(agent).status_code == 200
    assert by_key(client, agent) == {"driver": taken(2)}
    assert key.chat(agent).status_code == 200
    assert by_key(client, agent) == {"driver": taken(4)}
    assert len(model.turns()) == 4
    row = client.get(f"/agents/{agent.pk}/usage", {"by": "key"}).json()["usage"]["rows"][0]
    assert row["keyId"] == key.key.pk


def test_every_way_to_start_a_turn_counts(
    client: APIClient, agent: Agent, serve: Serve, bridge: BridgeDouble, key: KeyClient
) -> None:
    gateway = serve(agent)
    during(bridge, lambda: call(gateway))
    assert key.chat(agent, headers={"Accept": "text/event-stream"}).getvalue()
    asked = {"model": "any", "messages": [{"role": "user", "content": "hi"}]}
    assert key.post(f"/agents/{agent.pk}/v1/chat/completions", asked, format="json").status_code == 200
    assert key.post(f"/agents/{agent.pk}/talk-test").json()["talkTest"]["hops"]
    assert by_key(client, agent) == {"driver": taken(3)}


def test_what_no_key_started_belongs_to_no_key(
    client: APIClient, agent: Agent, serve: Serve, bridge: BridgeDouble, key: KeyClient
) -> None:
    gateway = serve(agent)
    call(gateway)  # a schedule of the engine's
    during(bridge, lambda: call(gateway))
    assert client.post(f"/agents/{agent.pk}/chat", {"message": "hi"}, format="json").status_code == 200
    forged = {"message": "hi", "api_key": {"id": key.key.pk}}
    visitor, ticket = gateway.visitor(signed_in=False), tickets.mint(agent.ticket_key, agent.namespace, timezone.now())
    visitor.get(f"{gateway.public}/ticket", params={"t": ticket}, timeout=10)
    assert visitor.post(f"{gateway.public}/chat", json=forged, timeout=10).status_code == 200
    assert by_key(client, agent) == {}
    assert client.get(f"/agents/{agent.pk}/usage").json()["usage"]["total"]["calls"] == 3


def test_an_engine_cannot_name_another_key_or_none(
    client: APIClient, agent: Agent, serve: Serve, bridge: BridgeDouble, key: KeyClient, make_key: MakeKey
) -> None:
    gateway, innocent = serve(agent), make_key("innocent")
    words = {"Api-Key": innocent.key.pk, "X-Api-Key-Id": innocent.key.pk, "Agentpods-Key": ""}
    sent = {"model": "gpt-6-luna", "messages": [], "api_key": {"id": innocent.key.pk}}

    def hostile() -> None:
        gateway.call_model("/llm/openai/v1/chat/completions", json=sent, headers=words)
        told = gateway.ask("POST", "/chat", token="stolen", json={"message": "x", "api_key": {"id": innocent.key.pk}})
        assert told.status_code == 401

    during(bridge, hostile)
    key.chat(agent)
    assert by_key(client, agent) == {"driver": taken(1)}


def test_what_an_engine_calls_just_after_the_turn_counts_for_its_key(
    client: APIClient, agent: Agent, serve: Serve, key: KeyClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = serve(agent, inside=True)
    key.chat(agent)
    call(gateway, 2)
    assert by_key(client, agent) == {"driver": taken(2)}
    monkeypatch.setattr(open_turns, "SILENCE_SECONDS", 0.0)  # as if half a minute were over
    call(gateway)
    assert by_key(client, agent) == {"driver": taken(2)}


def test_while_turns_of_two_keys_are_open_a_call_counts_for_both(
    client: APIClient, agent: Agent, serve: Serve, bridge: BridgeDouble, key: KeyClient, make_key: MakeKey
) -> None:
    gateway, second, both = serve(agent), make_key("second"), threading.Barrier(3, timeout=20)
    during(bridge, lambda: (both.wait(), both.wait()))
    with key.turn(agent, gateway) as first_said, second.turn(agent, gateway) as second_said:
        both.wait()
        call(gateway, 3)
        both.wait()
    assert first_said + second_said == [200, 200]
    assert by_key(client, agent) == {"driver": taken(3), "second": taken(3)}
    assert client.get(f"/agents/{agent.pk}/usage").json()["usage"]["total"]["calls"] == 3


def test_a_batch_whose_confirmation_was_lost_counts_once(
    client: APIClient, agent: Agent, serve: Serve, bridge: BridgeDouble, key: KeyClient
) -> None:
    gateway = serve(agent)
    during(bridge, lambda: call(gateway))
    key.chat(agent)
    now, endpoint = timezone.now(), current_runtime().endpoint(agent.namespace)
    assert endpoint is not None
    told = news.of([agent], now=now)[agent.pk]
    for _ in range(2):
        adding.add(agent, pod_spending.exchange(endpoint, pods.access_of(agent), told), now=now)
    assert by_key(client, agent) == {"driver": taken(1)}


def test_a_gateway_killed_in_a_turn_loses_no_call_of_the_key(
    client: APIClient, agent: Agent, serve: Serve, bridge: BridgeDouble, key: KeyClient, model: ModelServer
) -> None:
    gateway = serve(agent, inside=False)

    def last_words() -> None:
        call(gateway)
        model.mood = Mood.HANGING
        threading.Thread(target=_ignoring, args=(gateway,), daemon=True).start()
        time.sleep(2)  # the file is written each second
        gateway.signal(signal.SIGKILL)

    during(bridge, last_words)
    assert key.chat(agent).status_code == 503
    gateway.process.wait(10)
    model.release()
    serve(agent, inside=False, run_dir=str(gateway.run_dir))
    found = by_key(client, agent)["driver"]
    assert (found[0], found[1] >= 20) == (2, True)
    assert KeyUsage.objects.get().estimated == 1


def _ignoring(gateway: GatewayProcess) -> None:
    try:
        call(gateway)
    except OSError:  # the gateway was killed
        return


def test_a_limited_key_sees_its_own_row_alone(
    client: APIClient, agent: Agent, owner: User, key: KeyClient, make_key: MakeKey
) -> None:
    for one in (key, make_key("second")):
        KeyUsage.objects.create(api_key=one.key, agent=agent, day=timezone.now().date(), calls=1)
    reader = make_key("reader", scopes=[Scope.READ])
    assert client.get(f"/agents/{agent.pk}/usage", {"by": "key"}).json()["usage"]["rows"] != []
    assert [row["keyName"] for row in _rows(key, agent)] == ["driver"]
    assert _rows(reader, agent) == []


def _rows(key: KeyClient, agent: Agent) -> list[dict[str, Any]]:
    return list(key.get(f"/agents/{agent.pk}/usage", {"by": "key"}).json()["usage"]["rows"])


def test_a_pod_cannot_write_figures_of_another_accounts_key(agent: Agent, stranger: User, serve: Serve) -> None:
    now = timezone.now()
    foreign, _ = keys.create(stranger, name="foreign", limits=KeyLimits(scopes={Scope.READ}), now=now)
    counts = dict.fromkeys(pod_spending.COUNTS, 1)
    rows = [
        pod_spending.KeyCountedRow(day=now.date(), model="openai:gpt-6-luna", api_key=named, counts=counts)
        for named in (foreign.pk, "key_unknown", "")
    ]
    assert adding.add(agent, pod_spending.SpendingBatch(book="b", number=1, rows=[], key_rows=rows), now=now)
    assert not KeyUsage.objects.exists()


def test_a_revoked_keys_figures_stay(
    client: APIClient, agent: Agent, serve: Serve, bridge: BridgeDouble, key: KeyClient
) -> None:
    gateway, both = serve(agent), threading.Barrier(2, timeout=20)
    during(bridge, lambda: (both.wait(), both.wait()))
    with key.turn(agent, gateway) as said:
        both.wait()
        assert client.delete(f"/keys/{key.key.pk}").status_code == 204
        call(gateway)
        both.wait()
    assert said == [200]
    assert key.chat(agent).status_code == 401
    assert by_key(client, agent) == {"driver": taken(1)}


@pytest.mark.parametrize(("days", "left"), [(399, 1), (401, 0)])
def test_days_of_keys_are_kept_as_long_as_the_others(agent: Agent, key: KeyClient, days: int, left: int) -> None:
    now = timezone.now()
    KeyUsage.objects.create(api_key=key.key, agent=agent, day=(now - timedelta(days=days)).date(), usd=Decimal(1))
    forgetting.forget(now=now)
    assert KeyUsage.objects.count() == left


def test_the_same_key_on_another_agent_is_another_row(
    client: APIClient, agent: Agent, make_agent: MakeAgent, key: KeyClient
) -> None:
    second = make_agent(name="second")
    for one, calls in ((agent, 1), (second, 2)):
        KeyUsage.objects.create(api_key=key.key, agent=one, day=timezone.now().date(), calls=calls)
    told = [client.get(f"/agents/{one.pk}/usage", {"by": "key"}).json()["usage"]["rows"] for one in (agent, second)]
    assert [[row["calls"] for row in rows] for rows in told] == [[1], [2]]
    assert ApiKey.objects.count() == 1
