"""Charges and refunds that happened while no worker ran are in the ledger too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from agents.models import Agent
from billing.reports.deferred import deferred
from tests.billing.conftest import DAY, NOON, Clock
from tests.billing.lemonsqueezy_charges import THIRD, amounts, sell_a_month
from tests.billing.licences import check
from tests.doubles.gumroad_server import GumroadSale, GumroadServer
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyLicence, LemonSqueezyServer

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def sold(agent: Agent, clock: Clock, lemon: LemonSqueezyServer, settings: Any) -> LemonSqueezyLicence:
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    return sell_a_month(agent, lemon, clock)


def back(agent: Agent) -> list[int]:
    return [amount or 0 for kind, amount in amounts(agent) if kind in {"refund", "revoke"} and amount]


def two_more(sold: LemonSqueezyLicence) -> None:
    """Two months are charged while our workers see nothing."""
    for month in ("2026-12", "2027-01"):
        sold.charge(f"{month}-21T12:05:00.000000Z", 1080, tax=180)
    sold.expires_at = THIRD


def test_each_charge_is_in_the_ledger_once_however_late_anybody_looks(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock
) -> None:
    two_more(sold)
    clock.at(datetime(2027, 1, 22, 12, tzinfo=UTC))
    for _ in range(3):
        check(clock, DAY)
    assert amounts(agent) == [("payment", 900), ("renewal", 900), ("renewal", 900)]


@pytest.mark.parametrize("seen", [False, True])
def test_what_was_refunded_and_charged_again_within_days_is_two_charges_and_one_refund(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, seen: bool
) -> None:
    """It does not matter whether a check ran in between, and each later check finds nothing new."""
    first = sold.charge("2026-12-21T12:05:00.000000Z", 1080, tax=180)
    sold.expires_at = "2027-01-21T12:00:00.000000Z"
    first.give_back()
    if seen:
        check(clock, at=datetime(2026, 12, 21, 12, 30, tzinfo=UTC))
    sold.charge("2026-12-21T13:05:00.000000Z", 1080, tax=180)
    clock.at(datetime(2026, 12, 21, 13, 30, tzinfo=UTC))
    for _ in range(3):
        check(clock, DAY)
    charged = [amount for kind, amount in amounts(agent) if kind in {"payment", "renewal"}]
    assert (charged, back(agent)) == ([900] * 3, [900])
    left = (datetime(2027, 1, 21, 12, tzinfo=UTC) - clock.now) / timedelta(days=31)
    assert sum(deferred(now=clock.now).values()) == round(Decimal(9 * left), 2), "of the charge that was kept"


def test_charges_that_nobody_saw_before_it_ended_are_in_the_ledger_too(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock
) -> None:
    two_more(sold)
    sold.cancelled, sold.status = True, "expired"
    clock.at(datetime(2027, 2, 22, 12, tzinfo=UTC))
    for _ in range(3):
        check(clock, DAY)
    assert [one for one in amounts(agent) if one[1]] == [("payment", 900), ("renewal", 900), ("renewal", 900)]


def test_a_charge_that_goes_back_after_its_time_was_over_is_in_the_ledger_once(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock
) -> None:
    sold.cancelled = True
    check(clock, DAY)
    sold.status = "expired"
    check(clock, at=NOON.replace(month=12) + timedelta(minutes=5))
    sold.charges[0].give_back()
    for _ in range(4):
        check(clock, DAY)
    assert (amounts(agent)[0], back(agent)) == (("payment", 900), [900])


def test_a_sale_of_gumroads_that_goes_back_after_its_end_is_in_the_ledger_once(
    agent: Agent, gumroad: GumroadServer, sale: GumroadSale, clock: Clock
) -> None:
    end = NOON.replace(month=12)
    sale.purchase = {"subscription_cancelled_at": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
    check(clock, DAY)
    sale.purchase |= {"subscription_ended_at": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
    check(clock, at=end + timedelta(minutes=5))
    sale.purchase |= {"refunded": True}
    for _ in range(4):
        check(clock, DAY)
    assert back(agent) == [500]


def test_a_charge_whose_amount_nobody_told_at_its_time_is_in_the_ledger_once(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock, settings: Any
) -> None:
    """The API key was missing for one renewal, so its row has no amount. Later checks still see refunds."""
    for month, key in (("2026-12", ""), ("2027-01", settings.LEMONSQUEEZY_API_KEY)):
        settings.LEMONSQUEEZY_API_KEY = key
        charged = datetime.fromisoformat(f"{month}-21T12:05:00+00:00")
        sold.charge(f"{month}-21T12:05:00.000000Z", 1080, tax=180)
        sold.expires_at = f"{charged + timedelta(days=31):%Y-%m}-21T12:00:00.000000Z"
        check(clock, at=charged + timedelta(hours=1))
    sold.charges[-1].give_back(300)
    for _ in range(3):
        check(clock, DAY)
    assert amounts(agent)[:3] == [("payment", 900), ("renewal", None), ("renewal", 900)]
    assert len(back(agent)) == 1


def test_the_value_of_what_is_left_is_that_of_the_newest_charge_whichever_was_noted_first(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock
) -> None:
    """Fourteen days of the last month are left, and that month cost half as much as the months before."""
    for month in range(1, 7):
        sold.charge(f"2027-{month:02}-21T12:05:00.000000Z", 1080, tax=180)
    sold.charge("2027-07-21T12:05:00.000000Z", 540, tax=90)
    sold.expires_at = "2027-08-21T12:00:00.000000Z"
    check(clock, at=datetime(2027, 8, 7, 12, tzinfo=UTC))
    assert sum(deferred(now=clock.now).values()) == round(Decimal("4.50") * 14 / 31, 2)


def test_a_part_of_a_licences_charge_that_went_back_is_no_deferred_revenue(
    agent: Agent, sold: LemonSqueezyLicence, clock: Clock
) -> None:
    sold.charges[0].give_back(540)
    check(clock, at=NOON + 15 * DAY)
    assert back(agent) == [450]
    assert sum(deferred(now=clock.now).values()) == round(Decimal("4.50") * 15 / 30, 2)
