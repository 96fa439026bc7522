"""The answers of the API: exact envelopes, exact fields, and the types in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs
import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from agents.models import Agent
from agents.runtimes.base import Usage
from agents.watching import sampling
from tests.agents.conftest import PERSONA, MakeAgent
from tests.contract import spec

pytestmark = pytest.mark.unmeasured

Document = dict[str, Any]


def is_as_promised(document: Document, method: str, path: str, answer: Any) -> dict[str, Any]:
    """Check the answer's status, schema and keys against the document. Returns the parsed answer."""
    promised = document["paths"][path][method.lower()]["responses"]
    assert str(answer.status_code) in promised, f"{method} {path}: {answer.status_code} {answer.content!r}"
    schema = promised[str(answer.status_code)]["content"]["application/json"]["schema"]
    body: dict[str, Any] = answer.json()
    validator = jsonschema.Draft202012Validator({**document, **schema}, format_checker=jsonschema.FormatChecker())
    validator.validate(body)
    component = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    assert set(body) == set(component["properties"]) & set(body) | set(component.get("required", []))
    return body


def has(thing: dict[str, Any], always: set[str], sometimes: Set[str] = frozenset()) -> None:
    assert always <= set(thing) <= always | sometimes, set(thing) ^ always


@pytest.mark.parametrize(
    ("path", "envelope", "always", "sometimes"),
    [
        ("/personas", {"personas"}, spec.PERSONA, spec.PERSONA_OPTIONAL),
        ("/tiers", {"tiers", "trial"}, spec.TIER, set()),
        ("/engines", {"engines"}, spec.ENGINE, set()),
        ("/models", {"models"}, spec.MODEL, set()),
        ("/llm-providers", {"llmProviders"}, spec.LLM_PROVIDER, set()),
        ("/tools", {"tools"}, spec.TOOLSET, spec.TOOLSET_OPTIONAL),
    ],
)
@pytest.mark.usefixtures("catalog")
def test_the_catalog(
    api: APIClient, document: Document, path: str, envelope: set[str], always: set[str], sometimes: set[str]
) -> None:
    body = is_as_promised(document, "GET", path, api.get(path))
    assert set(body) == envelope
    for thing in next(iter(body.values())):
        has(thing, always, sometimes)


@pytest.mark.usefixtures("catalog")
def test_engines_say_what_they_can_do(api: APIClient) -> None:
    for engine in api.get("/engines").json()["engines"]:
        has(engine["capabilities"], spec.CAPABILITIES, spec.CAPABILITIES_OPTIONAL)


@pytest.mark.usefixtures("catalog")
def test_the_trial_has_what_a_client_needs_to_compute_its_dates(api: APIClient) -> None:
    trial = {"days": 7, "graceDays": 3, "keptDays": 14, "noticeDays": [3, 2, 1], "maxFreeAgents": 3}
    assert api.get("/tiers").json()["trial"] == trial


@pytest.mark.usefixtures("catalog")
def test_one_persona(api: APIClient, document: Document) -> None:
    body = is_as_promised(document, "GET", "/personas/{id}", api.get(f"/personas/{PERSONA}"))
    assert set(body) == {"persona", "articles"}
    has(body["persona"], spec.PERSONA, spec.PERSONA_OPTIONAL)


@pytest.mark.usefixtures("catalog")
def test_an_unknown_persona_is_the_one_error_without_a_message(api: APIClient) -> None:
    answer = api.get("/personas/nobody")
    assert (answer.status_code, answer.json()) == (404, {"error": "NOT_FOUND"})


def test_keys(client: APIClient, document: Document) -> None:
    made = is_as_promised(document, "POST", "/keys", client.post("/keys", {"name": "bot"}, format="json"))
    assert set(made) == {"key", "secret"}
    has(made["key"], spec.API_KEY)
    listed = is_as_promised(document, "GET", "/keys", client.get("/keys"))
    assert listed == {"keys": [made["key"]]}


def test_signing_in(db: None, api: APIClient, document: Document) -> None:
    email = "ann@example.com"
    asked = api.post("/auth/request", {"email": email}, format="json")
    code = is_as_promised(document, "POST", "/auth/request", asked)["devCode"]
    answer = api.post("/auth/verify", {"email": email, "code": code}, format="json")
    body = is_as_promised(document, "POST", "/auth/verify", answer)
    assert set(body) == {"token", "user"}
    assert set(body["user"]) == {"id", "email"}


def test_an_agent_without_a_webhook(client: APIClient, document: Document, runtime: Any) -> None:
    answer = client.post("/agents", {"personaId": PERSONA, "tier": "tiny"}, format="json")
    made = is_as_promised(document, "POST", "/agents", answer)
    assert set(made) == {"agent", "webhookSecret"}
    assert made["webhookSecret"] is None
    has(made["agent"], spec.AGENT)
    for path in ("/agents", "/agents/{id}"):
        body = is_as_promised(document, "GET", path, client.get(path.format(id=made["agent"]["id"])))
        assert body in ({"agent": made["agent"]}, {"agents": [made["agent"]]})


def test_an_agent_with_a_webhook(client: APIClient, document: Document, runtime: Any) -> None:
    body = {"personaId": PERSONA, "tier": "tiny", "webhookUrl": "https://203.0.114.7/events"}
    made = is_as_promised(document, "POST", "/agents", client.post("/agents", body, format="json"))
    has(made["agent"], spec.AGENT | spec.AGENT_WEBHOOK)
    assert made["webhookSecret"].startswith("whsec_")

    path = f"/agents/{made['agent']['id']}/webhook"
    answer = client.put(path, {"url": "https://203.0.114.7/others"}, format="json")
    rotated = is_as_promised(document, "PUT", "/agents/{id}/webhook", answer)
    assert set(rotated) == {"agent", "webhook"}
    assert set(rotated["webhook"]) == spec.WEBHOOK
    assert rotated["webhook"]["events"] == spec.EVENT_TYPES
    assert rotated["webhook"]["secret"] != made["webhookSecret"]
    assert client.delete(path).status_code == 204


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    return make_agent()


@pytest.mark.parametrize("word", ["liveness", "explain", "quota", "term", "usage", "limits", "replay"])
def test_observations(client: APIClient, document: Document, agent: Agent, word: str) -> None:
    is_as_promised(document, "GET", f"/agents/{{id}}/{word}", client.get(f"/agents/{agent.pk}/{word}"))


def test_a_measured_agent(client: APIClient, document: Document, agent: Agent) -> None:
    sampling.record({agent.namespace: Usage(memory_bytes=2**28, disk_bytes=2**20)}, now=timezone.now())
    body = is_as_promised(document, "GET", "/agents/{id}/quota", client.get(f"/agents/{agent.pk}/quota"))
    has(body["quota"], spec.AGENT_QUOTA)
    whole = is_as_promised(document, "GET", "/agents/{id}", client.get(f"/agents/{agent.pk}"))
    assert whole["agent"]["quota"] == body["quota"]
