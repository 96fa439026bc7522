"""What tools do and refuse, in words that a model can act on."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts import keys
from accounts.models import User
from agents.models import Agent
from tests.agents.conftest import PERSONA, MakeAgent
from tests.mcp_server.conftest import HandWritten


def test_planning_makes_nothing_and_tells_the_price(model: HandWritten) -> None:
    planned = model.tool("plan_agent", personaId=PERSONA, tier="tiny")["structuredContent"]
    assert planned["cost"]["now"] == "0.00"
    assert float(planned["cost"]["monthly"]) > 0
    assert not Agent.objects.exists()


def test_a_repeat_with_the_same_key_makes_one_agent(model: HandWritten) -> None:
    made = [
        model.tool("create_agent", personaId=PERSONA, tier="tiny", idempotencyKey="once")["structuredContent"]
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert Agent.objects.count() == 1


def test_lists_go_on_page_by_page(model: HandWritten, make_agent: MakeAgent) -> None:
    agents = {make_agent().pk, make_agent().pk, make_agent().pk}
    first = model.tool("list_agents", limit=2)["structuredContent"]
    rest = model.tool("list_agents", limit=2, cursor=first["next"])["structuredContent"]
    assert {one["id"] for one in [*first["agents"], *rest["agents"]]} == agents
    assert "next" not in rest


def test_another_accounts_agent_is_not_there(model: HandWritten, make_agent: MakeAgent, stranger: User) -> None:
    agent = make_agent()
    model.key = keys.create(stranger, name="theirs", now=timezone.now())[1]
    for tool in ("get_agent", "read_memory", "explain_agent"):
        assert model.refusal(tool, agentId=agent.pk).startswith("NOT_FOUND (404)")
    assert model.refusal("run_agent", agentId=agent.pk, action="pause").startswith("NOT_FOUND (404)")


@pytest.mark.parametrize("wrong", ["x/pause", "..", "", "agt_1?fields=dashPassword", "%2e%2e", 7, None])
def test_an_id_cannot_lead_to_another_path(model: HandWritten, wrong: object) -> None:
    assert "agentId" in model.refusal("get_agent", agentId=wrong)


def test_an_unknown_argument_is_named_with_those_that_there_are(model: HandWritten) -> None:
    assert (
        model.refusal("get_agent", agent="agt_1")
        == "agent: not an argument of get_agent; it takes agentId, waitSeconds"
    )


@pytest.mark.parametrize("action", [None, "stop", ["pause"], {}])
def test_a_choice_that_there_is_not_is_refused_with_those_that_there_are(
    model: HandWritten, make_agent: MakeAgent, action: object
) -> None:
    assert "action" in model.refusal("run_agent", agentId=make_agent().pk, action=action)


@pytest.mark.parametrize("given", [{}, {"name": "Bo", "channels": ["web"]}, {"enabled": [], "channelSecrets": {}}])
def test_settings_of_two_kinds_are_refused_and_nothing_changes(
    model: HandWritten, make_agent: MakeAgent, given: dict[str, object]
) -> None:
    agent = make_agent(name="Ada")
    assert "one kind" in model.refusal("configure_agent", agentId=agent.pk, **given)
    agent.refresh_from_db()
    assert (agent.name, agent.channels) == ("Ada", ["web"])


@pytest.mark.parametrize("limit", [0, 101, True, "2", 1.5])
def test_a_list_is_never_longer_than_its_limit(model: HandWritten, limit: object) -> None:
    assert model.refusal("list_agents", limit=limit).startswith("limit: must be a whole number from 1 to 100")


@pytest.mark.parametrize("seconds", [-1, 61, "60", True])
def test_nobody_waits_longer_than_a_minute(model: HandWritten, make_agent: MakeAgent, seconds: object) -> None:
    assert "from 0 to 60" in model.refusal("get_agent", agentId=make_agent().pk, waitSeconds=seconds)


def test_an_agent_is_deleted_only_by_its_name(model: HandWritten, make_agent: MakeAgent) -> None:
    agent = make_agent()
    assert "nothing was deleted" in model.refusal("delete_agent", agentId=agent.pk, confirmName="another")
    assert Agent.objects.live().filter(pk=agent.pk).exists()
    assert model.tool("delete_agent", agentId=agent.pk, confirmName=agent.name)["structuredContent"] == {
        "deleted": True
    }
    assert not Agent.objects.live().filter(pk=agent.pk).exists()


def test_a_wrong_choice_is_refused_with_what_is_allowed(model: HandWritten, make_agent: MakeAgent) -> None:
    assert "tiers, engines" in model.refusal("get_catalog", section="secrets")
    assert "usdt, usdc, stars, stripe" in model.refusal(
        "start_payment", agentId="agt_1", provider="cash", period="monthly"
    )


def test_a_refusal_leads_to_what_the_documentation_says_of_the_call(model: HandWritten) -> None:
    assert model.refusal("get_agent", agentId="agt_0").endswith("/docs#getAgent")
    assert model.refusal("create_agent", personaId="nobody", tier="tiny").endswith("/docs#createAgent")


def test_an_unknown_tool_is_an_error_of_the_protocol(model: HandWritten) -> None:
    assert model.ask("tools/call", name="format_disk", arguments={})["error"]["code"] == -32602
