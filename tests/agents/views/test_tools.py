"""`tools.secrets`: keys of services that tools use. They are never shown, and only the gateway gets them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from tests.agents.conftest import PERSONA, MakeAgent, settle
from tests.doubles.runtime import ScriptedRuntime

KEY = "tvly-key-of-the-owner-0123"


@pytest.fixture
def hermes(make_agent: MakeAgent, runtime: ScriptedRuntime) -> Agent:
    return settle(make_agent(engine="hermes", tier="small"))


def put(client: APIClient, agent: Agent, *enabled: str, **secrets: Any) -> Any:
    given = {"secrets": secrets} if secrets else {}
    return client.put(f"/agents/{agent.id}/tools", {"enabled": enabled, "mcpServers": [], **given}, format="json")


def keys_in_pod(runtime: ScriptedRuntime, agent: Agent) -> dict[str, str]:
    return runtime.pods[settle(agent).namespace].spec.secrets.tool_keys


def test_a_toolset_that_needs_a_key_is_refused_without_it(client: APIClient, hermes: Agent) -> None:
    answer = put(client, hermes, "file", "web", "search")
    assert answer.status_code == 400
    assert answer.json()["message"] == "secrets.tavily: on Hermes the toolset 'web' needs it"
    assert put(client, hermes, "tts", tavily=KEY).json()["message"].startswith("secrets.openai: on Hermes")
    hermes.refresh_from_db()
    assert (hermes.tools_enabled, hermes.tool_secrets) == (None, None)


def test_the_key_reaches_the_gateway_alone_and_is_never_shown(
    client: APIClient, hermes: Agent, runtime: ScriptedRuntime
) -> None:
    answer = put(client, hermes, "web", tavily=KEY)
    assert answer.json()["agent"]["tools"] == {"enabled": ["web"], "mcpServers": []}
    assert KEY not in answer.content.decode() + client.get(f"/agents/{hermes.id}").content.decode()
    assert keys_in_pod(runtime, hermes) == {"tavily": KEY}
    assert KEY not in str(dataclasses.asdict(runtime.pods[hermes.namespace].spec.config))


def test_a_key_that_is_not_given_stays_and_null_forgets_it(
    client: APIClient, hermes: Agent, runtime: ScriptedRuntime
) -> None:
    put(client, hermes, "web", "tts", tavily=KEY, openai="sk-1")
    assert put(client, hermes, "web", openai="sk-2").status_code == 200
    assert keys_in_pod(runtime, hermes) == {"tavily": KEY, "openai": "sk-2"}
    assert put(client, hermes, "web", tavily=None).json()["message"].startswith("secrets.tavily: ")
    assert put(client, hermes, "file", tavily=None, openai=None).status_code == 200
    assert keys_in_pod(runtime, hermes) == {}


def test_an_engine_with_a_way_of_its_own_needs_no_key(client: APIClient, make_agent: MakeAgent) -> None:
    assert put(client, settle(make_agent(engine="opencode", tier="small")), "web").status_code == 200


@pytest.mark.parametrize(
    ("secrets", "named"),
    [
        ({"tavily": "a b"}, "secrets.tavily: must be printable ASCII"),
        ({"tavily": "tvly-ключ"}, "secrets.tavily: must be printable ASCII"),
        ({"tavily": "x\r\nHost: y"}, "secrets.tavily"),
        ({"tavily": "x" * 1_001}, "secrets.tavily"),
        ({"tavily": 5}, "secrets.tavily"),
        ({"tavily": ""}, "secrets.tavily"),
    ],
)
def test_a_key_that_cannot_be_one_is_named(
    client: APIClient, hermes: Agent, secrets: dict[str, Any], named: str
) -> None:
    answer = put(client, hermes, "web", **secrets)
    assert (answer.status_code, answer.json()["message"][: len(named)]) == (400, named)


@pytest.mark.parametrize("secrets", [[], "x", None, 5])
def test_secrets_are_an_object(client: APIClient, hermes: Agent, secrets: Any) -> None:
    body = {"enabled": ["file"], "mcpServers": [], "secrets": secrets}
    answer = client.put(f"/agents/{hermes.id}/tools", body, format="json")
    assert (answer.status_code, "secrets" in answer.json()["message"]) == (400, True)


def test_an_agent_can_be_created_with_them(client: APIClient, runtime: ScriptedRuntime) -> None:
    body: dict[str, Any] = {"personaId": PERSONA, "tier": "small", "engine": "hermes"}
    tools: dict[str, Any] = {"enabled": ["search"], "mcpServers": []}
    answer = client.post("/agents", {**body, "tools": tools}, format="json")
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "tools.secrets.tavily: on Hermes the toolset 'search' needs it",
    )
    answer = client.post("/agents", {**body, "tools": {**tools, "secrets": {"tavily": "a b"}}}, format="json")
    assert answer.json()["message"].startswith("tools.secrets.tavily: must be")
    answer = client.post("/agents", {**body, "tools": {**tools, "secrets": {"tavily": KEY}}}, format="json")
    assert answer.status_code == 200
    assert KEY not in answer.content.decode()
    assert keys_in_pod(runtime, Agent.objects.get()) == {"tavily": KEY}


def test_they_are_stored_encrypted_and_forgotten_with_the_agent(client: APIClient, hermes: Agent) -> None:
    put(client, hermes, "web", tavily=KEY)
    stored = str(Agent.objects.filter(pk=hermes.pk).extra(select={"raw": "tool_secrets::text"}).values("raw").get())
    assert KEY not in stored
    assert client.delete(f"/agents/{hermes.id}").status_code in {200, 202, 204}
    assert settle(hermes).tool_secrets is None
