"""`POST /payments/{provider}/callback` for licences: a report without a signature."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from billing import licences, verification
from billing.licences import Key
from billing.vocabulary import Provider, SubscriptionStatus
from tests.billing.conftest import Clock
from tests.billing.licences import KEY, LEMON, check, licence_of
from tests.doubles.gumroad_server import GumroadSale, GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer

pytestmark = pytest.mark.django_db

ACTIVE, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.EXPIRED
HOUR = timedelta(hours=1)
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def sale(agent: Agent, clock: Clock, gumroad: GumroadServer) -> GumroadSale:
    sold = gumroad.sell(KEY)
    key = Key(provider=Provider.GUMROAD, text=KEY)
    licences.activate(agent, key, tier=None, period=None, actor="user:x", now=clock.now)
    gumroad.asked.clear()
    return sold


def test_a_word_of_the_provider_only_makes_us_ask(
    agent: Agent, sale: GumroadSale, clock: Clock, api: APIClient, gumroad: GumroadServer
) -> None:
    clock.go(HOUR)
    sale.purchase = {"refunded": True}
    word = {"license_key": KEY, "refunded": "true"}
    assert api.post("/payments/gumroad/callback", word, format="multipart").status_code == 415
    answer = api.post("/payments/gumroad/callback", f"license_key={KEY}", content_type=FORM)
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    assert licence_of(agent).status == ACTIVE
    verification.verify(licence_of(agent).pk, now=clock.now)
    assert licence_of(agent).status == EXPIRED


def test_a_lie_about_a_licence_changes_nothing(agent: Agent, sale: GumroadSale, clock: Clock, api: APIClient) -> None:
    clock.go(HOUR)
    for body in ({"subscription_id": "membership-1", "refunded": True}, {"sale_id": "x"}, {}, {"license_key": "x"}):
        assert api.post("/payments/gumroad/callback", body, format="json").json() == {"ok": True}
    assert check(clock) == 1
    assert licence_of(agent).status == ACTIVE


def test_whoever_sends_words_all_day_has_us_ask_six_times_a_minute_at_most(
    agent: Agent, sale: GumroadSale, clock: Clock, api: APIClient, gumroad: GumroadServer
) -> None:
    for _ in range(20):
        api.post("/payments/gumroad/callback", {"license_key": KEY}, format="json")
        check(clock)
    assert len(gumroad.asked) == 6


def test_there_is_no_callback_of_what_calls_nobody(api: APIClient) -> None:
    assert api.post("/payments/internal/callback", {}, format="json").status_code == 404


def test_lemonsqueezy_names_the_key_or_the_order(
    agent: Agent, clock: Clock, api: APIClient, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    key = Key(provider=Provider.LEMONSQUEEZY, text=LEMON)
    licences.activate(agent, key, tier=None, period=None, actor="user:x", now=clock.now)
    for attributes in ({"key": LEMON}, {"order_item_id": 301}):
        clock.go(HOUR)
        api.post("/payments/lemonsqueezy/callback", {"data": {"attributes": attributes}}, format="json")
        assert licence_of(agent).check_at == clock.now
        check(clock)
    licence.status = "disabled"
    api.post("/payments/lemonsqueezy/callback", {"data": {"attributes": {"key": LEMON}}}, format="json")
    check(clock)
    assert licence_of(agent).status == EXPIRED


@pytest.mark.parametrize("body", ["license_key=%00", "license_key=" + "x" * 201, "a=1&" * 2000, '{"data": 7}'])
def test_a_word_that_makes_no_sense_is_refused(api: APIClient, db: None, body: str) -> None:
    kind = "application/json" if body.startswith("{") else FORM
    answer = api.generic("POST", "/payments/gumroad/callback", body, content_type=kind)
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
