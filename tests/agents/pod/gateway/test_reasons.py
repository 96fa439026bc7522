"""Why a model did not answer, as one word for the page. Each provider has its own way to say it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.doubles.provider import ModelVendor, ProviderHandler

SAID = [
    (401, "Incorrect API key provided: sk-x.", "key_refused"),
    (403, "Your team is not allowed to use this model", "key_refused"),
    (400, "API key not valid. Please pass a valid API key.", "key_refused"),
    (402, "Insufficient Balance", "no_credit"),
    (400, "Your credit balance is too low to access the Anthropic API.", "no_credit"),
    (429, "You exceeded your current quota, please check your plan and billing details.", "no_credit"),
    (429, "Rate limit reached for gpt-5 in organization org-x on requests per min", "too_many"),
    (404, "The model gpt-5 does not exist", "no_model"),
    (500, "", "overloaded"),
    (529, "Overloaded", "overloaded"),
    (400, "This model's maximum context length is 8192 tokens", None),
]


def test_a_failure_of_the_model_has_the_reason_that_its_provider_means(
    gateway: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    def fails(_: ReceivedTurn) -> Iterable[Event]:
        gateway.call_model()
        yield {"type": "error", "hop": "engine", "message": "exit 1"}

    bridge.turn = fails
    for status, said, reason in SAID:
        body = json.dumps({"error": {"message": said}}).encode()

        def answer(handler: ProviderHandler, status: int = status, body: bytes = body) -> None:
            handler.whole(status, body)

        provider.answer = answer
        told = gateway.chat().json()
        assert (told["hop"], told.get("reason")) == ("model", reason), told
        assert said in told["message"]


def test_a_provider_that_breaks_off_is_unreachable_and_an_engine_that_fails_has_no_reason_of_a_model(
    gateway: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    def cut(handler: ProviderHandler) -> None:
        handler.cut()

    def fails(_: ReceivedTurn) -> Iterable[Event]:
        gateway.call_model()
        yield {"type": "error", "hop": "engine", "message": "exit 1"}

    provider.answer, bridge.turn = cut, fails
    streamed = gateway.ask("POST", "/chat", json={"message": "hi"}, headers={"Accept": "text/event-stream"})
    assert streamed.json()["reason"] == "unreachable_model"
    bridge.turn = lambda _: [{"type": "error", "hop": "engine", "message": "it crashed"}]
    assert "reason" not in gateway.chat().json()
