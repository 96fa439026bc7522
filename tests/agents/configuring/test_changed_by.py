"""A call changes a field or refuses it by name. No field is accepted and then ignored."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import resolve
from rest_framework.test import APIClient

from agents.configuring.changed_by import CHANGED_BY
from agents.models import Agent
from agents.serializers import agents as bodies
from tests.agents.conftest import PERSONA
from webhooks.serializers import ReceiverSerializer

pytestmark = pytest.mark.unmeasured

# Each call that changes an agent, with a body that the call accepts.
CALLS: dict[tuple[str, str], tuple[type[Any], dict[str, Any]]] = {
    ("patch", ""): (bodies.PatchAgentSerializer, {"name": "Other"}),
    ("patch", "/llm-key"): (bodies.LlmKeySerializer, {"model": None}),
    ("put", "/tools"): (bodies.AgentToolsSerializer, {"enabled": [], "mcpServers": []}),
    ("put", "/a2a"): (bodies.PutA2aSerializer, {"enabled": False}),
    ("put", "/channels"): (bodies.ChannelsSerializer, {"channels": ["web"]}),
    ("put", "/webhook"): (ReceiverSerializer, {"url": "https://203.0.114.7/"}),
}
NEW = {"personaId": PERSONA, "tier": "tiny"}
TAKEN: set[type[Any]] = {bodies.CreateAgentSerializer, *(body for body, _ in CALLS.values())}


def test_every_field_that_an_agent_shows_or_a_call_takes_is_known() -> None:
    taken = {name for body in TAKEN for name in body().fields}
    extra = {"soul", "webhookSecret"}
    assert set(bodies.AgentSerializer().fields) | taken | extra == set(CHANGED_BY)


@pytest.mark.sampled
@pytest.mark.parametrize("call", CALLS)
def test_what_this_call_does_not_change_is_refused_by_name(
    client: APIClient, running: Agent, call: tuple[str, str]
) -> None:
    (method, path), (body, good) = call, CALLS[call]
    before = client.get(f"/agents/{running.pk}").json()
    for name in CHANGED_BY.keys() - body().fields.keys():
        answer = getattr(client, method)(f"/agents/{running.pk}{path}", {**good, name: "x"}, format="json")
        assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
        assert answer.json()["message"] == f"{name}: this call does not take it; {CHANGED_BY[name]}"
    assert client.get(f"/agents/{running.pk}").json() == before


def test_creating_refuses_what_only_the_service_or_a_later_call_sets(client: APIClient) -> None:
    for name in CHANGED_BY.keys() - bodies.CreateAgentSerializer().fields.keys():
        answer = client.post("/agents", {**NEW, name: "x"}, format="json")
        assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, name)
    assert not Agent.objects.exists()


@pytest.mark.parametrize("field", ["domain", "engine", "personaId", "a2aListed", "status"])
def test_the_present_value_is_refused_too(client: APIClient, running: Agent, field: str) -> None:
    present = client.get(f"/agents/{running.pk}").json()["agent"][field]
    answer = client.patch(f"/agents/{running.pk}", {"name": "Other", field: present}, format="json")
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, field)
    assert client.get(f"/agents/{running.pk}").json()["agent"]["name"] == running.name


def test_an_unknown_field_is_ignored_and_named(client: APIClient, running: Agent) -> None:
    answer = client.patch(f"/agents/{running.pk}", {"name": "Other", "colour": "red", "a" * 20: 1}, format="json")
    assert (answer.status_code, answer.json()["agent"]["name"]) == (200, "Other")
    assert answer["Ignored-Fields"] == f"colour,{'a' * 20}"


def test_another_accounts_agent_is_still_unknown(other: APIClient, running: Agent) -> None:
    assert other.patch(f"/agents/{running.pk}", {"status": "stopped"}, format="json").status_code == 404


def test_each_call_that_a_refusal_names_exists() -> None:
    named = {call for hint in CHANGED_BY.values() for call in re.findall(r"([A-Z]{3,6}) (/[\w/{}-]+)", hint)}
    assert len(named) > 5
    for method, path in named:
        view: Any = resolve(path.replace("{id}", "agt_1")).func
        assert method.lower() in view.actions
