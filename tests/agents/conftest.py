"""An owner with a token, the catalog, agents made by the API's own rule, and a double of the runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import sessions
from accounts.models import User
from agents import creation
from agents.models import Agent
from agents.running import identity, reconciler
from agents.runtimes.base import Endpoint, Identity
from catalog.models import Persona
from catalog.vocabulary import PersonaStatus
from tests.agents.pod.gateway.process import GatewayProcess
from tests.catalog import loaded
from tests.coverage_scope import told_nothing
from tests.doubles.bridge import BridgeDouble
from tests.doubles.runtime import ScriptedRuntime
from webhooks.models import Event

PERSONA = "test-study-buddy"

MakeAgent = Callable[..., Agent]


@pytest.fixture
def catalog(db: None) -> None:
    enter_catalog()


def enter_catalog() -> None:
    """The built-in catalog, as a new installation has it, and a persona for these tests."""
    loaded.enter("agents", _add_study_buddy)


def _add_study_buddy() -> None:
    Persona.objects.create(
        id=PERSONA,
        name="Study Buddy",
        tier="tiny",
        category="study",
        soul="You help people study.",
        status=PersonaStatus.BUILTIN,
        recommended_models=["openai:gpt-6-luna"],
    )


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create_user("owner@example.com")


@pytest.fixture
def stranger(db: None) -> User:
    return User.objects.create_user("stranger@example.com")


def signed_in(user: User) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {sessions.start(user, attribution=None, now=timezone.now())[1]}")
    return client


@pytest.fixture
def client(owner: User, catalog: None) -> APIClient:
    """The owner's client, with a session token."""
    return signed_in(owner)


@pytest.fixture
def other(stranger: User, catalog: None) -> APIClient:
    return signed_in(stranger)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[ScriptedRuntime]:
    """A runtime that does what the test says, instead of the runtime that AGENT_RUNTIME names."""
    settings.LLM_KEY_CHECK = False
    with ScriptedRuntime.installed(monkeypatch) as scripted:
        yield scripted


@pytest.fixture
def make_agent(owner: User, catalog: None, runtime: ScriptedRuntime) -> MakeAgent:
    """`make_agent(tier="small", …)`: make an agent of the owner; it is still provisioning."""

    def make(user: User | None = None, **wanted: Any) -> Agent:
        who = user or owner
        new = creation.NewAgent(**{"persona_id": PERSONA, "tier": "tiny", **wanted})
        return creation.create(who, creation.checked(who, new), actor=f"user:{who.pk}")[0]

    return make


@pytest.fixture
def running(make_agent: MakeAgent, runtime: ScriptedRuntime) -> Agent:
    """An agent whose pod has come up."""
    return settle(make_agent())


@pytest.fixture
def bridge() -> Iterator[BridgeDouble]:
    with BridgeDouble() as double:
        yield double


class GatewayOf:
    """`gateways(agent)`: start a real gateway with a scripted engine as this agent's pod."""

    def __init__(self, bridge: BridgeDouble, runtime: ScriptedRuntime, run_dir: Path, *, is_measured: bool) -> None:
        self._bridge, self._runtime, self._run_dir = bridge, runtime, run_dir
        self._is_measured = is_measured
        self._started: list[GatewayProcess] = []

    def __call__(self, agent: Agent, **given: object) -> GatewayProcess:
        own = identity.ensured(agent)
        known = {
            "identity": Identity(key=own.gateway_key, certificate=own.gateway_certificate),
            "management_token": agent.management_token,
            "ticket_key": agent.ticket_key,
            "namespace": agent.namespace,
            "name": agent.name,
        }
        with nullcontext() if self._is_measured else told_nothing():  # tests/agents/pod measures most of a gateway
            gateway = GatewayProcess({"bridge_url": self._bridge.url, "run_dir": str(self._run_dir), **known, **given})
        self._started.append(gateway)
        gateway.wait_until_up()
        address = Endpoint(public_url=gateway.public, management_url=gateway.management)
        self._runtime.addresses[agent.namespace] = address
        return gateway

    def stop_all(self) -> None:
        for gateway in self._started:
            gateway.stop()


@pytest.fixture
def gateway_of(
    request: pytest.FixtureRequest, bridge: BridgeDouble, runtime: ScriptedRuntime, tmp_path: Path
) -> Iterator[GatewayOf]:
    is_measured = request.node.get_closest_marker("measures_gateways") is not None
    gateways = GatewayOf(bridge, runtime, tmp_path, is_measured=is_measured)
    yield gateways
    gateways.stop_all()


def settle(agent: Agent, rounds: int = 12) -> Agent:
    """Reconcile until nothing is due any more."""
    for _ in range(rounds):
        Agent.objects.filter(pk=agent.pk, reconcile_at__isnull=False).update(reconcile_at=agent.created_at)
        if not reconciler.reconcile_due():
            break
    agent.refresh_from_db()
    return agent


def event_types(agent: Agent) -> list[str]:
    """The agent's events, oldest first."""
    return list(Event.objects.filter(agent=agent).order_by("created_at", "id").values_list("type", flat=True))
