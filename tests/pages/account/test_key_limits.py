"""The limits of a new API key, chosen in the form of the account's page."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.keys import KeyLimits
from accounts.models import ApiKey, User
from accounts.scopes import Scope
from tests.agents.conftest import MakeAgent
from tests.pages.account.visitor import Visitor, shown, text

ACCOUNT = "/account"


@pytest.fixture
def visitor(owner: User, catalog: None) -> Visitor:
    return Visitor(owner)


def test_a_person_makes_a_key_with_limits_and_sees_them(
    visitor: Visitor, make_agent: MakeAgent, api: APIClient
) -> None:
    agent, before = make_agent(name="Owl"), timezone.now()
    chosen = {"may": "operate pay", "agent": agent.pk, "days": "30", "most": "12,50"}
    page = shown(visitor.send(visitor.open(ACCOUNT), "/account/keys", name="laptop", **chosen))
    assert "what you chose for it" in text(page)
    key = ApiKey.objects.get()
    assert (key.scopes, key.agent_id, key.spend_limit_usd) == (["operate", "pay"], agent.pk, Decimal("12.50"))
    assert key.expires_at is not None
    assert timedelta(0) <= key.expires_at - before - timedelta(days=30) < timedelta(minutes=5)
    bearer = {"authorization": f"Bearer {page.one('code', id='secret').text}"}
    assert api.get(f"/agents/{agent.pk}", headers=bearer).status_code == 200
    assert api.get("/billing-details", headers=bearer).status_code == 403
    listed = text(visitor.open(ACCOUNT))
    assert "Read, operate agents and pay" in listed
    assert "one agent only" in listed
    assert "orders up to $12.50" in listed


def test_a_form_that_is_left_as_it_is_makes_a_full_key(visitor: Visitor) -> None:
    page = shown(visitor.send(visitor.open(ACCOUNT), "/account/keys", name="laptop"))
    assert "what you can" in text(page)
    assert ApiKey.objects.get().limits is None


@pytest.mark.parametrize(
    "chosen",
    [
        {"agent": "agt_" + "0" * 24},
        {"may": "read", "agent": "agt_" + "0" * 24},
        {"may": "read", "agent": "\0"},
        {"most": "5"},
        {"may": "operate", "most": "5"},
        {"may": "pay", "most": "much"},
        {"may": "pay", "perDay": "5"},
        {"perMonth": "5"},
        {"may": "operate", "perDay": "much"},
        {"may": "operate", "perMonth": "0"},
        {"may": "pay", "most": "nan"},
        {"may": "pay", "most": "-1"},
        {"may": "pay", "most": "1e30"},
        {"may": "everything"},
        {"may": "read " * 500},
        {"days": "-1"},
        {"days": "9" * 500},
    ],
)
def test_limits_that_do_not_fit_are_told_and_what_was_typed_stays(visitor: Visitor, chosen: dict[str, str]) -> None:
    page = shown(visitor.send(visitor.open(ACCOUNT), "/account/keys", name="laptop", **chosen), status=400)
    assert "These limits do not fit together." in page.one("p", role="alert").text
    assert page.one("input", id="name").attributes["value"] == "laptop"
    assert not ApiKey.objects.exists()


def test_anothers_agent_is_not_chosen(visitor: Visitor, stranger: User, make_agent: MakeAgent) -> None:
    theirs = make_agent(user=stranger)
    chosen = {"may": "read", "agent": theirs.pk}
    assert visitor.send(visitor.open(ACCOUNT), "/account/keys", name="laptop", **chosen).status_code == 400
    assert theirs.pk not in visitor.open(ACCOUNT).html


def test_limits_of_keys_that_the_api_made_are_shown(visitor: Visitor, owner: User) -> None:
    limits = KeyLimits(scopes={Scope.READ}, expires_at=timezone.now() + timedelta(days=1))
    keys.create(owner, name="reader", limits=limits, now=timezone.now())
    assert "Read only" in text(visitor.open(ACCOUNT))
