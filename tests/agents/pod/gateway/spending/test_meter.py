"""A gateway counts what model calls take, hands it over once, and keeps it when it is killed."""

from __future__ import annotations

import gzip
import json
import signal
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import requests

from agents.pod.gateway.spending.limits import UNITS_A_USD
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn, echo
from tests.doubles.model_server import ModelServer, Mood
from tests.doubles.provider import ModelVendor, ProviderHandler
from tests.patience import Patience

ONE = {"input": 1000, "cached": 1000, "written": 1000, "output": 10_000}  # 10 and 5 tokens: 60,000 units
CALL = {"model": "gpt-5", "stream": True, "messages": []}


class ControlPlane:
    """Exchanges figures with a gateway, and adds them up."""

    def __init__(self, gateway: GatewayProcess, **limits: Any) -> None:
        self.gateway, self.limits = gateway, limits
        self.book, self.ack, self.revision = "", 0, 1
        self.rows: list[dict[str, Any]] = []
        self.spent: dict[str, int] = {}
        self.prices: dict[str, Any] = {"openai:gpt-5": ONE}
        self.now = time.time()

    def exchange(self) -> dict[str, Any]:
        """One exchange. Its answer is kept, and its batch confirmed by the next one."""
        said = self.ask()
        if (said["book"], said["number"]) != (self.book, self.ack):
            self.rows += said["rows"]
        self.book, self.ack = said["book"], said["number"]
        return said

    def ask(self, **other: Any) -> dict[str, Any]:
        self.now += 0.001
        day = time.strftime("%Y-%m-%d", time.gmtime(self.now))
        known = {"book": self.book, "ack": self.ack, "now": self.now, "revision": self.revision, "day": day}
        news = {**known, "limits": self.limits, "spent": self.spent, "prices": self.prices, **other}
        answer = self.gateway.ask("POST", "/spending", json=news)
        assert answer.status_code == 200, answer.text
        said: dict[str, Any] = answer.json()
        return said

    def sum(self, name: str) -> int:
        return sum(row.get(name, 0) for row in self.rows)


@pytest.fixture
def model(start_gateway: StartGateway) -> Any:
    with ModelServer() as server:
        yield server


@pytest.fixture
def metered(start_gateway: StartGateway, model: ModelServer) -> GatewayProcess:
    return start_gateway(llm_base_url=model.base_url("openai"))


def call(gateway: GatewayProcess, **body: Any) -> requests.Response:
    return gateway.call_model("/llm/openai/v1/chat/completions", json={**CALL, **body})


def test_calls_are_counted_to_the_token_and_handed_over_once(metered: GatewayProcess, model: ModelServer) -> None:
    told = ControlPlane(metered)
    for _ in range(3):
        assert call(metered).status_code == 200
    assert call(metered, stream=False).status_code == 200
    told.exchange()
    told.exchange()
    assert (told.sum("calls"), told.sum("input"), told.sum("output")) == (4, 40, 20)
    assert len(model.turns()) == 4
    call(metered)
    told.exchange()
    assert (told.sum("calls"), told.sum("input"), told.sum("estimated")) == (5, 50, 0)
    assert {(row["provider"], row["model"], row["kind"], row["session"]) for row in told.rows} == {
        ("openai", "gpt-5", "engine", "")
    }


def test_a_batch_comes_again_until_it_is_confirmed(metered: GatewayProcess) -> None:
    told = ControlPlane(metered)
    call(metered)
    first = told.ask()
    call(metered)
    again = told.ask()
    assert again == first
    assert first["rows"][0]["calls"] == 1
    told.exchange()
    second = told.exchange()
    assert (second["number"], second["rows"][0]["calls"]) == (2, 1)


def test_a_killed_gateway_loses_nothing_that_is_a_second_old(start_gateway: StartGateway, model: ModelServer) -> None:
    base = {"llm_base_url": model.base_url("openai"), "inside": False}
    gateway = start_gateway(**base)
    told = ControlPlane(gateway)
    call(gateway)
    told.exchange()
    call(gateway)
    model.mood = Mood.HANGING
    hanging = threading.Thread(target=_ignoring, args=(gateway,))
    hanging.start()
    wait_until(lambda: len(model.turns()) == 3)
    time.sleep(1.5)  # the file is written each second
    gateway.signal(signal.SIGKILL)
    hanging.join()
    gateway.process.wait(10)
    model.release()
    after = start_gateway(**base)
    told.gateway = after
    told.exchange()
    told.exchange()
    assert (told.sum("calls"), told.sum("estimated")) == (3, 1)
    assert told.sum("input") >= 20


def test_a_lost_file_is_never_counted_twice(start_gateway: StartGateway, model: ModelServer) -> None:
    gateway = start_gateway(llm_base_url=model.base_url("openai"), inside=False)
    told = ControlPlane(gateway)
    call(gateway)
    time.sleep(1.5)
    early = (gateway.run_dir / "spending.json").read_bytes()
    told.exchange()
    gateway.signal(signal.SIGKILL)
    gateway.process.wait(10)
    (gateway.run_dir / "spending.json").write_bytes(early)  # as a machine without power leaves it
    after = start_gateway(llm_base_url=model.base_url("openai"), inside=False)
    told.gateway = after
    told.exchange()
    call(after)
    told.exchange()
    told.exchange()
    assert told.sum("calls") == 2


def test_an_unreadable_file_does_not_stop_the_gateway(
    start_gateway: StartGateway, model: ModelServer, tmp_path: Any
) -> None:
    (tmp_path / "spending.json").write_text('{"form": 1, "rows": 7')
    gateway = start_gateway(llm_base_url=model.base_url("openai"))
    told = ControlPlane(gateway)
    call(gateway)
    told.exchange()
    assert told.sum("calls") == 1


def test_a_call_that_the_vendor_refuses_costs_nothing(metered: GatewayProcess, model: ModelServer) -> None:
    told = ControlPlane(metered)
    model.mood = Mood.BROKEN
    call(metered)
    told.exchange()
    assert (told.sum("calls"), told.sum("failed"), told.sum("input")) == (1, 1, 0)


def test_an_answer_without_figures_is_estimated(start_gateway: StartGateway, provider: ModelVendor) -> None:
    def answer(handler: ProviderHandler) -> None:
        handler.begin()
        for _ in range(100):
            handler.say(b'data: {"choices": [{"delta": {"content": "' + b"word" * 10 + b'"}}]}\n\n')
        handler.end()

    provider.answer = answer
    gateway = start_gateway()
    told = ControlPlane(gateway)
    assert call(gateway).status_code == 200
    told.exchange()
    assert (told.sum("calls"), told.sum("estimated")) == (1, 1)
    assert told.sum("output") >= 1000
    assert told.sum("input") > 0


def test_an_engine_that_hangs_up_pays_for_the_time_that_the_vendor_worked(
    metered: GatewayProcess, model: ModelServer
) -> None:
    told = ControlPlane(metered)
    model.mood, model.reply, model.pause = Mood.SLOW, "a b c d e f g h", 0.2
    answer = metered.call_model("/llm/openai/v1/chat/completions", json=CALL, stream=True)
    next(answer.iter_content(10))
    time.sleep(0.5)
    answer.close()
    wait_until(lambda: told.exchange() and told.sum("calls") == 1)
    assert told.sum("estimated") == 1
    assert told.sum("output") >= 20


def test_a_compressed_answer_is_counted_too(start_gateway: StartGateway, provider: ModelVendor) -> None:
    body = gzip.compress(json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}).encode())
    provider.answer = lambda handler: handler.whole(200, body, Content_Encoding="gzip")
    gateway = start_gateway()
    told = ControlPlane(gateway)
    call(gateway, stream=False)
    told.exchange()
    assert (told.sum("input"), told.sum("output"), told.sum("estimated")) == (9, 4, 0)


def test_a_call_belongs_to_the_turn_that_runs_alone(metered: GatewayProcess, bridge: BridgeDouble) -> None:
    told = ControlPlane(metered)
    during(bridge, lambda: call(metered))
    assert metered.chat(session_id="ses_0123456789abcdef01234567").status_code == 200
    told.exchange()
    assert [(row["kind"], row["session"]) for row in told.rows] == [("chat", "ses_0123456789abcdef01234567")]


def test_the_day_is_that_of_the_control_plane(metered: GatewayProcess) -> None:
    told = ControlPlane(metered)
    told.now = 1_790_000_000.0
    told.exchange()
    call(metered)
    told.exchange()
    assert [row["day"] for row in told.rows] == [time.strftime("%Y-%m-%d", time.gmtime(told.now))]


def test_a_wrong_exchange_is_refused_and_changes_nothing(metered: GatewayProcess) -> None:
    for body in ({}, {"book": "x"}, {"book": "", "ack": "many", "now": 1}):
        assert metered.ask("POST", "/spending", json=body).status_code == 400
    assert call(metered).status_code == 200


def test_at_the_limit_calls_are_refused_with_words(metered: GatewayProcess, model: ModelServer) -> None:
    told = ControlPlane(metered, day=2 * UNITS_A_USD)
    told.spent = {"day": 2 * UNITS_A_USD - 60_000}
    told.exchange()
    assert call(metered, max_tokens=5).status_code == 200
    refused = call(metered, max_tokens=5)
    assert refused.status_code == 402
    assert "limit of 2.00 USD for a day is reached" in refused.json()["error"]["message"]
    assert len(model.turns()) == 1


def test_limits_of_money_wait_for_the_figures(start_gateway: StartGateway, model: ModelServer) -> None:
    gateway = start_gateway(llm_base_url=model.base_url("openai"), spending_limits={"day": UNITS_A_USD})
    refused = call(gateway)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
    ControlPlane(gateway, day=UNITS_A_USD).exchange()
    assert call(gateway).status_code == 200


def test_a_model_without_a_price_is_refused_under_a_limit_of_money(metered: GatewayProcess) -> None:
    told = ControlPlane(metered, day=UNITS_A_USD)
    told.prices = {}
    told.exchange()
    refused = call(metered)
    assert (refused.status_code, "no price" in refused.text) == (402, True)


def test_many_calls_at_once_do_not_pass_the_limit_together(metered: GatewayProcess, model: ModelServer) -> None:
    told = ControlPlane(metered, day=400_000)
    told.exchange()
    model.mood, model.pause = Mood.SLOW, 0.3
    answers: list[int] = []
    callers = [
        threading.Thread(target=lambda: answers.append(call(metered, max_tokens=10).status_code)) for _ in range(12)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    # Each took 60,000 units. All twelve would take 720,000; the limit is passed by one call at most.
    assert 0 < answers.count(200) * 60_000 <= 400_000 + 60_000
    assert set(answers) <= {200, 402, 429}


def test_the_kill_switch_stops_every_call(metered: GatewayProcess, model: ModelServer) -> None:
    told = ControlPlane(metered, is_stopped=True)
    told.exchange()
    refused = call(metered)
    assert (refused.status_code, "switched the model calls of this agent off" in refused.text) == (402, True)
    told.limits = {}
    told.exchange()
    assert call(metered).status_code == 200
    assert len(model.turns()) == 1


def test_calls_a_minute_are_limited(metered: GatewayProcess) -> None:
    ControlPlane(metered, minute_calls=2).exchange()
    assert [call(metered).status_code for _ in range(3)] == [200, 200, 429]


def test_tokens_of_a_turn_are_limited(metered: GatewayProcess, bridge: BridgeDouble) -> None:
    ControlPlane(metered, turn_tokens=30).exchange()
    seen: list[int] = []
    during(bridge, lambda: seen.extend(call(metered, max_tokens=5).status_code for _ in range(3)))
    metered.chat()
    assert seen == [200, 200, 402]
    seen.clear()
    metered.chat()
    assert seen == [200, 200, 402]


def during(bridge: BridgeDouble, do: Callable[[], object]) -> None:
    """Do this in the middle of each turn, as an engine that calls its model."""

    def turn(received: ReceivedTurn) -> Iterable[Event]:
        do()
        yield from echo(received)

    bridge.turn = turn


def _ignoring(gateway: GatewayProcess) -> None:
    try:
        call(gateway)
    except requests.RequestException:
        return


def wait_until(is_so: Any) -> None:
    patience = Patience(20)
    while not is_so():
        assert not patience.ended()
        time.sleep(0.05)
