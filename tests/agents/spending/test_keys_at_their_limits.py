"""The calls of a turn whose API key has a limit: what is refused, and when, whatever the engine tries."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

from django.utils import timezone
from rest_framework.test import APIClient

from agents.configuring import llm_key
from agents.models import Agent
from agents.spending import exchanging, key_limits, key_turns, news
from agents.spending.models import KeyUsage
from tests.agents.conftest import MakeAgent, settle
from tests.agents.pod.gateway.peers.conftest import use, with_peers
from tests.agents.spending.conftest import (
    CENT,
    KEY,
    MODEL,
    ONE_CALL,
    KeyClient,
    MakeKey,
    Serve,
    call,
    during,
    left_for,
    put,
    spend,
    words_of,
)
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn, echo
from tests.doubles.model_server import ModelServer, Mood


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


def test_a_turn_that_fails_at_the_limit_says_so_and_the_agent_counts_as_well(
    client: APIClient, agent: Agent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey
) -> None:
    gateway, limited = serve(agent), make_key("night driver", month_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(1)))

    def silent(_: ReceivedTurn) -> Iterable[Event]:
        call(gateway, 2)
        yield {"type": "done", "reply": ""}

    bridge.turn = silent
    failed = limited.chat(agent)
    assert failed.status_code == 503
    words = "model: the limit of the API key 'night driver' of 0.01 USD for a month is reached"
    assert words in failed.json()["message"]
    assert "MODEL_LIMIT" not in client.get(f"/agents/{agent.pk}/explain").content.decode()


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


def test_what_the_agent_asks_of_another_agent_of_the_account_counts_too(
    agent: Agent, make_agent: MakeAgent, bridge: BridgeDouble, serve: Serve, make_key: MakeKey, tmp_path: Path
) -> None:
    """Both gateways have one engine, which passes a question on, and calls its model to answer it."""
    second = settle(llm_key.install(settle(make_agent(name="bob")), provider="openai", key=KEY, model=MODEL))
    (tmp_path / "bob").mkdir()
    bob = serve(second, run_dir=str(tmp_path / "bob"), **with_peers())
    gateway = serve(
        agent, **with_peers({"name": "bob", "url": f"{bob.public}/a2a", "token": bob.start.secrets.a2a_token})
    )
    limited, said = make_key("limited", day_usd=CENT), []
    spend(limited, agent, str(left_for(2)))
    for one in (agent, second):
        exchanging.exchange(one.pk)

    def turn(received: ReceivedTurn) -> Iterable[Event]:
        if received.message == "hi":
            use(gateway, "send_message", peer="bob", message="what do you think?")
        else:
            said.extend(call(bob, 3))
        yield from echo(received)

    bridge.turn = turn
    assert limited.chat(agent).status_code == 200
    assert said == [200, 200, 402]
    exchanging.exchange(second.pk)
    assert limited.chat(agent).status_code == 503
    assert KeyUsage.objects.get(agent=second).calls == 2


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
