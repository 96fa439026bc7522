"""An owner limits what all agents may spend on their models together, on a page."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.models import User
from agents.models import Agent, SpentDay
from agents.spending import account_limits
from tests.pages.account.visitor import Visitor, shown, text

PATH = "/account/limits"


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def test_limits_are_saved_and_shown_and_an_empty_field_is_none(visitor: Visitor, owner: User) -> None:
    page = visitor.follow(visitor.send(visitor.open(PATH), PATH, usdPerDay="0,50", usdPerMonth="", stopped=""))
    kept = account_limits.of(owner)
    assert (kept.day_usd, kept.month_usd, kept.is_stopped) == (Decimal("0.50"), None, False)
    fields = {one.attributes["id"]: one.attributes["value"] for one in page.all("input") if "id" in one.attributes}
    assert (fields["usdPerDay"], fields["usdPerMonth"]) == ("0.50", "")
    assert "Saved." in text(page)


def test_the_switch_that_stops_all_calls_is_kept_and_shown(visitor: Visitor, owner: User) -> None:
    visitor.follow(visitor.send(visitor.open(PATH), PATH, stopped="yes"))
    assert account_limits.of(owner).is_stopped
    assert "checked" in visitor.open(PATH).one("input", name="stopped").attributes


def test_it_shows_what_was_spent(visitor: Visitor, running: Agent) -> None:
    SpentDay.objects.create(agent=running, day=timezone.now().date(), usd=Decimal("2.5"))
    assert "2.50 USD today, 2.50 USD this month" in text(visitor.open(PATH))


@pytest.mark.parametrize("wrong", [{"usdPerDay": "much"}, {"usdPerMonth": "-1"}])
def test_what_is_no_limit_is_refused_in_words_and_nothing_is_saved(
    visitor: Visitor, owner: User, wrong: dict[str, str]
) -> None:
    answer = visitor.send(visitor.open(PATH), PATH, **wrong)
    assert "Enter amounts such as 5 or 0.50." in text(shown(answer, status=400))
    assert account_limits.of(owner).day_usd is None


def test_the_account_links_to_it(visitor: Visitor) -> None:
    assert [one for one in visitor.open("/account").all("a") if one.attributes.get("href") == PATH]
