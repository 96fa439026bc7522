"""An owner limits what the model calls of all agents of the account may take together."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import letters
from accounts.models import User
from agents.configuring import llm_key
from agents.models import AccountSpending, Agent, SpentDay
from agents.running import pods
from agents.spending import account_limits, exchanging, limits, news, telling
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.spending.conftest import KEY, MODEL, Serve, call

NONE = {"usdPerDay": None, "usdPerMonth": None, "stopped": False}


@pytest.fixture
def second(make_agent: MakeAgent) -> Agent:
    """Another agent of the same owner."""
    return settle(llm_key.install(settle(make_agent(name="second")), provider="openai", key=KEY, model=MODEL))


def put(client: APIClient, **body: Any) -> Any:
    return client.put("/me/limits", body, format="json")


def spend(agent: Agent, usd: str) -> None:
    """As if the agent's calls of today had cost this."""
    SpentDay.objects.update_or_create(agent=agent, day=timezone.now().date(), defaults={"usd": Decimal(usd)})
    telling.tell(agent, now=timezone.now())


def told(agent: Agent) -> dict[str, Any]:
    """The limits that the agent's gateway is told next, in USD."""
    given = news.of([agent], now=timezone.now())[agent.pk]["limits"]
    return {name: value / 10**10 if name in {"day", "month"} else value for name, value in given.items()}


def words_of(gateway: GatewayProcess) -> str:
    """What the engine is told about a refused call, in the provider's own form."""
    refused = gateway.call_model("/llm/openai/v1/chat/completions", json={"model": "gpt-6-luna", "messages": []})
    assert refused.status_code == 402
    return str(refused.json()["error"]["message"])


def subjects() -> list[str]:
    letters.send_due(now=timezone.now())
    return [str(one.subject) for one in mail.outbox if "limit" in one.subject]


def test_limits_are_set_all_at_once_and_read_again(client: APIClient, owner: User) -> None:
    assert client.get("/me/limits").json() == {"limits": NONE}
    given = {"usdPerDay": 5, "usdPerMonth": 50.5, "stopped": False}
    assert put(client, **given).json() == {"limits": given}
    assert client.get("/me/limits").json() == {"limits": given}
    assert put(client, stopped=True).json() == {"limits": {**NONE, "stopped": True}}


def test_each_account_has_its_own(client: APIClient, other: APIClient) -> None:
    put(client, usdPerDay=5)
    assert other.get("/me/limits").json() == {"limits": NONE}


@pytest.mark.parametrize(
    "body", [{"usdPerDay": 0}, {"usdPerMonth": "much"}, {"usdPerDay": 0.001}, {"stopped": "no?"}, {"usdPerday": 5}]
)
def test_a_wrong_limit_is_refused_by_its_name(client: APIClient, owner: User, body: dict[str, Any]) -> None:
    answer = put(client, **body)
    assert (answer.status_code, next(iter(body)) in answer.json()["message"]) == (400, True)
    assert not AccountSpending.objects.exists()


def test_an_agent_may_take_what_all_of_them_have_left(owner: User, agent: Agent, second: Agent) -> None:
    """Of 10 USD the first has taken 3 and the second 2, so 5 are left: the first may come to 8, the second to 7."""
    account_limits.replace(owner, day_usd=Decimal(10))
    spend(agent, "3")
    spend(second, "2")
    ours = {"account_day": True}
    assert (told(agent), told(second)) == ({"day": 8} | ours, {"day": 7} | ours)


def test_the_narrower_limit_holds(owner: User, agent: Agent, second: Agent) -> None:
    account_limits.replace(owner, day_usd=Decimal(10), month_usd=Decimal(100))
    limits.replace(agent, day_usd=Decimal(4), minute_calls=9)
    limits.replace(second, day_usd=Decimal(40))
    assert told(agent) == {"day": 4, "month": 100, "account_month": True, "minute_calls": 9}
    assert told(second) == {"day": 10, "account_day": True, "month": 100, "account_month": True}


def test_when_they_have_taken_more_than_the_limit_none_may_take_more(owner: User, agent: Agent, second: Agent) -> None:
    account_limits.replace(owner, day_usd=Decimal(1))
    spend(second, "1.25")
    assert told(agent) == {"day": 0, "account_day": True}
    assert told(second) == {"day": 1.25, "account_day": True}


def test_a_deleted_agent_counts(owner: User, agent: Agent, second: Agent) -> None:
    account_limits.replace(owner, month_usd=Decimal(3))
    spend(second, "3")
    Agent.objects.filter(pk=second.pk).update(desired="deleted", status="deleted")
    assert told(agent) == {"month": 0, "account_month": True}


def test_what_another_agent_took_refuses_a_call(owner: User, agent: Agent, second: Agent, serve: Serve) -> None:
    account_limits.replace(owner, day_usd=Decimal(1))
    gateway = serve(agent, spending_limits=pods.secrets_of(agent).spending_limits)
    assert call(gateway) == [503]  # not before it is told what all have spent
    exchanging.exchange(agent.pk)
    assert call(gateway) == [200]
    spend(second, "1")
    exchanging.exchange(agent.pk)
    assert call(gateway) == [402]
    assert "the limit of all agents of the account together for a day is reached" in words_of(gateway)
    limits.replace(agent, day_usd=Decimal("0.01"))
    account_limits.replace(owner, day_usd=Decimal(100))
    spend(agent, "0.01")
    exchanging.exchange(agent.pk)
    assert "this agent's limit of 0.01 USD for a day is reached" in words_of(gateway)


def test_the_switch_stops_all_agents(owner: User, agent: Agent, serve: Serve) -> None:
    gateway = serve(agent)
    exchanging.exchange(agent.pk)
    account_limits.replace(owner, is_stopped=True)
    exchanging.exchange(agent.pk)
    assert "switched the model calls of all agents of the account off" in words_of(gateway)
    assert pods.secrets_of(agent).spending_limits == {"is_stopped": True, "account_stop": True}
    account_limits.replace(owner)
    limits.replace(agent, is_stopped=True)
    exchanging.exchange(agent.pk)
    assert "switched the model calls of this agent off" in words_of(gateway)
    limits.replace(agent)
    account_limits.replace(owner)
    exchanging.exchange(agent.pk)
    assert call(gateway) == [200]


def test_the_owner_is_told_once_at_eighty_and_once_at_a_hundred_percent(
    owner: User, agent: Agent, second: Agent
) -> None:
    account_limits.replace(owner, month_usd=Decimal(10))
    spend(agent, "4")
    spend(second, "3.99")
    assert subjects() == []
    spend(second, "4")
    spend(agent, "4.5")
    assert subjects() == ["All your agents have nearly reached your limit"]
    spend(second, "6")
    spend(agent, "7")
    assert subjects()[1:] == ["All your agents have reached your limit"]
    assert [one for one in event_types(second) if one.startswith("limit.")] == ["limit.near", "limit.reached"]
    assert not [one for one in event_types(agent) if one.startswith("limit.")]


def test_the_event_says_that_it_is_the_accounts(client: APIClient, owner: User, agent: Agent) -> None:
    account_limits.replace(owner, day_usd=Decimal(1))
    limits.replace(agent, day_usd=Decimal(1))
    spend(agent, "1")
    events = [one for one in client.get("/events").json()["events"] if one["type"] == "limit.reached"]
    assert sorted(one["data"]["of"] for one in events) == ["account", "agent"]


def test_explain_names_the_accounts_limit_and_the_call_that_changes_it(
    client: APIClient, owner: User, agent: Agent, second: Agent
) -> None:
    account_limits.replace(owner, day_usd=Decimal(1))
    spend(second, "1")
    explained = json.dumps(client.get(f"/agents/{agent.pk}/explain").json())
    assert "SPENDING_LIMIT" in explained
    assert "PUT /me/limits" in explained
    account_limits.replace(owner, is_stopped=True)
    assert "CALLS_STOPPED" in json.dumps(client.get(f"/agents/{agent.pk}/explain").json())


def test_a_limit_in_usd_needs_a_price_for_each_model(client: APIClient, owner: User, agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(model="openai:unheard-of")
    answer = put(client, usdPerDay=1)
    assert (answer.status_code, agent.pk in answer.json()["message"]) == (400, True)
    assert put(client, stopped=True).status_code == 200
