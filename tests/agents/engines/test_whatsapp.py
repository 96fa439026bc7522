"""WhatsApp with a real engine: the platform brings a person's message, and the engine answers at Meta's server."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine
from agents.pod.turns.failures import HopFailure
from agents.runtimes import inbound, management
from tests.agents.engines.conftest import ACCESS, EnginePod
from tests.agents.inbound.conftest import call_of, text
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_server import Mood
from tests.doubles.whatsapp import ACCESS_TOKEN, PHONE, WhatsappDouble

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes", "openclaw"], indirect=True)]
ANN, BOB = "4915100000001", "4915100000002"
SECRETS = {
    "whatsappPhoneNumberId": PHONE,
    "whatsappAccessToken": ACCESS_TOKEN,
    "whatsappVerifyToken": "verify-me-4711",
    "whatsappAppSecret": "app-secret-4711-0815",
}
CHANNELS: dict[str, Any] = {"channels": ["web", "whatsapp"], "channel_secrets": SECRETS}


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def meta() -> Iterator[WhatsappDouble]:
    with WhatsappDouble() as double:
        yield double


def bring(pod: EnginePod, name: str, words: str = "hello", *, sender: str = ANN) -> bool:
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    body = json.dumps(call_of(text(name, words, sender=sender), phone=PHONE))
    return inbound.hand_over(endpoint, ACCESS, channel="whatsapp", name=name, body=body)


def begin(pod: EnginePod, name: str, *, sender: str = ANN) -> None:
    """Bring the message until the engine takes it. Then its turn runs."""

    def is_taken() -> bool:
        try:
            assert not bring(pod, name, sender=sender)
        except HopFailure:
            return False
        return True

    eventually(is_taken, within=20, what="the message's turn")


def bring_until_over(pod: EnginePod, name: str, words: str = "hello", *, sender: str = ANN) -> None:
    """Bring the message again and again until its turn is over, as the platform does."""

    def is_over() -> bool:
        try:
            return bring(pod, name, words, sender=sender)
        except HopFailure:
            return False

    eventually(is_over, within=60, what="the end of the turn")


def test_a_person_on_whatsapp_is_answered_by_the_model_with_this_soul(pod: EnginePod, meta: WhatsappDouble) -> None:
    pod.start(whatsapp_api_url=meta.url, **CHANNELS)
    bring_until_over(pod, "wamid.1", "My boat is called Nautilus.")
    assert meta.sent == [(ANN, "pong")]
    assert "Captain Zorblax" in pod.model.turns()[-1].system
    assert pod.model.turns()[-1].said == [("user", "My boat is called Nautilus.")]
    bring_until_over(pod, "wamid.2", "What is its name?")
    assert "Nautilus" in str(pod.model.turns()[-1].said)
    bring_until_over(pod, "wamid.3", "hello", sender=BOB)
    assert "Nautilus" not in str(pod.model.turns()[-1].said)
    assert [whom for whom, _ in meta.sent] == [ANN, ANN, BOB]


def test_a_message_that_comes_again_is_read_once_also_after_a_restart(pod: EnginePod, meta: WhatsappDouble) -> None:
    pod.start(whatsapp_api_url=meta.url, **CHANNELS)
    bring_until_over(pod, "wamid.1")
    assert bring(pod, "wamid.1")
    pod.signal_engine(signal.SIGKILL)
    bring_until_over(pod, "wamid.1")
    assert len(pod.model.turns()) == 1
    assert meta.sent == [(ANN, "pong")]


def test_a_message_that_arrives_while_the_engine_restarts_is_answered_afterwards(
    pod: EnginePod, meta: WhatsappDouble
) -> None:
    pod.start(whatsapp_api_url=meta.url, **CHANNELS)
    pod.signal_engine(signal.SIGKILL)
    with pytest.raises(HopFailure):
        bring(pod, "wamid.1")
    bring_until_over(pod, "wamid.1")
    assert meta.sent == [(ANN, "pong")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_turn_that_the_engines_end_cuts_off_is_taken_once_more(
    pod: EnginePod, meta: WhatsappDouble, number: signal.Signals
) -> None:
    pod.start(whatsapp_api_url=meta.url, **CHANNELS)
    pod.model.mood = Mood.HANGING
    begin(pod, "wamid.1")
    eventually(lambda: len(pod.model.turns()) > 0, what="the hanging turn")
    assert not bring(pod, "wamid.1")
    pod.model.mood = Mood.FINE
    pod.signal_engine(number)
    bring_until_over(pod, "wamid.1")
    assert meta.sent == [(ANN, "pong")]
    assert all("restored" not in str(seen.said) for seen in pod.model.turns())


def test_two_people_are_served_at_once(pod: EnginePod, meta: WhatsappDouble) -> None:
    pod.start(whatsapp_api_url=meta.url, **CHANNELS)
    pod.model.mood = Mood.HANGING
    begin(pod, "wamid.1", sender=ANN)
    begin(pod, "wamid.2", sender=BOB)
    eventually(lambda: len(pod.model.turns()) == 2, what="both turns")
    assert not bring(pod, "wamid.1", sender=ANN)
    pod.model.mood = Mood.FINE
    pod.signal_engine(signal.SIGKILL)
    bring_until_over(pod, "wamid.1", sender=ANN)
    bring_until_over(pod, "wamid.2", sender=BOB)
    assert sorted(whom for whom, _ in meta.sent) == [ANN, BOB]


def test_the_talk_test_finds_the_channel_well_and_names_what_an_older_agent_lacks(
    pod: EnginePod, meta: WhatsappDouble
) -> None:
    pod.start(whatsapp_api_url=meta.url, **CHANNELS)
    assert hop(pod) is None
    older = {name: SECRETS[name] for name in ("whatsappPhoneNumberId", "whatsappAccessToken")}
    pod.change(channel_secrets=older)
    eventually(lambda: "whatsappAppSecret" in (hop(pod) or ""), within=30, what="the missing secret")


def hop(pod: EnginePod) -> str | None:
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    return next(one.error for one in management.talk_test(endpoint, ACCESS) if one.hop == "whatsapp")
