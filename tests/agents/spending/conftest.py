"""A running agent with a model key, a real gateway, and a model that counts what it answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any, Protocol

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.keys import KeyLimits
from accounts.models import ApiKey, User
from accounts.scopes import Scope
from agents.configuring import llm_key
from agents.models import Agent
from agents.spending import key_turns, telling
from agents.spending.models import KeyUsage
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn, echo
from tests.doubles.model_server import ModelServer

KEY = "sk-real-0123456789abcdefghijkl"
MODEL = "openai:gpt-6-luna"  # 0.10 USD a million tokens of input, 0.50 of output
ONE_CALL = Decimal("0.0000035")  # 10 tokens of input and 5 of output
Serve = Callable[..., GatewayProcess]


class KeyClient(APIClient):
    """A client with an API key."""

    def __init__(self, key: ApiKey, secret: str) -> None:
        super().__init__(raise_request_exception=False)
        self.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        self.key = key

    def chat(self, agent: Agent, **given: Any) -> Any:
        return self.post(f"/agents/{agent.pk}/chat", {"message": "hi"}, format="json", **given)

    @contextmanager
    def turn(self, agent: Agent, gateway: GatewayProcess) -> Iterator[list[int]]:
        """Have a turn run meanwhile, as `POST /agents/{id}/chat` begins it. Yields the list for its status."""
        body = {"message": "hi", "api_key": key_turns.begin(self.key, agent=agent, now=timezone.now())}
        with beside(lambda: gateway.ask("POST", "/chat", token=agent.management_token, json=body).status_code) as said:
            yield said


@contextmanager
def beside(do: Callable[[], int]) -> Iterator[list[int]]:
    """Do this in a thread of its own, which has ended when the block ends. It gets no database: a test's rows are in a
    transaction of its own.
    """
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(do()))
    thread.start()
    yield results
    thread.join(30)
    assert not thread.is_alive()


def during(bridge: BridgeDouble, do: Callable[[], object]) -> None:
    """Do this in the middle of each turn, as an engine that calls its model."""

    def turn(received: ReceivedTurn) -> Iterable[Event]:
        do()
        yield from echo(received)

    bridge.turn = turn


class MakeKey(Protocol):
    def __call__(self, name: str, **limits: Any) -> KeyClient: ...


@pytest.fixture
def make_key(owner: User) -> MakeKey:
    """`make_key("a", …)`: a key of the owner's, which operates agents unless its limits say otherwise."""

    def make(name: str, **limits: Any) -> KeyClient:
        given = KeyLimits(**{"scopes": [Scope.READ, Scope.OPERATE], **limits})
        return KeyClient(*keys.create(owner, name=name, limits=given, now=timezone.now()))

    return make


@pytest.fixture
def key(make_key: MakeKey) -> KeyClient:
    return make_key("driver")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    made = settle(make_agent())
    return settle(llm_key.install(made, provider="openai", key=KEY, model=MODEL))


@pytest.fixture
def serve(gateway_of: GatewayOf, model: ModelServer, bridge: BridgeDouble) -> Serve:
    """`serve(agent)`: start the agent's gateway, with its present configuration."""

    def start(agent: Agent, **given: object) -> GatewayProcess:
        agent.refresh_from_db()
        bridge.revision = agent.spec_revision  # the engine has it already: turns do not wait
        usual = {"llm_base_url": model.base_url("openai"), "model": "gpt-6-luna", "llm_key": KEY}
        return gateway_of(agent, **{**usual, "revision": agent.spec_revision, **given})

    return start


def call(gateway: GatewayProcess, count: int = 1, **body: object) -> list[int]:
    """Call the model as the engine does. Each answer takes 10 and 5 tokens."""
    sent = {"model": "gpt-6-luna", "stream": True, "messages": [], **body}
    path = "/llm/openai/v1/chat/completions"
    return [gateway.call_model(path, json=sent).status_code for _ in range(count)]


CENT = Decimal("0.01")


def put(client: APIClient, key: KeyClient, **body: Any) -> Any:
    return client.put(f"/keys/{key.key.pk}/limits", body, format="json")


def spend(key: KeyClient, agent: Agent, usd: str, *, days_ago: int = 0) -> None:
    """As if the key's turns with the agent had cost this."""
    day = timezone.now().date() - timedelta(days=days_ago)
    KeyUsage.objects.update_or_create(api_key=key.key, agent=agent, day=day, defaults={"usd": Decimal(usd)})
    telling.tell(agent, now=timezone.now())


def left_for(calls: int) -> Decimal:
    """What a key has spent of a cent, if it has these calls left."""
    return CENT - ONE_CALL * calls


def words_of(gateway: GatewayProcess) -> str:
    """What the engine is told about a refused call, in the provider's own form."""
    refused = gateway.call_model("/llm/openai/v1/chat/completions", json={"model": "gpt-6-luna", "messages": []})
    assert refused.status_code == 402
    return str(refused.json()["error"]["message"])
