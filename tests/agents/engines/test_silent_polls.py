"""Telegram of the real engines while no poll succeeds: `channels` says so, even if the engine calls it connected."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import requests

from agents.engines import ENGINES
from agents.engines.base import Engine
from agents.pod.turns.failures import HopFailure
from agents.runtimes import management
from tests.agents.engines.conftest import ACCESS, EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.telegram import TOKEN, TelegramDouble

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes", "openclaw"], indirect=True)]
Trouble = Callable[[TelegramDouble], None]


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def telegram() -> Iterator[TelegramDouble]:
    with TelegramDouble() as double:
        yield double


def silence(pod: EnginePod) -> str | None:
    """The reason for a silent channel, as asked each minute: None if it is heard, "" if the pod is too busy.

    It waits for a second first, so that the questions take no time away from the engine.
    """
    time.sleep(1)
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    try:
        return management.channels(endpoint, ACCESS, wanted=["web", "telegram"])["telegram"]
    except HopFailure:
        return ""


def start(pod: EnginePod, telegram: TelegramDouble) -> None:
    secrets: dict[str, Any] = {"channel_secrets": {"telegramToken": TOKEN}}
    pod.start(telegram_api_url=telegram.url, channels=["web", "telegram"], **secrets)
    eventually(lambda: silence(pod) is None, within=60, what="the channel")
    eventually(lambda: "getUpdates" in telegram.methods, within=30, what="a poll")


def revoked(telegram: TelegramDouble) -> None:
    telegram.token = "1:another"


def hanging(telegram: TelegramDouble) -> None:
    telegram.polls_hang = True


def failing(telegram: TelegramDouble) -> None:
    telegram.poll_refusal = (502, "Bad Gateway")


def gone(telegram: TelegramDouble) -> None:
    telegram.stop()


def polled_by_another(telegram: TelegramDouble) -> None:
    """Another program polls with the same token, without a pause."""

    def poll() -> None:
        with suppress(requests.ConnectionError):  # the test has ended
            while True:
                requests.get(f"{telegram.url}/bot{TOKEN}/getUpdates", params={"timeout": 5}, timeout=60)

    threading.Thread(target=poll, daemon=True).start()


def test_a_bot_that_nobody_writes_to_is_heard(pod: EnginePod, telegram: TelegramDouble) -> None:
    start(pod, telegram)
    until = time.monotonic() + 80
    while time.monotonic() < until:
        assert not silence(pod)


def test_a_token_that_is_revoked_while_it_runs_is_told_at_once_and_never_shown(
    pod: EnginePod, telegram: TelegramDouble
) -> None:
    start(pod, telegram)
    revoked(telegram)
    said = eventually(lambda: silence(pod), within=40, what="the refusal")
    assert said == "the service refuses the bot's token"
    assert TOKEN not in said
    assert pod.say("hello") == "pong"


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        (hanging, {"hermes": "imed out", "openclaw": "does not answer"}),
        (failing, {"hermes": "Bad Gateway", "openclaw": "does not answer"}),
        (gone, {"hermes": "ConnectError", "openclaw": "does not answer"}),
        (polled_by_another, dict.fromkeys(["hermes", "openclaw"], "terminated by other getUpdates request")),
    ],
    ids=["hanging", "failing", "gone", "polled by another"],
)
def test_polls_that_bring_nothing_for_a_minute_are_told_with_the_reason(
    pod: EnginePod, telegram: TelegramDouble, trouble: Trouble, why: dict[str, str]
) -> None:
    start(pod, telegram)
    trouble(telegram)
    said = eventually(lambda: silence(pod), within=100, what="the silence")
    if trouble is not polled_by_another or pod.engine.id == "hermes":  # otherwise openclaw itself says: not connected
        assert said.startswith("no poll has succeeded for 1 minute: ")
    assert why[pod.engine.id] in said
    assert TOKEN not in said


def test_a_service_that_answers_again_is_heard_again(pod: EnginePod, telegram: TelegramDouble) -> None:
    start(pod, telegram)
    telegram.polls_hang = True
    eventually(lambda: silence(pod), within=100, what="the silence")
    telegram.polls_hang = False
    eventually(lambda: silence(pod) is None, within=100, what="the channel")
    heard = len(telegram.sent)
    telegram.write("hello")
    eventually(lambda: len(telegram.sent) > heard, within=60, what="the answer")
