"""A gateway keeps the limits of API keys as the control plane tells them, however strange or late they come."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Any

import pytest
import requests

from agents.pod.gateway.spending.limits import UNITS_A_USD
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.spending.test_meter import ControlPlane, call, during
from tests.doubles.bridge import BridgeDouble
from tests.doubles.model_server import ModelServer

KEY = "key_0123456789abcdef01234567"
NOON = 1_796_040_000.0  # of 30 November 2026, UTC
DAY = 86_400.0


def state(used: int, limit: int | None = UNITS_A_USD, **more: Any) -> dict[str, Any]:
    """What is told of the key: it has spent `used` units, today and this month, of a limit for a day."""
    limits = {} if limit is None else {"day": limit}
    return {"id": KEY, "name": "driver", "limits": limits, "spent": {"day": used, "month": used}, **more}


def turn_of(plane: ControlPlane, told: dict[str, Any]) -> dict[str, Any]:
    day = time.strftime("%Y-%m-%d", time.gmtime(plane.now))
    key = {"now": plane.now, "day": day, "book": plane.book, "ack": plane.ack, **told}
    return {"message": "hi", "api_key": key}


@pytest.fixture
def gateway(start_gateway: StartGateway) -> Any:
    with ModelServer() as model:
        yield start_gateway(llm_base_url=model.base_url("openai"))


@pytest.fixture
def plane(gateway: GatewayProcess) -> ControlPlane:
    plane = ControlPlane(gateway)
    plane.now = NOON
    plane.exchange()
    return plane


@pytest.fixture
def said(gateway: GatewayProcess, bridge: BridgeDouble) -> list[int]:
    """The statuses of the model calls of turns, one for each turn."""
    said: list[int] = []
    during(bridge, lambda: said.append(call(gateway).status_code))
    return said


def test_the_limit_comes_with_the_turn(plane: ControlPlane, said: list[int]) -> None:
    for used in (UNITS_A_USD, UNITS_A_USD - 1):
        plane.now += 1
        plane.gateway.ask("POST", "/chat", json=turn_of(plane, state(used)))
    assert said == [402, 200]


def test_what_was_spent_on_another_day_or_month_is_over(plane: ControlPlane, said: list[int]) -> None:
    spent = turn_of(plane, state(UNITS_A_USD))
    plane.gateway.ask("POST", "/chat", json=spent)
    plane.now += DAY
    plane.exchange()
    plane.gateway.ask("POST", "/chat", json=spent)  # the clock of a web server is slow
    of_month = state(UNITS_A_USD, None) | {"limits": {"month": UNITS_A_USD}}
    plane.gateway.ask("POST", "/chat", json=turn_of(plane, of_month) | {"message": "the month is another one too"})
    assert said == [402, 200, 402]


def test_news_of_an_exchange_replace_what_a_turn_has_told(plane: ControlPlane, said: list[int]) -> None:
    plane.now += 1
    old = turn_of(plane, state(0))
    plane.gateway.ask("POST", "/chat", json=old)
    plane.ask(keys={"all": True, "states": [state(UNITS_A_USD)]})
    plane.gateway.ask("POST", "/chat", json=old)  # it was under way for longer
    plane.ask(keys={"all": False, "states": []})  # some are left out, so none is forgotten
    plane.gateway.ask("POST", "/chat", json=old)
    assert said == [200, 402, 402]


def test_a_limit_that_was_lifted_is_forgotten(plane: ControlPlane, said: list[int]) -> None:
    plane.now += 1
    plane.gateway.ask("POST", "/chat", json=turn_of(plane, state(UNITS_A_USD)))
    plane.now += 1
    plane.gateway.ask("POST", "/chat", json=turn_of(plane, state(UNITS_A_USD, None)))
    plane.now += 1
    plane.gateway.ask("POST", "/chat", json=turn_of(plane, state(UNITS_A_USD)))
    plane.ask(keys={"all": True, "states": []})
    assert said == [402, 200, 402]
    assert call(plane.gateway).status_code == 200  # just after the turn


def test_a_control_plane_of_an_earlier_release_says_nothing_of_keys(plane: ControlPlane, said: list[int]) -> None:
    plane.now += 1
    plane.gateway.ask("POST", "/chat", json=turn_of(plane, state(UNITS_A_USD)))
    plane.ask()
    assert call(plane.gateway).status_code == 402  # just after the turn


@pytest.mark.parametrize(
    "wrong",
    [
        "key",
        {},
        {"id": KEY},
        {"id": "../../etc"},
        {"id": 7},
        {"limits": {"day": -1}},
        {"limits": {"day": "much"}},
        {"limits": []},
        {"spent": None},
        {"ack": "many"},
        {"now": {}},
    ],
)
def test_a_wrong_state_of_a_key_starts_no_turn(
    plane: ControlPlane, said: list[int], wrong: dict[str, Any] | str
) -> None:
    whole = turn_of(plane, state(0))
    if wrong == {} or isinstance(wrong, str) or wrong == {"id": KEY}:
        whole["api_key"] = wrong
    else:
        whole["api_key"] |= wrong
    assert plane.gateway.ask("POST", "/chat", json=whole).status_code == 400
    assert said == []


def test_a_wrong_exchange_of_keys_is_refused(plane: ControlPlane) -> None:
    news = {"book": "", "ack": 0, "now": plane.now, "revision": 1, "day": "2026-11-30", "limits": {}, "spent": {}}
    wrong: list[Any] = [{}, {"all": True}, {"all": True, "states": [{"id": KEY}]}, []]
    for keys in wrong:
        answer = plane.gateway.ask("POST", "/spending", json={**news, "prices": {}, "keys": keys})
        assert answer.status_code == 400


def test_a_key_of_many_turns_is_one_row(plane: ControlPlane, said: list[int]) -> None:
    for _ in range(3):
        plane.now += 1
        plane.gateway.ask("POST", "/chat", json=turn_of(plane, state(0)))
    [row] = plane.exchange()["key_rows"]
    assert (row["api_key"], row["calls"], row["input"], row["day"]) == (KEY, 3, 30, "2026-11-30")
    assert plane.sum("calls") == 3


def mark(key: str = KEY, token: str = "own-token-0123456789") -> str:
    """How a peer names the key to the agent that takes this token."""
    return hmac.new(token.encode(), key.encode(), hashlib.sha256).hexdigest()


def ask_as_a_peer(gateway: GatewayProcess, keys: Any) -> dict[str, Any]:
    metadata = {"agentpods/hops": 1, "agentpods/keys": keys}
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}], "metadata": metadata}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    headers = {"Authorization": "Bearer own-token-0123456789", "A2A-Version": "1.0"}
    told: dict[str, Any] = requests.post(f"{gateway.public}/a2a", json=body, headers=headers, timeout=30).json()
    return told


@pytest.mark.parametrize(
    ("keys", "statuses"),
    [
        ([mark()], [200, 402]),
        ([7, None, {}, "x", mark()], [200, 402]),
        ([KEY], [200, 200]),
        ([mark("key_" + "9" * 24)], [200, 200]),
        ([mark(token="another")], [200, 200]),
        ([mark(token="")] * 10_000, [200, 200]),
        (mark(), [200, 200]),
        (7, [200, 200]),
    ],
)
def test_what_a_peer_asks_for_a_turn_of_the_key_counts_for_the_key(
    start_gateway: StartGateway, bridge: BridgeDouble, keys: Any, statuses: list[int]
) -> None:
    with ModelServer() as model:
        own = {"a2a_enabled": True, "a2a_token": "own-token-0123456789"}
        gateway = start_gateway(llm_base_url=model.base_url("openai"), **own)
        plane = ControlPlane(gateway)
        said: list[int] = []
        plane.ask(keys={"all": True, "states": [state(UNITS_A_USD - 1)]})
        during(bridge, lambda: said.extend(call(gateway).status_code for _ in range(2)))
        assert "result" in ask_as_a_peer(gateway, keys)
        assert said == statuses
        assert len(plane.exchange()["key_rows"]) == (402 in statuses)
