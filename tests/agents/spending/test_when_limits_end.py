"""`Retry-After` of a turn that a limit of money has refused: the seconds until the limit begins anew."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent
from agents.spending import account_limits, exchanging, limits
from agents.spending.models import SpentDay
from tests.agents.spending.conftest import CENT, MakeKey, Serve, call, left_for, spend
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn

TOLERANCE = 120  # seconds that a slow test takes


def until_midnight() -> float:
    now = timezone.now()
    return (datetime.combine(now.date() + timedelta(days=1), time(), UTC) - now).total_seconds()


def until_next_month() -> float:
    now = timezone.now()
    first = (now.date().replace(day=1) + timedelta(days=31)).replace(day=1)
    return (datetime.combine(first, time(), UTC) - now).total_seconds()


def is_close(answer: Any, seconds: float) -> bool:
    """Whether `Retry-After` tells these seconds; they were counted a little later."""
    assert "is reached" in answer.json()["message"]
    return seconds - 1 <= int(answer["Retry-After"]) <= seconds + TOLERANCE


@pytest.fixture
def spent(agent: Agent) -> None:
    """The agent's calls have cost two USD today."""
    SpentDay.objects.create(agent=agent, day=timezone.now().date(), usd=Decimal(2))


def ask(client: APIClient, agent: Agent, path: str = "chat") -> Any:
    body = {"messages": [{"role": "user", "content": "hi"}]} if "completions" in path else {"message": "hi"}
    answer = client.post(f"/agents/{agent.pk}/{path}", body, format="json")
    assert answer.status_code == 503, answer.content
    return answer


@pytest.fixture(autouse=True)
def silent(bridge: BridgeDouble, agent: Agent, serve: Serve) -> None:
    """An engine that asks its model twice, is refused, and says nothing."""
    gateway = serve(agent)

    def turn(_: ReceivedTurn) -> Iterable[Event]:
        call(gateway, 2)
        yield {"type": "done", "reply": ""}

    bridge.turn = turn


@pytest.mark.usefixtures("spent")
def test_of_an_agents_limits_it_is_the_end_of_the_day_or_of_the_month(client: APIClient, agent: Agent) -> None:
    limits.replace(agent, day_usd=Decimal(1))
    exchanging.exchange(agent.pk)
    for path in ("chat", "v1/chat/completions"):
        assert is_close(ask(client, agent, path), until_midnight())
    limits.replace(agent, month_usd=Decimal(1))
    exchanging.exchange(agent.pk)
    assert is_close(ask(client, agent), until_next_month())


@pytest.mark.usefixtures("spent")
def test_of_an_accounts_limit_too(client: APIClient, owner: User, agent: Agent) -> None:
    account_limits.replace(owner, day_usd=Decimal(1))
    exchanging.exchange(agent.pk)
    assert is_close(ask(client, agent), until_midnight())


def test_of_a_keys_limit_that_the_turn_itself_reaches(agent: Agent, make_key: MakeKey) -> None:
    limited = make_key("night driver", month_usd=CENT)
    exchanging.exchange(agent.pk)
    spend(limited, agent, str(left_for(1)))

    refused = limited.chat(agent)
    assert refused.status_code == 503
    assert is_close(refused, until_next_month())


@pytest.mark.usefixtures("spent")
def test_a_switch_has_no_end_so_it_stays_at_ten_seconds(client: APIClient, agent: Agent) -> None:
    limits.replace(agent, is_stopped=True)
    exchanging.exchange(agent.pk)
    assert ask(client, agent)["Retry-After"] == "10"
