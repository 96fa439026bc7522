"""Channels of the real engines that connect to them, against a double with the service's own protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from agents.engines import ENGINES
from agents.engines.base import Engine
from agents.runtimes.local.programs import PodProgram
from tests.agents.engines.conftest import EnginePod
from tests.agents.engines.expectations import expected
from tests.agents.pod.bridge.process import eventually
from tests.doubles.telegram import TOKEN, TelegramDouble

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes", "openclaw"], indirect=True)]
WEB_AND_TELEGRAM: dict[str, Any] = {"channels": ["web", "telegram"], "channel_secrets": {"telegramToken": TOKEN}}


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def telegram() -> Iterator[TelegramDouble]:
    with TelegramDouble() as double:
        yield double


def state_of(pod: EnginePod) -> dict[str, str | None]:
    """The states of the channels, as the bridge tells them to the gateway."""
    record = pod.runtime.home.record(pod.namespace)
    assert record
    answer = requests.get(
        f"http://127.0.0.1:{record.bridge_port}/channels",
        headers={"Authorization": f"Bearer {record.bridge_token}"},
        timeout=20,
    )
    channels: dict[str, str | None] = answer.json()["channels"]
    return channels


def converse(telegram: TelegramDouble, text: str) -> str:
    """A person writes this text. Returns the bot's next message."""
    heard = len(telegram.sent)
    telegram.write(text)
    eventually(lambda: len(telegram.sent) > heard, within=30, what="the answer")
    return telegram.sent[-1].text


def test_a_person_on_telegram_is_answered_by_the_model_with_this_soul_and_these_tools(
    pod: EnginePod, telegram: TelegramDouble
) -> None:
    pod.start(toolsets=["file"], telegram_api_url=telegram.url, **WEB_AND_TELEGRAM)
    assert converse(telegram, "My boat is called Nautilus.") == "pong"
    seen = pod.model.turns()[-1]
    assert "Captain Zorblax" in seen.system
    assert seen.tools == set(pod.engine.toolsets["file"])
    pod.change(soul="You are Nurse Blip.", toolsets=[expected(pod).deed[0]])
    eventually(lambda: state_of(pod)["telegram"] is None, within=30, what="the channel")
    assert converse(telegram, "What is its name?") == "pong"
    seen = pod.model.turns()[-1]
    assert "Nurse Blip" in seen.system
    assert "Zorblax" not in seen.system
    assert "Nautilus" in str(seen.said)
    assert seen.tools == set(pod.engine.toolsets[expected(pod).deed[0]])


def test_a_conversation_on_the_web_knows_nothing_of_one_on_telegram(pod: EnginePod, telegram: TelegramDouble) -> None:
    pod.start(telegram_api_url=telegram.url, **WEB_AND_TELEGRAM)
    converse(telegram, "My boat is called Nautilus.")
    pod.say("hello")
    assert [text for _, text in pod.model.turns()[-1].said] == ["hello"]


def test_a_token_that_telegram_refuses_is_told_and_the_web_works_on(pod: EnginePod, telegram: TelegramDouble) -> None:
    telegram.token = "1:another"
    pod.start(telegram_api_url=telegram.url, **WEB_AND_TELEGRAM)
    eventually(lambda: state_of(pod)["telegram"] is not None, what="the refusal")
    assert state_of(pod)["web"] is None
    assert pod.say("hello") == "pong"


def test_commands_of_the_engine_are_refused_to_people_on_telegram(pod: EnginePod, telegram: TelegramDouble) -> None:
    pod.start(telegram_api_url=telegram.url, **WEB_AND_TELEGRAM)
    converse(telegram, "/model gpt-4")
    assert pod.model.turns() == []
    converse(telegram, "hello")
    assert pod.model.turns()[-1].model == "gpt-6-luna"


def test_without_a_key_telegram_stays_silent_until_there_is_one(pod: EnginePod, telegram: TelegramDouble) -> None:
    pod.start(key=None, has_key=False, telegram_api_url=telegram.url, **WEB_AND_TELEGRAM)
    assert "model key" in (state_of(pod)["telegram"] or "")
    assert telegram.calls == []
    pod.change(has_key=True)
    eventually(lambda: state_of(pod)["telegram"] is None, within=30, what="the channel")
    assert converse(telegram, "hello") == "pong"


def test_the_bots_token_is_in_no_log_and_in_no_argument(pod: EnginePod, telegram: TelegramDouble) -> None:
    pod.start(telegram_api_url=telegram.url, **WEB_AND_TELEGRAM)
    converse(telegram, "hello")
    for path in pod.home.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path
    for process in [*pod.engine_processes(), pod.program(PodProgram.BRIDGE), pod.program(PodProgram.GATEWAY)]:
        assert TOKEN not in " ".join(process.cmdline())
