"""What a model reads of costs and limits, and which limits it sets."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts import keys
from accounts.models import User
from accounts.scopes import Scope
from agents.models import ModelUsage
from tests.agents.conftest import MakeAgent
from tests.mcp_server.conftest import HandWritten


def told(model: HandWritten, tool: str = "get_costs", **arguments: Any) -> Any:
    result = model.tool(tool, **arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def test_a_model_sees_what_its_agent_spent(model: HandWritten, make_agent: MakeAgent) -> None:
    agent = make_agent()
    ModelUsage.objects.create(
        agent=agent, day=timezone.now().date(), model="openai:a", kind="chat", session="s", calls=2, input=10, output=5,
        usd=Decimal("1.25"),
    )  # fmt: skip
    usage = told(model, show="usage", agentId=agent.pk, by="model")["usage"]
    assert [(row["model"], row["usd"]) for row in usage["rows"]] == [("openai:a", 1.25)]
    assert usage["total"]["inputTokens"] == 10


def test_a_limit_is_read_before_it_is_changed_because_all_are_set_at_once(
    model: HandWritten, make_agent: MakeAgent
) -> None:
    agent = make_agent().pk
    told(model, "set_limits", agentId=agent, usdPerDay=2, tokensPerTurn=900)
    assert told(model, show="limits", agentId=agent)["limits"]["tokensPerTurn"] == 900
    limits = told(model, "set_limits", agentId=agent, usdPerDay=None, stopped=True)["limits"]
    assert limits == told(model, show="limits", agentId=agent)["limits"]
    assert (limits["usdPerDay"], limits["tokensPerTurn"], limits["stopped"]) == (None, None, True)
    assert told(model, show="limits")["limits"] == {"usdPerDay": None, "usdPerMonth": None, "stopped": False}
    assert "usdPerDay" in model.refusal("set_limits", agentId=agent, usdPerDay=-1)


def test_a_limited_key_sees_its_own_limit_and_no_other_key(
    model: HandWritten, owner: User, make_agent: MakeAgent
) -> None:
    agent, now = make_agent(), timezone.now()
    other, _ = keys.create(owner, name="other", now=now)
    limits = keys.KeyLimits(scopes=[Scope.READ, Scope.OPERATE], day_usd=Decimal(3))
    own, model.key = keys.create(owner, name="own", limits=limits, now=now)
    (seen,) = told(model, show="keys")["keys"]
    assert seen["id"] == own.pk
    seen = told(model, show="limits", keyId=own.pk)["limits"]
    assert (seen["usdPerDay"], seen["usdToday"]) == (3, 0)
    assert model.refusal("get_costs", show="limits", keyId=other.pk).startswith("NOT_FOUND (404)")
    assert "not both" in model.refusal("get_costs", show="limits", keyId=own.pk, agentId=agent.pk)


@pytest.mark.parametrize("wrong", [{}, {"show": "money"}, {"show": ["usage"]}, {"show": "usage"}])
def test_what_cannot_be_told_is_refused_with_what_can(model: HandWritten, wrong: dict[str, Any]) -> None:
    assert any(word in model.refusal("get_costs", **wrong) for word in ("show", "agentId"))


def test_another_accounts_spending_is_not_there(model: HandWritten, make_agent: MakeAgent, stranger: User) -> None:
    agent = make_agent()
    model.key = keys.create(stranger, name="theirs", now=timezone.now())[1]
    for show in ("usage", "limits"):
        assert model.refusal("get_costs", show=show, agentId=agent.pk).startswith("NOT_FOUND (404)")
    assert model.refusal("set_limits", agentId=agent.pk, usdPerDay=1).startswith("NOT_FOUND (404)")
