"""Discord with a real engine, against a double that speaks Discord's gateway protocol and REST API."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine
from agents.pod.turns.failures import HopFailure
from agents.runtimes import management
from tests.agents.engines.conftest import ACCESS, EnginePod
from tests.agents.engines.expectations import expected
from tests.agents.pod.bridge.process import eventually
from tests.doubles.discord import BOB, BOT, TEXT_CHANNEL, TOKEN, DiscordDouble
from tests.doubles.model_server import Mood

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes", "openclaw"], indirect=True)]
ENDS = pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
QUIET_SECONDS = 4.0  # after this time without a message, the test expects no more
CHANNELS: dict[str, Any] = {"channels": ["web", "discord"], "channel_secrets": {"discordToken": TOKEN}}


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def talking(pod: EnginePod, discord: DiscordDouble) -> EnginePod:
    """A pod that has answered one message of Ann."""
    pod.start(discord_api_url=discord.url, **CHANNELS)
    eventually(lambda: discord.is_connected, within=60, what="the connection")
    discord.write("My boat is called Nautilus.")
    assert answers(discord, 1) == ["pong"]
    return pod


def answers(discord: DiscordDouble, number: int) -> list[str]:
    """All texts that people read, after this many answers have come and no more follow."""
    eventually(lambda: len(discord.sent) >= number, within=90, what=f"answer {number}")
    time.sleep(QUIET_SECONDS)
    return [said.text for said in discord.sent]


def questions(pod: EnginePod) -> list[str]:
    """For each turn: the last words of a person that the model got."""
    return [[text for text in expected(pod).said(seen) if text][-1] for seen in pod.model.turns()]


def silence(pod: EnginePod) -> str | None:
    """The reason for a silent channel, as asked each minute: None if it is heard, "" if the pod is too busy."""
    time.sleep(1)
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    try:
        return management.channels(endpoint, ACCESS, wanted=["web", "discord"])["discord"]
    except HopFailure:
        return ""


def test_a_person_on_discord_is_answered_by_the_model_with_this_soul(
    talking: EnginePod, discord: DiscordDouble
) -> None:
    assert "Captain Zorblax" in talking.model.turns()[-1].system
    discord.write("What is its name?")
    assert answers(discord, 2) == ["pong", "pong"]
    assert "Nautilus" in str(talking.model.turns()[-1].said)
    discord.write("hello", person=BOB)
    answers(discord, 3)
    assert "Nautilus" not in str(talking.model.turns()[-1].said)
    discord.write("of no concern to it", channel=TEXT_CHANNEL)
    discord.write(f"<@{BOT['id']}> and you?", channel=TEXT_CHANNEL)
    answers(discord, 4)
    assert questions(talking)[-1].endswith("and you?")
    assert len(questions(talking)) == 4  # nobody asked the model about the other message


@ENDS
def test_messages_that_arrive_while_the_engine_restarts_are_answered_afterwards_once(
    talking: EnginePod, discord: DiscordDouble, end: signal.Signals
) -> None:
    talking.signal_engine(end)
    eventually(lambda: not discord.is_connected, what="the end")
    discord.write("What is its name?")
    discord.write(f"<@{BOT['id']}> and you?", channel=TEXT_CHANNEL)
    assert answers(discord, 3) == ["pong"] * 3
    assert len(questions(talking)) == 3
    talking.signal_engine(end)
    eventually(lambda: not discord.is_connected, what="the end")
    eventually(lambda: discord.is_connected, within=60, what="the connection")
    assert answers(discord, 3) == ["pong"] * 3


@ENDS
def test_a_message_whose_turn_the_engines_end_cuts_off_is_answered_afterwards_once(
    talking: EnginePod, discord: DiscordDouble, end: signal.Signals
) -> None:
    talking.model.mood = Mood.HANGING
    discord.write("What is its name?")
    eventually(lambda: len(talking.model.turns()) == 2, within=30, what="the hanging turn")
    talking.model.mood = Mood.FINE
    talking.signal_engine(end)
    assert answers(discord, 2) == ["pong"] * 2
    assert questions(talking)[-1] == "What is its name?"
    assert all("restored" not in str(seen.said) for seen in talking.model.turns())


def test_a_connection_that_breaks_is_resumed_and_nothing_is_answered_twice(
    talking: EnginePod, discord: DiscordDouble
) -> None:
    discord.cut()
    discord.write("What is its name?")
    assert answers(discord, 2) == ["pong"] * 2
    assert discord.resumed == 1


def test_a_token_that_discord_refuses_is_told_and_never_shown_and_the_web_works_on(
    pod: EnginePod, discord: DiscordDouble
) -> None:
    discord.token = "another"
    pod.start(discord_api_url=discord.url, **CHANNELS)
    said = eventually(lambda: silence(pod), within=60, what="the refusal")
    assert said == "the service refuses the bot's token"
    assert TOKEN not in said
    assert pod.say("hello") == "pong"
