"""Lemon Squeezy's API for the seller, read with each licence: charges, refunds, and charges that failed."""

from __future__ import annotations

import hashlib
import hmac
import json
from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import Letter
from agents.models import Agent
from billing import verification
from billing.models import Payment
from billing.vocabulary import PaymentKind, Provider, SubscriptionStatus
from tests.billing.conftest import DAY, NOON, Clock
from tests.billing.lemonsqueezy_charges import BOUGHT, RENEWED, SECOND, amounts, renew, sell_a_month
from tests.billing.licences import LEMON, activate, check, kinds, licence_of
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyLicence, LemonSqueezyServer

pytestmark = pytest.mark.django_db

ACTIVE, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.EXPIRED
CALLBACK = "/payments/lemonsqueezy/callback"
SECRET = "a secret of the webhook"


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def sold(agent: Agent, clock: Clock, lemon: LemonSqueezyServer, settings: Any) -> LemonSqueezyLicence:
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    return sell_a_month(agent, lemon, clock)


def test_the_ledger_says_what_was_charged_without_taxes(agent: Agent, sold: LemonSqueezyLicence, clock: Clock) -> None:
    assert amounts(agent) == [("payment", 900)]
    sold.expires_at = SECOND
    clock.at(NOON.replace(month=12, hour=13))
    sold.charge(RENEWED, 600, tax=100)  # with a discount
    check(clock)
    assert amounts(agent) == [("payment", 900), ("renewal", 500)]
    assert licence_of(agent).price_usd == Decimal("5.00")
    assert licence_of(agent).current_period_end == NOON.replace(year=2027, month=1)


@pytest.mark.parametrize("status", ["refunded", "fraudulent"])
def test_money_that_went_back_ends_the_licence_though_its_key_stays_active(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, status: str
) -> None:
    sold.order_status = status
    check(clock, DAY)
    assert sold.status == "active"
    assert licence_of(agent).status == EXPIRED
    assert amounts(agent) == [("payment", 900), ("revoke", 900)]
    assert Payment.objects.get(kind=PaymentKind.REVOKE).refund_of == Payment.objects.get(kind=PaymentKind.PAYMENT)
    check(clock, DAY)
    assert len(amounts(agent)) == 2, "once"


def test_a_renewal_that_went_back_ends_the_licence(agent: Agent, sold: LemonSqueezyLicence, clock: Clock) -> None:
    renew(sold, clock)
    sold.charges[-1].give_back()
    check(clock, DAY)
    assert licence_of(agent).status == EXPIRED
    assert amounts(agent) == [("payment", 900), ("renewal", 900), ("revoke", 900)]


def test_an_earlier_charge_that_went_back_is_in_the_ledger_and_takes_no_time(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock
) -> None:
    renew(sold, clock)
    sold.charges[0].give_back()
    for _ in range(2):
        check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.current_period_end) == (ACTIVE, NOON.replace(year=2027, month=1))
    assert amounts(agent) == [("payment", 900), ("renewal", 900), ("refund", 900)]
    first = Payment.objects.get(kind=PaymentKind.PAYMENT)
    assert Payment.objects.get(kind=PaymentKind.REFUND).refund_of == first


def test_parts_that_went_back_are_in_the_ledger_once_each_and_the_whole_ends_the_licence(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock
) -> None:
    for cents in (300, 300, 540):  # parts of 1,080 with taxes
        sold.charges[0].give_back(cents)
        check(clock, DAY)
    assert amounts(agent) == [("payment", 900), ("refund", 250), ("refund", 200)]
    assert licence_of(agent).status == ACTIVE
    assert Letter.objects.filter(user=agent.user, text__contains="2.50 USD").count() == 1
    sold.charges[0].give_back()
    check(clock, DAY)
    assert amounts(agent)[-1] == ("revoke", 450)
    assert licence_of(agent).status == EXPIRED


def test_what_was_charged_before_the_licence_came_to_us_is_no_payment_of_ours(
    agent: Agent, clock: Clock, lemon: LemonSqueezyServer, settings: Any
) -> None:
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    licence = lemon.sell(LEMON, created_at="2026-08-21T12:00:00.000000Z")
    for month in (8, 9, 10, 11):
        licence.charge(f"2026-{month:02d}-21T12:00:00.000000Z")
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    licence.charges[0].give_back()
    licence.charges[2].give_back(100)
    check(clock, DAY)
    assert amounts(agent) == [("payment", 900)]


def test_a_licence_that_runs_on_before_its_card_was_charged_is_not_paid_yet(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock
) -> None:
    clock.at(NOON.replace(month=12, hour=13))
    sold.expires_at = SECOND
    pending = sold.charge(RENEWED, 1080, tax=180, status="pending")
    check(clock)
    row = licence_of(agent)
    assert row.status == ACTIVE
    assert row.unknown_since is not None, "nobody said that it is unpaid"
    assert kinds(agent) == ["payment"]
    pending.status = "paid"
    check(clock, DAY)
    assert amounts(agent) == [("payment", 900), ("renewal", 900)]
    assert licence_of(agent).current_period_end == NOON.replace(year=2027, month=1)


def test_a_card_that_was_refused_ends_the_paid_time(agent: Agent, sold: LemonSqueezyLicence, clock: Clock) -> None:
    clock.at(NOON.replace(month=12, hour=13))
    sold.expires_at, sold.subscription_status = SECOND, "past_due"
    failed = sold.charge(RENEWED, 1080, tax=180, status="pending")
    check(clock)
    assert licence_of(agent).status == EXPIRED
    assert kinds(agent) == ["payment"], "a failed one is not income"
    failed.status, sold.subscription_status = "paid", "active"
    check(clock, DAY)
    assert licence_of(agent).status == ACTIVE
    assert amounts(agent) == [("payment", 900), ("renewal", 900)]


def test_what_is_sold_once_has_its_order_alone(
    agent: Agent, clock: Clock, lemon: LemonSqueezyServer, settings: Any
) -> None:
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    licence = lemon.sell(LEMON, 103, subscribes=False, expires_at="2027-11-21T12:00:00.000000Z")
    licence.charge(BOUGHT, 9000)
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    assert amounts(agent) == [("payment", 9000)]
    licence.order_status = "refunded"
    check(clock, DAY)
    assert licence_of(agent).status == EXPIRED


@pytest.mark.parametrize("failure", [500, "cut", b"nonsense", b'{"data": 5}', 429])
def test_without_an_answer_about_the_charges_nothing_is_known(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, lemon: LemonSqueezyServer, failure: Any
) -> None:
    clock.at(NOON.replace(month=12, hour=13))
    sold.expires_at = SECOND
    sold.charge(RENEWED, 1080, tax=180)

    def silent(asked: str) -> None:
        lemon.fail(failure) if asked.startswith("GET") else lemon.work_again()

    lemon.before = silent
    check(clock)
    row = licence_of(agent)
    assert (row.status, kinds(agent)) == (ACTIVE, ["payment"])
    lemon.before = lambda asked: None
    lemon.work_again()
    check(clock, DAY)
    assert amounts(agent) == [("payment", 900), ("renewal", 900)]


def test_a_key_of_ours_that_is_refused_is_as_none_and_told(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LEMONSQUEEZY_API_KEY = "another"
    sold.expires_at = SECOND
    clock.at(NOON.replace(month=12, hour=13))
    check(clock)
    assert licence_of(agent).current_period_end == NOON.replace(year=2027, month=1)
    assert "LEMONSQUEEZY_API_KEY is refused" in caplog.text


def test_the_key_is_never_logged(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, lemon: LemonSqueezyServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    lemon.fail(500, body={"message": "no"})
    check(clock, DAY)
    assert API_KEY not in caplog.text


def word(kind: str, attributes: dict[str, Any]) -> bytes:
    return json.dumps(
        {"meta": {"event_name": "x"}, "data": {"type": kind, "id": "1", "attributes": attributes}}
    ).encode()


def signature(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


WORDS: dict[str, dict[str, Any]] = {
    "orders": {"first_order_item": {"id": 301}},
    "subscription-invoices": {"subscription_id": 501},
    "subscriptions": {"order_item_id": 301},
    "license-keys": {"key": LEMON},
}


@pytest.mark.parametrize("kind", WORDS)
def test_a_signed_word_has_the_licence_verified_at_once(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, api: APIClient, settings: Any, kind: str
) -> None:
    settings.LEMONSQUEEZY_WEBHOOK_SECRET = SECRET
    check(clock, DAY)
    sold.order_status = "refunded"
    body = word(kind, WORDS[kind])
    answer = api.post(CALLBACK, body, content_type="application/json", headers={"X-Signature": signature(body)})
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    verification.verify(licence_of(agent).pk, now=clock.now)
    assert licence_of(agent).status == EXPIRED


@pytest.mark.parametrize("shown", [None, "", "0" * 64, "é", "other"])
@pytest.mark.parametrize("form", [False, True])
def test_a_word_that_is_not_signed_as_it_should_be_is_refused(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, api: APIClient, settings: Any, shown: str | None, form: bool
) -> None:
    settings.LEMONSQUEEZY_WEBHOOK_SECRET = SECRET
    before = licence_of(agent).check_at
    body = f"license_key={LEMON}".encode() if form else word("license-keys", {"key": LEMON})
    shown = signature(body, "another secret") if shown == "other" else shown
    headers = {} if shown is None else {"X-Signature": shown}
    kind = "application/x-www-form-urlencoded" if form else "application/json"
    answer = api.post(CALLBACK, body, content_type=kind, headers=headers)
    assert answer.status_code == 401
    assert "X-Signature" in answer.json()["message"]
    assert licence_of(agent).check_at == before


def test_many_signed_words_are_all_heard(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, api: APIClient, settings: Any
) -> None:
    """Lemon Squeezy reports one refund four times; only the last report comes when it is complete."""
    settings.LEMONSQUEEZY_WEBHOOK_SECRET = SECRET
    for _ in range(12):
        check(clock)
        body = word("orders", WORDS["orders"])
        api.post(CALLBACK, body, content_type="application/json", headers={"X-Signature": signature(body)})
        assert licence_of(agent).check_at == clock.now
