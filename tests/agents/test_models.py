"""The agent's row is locked in one way."""

from __future__ import annotations

import ast

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import Agent
from tests.config.state_machines import PACKAGES, ROOT


@pytest.mark.django_db
def test_a_locked_agent_may_still_be_referred_to_by_new_rows(running: Agent) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert Agent.objects.select_related("user").lock(running.pk) == running
    (query,) = queries
    assert query["sql"].endswith('FOR NO KEY UPDATE OF "agents_agent"')


def test_no_other_code_locks_an_agent() -> None:
    found = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "select_for_update":
                rows = ast.unparse(node.value)
                found |= {path.name} if rows.startswith(("Agent.", "type(agent)")) else set()
    assert found == set()
