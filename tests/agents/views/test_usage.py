"""`GET /agents/{id}/usage`."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from rest_framework.test import APIClient

from agents.models import Agent, ModelUsage


@pytest.fixture
def used(running: Agent) -> Agent:
    """An agent with calls on three days, of two models."""
    for day, model, session, usd, unpriced in (
        (date(2026, 10, 31), "openai:a", "ses_1", "0.5", 0),
        (date(2026, 11, 1), "openai:a", "ses_1", "1.25", 0),
        (date(2026, 11, 1), "openai:b", "ses_2", "0", 2),
        (date(2026, 11, 28), "openai:a", "ses_2", "2", 0),
    ):
        ModelUsage.objects.create(
            agent=running, day=day, model=model, kind="chat", session=session, calls=2, input=10, output=5,
            usd=Decimal(usd), unpriced=unpriced,
        )  # fmt: skip
    return running


def usage(client: APIClient, agent: Agent, **query: str) -> dict[str, Any]:
    answer = client.get(f"/agents/{agent.pk}/usage", query)
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()["usage"]
    return told


@time_machine.travel("2026-11-28T12:00:00Z", tick=False)
def test_without_a_query_the_days_of_this_month_are_told(client: APIClient, used: Agent) -> None:
    told = usage(client, used)
    assert (told["from"], told["to"], told["by"]) == ("2026-11-01", "2026-11-28", "day")
    assert [(row["day"], row["usd"], row["calls"], row["unpricedCalls"]) for row in told["rows"]] == [
        ("2026-11-01", 1.25, 4, 2),
        ("2026-11-28", 2, 2, 0),
    ]
    assert (told["total"]["usd"], told["total"]["inputTokens"], told["total"]["outputTokens"]) == (3.25, 30, 15)


def test_by_model_the_dearest_is_first_and_one_without_a_price_has_no_amount(client: APIClient, used: Agent) -> None:
    told = usage(client, used, **{"from": "2026-10-01", "to": "2026-11-30", "by": "model"})
    assert [(row["model"], row["usd"]) for row in told["rows"]] == [("openai:a", 3.75), ("openai:b", None)]


def test_by_session(client: APIClient, used: Agent) -> None:
    told = usage(client, used, **{"from": "2026-11-01", "to": "2026-11-30", "by": "session"})
    assert [(row["kind"], row["session"], row["calls"]) for row in told["rows"]] == [
        ("chat", "ses_2", 4),
        ("chat", "ses_1", 2),
    ]


def test_an_agent_without_calls_has_none(client: APIClient, running: Agent) -> None:
    told = usage(client, running)
    assert (told["rows"], told["total"]["calls"], told["total"]["usd"]) == ([], 0, 0)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("usage", "a day such as 2026-11-21"),
        ("egress/log", "a day such as 2026-11-21"),
        ("replay", "a point in time such as 2026-11-21T06:30:00Z"),
    ],
)
def test_what_is_not_a_day_is_shown_beside_one_that_is(
    client: APIClient, running: Agent, path: str, wanted: str
) -> None:
    for name in ("from", "to"):
        answer = client.get(f"/agents/{running.pk}/{path}", {name: "yesterday"})
        assert answer.json()["message"] == f"{name}: 'yesterday' is not {wanted}"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": "2026-12-01", "to": "2026-11-01"}, "from"),
        ({"from": "2020-01-01", "to": "2026-11-01"}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"by": "hour"}, "by"),
    ],
)
def test_a_wrong_query_is_refused_by_its_name(
    client: APIClient, running: Agent, query: dict[str, str], field: str
) -> None:
    answer = client.get(f"/agents/{running.pk}/usage", query)
    assert (answer.status_code, field in answer.json()["message"]) == (400, True)


def test_what_rows_may_be_about_is_named_in_the_refusal(client: APIClient, running: Agent) -> None:
    answer = client.get(f"/agents/{running.pk}/usage", {"by": "hour"})
    assert answer.json()["message"] == "by: 'hour' is not one of day, model, session, key"


def test_a_stranger_sees_nothing(other: APIClient, used: Agent) -> None:
    assert other.get(f"/agents/{used.pk}/usage").status_code == 404
