"""A person's message on Telegram while the engine ends: the message is answered afterwards, once."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine
from tests.agents.engines.conftest import EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_server import Mood
from tests.doubles.telegram import TOKEN, TelegramDouble

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes"], indirect=True)]
ANN, BOB = 77, 78
ENDS = pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
QUIET_SECONDS = 4.0  # after this time without a message, the test expects no more


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def telegram() -> Iterator[TelegramDouble]:
    with TelegramDouble() as double:
        yield double


@pytest.fixture
def talking(pod: EnginePod, telegram: TelegramDouble) -> EnginePod:
    """A pod that has answered one message of Ann."""
    secrets: dict[str, Any] = {"channel_secrets": {"telegramToken": TOKEN}}
    pod.start(telegram_api_url=telegram.url, channels=["web", "telegram"], **secrets)
    telegram.write("My boat is called Nautilus.")
    assert answers(telegram, 1) == [(ANN, "pong")]
    return pod


def answers(telegram: TelegramDouble, number: int) -> list[tuple[int, str]]:
    """All texts that people read, after this many answers have come and no more follow."""
    eventually(lambda: len(telegram.sent) >= number, within=90, what=f"answer {number}")
    time.sleep(QUIET_SECONDS)
    return [(sent.chat_id, sent.text) for sent in telegram.sent]


def said_to(telegram: TelegramDouble, person: int) -> list[str]:
    """The bot's texts to this person, without hermes' note that a message waits behind the current one."""
    return [sent.text for sent in telegram.sent if sent.chat_id == person and not sent.text.startswith("⏳")]


def questions(pod: EnginePod) -> list[str]:
    """For each turn: the last text that the model got."""
    return [seen.said[-1][1] for seen in pod.model.turns()]


def await_turn(pod: EnginePod, number: int) -> None:
    eventually(lambda: len(pod.model.turns()) >= number, within=60, what=f"turn {number}")


def hang(pod: EnginePod, telegram: TelegramDouble, *texts: str, person: int = ANN) -> None:
    """The person sends these texts. The turn of the first text does not end, and the others wait behind it."""
    pod.model.mood = Mood.HANGING
    asked = len(pod.model.turns())
    for text in texts:
        telegram.write(text, person=person)
        await_turn(pod, asked + 1)
    eventually(lambda: telegram.waiting == 0, within=30, what="the confirmation")


@ENDS
def test_a_message_that_arrives_while_the_engine_restarts_is_answered_afterwards_once(
    talking: EnginePod, telegram: TelegramDouble, end: signal.Signals
) -> None:
    talking.signal_engine(end)
    eventually(lambda: not talking.engine_processes(), what="the end")
    telegram.write("What is its name?")
    assert answers(telegram, 2) == [(ANN, "pong")] * 2
    assert questions(talking) == ["My boat is called Nautilus.", "What is its name?"]
    assert "Nautilus" in str(talking.model.turns()[-1].said[:-1])


@ENDS
def test_a_message_whose_turn_the_engines_end_cuts_off_is_answered_afterwards_once(
    talking: EnginePod, telegram: TelegramDouble, end: signal.Signals
) -> None:
    hang(talking, telegram, "What is its name?")
    talking.model.mood = Mood.FINE
    talking.signal_engine(end)
    assert answers(telegram, 2) == [(ANN, "pong")] * 2
    assert questions(talking)[-1] == "What is its name?"
    assert all("restored" not in str(seen.said) for seen in talking.model.turns())
    assert "Nautilus" in str(talking.model.turns()[-1].said[:-1])


@ENDS
def test_messages_behind_a_turn_that_is_cut_off_are_answered_each_once_and_in_their_order(
    talking: EnginePod, telegram: TelegramDouble, end: signal.Signals
) -> None:
    hang(talking, telegram, "one")
    telegram.write("two")
    eventually(lambda: telegram.waiting == 0, within=30, what="the confirmation")
    time.sleep(1.5)
    telegram.write("three")
    telegram.write("hello from Bob", person=BOB)
    eventually(lambda: telegram.waiting == 0, within=30, what="the confirmation")
    time.sleep(1.5)
    talking.model.reply = lambda seen: f"re {seen.said[-1][1]}"
    talking.model.mood = Mood.FINE
    talking.signal_engine(end)
    eventually(lambda: "three" in str(said_to(telegram, ANN)), within=90, what="the last answer")
    eventually(lambda: said_to(telegram, BOB), within=90, what="the other answer")
    time.sleep(QUIET_SECONDS)
    # hermes takes texts that come in quick succession as one message.
    assert " ".join(said_to(telegram, ANN)[1:]).replace("re ", "").split() == ["one", "two", "three"]
    assert said_to(telegram, BOB) == ["re hello from Bob"]


def test_what_was_answered_is_not_answered_again_after_any_number_of_ends(
    talking: EnginePod, telegram: TelegramDouble
) -> None:
    for end in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        talking.signal_engine(end)
        eventually(lambda: not talking.engine_processes(), what="the end")
        talking.wait_ready()
    telegram.write("hello")
    assert answers(telegram, 2) == [(ANN, "pong")] * 2
    assert questions(talking) == ["My boat is called Nautilus.", "hello"]


def test_a_message_that_ends_the_engine_each_time_is_given_up(talking: EnginePod, telegram: TelegramDouble) -> None:
    hang(talking, telegram, "poison")
    for turn in range(3, 6):
        talking.signal_engine(signal.SIGKILL)
        await_turn(talking, turn)
    talking.signal_engine(signal.SIGKILL)
    eventually(lambda: not talking.engine_processes(), what="the end")
    talking.wait_ready(within=60)
    talking.model.mood = Mood.FINE
    assert questions(talking).count("poison") == 4
    telegram.write("hello")
    eventually(lambda: questions(talking)[-1] == "hello", within=60, what="the next message's turn")


def test_the_answer_of_a_failed_delivery_is_not_asked_for_again(talking: EnginePod, telegram: TelegramDouble) -> None:
    """The engine is killed while it sends the answer."""
    telegram.sends_hang = True
    telegram.write("What is its name?")
    eventually(lambda: len(talking.model.turns()) == 2, within=30, what="the turn")
    eventually(lambda: telegram.hanging_sends > 0, within=30, what="the delivery")
    talking.signal_engine(signal.SIGKILL)
    telegram.sends_hang = False
    said = answers(telegram, 2)
    assert len(said) == 2
    assert said[-1][1].endswith("pong")
    assert len(talking.model.turns()) == 2
