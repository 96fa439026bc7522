"""Gumroad's answers, and how the driver reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from billing.providers.base import LicenceCharge, ProviderAnswer, Verdict
from billing.providers.gumroad.driver import Gumroad
from billing.providers.plans import renewed_until
from billing.vocabulary import Period
from config.errors import Unavailable
from tests.billing.conftest import NOON
from tests.billing.licences import KEY, ONCE, SMALL, TINY
from tests.doubles import gumroad_server
from tests.doubles.gumroad_server import GumroadServer

pytestmark = pytest.mark.sampled

LATER, BEFORE = "2026-12-21T12:00:00Z", "2026-11-20T12:00:00Z"


def verdict(now: datetime = NOON) -> Verdict:
    return Gumroad().verify(KEY, now=now)


def test_a_membership_is_paid_until_the_end_of_its_running_period(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    assert verdict() == Verdict(
        answer=ProviderAnswer.PAID,
        external_ref="membership-1",
        till=datetime(2026, 12, 21, 12, tzinfo=UTC),
        tier="tiny",
        period=Period.MONTHLY,
        price_usd=Decimal(5),
        charges=(LicenceCharge(name="sale-1", at=NOON, cents=500),),
    )


def test_a_yearly_one_ends_a_year_later_and_the_day_of_the_month_is_kept(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, recurrence="yearly")
    found = verdict()
    assert (found.period, found.till) == (Period.ANNUAL, NOON.replace(year=2027))
    sold = datetime(2027, 1, 31, 12, tzinfo=UTC)
    ends = [renewed_until(sold, Period.MONTHLY, now=sold + timedelta(days=days)) for days in (1, 30, 60, 366)]
    assert [f"{end:%Y-%m-%d}" for end in ends] == ["2027-02-28", "2027-03-31", "2027-04-30", "2028-02-29"]


def test_at_its_very_end_the_next_period_has_begun() -> None:
    assert renewed_until(NOON, Period.MONTHLY, now=NOON.replace(month=12)) == NOON.replace(year=2027, month=1)
    assert renewed_until(NOON, Period.ANNUAL, now=NOON.replace(year=2028)) == NOON.replace(year=2029)


def test_the_plan_is_the_variant_to_the_letter(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, SMALL, purchase={"variants": "(Medium)"})
    assert verdict().tier == "medium"
    gumroad.sales[KEY].purchase = {"variants": "(medium)"}
    assert (verdict().answer, verdict().reason) == (ProviderAnswer.UNPAID, "this licence is not of one of our plans")


def test_what_is_sold_once_is_paid_for_the_period_that_the_settings_name(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, ONCE, recurrence=None)
    found = verdict()
    assert (found.answer, found.external_ref, found.cancels) == (ProviderAnswer.PAID, "sale-1", True)
    assert (found.till, found.period) == (NOON.replace(year=2027), Period.ANNUAL)
    assert verdict(NOON.replace(year=2027)).answer == ProviderAnswer.UNPAID


@pytest.mark.parametrize(
    "purchase",
    [
        {"refunded": True},
        {"disputed": True},
        {"chargebacked": True},
        {"subscription_ended_at": BEFORE},
        {"subscription_failed_at": BEFORE},
        {"subscription_cancelled_at": BEFORE},
        {"subscription_cancelled_at": "2026-11-21T12:00:00Z"},
    ],
)
def test_what_is_reversed_or_over_is_unpaid_now_though_success_is_true(
    gumroad: GumroadServer, purchase: dict[str, Any]
) -> None:
    gumroad.sell(KEY, purchase=purchase)
    assert (verdict().answer, verdict().revoked) == (ProviderAnswer.UNPAID, True)


def test_a_dispute_that_was_won_is_paid(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, purchase={"disputed": True, "dispute_won": True})
    assert verdict().answer == ProviderAnswer.PAID


def test_a_cancellation_in_the_future_is_paid_until_then(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, purchase={"subscription_cancelled_at": LATER})
    found = verdict()
    assert (found.answer, found.cancels, found.till) == (ProviderAnswer.PAID, True, NOON.replace(month=12))


@pytest.mark.parametrize("text", [gumroad_server.DISABLED, gumroad_server.NO_ACCESS])
def test_a_key_that_was_disabled_is_unpaid_now(gumroad: GumroadServer, text: str) -> None:
    gumroad.sell(KEY, gone=text)
    assert (verdict().answer, verdict().revoked) == (ProviderAnswer.UNPAID, True)


def test_a_key_that_nobody_knows_is_unpaid_but_may_have_been_rotated(gumroad: GumroadServer) -> None:
    found = verdict()
    assert (found.answer, found.revoked) == (ProviderAnswer.UNPAID, False)
    assert "try again soon" in found.reason
    assert [fields["product_id"] for _, fields in gumroad.asked] == [TINY, SMALL, ONCE]


def test_a_test_purchase_is_refused_unless_the_settings_take_it(gumroad: GumroadServer, settings: Any) -> None:
    gumroad.sell(KEY, purchase={"test": True})
    assert "test purchase" in verdict().reason
    settings.GUMROAD_TEST_PURCHASES = True
    assert verdict().answer == ProviderAnswer.PAID


def test_verifying_uses_nothing_up_and_activating_counts_one_use(gumroad: GumroadServer) -> None:
    sale = gumroad.sell(KEY)
    verdict()
    verdict()
    assert sale.uses == 0
    assert {fields["increment_uses_count"] for _, fields in gumroad.asked} == {"false"}
    assert Gumroad().activate(KEY, agent_id="agt_1") == ""
    assert sale.uses == 1


def test_without_a_purchase_it_is_unpaid(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, without_purchase=True)
    assert verdict().answer == ProviderAnswer.UNPAID


@pytest.mark.parametrize("recurrence", ["quarterly", "biannually", "every_two_years", None])
def test_another_recurrence_is_refused_in_clear_words(gumroad: GumroadServer, recurrence: str | None) -> None:
    gumroad.sell(KEY, recurrence=recurrence)
    found = verdict()
    assert found.answer == ProviderAnswer.UNPAID
    assert f"paid {recurrence or 'once'}" in found.reason
    assert "monthly or yearly" in found.reason


@pytest.mark.parametrize("status", [500, 502, 503, 429, 302, 400, 403])
def test_a_status_that_says_nothing_of_the_key_is_unknown(gumroad: GumroadServer, status: int) -> None:
    gumroad.sell(KEY)
    gumroad.fail(status)
    assert verdict().answer == ProviderAnswer.UNKNOWN


@pytest.mark.parametrize(
    "message", ["You have no access to this API.", "The product is disabled.", "Not found", "", None]
)
def test_another_404_than_its_three_says_nothing_of_the_key(gumroad: GumroadServer, message: str | None) -> None:
    gumroad.sell(KEY)
    gumroad.fail(404, body={"success": False, "message": message})
    assert verdict().answer == ProviderAnswer.UNKNOWN


def test_a_refusal_of_our_settings_is_unknown_and_an_alarm(
    gumroad: GumroadServer, caplog: pytest.LogCaptureFixture
) -> None:
    gumroad.sell(KEY)
    gumroad.fail(500, body={"success": False, "message": gumroad_server.NO_PRODUCT})
    assert verdict().answer == ProviderAnswer.UNKNOWN
    assert "check its settings" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b'"paid"',
        b"{}",
        b'{"success": "true"}',
        b'{"success": true, "purchase": []}',
        b'{"success": true, "purchase": {}}',
        b"\xff\xfe",
        b"[" * 100_000,
        b" " * 300_000,
    ],
)
def test_a_body_that_makes_no_sense_is_unknown(gumroad: GumroadServer, body: bytes) -> None:
    gumroad.fail(body)
    assert verdict().answer == ProviderAnswer.UNKNOWN


@pytest.mark.parametrize(
    "purchase",
    [
        {"product_id": ...},
        {"product_id": 7},
        {"refunded": "no"},
        {"sale_timestamp": "soon"},
        {"sale_timestamp": ..., "created_at": ...},
        {"subscription_cancelled_at": "never"},
        {"subscription_id": ..., "sale_id": ..., "id": ...},
    ],
)
def test_a_purchase_that_makes_no_sense_is_unknown(gumroad: GumroadServer, purchase: dict[str, Any]) -> None:
    gumroad.sell(KEY, purchase=purchase)
    assert verdict().answer == ProviderAnswer.UNKNOWN


def test_the_purchase_of_a_product_that_is_none_of_ours_is_unpaid(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, purchase={"product_id": "another=="})
    assert (verdict().answer, verdict().revoked) == (ProviderAnswer.UNPAID, False)


def test_a_time_out_or_a_connection_that_is_cut_is_unknown(
    gumroad: GumroadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gumroad.sell(KEY)
    gumroad.fail("cut")
    assert verdict().answer == ProviderAnswer.UNKNOWN
    monkeypatch.setattr("billing.providers.licence_http.SILENCE_SECONDS", 0.2)
    gumroad.fail("hang")
    assert verdict().answer == ProviderAnswer.UNKNOWN


def test_of_several_products_one_that_cannot_be_asked_leaves_it_unknown(gumroad: GumroadServer) -> None:
    gumroad.fail(503, times=1)
    assert verdict().answer == ProviderAnswer.UNKNOWN


def test_a_gumroad_that_is_overrun_is_left_alone_for_as_long_as_it_says(gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    gumroad.retry_after = 40
    gumroad.fail(429)
    assert verdict().answer == ProviderAnswer.UNKNOWN
    with pytest.raises(Unavailable, match="asked us to wait"):
        verdict()
    assert len(gumroad.asked) == 1


def test_we_keep_to_a_rate_of_our_own(gumroad: GumroadServer, settings: Any) -> None:
    settings.GUMROAD_REQUESTS_PER_MINUTE = 2
    gumroad.sell(KEY)
    verdict()
    verdict()
    with pytest.raises(Unavailable, match="asked too often"):
        verdict()


@pytest.mark.parametrize(
    ("purchase", "usd"), [({"currency": "eur"}, None), ({"price": 0}, Decimal(0)), ({"price": 1999}, Decimal("19.99"))]
)
def test_what_was_paid_is_exact_in_usd_and_unknown_in_another_currency(
    gumroad: GumroadServer, purchase: dict[str, Any], usd: Decimal | None
) -> None:
    gumroad.sell(KEY, purchase=purchase)
    assert verdict().price_usd == usd


def test_without_products_it_is_coming_soon(settings: Any) -> None:
    settings.GUMROAD_PRODUCTS = {}
    assert not Gumroad().offer.active
