"""Generated requests to the whole API: no 5xx, no undocumented answer, no body that breaks its schema.

The number of requests is limited and they are the same each time, because this is part of every test run. `make fuzz`
runs as long as it is told.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.servers.basehttp import WSGIRequestHandler
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts import keys, sessions
from accounts.models import User
from agents.models import Agent
from catalog import articles, authoring
from config.wsgi import application
from tests.agents.conftest import GatewayOf
from tests.at_length import examples
from tests.fuzz.run import FuzzPlan, new_caller, run
from webhooks import events, hooks
from webhooks.event_types import EventType

pytestmark = [
    pytest.mark.django_db(transaction=True),  # requests end as in production, and release their connections
    pytest.mark.unmeasured,
]

TAGS = [
    "Account",
    "Personas",
    "Catalog",
    "Agents",
    "Agent configuration",
    "Talking",
    "Observation",
    "Backups",
    "Webhooks",
    "Billing",
    "Platform health",
]
ALWAYS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# A rule that no schema can express may refuse a valid body; an invalid body must be refused. Unknown query parameters
# are ignored.
MODES = {GenerationMode.POSITIVE: ALWAYS, GenerationMode.NEGATIVE: [*ALWAYS, negative_data_rejection]}
REFUSALS = ["400", "401", "403", "404", "409", "412", "413", "415", "422"]
BOUNDS = bounds(
    max_examples=examples(8), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


# It waits for a worker that delivers.
NOT_HERE = ("/agents/{id}/webhook/test",)


@pytest.fixture
def bearers(owner: User) -> dict[GenerationMode, str]:
    """Both kinds of credential: a session for valid requests, an API key for invalid ones."""
    now = timezone.now()
    session, key = sessions.start(owner, attribution=None, now=now)[1], keys.create(owner, name="fuzz", now=now)[1]
    return {GenerationMode.POSITIVE: f"Bearer {session}", GenerationMode.NEGATIVE: f"Bearer {key}"}


@pytest.mark.sampled
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("tag", TAGS)
def test_generated_requests_get_documented_answers(
    document: dict[str, Any],
    bearers: dict[GenerationMode, str],
    running: Agent,
    gateway_of: GatewayOf,
    tag: str,
    mode: GenerationMode,
) -> None:
    if tag == "Talking":
        gateway_of(running)
    hooks.install(running, url="https://receiver.example.com/", now=timezone.now())
    event = events.emit(running, EventType.TEST, {"note": "hello"}, now=timezone.now())
    own = {"id": running.pk, "delivery": event.pk, "model": running.pk, "name": "20260101-000000-000000"}
    for operation in operations(document, tag):
        if tag == "Personas":
            own = _written(running.user_id)
        # Without a body or a query nothing can be invalid.
        if mode is GenerationMode.POSITIVE or operation.body or operation.query:
            drive(operation, mode, own=own, bearer=bearers[mode])


# All edge cases of every schema are four thousand calls, over a minute of processor time.
@pytest.mark.parametrize("kind", ["session", pytest.param("key", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("catalog", "runtime")
def test_schemathesis_finds_nothing_as_anybody_would_run_it(
    live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Over HTTP, with all edge cases of the schemas, and with chains of calls that use each other's results."""
    # Otherwise each of thousands of answers waits 40 ms for a TCP acknowledgement.
    monkeypatch.setattr(WSGIRequestHandler, "disable_nagle_algorithm", True)
    settings.TRUSTED_PROXIES = [ipaddress.ip_network("127.0.0.0/8")]
    caller = new_caller(live_server.url, "fuzz@example.com")
    phases = {"session": "examples,stateful", "key": "coverage"}[kind]
    plan = FuzzPlan(seed=1, phases=phases, examples=5, without=NOT_HERE)
    assert run(live_server.url, caller, plan, token=getattr(caller, kind)), "see what it printed"


def test_no_operation_is_left_out(document: dict[str, Any]) -> None:
    found = [tag for path in document["paths"].values() for operation in path.values() for tag in operation["tags"]]
    assert set(found) == set(TAGS)


def _written(user_id: str) -> dict[str, str]:
    """A persona of the caller, with an article."""
    now = timezone.now()
    persona = authoring.draft(user_id, texts={"name": "Owl"}, now=now)
    article = articles.write(persona, texts={"title": "Night", "lang": "en", "body": "# Night"}, now=now)
    return {"id": persona.pk, "slug": article.slug}


def operations(document: dict[str, Any], tag: str) -> Iterator[Any]:
    schema = schemathesis.openapi.from_dict(document).include(tag=tag)
    schema.app = application
    schema.config.checks.negative_data_rejection.expected_statuses = REFUSALS
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        yield found.ok()


def drive(operation: Any, mode: GenerationMode, *, own: dict[str, str], bearer: str) -> None:
    """Send generated requests for this operation; ids of agents and deliveries are replaced by the caller's own."""
    known = {parameter.name for parameter in operation.query}

    @BOUNDS
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case[Any]) -> None:
        if case.path.startswith(("/agents/", "/me/")) or case.operation.tags == ["Personas"]:
            case.path_parameters.update({name: own[name] for name in case.path_parameters})
        checks = ALWAYS if set(case.query) - known else MODES[mode]
        case.call_and_validate(headers={"Authorization": bearer, "Accept-Encoding": "identity"}, checks=checks)

    check()
