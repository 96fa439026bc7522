"""A person limits what conversations that an API key starts may spend on models, on pages."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import timezone

from accounts import keys
from accounts.keys import KeyLimits
from accounts.models import ApiKey, User
from accounts.scopes import Scope
from agents.models import Agent
from agents.spending import telling
from agents.spending.models import KeyUsage
from tests.pages.account.visitor import Visitor, shown, text

ACCOUNT = "/account"


@pytest.fixture
def visitor(owner: User, catalog: None) -> Visitor:
    return Visitor(owner)


def made(user: User, **limits: object) -> ApiKey:
    given = KeyLimits(**{"scopes": {Scope.OPERATE}, **limits})  # type: ignore[arg-type]  # the tests' own
    return keys.create(user, name="night driver", limits=given, now=timezone.now())[0]


def test_a_person_makes_a_key_with_limits_of_model_use_and_sees_them(visitor: Visitor) -> None:
    chosen = {"may": "operate", "perDay": "2,50", "perMonth": "25"}
    shown(visitor.send(visitor.open(ACCOUNT), "/account/keys", name="laptop", **chosen))
    key = ApiKey.objects.get()
    assert (key.day_usd, key.month_usd, key.spend_limit_usd) == (Decimal("2.50"), Decimal(25), None)
    listed = text(visitor.open(ACCOUNT))
    assert "models up to $2.50 a day" in listed
    assert "models up to $25.00 a month" in listed


def test_they_are_changed_later_and_an_empty_field_is_none(visitor: Visitor, owner: User) -> None:
    key = made(owner, day_usd=Decimal(3))
    path = f"/account/keys/{key.pk}/limits"
    page = visitor.open(path)
    assert page.one("input", id="usdPerDay").attributes["value"] == "3.00"
    visitor.follow(visitor.send(page, path, usdPerDay="", usdPerMonth="7,5"))
    key.refresh_from_db()
    assert (key.day_usd, key.month_usd) == (None, Decimal("7.50"))


@pytest.mark.parametrize("typed", ["much", "0", "-1", "1e30", "nan", "\0", "9" * 500])
def test_a_wrong_amount_is_told_and_stays(visitor: Visitor, owner: User, typed: str) -> None:
    key = made(owner)
    path = f"/account/keys/{key.pk}/limits"
    page = shown(visitor.send(visitor.open(path), path, usdPerDay=typed, usdPerMonth=""), status=400)
    assert "Enter amounts such as 5 or 0.50." in text(page)
    key.refresh_from_db()
    assert key.day_usd is None


def test_a_key_that_only_reads_needs_none(visitor: Visitor, owner: User) -> None:
    key = made(owner, scopes={Scope.READ})
    path = f"/account/keys/{key.pk}/limits"
    assert path not in {one.attributes.get("href") for one in visitor.open(ACCOUNT).all("a")}
    page = shown(visitor.send(visitor.open(path), path, usdPerDay="5", usdPerMonth=""), status=400)
    assert "This key may not operate agents" in text(page)


def test_it_shows_what_was_spent_and_the_events_name_the_key(visitor: Visitor, owner: User, running: Agent) -> None:
    key = made(owner, day_usd=Decimal(3))
    KeyUsage.objects.create(api_key=key, agent=running, day=timezone.now().date(), usd=Decimal("2.5"))
    telling.tell(running, now=timezone.now())
    assert "2.50 USD today, 2.50 USD this month" in text(visitor.open(f"/account/keys/{key.pk}/limits"))
    events = text(visitor.open(f"/account/agents/{running.pk}/events"))
    assert "The key night driver has nearly reached its limit: 2.5 of 3.0 USD for a day." in events


def test_anothers_key_is_not_found(visitor: Visitor, stranger: User) -> None:
    visitor.open(f"/account/keys/{made(stranger).pk}/limits", status=404)
