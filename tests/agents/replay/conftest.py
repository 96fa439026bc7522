"""A running agent with a model key, whose real gateway records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents.configuring import llm_key
from agents.models import Agent
from agents.replay.models import ReplayEntry
from agents.runtimes import pod_replay
from agents.runtimes.pod_spending import SpendingBatch
from agents.spending import adding, exchanging
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble
from tests.doubles.model_server import ModelServer

KEY = "sk-real-0123456789abcdefghijkl"
MODEL = "openai:gpt-6-luna"  # 0.10 USD a million tokens of input, 0.50 of output
ServeRecorded = Callable[..., GatewayProcess]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    made = settle(make_agent())
    return settle(llm_key.install(made, provider="openai", key=KEY, model=MODEL))


@pytest.fixture
def serve(gateway_of: GatewayOf, model: ModelServer, bridge: BridgeDouble) -> ServeRecorded:
    """`serve(agent)`: start the agent's gateway, with its present configuration."""

    def start(agent: Agent) -> GatewayProcess:
        agent.refresh_from_db()
        bridge.revision = agent.spec_revision  # a turn waits for an engine with an older configuration
        usual = {"llm_base_url": model.base_url("openai"), "model": "gpt-6-luna", "llm_key": KEY}
        return gateway_of(agent, revision=agent.spec_revision, **usual)

    return start


def call(gateway: GatewayProcess, text: str = "hi") -> None:
    """Call the model as the engine does. Each answer takes 10 and 5 tokens."""
    sent = {"model": "gpt-6-luna", "stream": True, "messages": [{"role": "user", "content": text}]}
    assert gateway.call_model("/llm/openai/v1/chat/completions", json=sent).status_code == 200


def say(gateway: GatewayProcess, text: str, *, session: str = "ses_1") -> None:
    """A turn, as the control plane asks for it."""
    token = gateway.start.secrets.management_token
    answer = gateway.ask("POST", "/chat", token, json={"message": text, "session_id": session})
    assert answer.status_code == 200, answer.text


def read(agent: Agent) -> list[ReplayEntry]:
    """Exchange figures now, twice, so that the last batch is confirmed. Returns the agent's rows, oldest first."""
    for _ in range(2):
        exchanging.exchange(agent.pk)
    return list(ReplayEntry.objects.filter(agent=agent).order_by("created_at", "id"))


def entry(*, at: datetime | None = None, **told: Any) -> dict[str, Any]:
    """An entry as a gateway hands it over."""
    moment = at.timestamp() if at else time.time() - 1
    return {"at": moment, "kind": "model.call", "door": "chat", "model": MODEL, "input": 10, "output": 5, **told}


def hand_over(agent: Agent, *entries: object, number: int = 1, not_kept: object = None, book: str = "b") -> bool:
    """A batch of the agent's gateway arrives, with these entries."""
    now = timezone.now()
    replay = pod_replay.read({"entries": list(entries), "not_kept": not_kept or {}}, today=now.date())
    return adding.add(agent, SpendingBatch(book=book, number=number, rows=[], replay=replay), now=now)


def stored(agent: Agent, count: int, *, every: timedelta = timedelta(seconds=1), **given: Any) -> None:
    """Rows of the past, one each `every`, the newest one now."""
    now = timezone.now()
    ReplayEntry.objects.bulk_create(
        [
            ReplayEntry(agent=agent, created_at=now - every * ago, **{"kind": "turn.began", **given})
            for ago in range(count)
        ],
        batch_size=10_000,
    )
