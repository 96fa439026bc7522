"""Each client reads everything that there is to read: each generated call that needs nothing, or only an agent."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from agentpods._generated.calls import Calls
from agents.models import Agent
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.sdk.driving.client import DrivenClient

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

READS = ("get_", "list_", "each_of_", "explain_")
FEWEST = {"none": 25, "id": 12}


def reads(needs: list[str]) -> Iterator[str]:
    for name, method in inspect.getmembers(Calls, inspect.isfunction):
        needed = [one.name for one in inspect.signature(method).parameters.values() if one.default is one.empty]
        of_agent = not needs or "agent" in name
        if name.startswith(READS) and needed == ["self", *needs] and of_agent:
            yield name


def test_each_list_of_the_account_and_the_catalog(each: DrivenClient) -> None:
    tried = [_read(each, name) for name in reads([])]
    assert len(tried) >= FEWEST["none"], tried


def test_each_part_of_an_agent(each: DrivenClient, make_agent: MakeAgent, gateway_of: GatewayOf) -> None:
    agent = settle(make_agent())
    gateway_of(Agent.objects.get(pk=agent.pk))
    tried = [_read(each, name, agent.pk) for name in reads(["id"])]
    assert len(tried) >= FEWEST["id"], tried


def _read(each: DrivenClient, name: str, *ids: str) -> str:
    told = getattr(each.api, name)(*ids)
    is_list = name.startswith("each_of_")
    assert isinstance(list(told) if is_list else told, list if is_list else dict), name
    return name
