"""Generated requests over the whole interface: no 5xx, no undocumented answer, no body that breaks its schema.

Bounded and the same each time, because it is part of every test run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
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

from accounts import sessions
from accounts.models import User
from config.wsgi import application
from tests.agents.conftest import MakeAgent

pytestmark = pytest.mark.django_db(transaction=True)  # requests end as in real life, and give back their connections

TAGS = ["Account", "Catalog", "Agents", "Agent configuration", "Talking", "Observation", "Webhooks", "Platform health"]
ALWAYS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# A valid body may still be refused by a rule that no schema can say; an invalid one must be. Unknown query parameters
# are ignored.
MODES = {GenerationMode.POSITIVE: ALWAYS, GenerationMode.NEGATIVE: [*ALWAYS, negative_data_rejection]}
REFUSALS = ["400", "401", "403", "404", "409", "413", "415", "422"]
BOUNDS = settings(
    max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture
def bearer(owner: User) -> str:
    return f"Bearer {sessions.start(owner, attribution=None, now=timezone.now())[1]}"


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("tag", TAGS)
def test_generated_requests_get_documented_answers(
    document: dict[str, Any], bearer: str, make_agent: MakeAgent, tag: str, mode: GenerationMode
) -> None:
    agent = make_agent()
    for operation in operations(document, tag):
        if mode is GenerationMode.POSITIVE or operation.body or operation.query:  # else nothing can be sent wrong
            drive(operation, mode, agent_id=agent.pk, bearer=bearer)


def operations(document: dict[str, Any], tag: str) -> Iterator[Any]:
    schema = schemathesis.openapi.from_dict(document).include(tag=tag)
    schema.app = application
    schema.config.checks.negative_data_rejection.expected_statuses = REFUSALS
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        yield found.ok()


def drive(operation: Any, mode: GenerationMode, *, agent_id: str, bearer: str) -> None:
    """Send what is generated for this operation, to the caller's own agent where one is named."""
    known = {parameter.name for parameter in operation.query}

    @BOUNDS
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case[Any]) -> None:
        if "id" in case.path_parameters and case.path.startswith("/agents/"):
            case.path_parameters["id"] = agent_id
        checks = ALWAYS if set(case.query) - known else MODES[mode]
        case.call_and_validate(headers={"Authorization": bearer, "Accept-Encoding": "identity"}, checks=checks)

    check()
