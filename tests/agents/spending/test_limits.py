"""An owner limits what an agent's model calls may take, and is told when a limit comes near."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import letters
from agents.models import Agent, Spending, SpentDay
from agents.running import pods
from agents.spending import exchanging, limits, telling
from tests.agents.conftest import event_types
from tests.agents.spending.conftest import Serve, call
from tests.doubles.model_server import ModelServer
from webhooks.models import Delivery, Event

NONE = {"usdPerDay": None, "usdPerMonth": None, "tokensPerTurn": None, "requestsPerMinute": None, "stopped": False}


def put(client: APIClient, agent: Agent, **body: Any) -> Any:
    return client.put(f"/agents/{agent.pk}/limits", body, format="json")


def spend(agent: Agent, usd: str) -> None:
    """As if the agent's calls of today had cost this."""
    SpentDay.objects.update_or_create(agent=agent, day=timezone.now().date(), defaults={"usd": Decimal(usd)})
    telling.tell(agent, now=timezone.now())


def subjects() -> list[str]:
    letters.send_due(now=timezone.now())
    return [str(one.subject) for one in mail.outbox if "limit" in one.subject]


def test_limits_are_set_all_at_once_and_read_again(client: APIClient, agent: Agent) -> None:
    assert client.get(f"/agents/{agent.pk}/limits").json() == {"limits": NONE}
    given = {"usdPerDay": 5, "usdPerMonth": 50.5, "tokensPerTurn": 1000, "requestsPerMinute": 20, "stopped": False}
    assert put(client, agent, **given).json() == {"limits": given}
    assert client.get(f"/agents/{agent.pk}/limits").json() == {"limits": given}
    assert put(client, agent, stopped=True).json() == {"limits": {**NONE, "stopped": True}}


def test_a_pod_that_starts_has_the_limits_from_the_beginning(client: APIClient, agent: Agent) -> None:
    before = agent.spec_revision
    put(client, agent, usdPerDay=1, requestsPerMinute=7)
    agent = Agent.objects.get(pk=agent.pk)
    assert pods.secrets_of(agent).spending_limits == {"day": 10**10, "minute_calls": 7}
    assert agent.spec_revision == before + 1


@pytest.mark.parametrize(
    "body",
    [
        {"usdPerDay": 0},
        {"usdPerDay": -1},
        {"usdPerMonth": "much"},
        {"usdPerDay": 0.001},
        {"usdPerDay": 10**11},
        {"tokensPerTurn": 0},
        {"requestsPerMinute": 10**9},
        {"stopped": "perhaps"},
        {"usdPerday": 5, "requestsPerMinute": 3},
    ],
)
def test_a_wrong_limit_is_refused_by_its_name(client: APIClient, agent: Agent, body: dict[str, Any]) -> None:
    answer = put(client, agent, **body)
    assert (answer.status_code, next(iter(body)) in answer.json()["message"]) == (400, True)
    assert not Spending.objects.filter(day_usd__isnull=False).exists()


def test_a_limit_that_is_too_small_or_too_large_is_refused_with_the_bound(client: APIClient, agent: Agent) -> None:
    said = [put(client, agent, **wrong).json()["message"] for wrong in ({"usdPerDay": -1}, {"requestsPerMinute": 0})]
    assert said == ["usdPerDay: must be at least 0.01, not -1.00", "requestsPerMinute: must be at least 1, not 0"]


def test_strangers_neither_see_nor_set_limits(other: APIClient, agent: Agent) -> None:
    assert other.get(f"/agents/{agent.pk}/limits").status_code == 404
    assert put(other, agent, stopped=True).status_code == 404


def test_a_running_pod_takes_a_change_with_the_next_exchange(agent: Agent, serve: Serve, model: ModelServer) -> None:
    gateway = serve(agent)
    exchanging.exchange(agent.pk)
    assert call(gateway) == [200]
    limits.replace(agent, is_stopped=True)
    exchanging.exchange(agent.pk)
    assert call(gateway) == [402]
    limits.replace(agent)
    exchanging.exchange(agent.pk)
    assert call(gateway) == [200]
    assert len(model.turns()) == 2


def test_what_another_pod_has_spent_counts(agent: Agent, serve: Serve) -> None:
    limits.replace(agent, day_usd=Decimal(1))
    spend(agent, "1.00")
    gateway = serve(agent, spending_limits=pods.secrets_of(agent).spending_limits)
    assert call(gateway) == [503]
    exchanging.exchange(agent.pk)
    assert call(gateway) == [402]


@time_machine.travel("2026-11-28T23:59:00Z", tick=False)
def test_a_limit_for_a_day_ends_at_midnight_utc_and_that_for_a_month_holds(agent: Agent, serve: Serve) -> None:
    limits.replace(agent, day_usd=Decimal(1), month_usd=Decimal(2))
    spend(agent, "1.50")
    gateway = serve(agent)
    exchanging.exchange(agent.pk)
    assert call(gateway) == [402]
    with time_machine.travel("2026-11-29T00:00:30Z", tick=False):
        exchanging.exchange(agent.pk)
        assert call(gateway) == [200]
        spend(agent, "0.60")
        exchanging.exchange(agent.pk)
        assert call(gateway) == [402]
    with time_machine.travel("2026-12-01T00:00:30Z", tick=False):
        exchanging.exchange(agent.pk)
        assert call(gateway) == [200]


def test_the_owner_is_told_once_at_eighty_and_once_at_a_hundred_percent(agent: Agent) -> None:
    limits.replace(agent, day_usd=Decimal(10))
    spend(agent, "7.99")
    assert subjects() == []
    spend(agent, "8")
    spend(agent, "9")
    assert len(subjects()) == 1
    spend(agent, "10.5")
    spend(agent, "11")
    assert len(subjects()) == 2
    logged = list(Event.objects.filter(agent=agent, type__startswith="limit.").order_by("created_at"))
    assert [event.type for event in logged] == ["limit.near", "limit.reached"]
    data = json.loads(logged[1].body)["data"]
    assert (data["period"], data["usd"], data["limitUsd"]) == ("day", 10.5, 10.0)


def test_a_new_limit_is_told_anew(agent: Agent) -> None:
    limits.replace(agent, day_usd=Decimal(1))
    spend(agent, "1")
    limits.replace(agent, day_usd=Decimal(2))
    spend(agent, "2")
    assert event_types(agent).count("limit.reached") == 2


def test_a_webhook_gets_no_event_of_a_limit_and_the_logs_have_it(client: APIClient, agent: Agent) -> None:
    client.put(f"/agents/{agent.pk}/webhook", {"url": "https://203.0.113.9/hook"}, format="json")
    before = Delivery.objects.count()
    limits.replace(agent, day_usd=Decimal(1))
    spend(agent, "1")
    assert Delivery.objects.count() == before
    for path in ("/events", f"/agents/{agent.pk}/events"):
        assert "limit.reached" in [event["type"] for event in client.get(path).json()["events"]]


def test_the_description_of_the_api_names_all_types_of_the_logs_and_only_those_that_are_sent_for_webhooks(
    client: APIClient,
) -> None:
    shapes = client.get("/openapi.json").json()["components"]["schemas"]
    sent, logged = (set(shapes[name]["properties"]["type"]["enum"]) for name in ("WebhookEvent", "LoggedEvent"))
    assert logged - sent == {"limit.near", "limit.reached", "replay.switched", "replay.deleted"}
    assert shapes["EventsEnvelope"]["properties"]["events"]["items"]["$ref"].endswith("/LoggedEvent")


def test_explain_names_the_limit(client: APIClient, agent: Agent) -> None:
    limits.replace(agent, day_usd=Decimal(1))
    spend(agent, "1")
    told = client.get(f"/agents/{agent.pk}/explain").json()["explanation"]
    assert "SPENDING_LIMIT" in json.dumps(told)
    limits.replace(agent, is_stopped=True)
    assert "CALLS_STOPPED" in json.dumps(client.get(f"/agents/{agent.pk}/explain").json())


def test_explain_does_not_blame_the_model_key_for_a_limit_that_only_the_gateway_knows(
    client: APIClient, agent: Agent, serve: Serve
) -> None:
    limits.replace(agent, minute_calls=1)  # the gateway alone knows of it, as of figures that come later
    gateway = serve(Agent.objects.get(pk=agent.pk), spending_limits={"minute_calls": 1})
    exchanging.exchange(agent.pk)
    assert call(gateway, 2) == [200, 429]
    told = client.get(f"/agents/{agent.pk}/explain").json()["explanation"]
    assert (told["cause"], told["next"]) == ("SPENDING_LIMIT", f"PUT /agents/{agent.pk}/limits")
    with time_machine.travel(timezone.now() + timedelta(minutes=2)):  # by then the figures would tell it
        assert "LIMIT" not in client.get(f"/agents/{agent.pk}/explain").content.decode()


def test_a_limit_in_usd_needs_a_model_with_a_price(client: APIClient, agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(model="openai:unheard-of")
    answer = put(client, agent, usdPerDay=1)
    assert (answer.status_code, "no price" in answer.json()["message"]) == (400, True)
    assert put(client, agent, requestsPerMinute=1).status_code == 200


def test_a_deleted_agent_is_told_nothing(agent: Agent) -> None:
    limits.replace(agent, day_usd=Decimal(1))
    Agent.objects.filter(pk=agent.pk).update(desired="deleted")
    SpentDay.objects.create(agent=agent, day=timezone.now().date(), usd=2)
    telling.tell(agent, now=timezone.now() + timedelta(seconds=1))
    assert "limit.reached" not in event_types(agent)
