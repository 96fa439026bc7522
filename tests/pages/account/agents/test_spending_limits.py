"""An owner limits what the agent may spend on its model, on a page."""

from __future__ import annotations

import pytest

from accounts.models import User
from agents.models import Agent
from agents.spending import limits
from tests.pages.account.visitor import Visitor, shown, text


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def test_limits_are_saved_and_shown_and_an_empty_field_is_none(visitor: Visitor, running: Agent) -> None:
    path = f"/account/agents/{running.pk}/limits"
    typed = {"usdPerDay": "0,50", "usdPerMonth": "10", "tokensPerTurn": "2000", "requestsPerMinute": ""}
    visitor.follow(visitor.send(visitor.open(path), path, **typed, stopped=""))
    kept = limits.of(running)
    assert (str(kept.day_usd), str(kept.month_usd)) == ("0.50", "10.00")
    assert (kept.turn_tokens, kept.minute_calls, kept.is_stopped) == (2000, None, False)
    page = visitor.open(path)
    there = {one.attributes["id"]: one.attributes["value"] for one in page.all("input") if "id" in one.attributes}
    assert {name: there[name] for name in typed} == {**typed, "usdPerDay": "0.50", "usdPerMonth": "10.00"}


def test_the_switch_that_stops_all_calls_is_kept_and_shown(visitor: Visitor, running: Agent) -> None:
    path = f"/account/agents/{running.pk}/limits"
    visitor.follow(visitor.send(visitor.open(path), path, stopped="yes"))
    assert limits.of(running).is_stopped
    assert "checked" in visitor.open(path).one("input", name="stopped").attributes


@pytest.mark.parametrize("wrong", [{"usdPerDay": "much"}, {"usdPerDay": "-1"}, {"tokensPerTurn": "0"}])
def test_what_is_no_limit_is_refused_in_words_and_nothing_is_saved(
    visitor: Visitor, running: Agent, wrong: dict[str, str]
) -> None:
    path = f"/account/agents/{running.pk}/limits"
    answer = visitor.send(visitor.open(path), path, **wrong)
    assert "Enter amounts such as 5 or 0.50" in text(shown(answer, status=400))
    assert limits.of(running).day_usd is None
