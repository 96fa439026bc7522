"""A running agent with a model key, a real gateway, and a model that counts what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agents.configuring import llm_key
from agents.models import Agent
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.model_server import ModelServer

KEY = "sk-real-0123456789abcdefghijkl"
MODEL = "openai:gpt-6-luna"  # 0.10 USD a million tokens of input, 0.50 of output
Serve = Callable[..., GatewayProcess]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    made = settle(make_agent())
    return settle(llm_key.install(made, provider="openai", key=KEY, model=MODEL))


@pytest.fixture
def serve(gateway_of: GatewayOf, model: ModelServer) -> Serve:
    """`serve(agent)`: start the agent's gateway, with its present configuration."""

    def start(agent: Agent, **given: object) -> GatewayProcess:
        agent.refresh_from_db()
        usual = {"llm_base_url": model.base_url("openai"), "model": "gpt-6-luna", "llm_key": KEY}
        return gateway_of(agent, **{**usual, "revision": agent.spec_revision, **given})

    return start


def call(gateway: GatewayProcess, count: int = 1, **body: object) -> list[int]:
    """Call the model as the engine does. Each answer takes 10 and 5 tokens."""
    sent = {"model": "gpt-6-luna", "stream": True, "messages": [], **body}
    path = "/llm/openai/v1/chat/completions"
    return [gateway.call_model(path, json=sent).status_code for _ in range(count)]
