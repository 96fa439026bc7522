"""The Python SDK reads everything that there is to read: each generated call that needs nothing, or only an agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentpods import Agentpods
from agentpods._generated.calls import Calls
from agents.models import Agent
from tests.agents.conftest import GatewayOf, MakeAgent, settle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

READS = ("get_", "list_", "each_of_", "explain_")
FEWEST = {"none": 25, "id": 12}


def reads(needs: list[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, method in inspect.getmembers(Calls, inspect.isfunction):
        needed = [one.name for one in inspect.signature(method).parameters.values() if one.default is one.empty]
        of_agent = not needs or "agent" in name
        if name.startswith(READS) and needed == ["self", *needs] and of_agent:
            yield name, method


def test_each_list_of_the_account_and_the_catalog(pods: Agentpods) -> None:
    tried = [_read(pods, name, method) for name, method in reads([])]
    assert len(tried) >= FEWEST["none"], tried


def test_each_part_of_an_agent(pods: Agentpods, make_agent: MakeAgent, gateway_of: GatewayOf) -> None:
    agent = settle(make_agent())
    gateway_of(Agent.objects.get(pk=agent.pk))
    tried = [_read(pods, name, method, agent.pk) for name, method in reads(["id"])]
    assert len(tried) >= FEWEST["id"], tried


def _read(pods: Agentpods, name: str, method: Callable[..., Any], *ids: str) -> str:
    told = method(pods.api, *ids)
    is_list = name.startswith("each_of_")
    assert isinstance(list(told) if is_list else told, list if is_list else dict), name
    return name
