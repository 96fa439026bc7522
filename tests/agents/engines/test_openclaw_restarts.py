"""Questions of people and schedules that came to a real openclaw while it was dying or down: answered later, once."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from agents.engines.openclaw import OPENCLAW
from agents.runtimes.base import Phase
from tests.agents.engines.conftest import EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_protocols import ToolCall
from tests.doubles.model_server import Mood
from tests.doubles.telegram import TOKEN, TelegramDouble

pytestmark = [
    pytest.mark.engines,
    pytest.mark.parametrize("engine", [OPENCLAW.id], indirect=True),
]
# Longer than openclaw waits before it continues a turn that was cut short.
QUIET_SECONDS = 25


@pytest.fixture
def telegram() -> Iterator[TelegramDouble]:
    with TelegramDouble() as double:
        yield double


def start(pod: EnginePod, telegram: TelegramDouble) -> None:
    secrets = {"channel_secrets": {"telegramToken": TOKEN}}
    pod.start(telegram_api_url=telegram.url, channels=["web", "telegram"], **secrets)
    telegram.write("hello")
    eventually(lambda: telegram.sent, within=60, what="the first answer")


def die(pod: EnginePod, number: signal.Signals) -> None:
    pod.signal_engine(number)
    eventually(lambda: pod.seen().phase == Phase.UNHEALTHY, within=40, what="the death")


def answers(telegram: TelegramDouble) -> list[str]:
    return [sent.text for sent in telegram.sent]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_message_that_comes_while_the_engine_is_down_is_answered_once(
    pod: EnginePod, telegram: TelegramDouble, number: signal.Signals
) -> None:
    start(pod, telegram)
    pod.model.reply = "Here I am again."
    asked = len(pod.model.turns())
    die(pod, number)
    telegram.write("Are you there?")
    eventually(lambda: len(answers(telegram)) > 1, within=120, what="the answer")
    time.sleep(QUIET_SECONDS)
    assert answers(telegram) == ["pong", "Here I am again."]
    (turn,) = pod.model.turns()[asked:]
    assert "Are you there?" in str(turn.said)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_message_whose_turn_is_cut_short_is_answered_once(
    pod: EnginePod, telegram: TelegramDouble, number: signal.Signals
) -> None:
    start(pod, telegram)
    pod.model.reply = "Here I am again."
    pod.model.mood = Mood.HANGING
    asked = len(pod.model.turns())
    telegram.write("Are you there?")
    eventually(lambda: len(pod.model.turns()) > asked, within=30, what="the turn")
    time.sleep(2)
    pod.signal_engine(number)
    pod.model.mood = Mood.FINE
    if number is signal.SIGTERM:  # openclaw waits for its turn to end, but a runtime kills it after a while
        time.sleep(15)
        pod.signal_engine(signal.SIGKILL)
    eventually(lambda: len(answers(telegram)) > 1, within=120, what="the answer")
    time.sleep(QUIET_SECONDS)
    assert answers(telegram)[1:] == ["Here I am again."]
    assert pod.model.turns()[-1].said[-1] == ("user", "Are you there?")
    assert len(pod.model.turns()) == asked + 2
    telegram.write("And then?")
    eventually(lambda: len(answers(telegram)) > 2, within=60, what="the next answer")
    assert "Here I am again." in str(pod.model.turns()[-1].said)
    said = str([turn.said for turn in pod.model.turns()])
    assert "gateway restart" not in said  # these would be openclaw's own words
    assert "Queued user message" not in said


def schedule(pod: EnginePod, **when: object) -> None:
    """The model makes a schedule. Each run of the schedule is a turn with these words."""
    job = {
        "name": "boats",
        "schedule": when,
        "sessionTarget": "isolated",
        "payload": {"kind": "agentTurn", "message": "Count the boats."},
        "delivery": {"mode": "none"},
    }
    pod.model.tool_calls = [ToolCall("automations", {"action": "add", "job": job})]
    assert pod.say("Count them regularly.") == "pong"
    assert pod.model.tool_calls == []
    assert "boats" in str([entry for entry in pod.model.turns()[-1].body["input"] if "output" in entry])


def runs(pod: EnginePod) -> int:
    return len([turn for turn in pod.model.turns() if "Count the boats." in str(turn.said)])


@pytest.mark.parametrize("repeats", [False, True], ids=["a single one", "a repeated one"])
def test_a_run_that_was_due_while_the_pod_was_down_is_caught_up_once(pod: EnginePod, repeats: bool) -> None:
    pod.start(toolsets=["cronjob"])
    due = datetime.now(UTC) + timedelta(seconds=30)
    # The repeating schedule misses three runs. The run after them comes long after this test.
    every = {"kind": "every", "everyMs": 3600_000, "anchorMs": int((due.timestamp() - 2 * 3600) * 1000)}
    schedule(pod, **(every if repeats else {"kind": "at", "at": due.isoformat()}))
    before = runs(pod)
    pod.runtime.stop(pod.namespace)
    eventually(lambda: pod.seen().phase == Phase.STOPPED, within=40, what="the stop")
    time.sleep(max(due.timestamp() - time.time(), 0) + 5)
    assert runs(pod) == before
    pod.runtime.deploy(pod.spec)
    pod.wait_ready(within=120)
    eventually(lambda: runs(pod) > before, within=300, what="the run")
    time.sleep(QUIET_SECONDS)
    assert runs(pod) == before + 1
