"""`PATCH` and `DELETE /agents/{id}/llm-key`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from tests.agents.conftest import settle
from tests.doubles.provider import ModelVendor
from tests.doubles.runtime import ScriptedRuntime

MODEL = "openai:gpt-6-luna"


@pytest.fixture
def provider(settings: Any) -> Iterator[ModelVendor]:
    with ModelVendor() as double:
        settings.LLM_KEY_CHECK = True
        settings.LLM_BASE_URLS = dict.fromkeys(("openai", "xai", "gemini"), f"{double.url}/v1")
        yield double


def patch(client: APIClient, agent: Agent, **body: Any) -> Any:
    return client.patch(f"/agents/{agent.id}/llm-key", body, format="json")


def test_a_key_is_stored_hashed_given_to_the_gateway_and_never_returned(
    client: APIClient, running: Agent, runtime: ScriptedRuntime
) -> None:
    answer = patch(client, running, provider="openai", key="sk-one", model=MODEL)
    assert answer.status_code == 200
    agent = answer.json()["agent"]
    expected = {"llmProvider": "openai", "model": MODEL, "llmKeyHash": hashlib.sha256(b"sk-one").hexdigest()}
    assert expected.items() <= agent.items()
    assert "sk-one" not in str(answer.json())
    spec = runtime.pods[settle(running).namespace].spec
    assert (spec.secrets.llm_key, spec.config.model) == ("sk-one", "gpt-6-luna")
    assert "sk-one" not in repr(spec)
    assert not Agent.objects.extra(where=["llm_key LIKE %s"], params=["%sk-one%"]).exists()


def test_without_a_model_the_pod_uses_the_personas_and_the_field_stays_null(
    client: APIClient, running: Agent, runtime: ScriptedRuntime
) -> None:
    assert patch(client, running, provider="openai", key="sk-one").json()["agent"]["model"] is None
    assert runtime.pods[settle(running).namespace].spec.config.model == "gpt-6-luna"


def test_the_model_alone_can_change(client: APIClient, running: Agent) -> None:
    patch(client, running, provider="openai", key="sk-one")
    assert patch(client, running, model="openai:gpt-6.2-sol").json()["agent"]["model"] == "openai:gpt-6.2-sol"
    assert patch(client, running, model=None).json()["agent"]["model"] is None


def test_a_model_of_another_provider_is_refused(client: APIClient, running: Agent) -> None:
    patch(client, running, provider="openai", key="sk-one")
    answer = patch(client, running, model="anthropic:claude-haiku-5-5")
    assert (answer.status_code, "model" in answer.json()["message"]) == (400, True)
    answer = patch(client, running, provider="anthropic", key="sk-two", model=MODEL)
    assert (answer.status_code, "model" in answer.json()["message"]) == (400, True)


def test_a_key_of_another_provider_drops_the_old_model(client: APIClient, running: Agent) -> None:
    patch(client, running, provider="openai", key="sk-one", model=MODEL)
    agent = patch(client, running, provider="anthropic", key="sk-two").json()["agent"]
    assert (agent["llmProvider"], agent["model"]) == ("anthropic", None)


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "provider"), ({"key": "x"}, "provider"), ({"provider": "openai"}, "key"),
     ({"provider": "acme", "key": "x"}, "provider"),
     ({"provider": "openai", "key": "a b"}, "key"), ({"provider": "openai", "key": ""}, "key"),
     ({"provider": "openai", "key": 5}, "key"), ({"provider": "openai", "key": "ключ"}, "key"),
     ({"provider": 5, "key": "x"}, "provider"), ({"model": "nope"}, "model"), ({"model": 5}, "model"),
     ({"provider": "openai", "key": "x", "model": "openai:unknown"}, "model"),
     ({"provider": "openai", "key": "x" * 513}, "key"), ({"provider": "openai", "key": "a\r\nX: y"}, "key")],
)  # fmt: skip
def test_a_wrong_field_is_named_and_changes_nothing(
    client: APIClient, running: Agent, body: dict[str, Any], field: str
) -> None:
    patch(client, running, provider="openai", key="sk-one", model=MODEL)
    before = client.get(f"/agents/{running.id}").json()
    answer = patch(client, running, **body)
    assert (answer.status_code, field in answer.json()["message"]) == (400, True)
    assert client.get(f"/agents/{running.id}").json() == before


def test_a_definite_refusal_of_the_provider_names_the_key(
    client: APIClient, running: Agent, provider: ModelVendor
) -> None:
    provider.answer = lambda handler: handler.whole(401, b"{}")
    answer = patch(client, running, provider="openai", key="sk-bad")
    assert (answer.status_code, answer.json()["message"][:4]) == (400, "key:")
    assert client.get(f"/agents/{running.id}").json()["agent"]["llmKeyHash"] is None


@pytest.mark.parametrize("status", [200, 403, 404, 429, 500, 503])
def test_anything_but_a_definite_refusal_is_accepted(
    client: APIClient, running: Agent, provider: ModelVendor, status: int
) -> None:
    provider.answer = lambda handler: handler.whole(status, b"{}")
    assert patch(client, running, provider="openai", key="sk-any").status_code == 200
    assert provider.requests[0].headers["Authorization"] == "Bearer sk-any"
    assert provider.requests[0].target == "/v1/models"


def test_a_provider_that_is_not_reached_does_not_stand_in_the_way(
    client: APIClient, running: Agent, settings: Any
) -> None:
    settings.LLM_KEY_CHECK = True
    settings.LLM_BASE_URLS = {"openai": "http://127.0.0.1:9/v1"}
    assert patch(client, running, provider="openai", key="sk-any").status_code == 200


def test_removing_the_key_clears_provider_hash_and_model(
    client: APIClient, running: Agent, runtime: ScriptedRuntime
) -> None:
    patch(client, running, provider="openai", key="sk-one", model=MODEL)
    answer = client.delete(f"/agents/{running.id}/llm-key")
    assert (answer.status_code, answer.content) == (204, b"")
    agent = client.get(f"/agents/{running.id}").json()["agent"]
    assert (agent["llmProvider"], agent["llmKeyHash"], agent["model"]) == (None, None, None)
    assert runtime.pods[settle(running).namespace].spec.secrets.llm_key is None
    assert client.delete(f"/agents/{running.id}/llm-key").status_code == 204
