"""A gateway records what the agent does, without its secrets, and hands it over once."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

import pytest
import requests

from agents.pod.gateway.replay import unsent
from agents.pod.gateway.replay.unsent import MOST_BYTES
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, GatewayProcess
from tests.agents.pod.gateway.replay.reading import ReplayReader, call, during
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.doubles.model_protocols import ToolCall
from tests.doubles.model_server import ModelServer, Mood
from tests.doubles.provider import ModelVendor, ProviderHandler
from tests.patience import Patience

TOKEN = "tg-0123456789:channel-token"
TOOLS = [{"type": "function", "function": {"name": "search"}}]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def recorded(start_gateway: StartGateway, model: ModelServer) -> GatewayProcess:
    return start_gateway(llm_base_url=model.base_url("openai"), channel_secrets={"telegramToken": TOKEN})


@pytest.fixture
def reader(recorded: GatewayProcess) -> ReplayReader:
    return ReplayReader(recorded)


def test_a_turn_is_told_from_its_question_to_its_answer(
    recorded: GatewayProcess, reader: ReplayReader, bridge: BridgeDouble, model: ModelServer
) -> None:
    model.tool_calls = [ToolCall("search", {"q": "owls"})]
    asked = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Which owls?"}]
    during(bridge, lambda: [call(recorded, messages=asked, tools=TOOLS) for _ in range(2)])
    recorded.chat("tell me of owls", session_id="ses_owls")
    reader.exchange()
    assert reader.kinds() == ["turn.began", "model.call", "tool.call", "model.call", "turn.ended"]
    began, first, tool, second, ended = reader.entries
    assert began["asked"] == "tell me of owls"
    assert (first["model"], first["input"], first["output"]) == ("openai:gpt-5", 10, 5)
    assert first["asked"] == "Which owls?"
    assert (tool["tool"], json.loads(tool["arguments"])) == ("search", {"q": "owls"})
    assert second["answered"] == "pong"
    assert ended["answered"] == "you said tell me of owls"
    assert {(one["door"], one["session"]) for one in reader.entries} == {("chat", "ses_owls")}
    assert len({one["turn"] for one in reader.entries}) == 1
    assert [one["at"] for one in reader.entries] == sorted(one["at"] for one in reader.entries)
    assert ended["ms"] >= first["ms"] + second["ms"]


def test_a_call_outside_of_turns_is_the_engines_own(recorded: GatewayProcess, reader: ReplayReader) -> None:
    call(recorded)
    entry = reader.exchange().only("model.call")
    assert entry["door"] == "engine"
    assert "session" not in entry
    assert "turn" not in entry


def test_turns_at_the_same_time_share_their_calls(
    recorded: GatewayProcess, reader: ReplayReader, bridge: BridgeDouble
) -> None:
    together = threading.Barrier(2)

    def work() -> None:
        together.wait(20)
        call(recorded)
        together.wait(20)

    during(bridge, work)
    threads = [threading.Thread(target=recorded.chat, args=("hi", f"ses_{number}")) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = [one for one in reader.exchange().entries if one["kind"] == "model.call"]
    assert [one["door"] for one in calls] == ["shared", "shared"]


def test_a_channels_message_opens_a_door(recorded: GatewayProcess, reader: ReplayReader, bridge: BridgeDouble) -> None:
    message = {"channel": "whatsapp", "name": "wamid.1", "body": '{"phone": "4912345"}'}
    recorded.ask("PUT", "/message", json=message)
    call(recorded, messages=[{"role": "user", "content": "[WhatsApp Ann Smith +4912345] what is my PIN?"}])
    bridge.over = {"wamid.1"}
    recorded.ask("PUT", "/message", json=message)
    reader.exchange()
    assert [(one["kind"], one["door"]) for one in reader.entries] == [
        ("turn.began", "channel"),
        ("model.call", "channel"),
        ("turn.ended", "channel"),
    ]
    assert len({one["turn"] for one in reader.entries}) == 1
    assert not [word for word in ("4912345", "Ann", "PIN") if word in json.dumps(reader.entries)]


def test_no_secret_of_the_agent_is_recorded(
    recorded: GatewayProcess, reader: ReplayReader, bridge: BridgeDouble, model: ModelServer
) -> None:
    hidden = f"{TOKEN[:9]}\u200b{TOKEN[9:]}"
    model.tool_calls = [ToolCall(f"send {KEY}", {"token": TOKEN, "again": hidden})]
    tools = [{"type": "function", "function": {"name": f"send {KEY}"}}]
    during(
        bridge, lambda: call(recorded, messages=[{"role": "user", "content": f"use {KEY} or {hidden}"}], tools=tools)
    )
    recorded.chat(f"my key is {KEY}, and {'x' * 150} {TOKEN}", session_id=f"ses_{KEY}")
    reader.exchange()
    told = json.dumps(reader.entries, ensure_ascii=False)
    assert "tool.call" in told
    assert "[secret]" in told
    for secret in (KEY, TOKEN):
        assert secret not in told
        assert secret[:12] not in told


def test_texts_are_one_short_line(recorded: GatewayProcess, reader: ReplayReader) -> None:
    recorded.chat("a\n\x1b[31mb\x00 " + "c" * 50_000)
    entry = reader.exchange().only("turn.began")
    assert entry["asked"].startswith("a b ccc")
    assert len(entry["asked"]) == 201
    assert entry["asked"].endswith("…")


@pytest.mark.parametrize(
    ("mood", "cause", "words"),
    [
        (Mood.UNAUTHORIZED, "MODEL_KEY_REFUSED", "openai refused the model key (401)"),
        (Mood.RATE_LIMITED, "MODEL_LIMIT", "openai answered 429"),
        (Mood.BROKEN, "MODEL_FAILING", "openai answered 500"),
    ],
)
def test_a_failure_is_told_in_the_words_of_explain(
    recorded: GatewayProcess, reader: ReplayReader, model: ModelServer, mood: Mood, cause: str, words: str
) -> None:
    model.mood = mood
    call(recorded)
    entry = reader.exchange().only("model.call")
    assert entry["cause"] == cause
    assert entry["error"].startswith(words)
    assert "input" not in entry


def test_a_call_that_the_owner_has_stopped_is_told(recorded: GatewayProcess, reader: ReplayReader) -> None:
    reader.exchange(limits={"is_stopped": True})
    call(recorded)
    entry = reader.exchange(limits={"is_stopped": True}).only("model.call")
    assert entry["cause"] == "CALLS_STOPPED"
    assert "switched" in entry["error"]
    assert "input" not in entry


def test_a_turn_that_fails_says_who_failed(
    recorded: GatewayProcess, reader: ReplayReader, bridge: BridgeDouble, model: ModelServer
) -> None:
    def turn(_: ReceivedTurn) -> Iterable[Event]:
        call(recorded)
        yield {"type": "error", "hop": "engine", "message": f"it broke at {KEY}"}

    bridge.turn = turn
    recorded.chat()
    failed = reader.exchange().only("turn.failed")
    assert (failed["hop"], failed["error"]) == ("engine", "it broke at [secret]")
    model.mood = Mood.UNAUTHORIZED
    recorded.chat()
    reader.entries.clear()
    failed = reader.exchange().only("turn.failed")
    assert (failed["hop"], failed["cause"]) == ("model", "MODEL_KEY_REFUSED")


def test_off_means_that_nothing_is_recorded(recorded: GatewayProcess, reader: ReplayReader) -> None:
    recorded.chat("before")
    reader.exchange(replay=False)
    recorded.chat("while it is off")
    call(recorded)
    reader.exchange(replay=False)
    assert reader.entries == []
    assert "while it is off" not in (recorded.run_dir / "spending.json").read_text()
    reader.exchange()
    recorded.chat("after")
    reader.exchange()
    assert [one.get("asked") for one in reader.entries] == ["after", None]


def test_what_was_under_way_when_it_was_switched_off_is_not_told_later(
    recorded: GatewayProcess, reader: ReplayReader, bridge: BridgeDouble
) -> None:
    during(bridge, lambda: [reader.exchange(replay=False), reader.exchange()])
    recorded.chat("a private question")
    reader.exchange().exchange()
    assert reader.entries == []


def test_a_control_plane_that_knows_no_replay_gets_none(recorded: GatewayProcess, reader: ReplayReader) -> None:
    reader.exchange(replay=None)
    recorded.chat("hi")
    assert reader.ask(replay=None)["replay"] == {"entries": [], "not_kept": {}}


def test_a_batch_comes_again_until_it_is_confirmed(recorded: GatewayProcess, reader: ReplayReader) -> None:
    recorded.chat("one")
    first = reader.ask()
    recorded.chat("two")
    assert reader.ask()["replay"] == first["replay"]
    reader.exchange().exchange()
    assert [one["asked"] for one in reader.entries if one["kind"] == "turn.began"] == ["one", "two"]
    assert reader.ask()["replay"]["entries"] == []


def test_a_killed_gateway_loses_a_second_and_no_call(start_gateway: StartGateway, model: ModelServer) -> None:
    base = {"llm_base_url": model.base_url("openai"), "inside": False}
    gateway = start_gateway(**base)
    reader = ReplayReader(gateway)
    gateway.chat("early")
    model.mood = Mood.HANGING
    hanging = threading.Thread(target=_ignoring, args=(gateway,))
    hanging.start()
    patience = Patience(20)
    while not model.turns():
        assert not patience.ended()
        time.sleep(0.05)
    time.sleep(1.5)  # the file is written each second
    gateway.signal(signal.SIGKILL)
    hanging.join()
    gateway.process.wait(10)
    model.release()
    reader.gateway = start_gateway(**base)
    reader.exchange().exchange()
    assert reader.kinds() == ["turn.began", "turn.ended", "model.call"]
    assert reader.only("model.call")["error"] == "the pod's gateway ended before this did"


def test_an_engine_that_floods_is_counted_and_takes_no_more_room(
    start_gateway: StartGateway, provider: ModelVendor
) -> None:
    def answer(handler: ProviderHandler) -> None:
        tool = {"function": {"name": "n" * 1_000_000, "arguments": "a" * 5_000}}
        calls = [{"index": number, **tool} for number in range(40)]
        handler.begin()
        for one in calls:
            small = {"function": {"name": "flood", "arguments": "é" * 5_000}}
            line = {"choices": [{"delta": {"content": "é" * 9_000, "tool_calls": [{**one, **small}]}}]}
            handler.say(f"data: {json.dumps(line, ensure_ascii=False)}\n\n".encode())
        handler.say(f"data: {json.dumps({'choices': [{'delta': {'tool_calls': calls[:1]}}]})}\n\n".encode())
        handler.end()

    provider.answer = answer
    gateway = start_gateway()
    reader = ReplayReader(gateway)
    for _ in range(40):
        assert call(gateway).status_code == 200
    for _ in range(10):
        reader.exchange()
    assert sum(len(json.dumps(one)) for one in reader.entries) <= MOST_BYTES
    assert max(len(json.dumps(one)) for one in reader.entries) < 8_000
    assert len(reader.entries) + sum(reader.not_kept.values()) == 40 * (1 + 40)


def test_a_day_without_room_costs_no_reading_and_is_counted(
    recorded: GatewayProcess, reader: ReplayReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unsent, "MOST_A_DAY", 3)
    for number in range(3):
        recorded.chat(f"turn {number}")
        call(recorded)
    reader.exchange().exchange()
    assert reader.kinds() == ["turn.began", "turn.ended", "model.call"]
    assert sum(reader.not_kept.values()) == 6


def _ignoring(gateway: GatewayProcess) -> None:
    with suppress(requests.RequestException):
        call(gateway)
