"""Reports: equal to the ledger to the cent, by month, provider, plan and currency; as a page and as CSV."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.models import Agent
from billing import corrections, decisions, part_refunds, payments
from billing.models import DeferredRevenue, Payment, TaxRate
from billing.payments import Receipt
from billing.reports import deferred, months, tables
from billing.vocabulary import Period, Provider
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, SNAPSHOTS, Clock, purchase
from tests.billing.licences import LEMON, activate
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

PAGE = "/admin/billing/reports/"
WHY = "an outage of ours"
Rows = list[dict[str, str]]


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def paid(agent: Agent, clock: Clock, name: str, amount: int, **changes: Any) -> Payment:
    currency = changes.pop("currency", "usd")
    receipt = Receipt(
        provider=changes.get("provider", Provider.USDC),
        external_id=name,
        agent_id=agent.pk,
        purchase=purchase(**changes),
        amount=amount,
        currency=currency,
    )
    return payments.apply_payment(receipt, now=clock.now)


def refund_part(payment: Payment, cents: int, clock: Clock) -> None:
    part_refunds.refund_part(payment, amount=cents, reason=WHY, actor="operator:1", now=clock.now)


def report(client: Client, name: str, first: str = "2026-11", last: str = "2027-12") -> Rows:
    client.force_login(User.objects.get(is_superuser=True))  # the move of the clock may have ended this user's session
    answer = client.get(PAGE, {"from": first, "to": last, "csv": name})
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert f"{name}-{first}-{last}.csv" in answer.headers["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def column(rows: Rows, name: str) -> Decimal:
    return sum((Decimal(row[name]) for row in rows), Decimal(0))


def test_what_came_and_what_went_back_is_in_its_month(agent: Agent, clock: Clock, admin_client: Client) -> None:
    first = paid(agent, clock, "one", 500)
    paid(agent, clock, "two", 500)
    clock.at(datetime(2026, 12, 1, 0, 0, tzinfo=UTC))
    refund_part(first, 123, clock)
    november, december = report(admin_client, "sales")
    assert november == {
        "month": "2026-11",
        "provider": "usdc",
        "tier": "tiny",
        "period": "monthly",
        "currency": "usd",
        "payments": "2",
        "received": "10.00",
        "unapplied": "0.00",
        "refunds": "0",
        "returned": "0.00",
        "received_usd": "10.00",
        "returned_usd": "0.00",
        "kept_usd": "10.00",
    }
    assert (december["month"], december["refunds"], december["returned"]) == ("2026-12", "1", "1.23")
    assert december["kept_usd"] == "-1.23"
    assert [row["month"] for row in report(admin_client, "sales", "2026-12", "2026-12")] == ["2026-12"]


def test_each_plan_provider_and_currency_has_a_line(agent: Agent, clock: Clock, admin_client: Client) -> None:
    paid(agent, clock, "one", 5_000_000, currency="usdc")
    paid(agent, clock, "two", 385, currency="XTR", provider=Provider.STARS)
    annual = {"period": Period.ANNUAL, "price_usd": Decimal("50.00")}
    paid(agent, clock, "three", 5000, **annual)
    lines = {(row["provider"], row["period"], row["currency"]): row for row in report(admin_client, "sales")}
    assert lines[("usdc", "monthly", "usdc")]["received"] == "5"
    assert lines[("stars", "monthly", "XTR")]["received"] == "385"
    assert lines[("stars", "monthly", "XTR")]["received_usd"] == "5.00"
    assert lines[("usdc", "annual", "usd")]["received_usd"] == "50.00"


def test_the_report_is_the_ledger_to_the_cent(agent: Agent, clock: Clock, admin_client: Client) -> None:
    """Compared with a sum over all rows of the ledger."""
    for number in range(12):
        payment = paid(agent, clock, f"p{number}", 500 + number * 37)
        if number % 3 == 0:
            refund_part(payment, 1 + number * 11, clock)
        if number % 4 == 1:
            corrections.refund_payment(payment, reason=WHY, actor="operator:1", now=clock.now)
        clock.go(17 * DAY)
    came: dict[str, int] = defaultdict(int)
    for row in Payment.objects.exclude(amount=None):
        sign = 1 if row.kind in {"payment", "renewal"} else -1
        came[f"{row.at:%Y-%m}"] += sign * int(row.amount or 0)
    rows = report(admin_client, "sales")
    told: dict[str, Decimal] = defaultdict(Decimal)
    for line in rows:
        told[line["month"]] += Decimal(line["received"]) - Decimal(line["returned"])
        assert Decimal(line["kept_usd"]) == Decimal(line["received"]) - Decimal(line["returned"])
    assert {month: int(usd * 100) for month, usd in told.items()} == dict(came)
    assert len(came) > 6


def test_what_went_back_in_parts_is_what_came_to_the_cent(agent: Agent, clock: Clock, admin_client: Client) -> None:
    """$5.00 in coins, in three parts that are each rounded up: nothing is left."""
    payment = paid(agent, clock, "one", 5_000_000, currency="usdc")
    for _ in range(2):
        refund_part(payment, 1_666_666, clock)
    corrections.refund_payment(payment, reason=WHY, actor="operator:1", now=clock.now)
    (line,) = report(admin_client, "sales")
    assert (line["received"], line["returned"], line["refunds"]) == ("5", "5", "3")
    assert (line["returned_usd"], line["kept_usd"]) == ("5.00", "0.00")


def test_money_that_bought_nothing_is_told_apart_and_open(agent: Agent, clock: Clock, admin_client: Client) -> None:
    agent.desired = "deleted"
    agent.save(update_fields=["desired"])
    paid(agent, clock, "late", 500)
    (line,) = report(admin_client, "sales")
    assert (line["received"], line["unapplied"]) == ("5.00", "5.00")
    (item,) = report(admin_client, "open-items")
    assert (item["kind"], item["name"], item["amount"], item["currency"]) == ("payment", "late", "5.00", "USD")


def test_euros_are_no_dollars(agent: Agent, clock: Clock, admin_client: Client) -> None:
    """Euros that bought a plan count as its dollar price; for euros that bought nothing, the dollars are unknown."""
    paid(agent, clock, "sold", 450, currency="eur")
    agent.desired = "deleted"
    agent.save(update_fields=["desired"])
    late = paid(agent, clock, "late", 450, currency="eur")
    (line,) = report(admin_client, "sales")
    assert (line["received"], line["unapplied"], line["received_usd"]) == ("9.00", "4.50", "5.00")
    corrections.refund_payment(Payment.objects.get(external_id="sold"), reason=WHY, actor="operator:1", now=clock.now)
    decisions.send_back(late, reason=WHY, actor="operator:1", now=clock.now)
    (line,) = report(admin_client, "sales")
    assert (line["returned"], line["returned_usd"], line["kept_usd"]) == ("9.00", "5.00", "0.00")


def test_a_name_from_outside_is_no_formula(agent: Agent, clock: Clock, admin_client: Client) -> None:
    agent.desired = "deleted"
    agent.save(update_fields=["desired"])
    paid(agent, clock, "=HYPERLINK(1)", 500)
    (item,) = report(admin_client, "open-items")
    assert item["name"] == "'=HYPERLINK(1)"


def test_what_is_not_used_is_deferred_and_given_time_is_not(agent: Agent, clock: Clock, admin_client: Client) -> None:
    paid(agent, clock, "one", 500)
    corrections.credit(agent, days=30, reason=WHY, actor="operator:1", now=clock.now)
    assert column(report(admin_client, "deferred-now"), "deferred_usd") == Decimal("5.00"), "free days come first"
    clock.at(FREE_UNTIL + timedelta(days=15))
    (line,) = report(admin_client, "deferred-now")
    assert (line["provider"], line["tier"], line["deferred_usd"]) == ("usdc", "tiny", "2.50")
    clock.at(FREE_UNTIL + timedelta(days=31))
    assert report(admin_client, "deferred-now") == []


def test_of_a_licence_the_same_share_of_its_last_charge_is_deferred(
    agent: Agent, clock: Clock, lemon: LemonSqueezyServer, admin_client: Client
) -> None:
    lemon.sell(LEMON)
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    price = Payment.objects.get().price_usd or Decimal(0)
    clock.go(15 * DAY)  # half of the thirty days
    (line,) = report(admin_client, "deferred-now")
    assert (line["provider"], Decimal(line["deferred_usd"])) == ("lemonsqueezy", price / 2)


def test_the_end_of_a_month_is_kept_once(agent: Agent, clock: Clock, admin_client: Client) -> None:
    payment = paid(agent, clock, "one", 500)
    clock.at(datetime(2026, 12, 1, 0, 7, tzinfo=UTC))
    paid(agent, clock, "of the new month", 500)
    for _ in range(3):
        deferred.close_months(now=clock.now)
        clock.go(timedelta(minutes=10))
    corrections.refund_payment(payment, reason=WHY, actor="operator:1", now=clock.now)
    (line,) = report(admin_client, "deferred")
    # Of 30 days from noon of 28 November, 27.5 are unused.
    assert (line["month"], line["deferred_usd"]) == ("2026-11", "4.58")


def test_a_month_with_nothing_is_kept_too(clock: Clock) -> None:
    clock.at(datetime(2026, 12, 1, 0, 7, tzinfo=UTC))
    assert deferred.close_months(now=clock.now) == 1
    assert DeferredRevenue.objects.get().usd == 0
    assert deferred.close_months(now=clock.now) == 0


def test_a_month_whose_end_nobody_saw_is_left_out(agent: Agent, clock: Clock) -> None:
    paid(agent, clock, "one", 500)
    clock.at(datetime(2026, 12, 3, tzinfo=UTC))
    assert deferred.close_months(now=clock.now) == 0


def test_taxes_are_those_of_invoices_and_credit_notes(
    agent: Agent, clock: Clock, admin_client: Client, settings: Any
) -> None:
    settings.SELLER_NAME, settings.SELLER_COUNTRY = "Pods Ltd", "DE"
    TaxRate.objects.create(country="", percent=Decimal(19), name="USt")
    payment = paid(
        agent, clock, "one", 1190, price_usd=Decimal("11.90"), tier="small", tier_snapshot=SNAPSHOTS["small"]
    )
    refund_part(payment, 595, clock)
    (line,) = report(admin_client, "taxes")
    assert (line["tax"], line["percent"], line["invoices"], line["credit_notes"]) == ("USt", "19", "1", "1")
    assert (line["total_usd"], line["tax_usd"]) == ("5.95", "0.95")
    assert (line["credited_usd"], line["credited_tax_usd"]) == ("5.95", "0.95")


def test_each_month_says_what_each_provider_brought(agent: Agent, clock: Clock, admin_client: Client) -> None:
    paid(agent, clock, "one", 512)
    paid(agent, clock, "two", 488)
    lines = [(line["month"], line["provider"], line["kept_usd"]) for line in report(admin_client, "providers")]
    month, provider = lines[0][:2]
    assert lines == [(month, provider, "10.00"), (month, "all", "10.00")]


def test_deferred_revenue_of_this_moment_is_computed_on_request(
    agent: Agent, clock: Clock, admin_client: Client
) -> None:
    paid(agent, clock, "one", 512)
    assert 'id="deferred-now"' not in admin_client.get(PAGE).content.decode()
    assert 'id="deferred-now"' in admin_client.get(PAGE, {"also": "deferred-now"}).content.decode()


def test_the_books_of_a_long_ledger_are_checked_on_request(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("billing.admin.books.AT_VISIT", -2)
    page = admin_client.get("/admin/billing/books/").content.decode()
    assert "Run the checks now" in page
    assert "No problems" not in page
    assert "No problems" in admin_client.get("/admin/billing/books/?check=now").content.decode()


def test_the_page_shows_the_same_numbers(agent: Agent, clock: Clock, admin_client: Client) -> None:
    paid(agent, clock, "one", 512)
    page = admin_client.get(PAGE).content.decode()
    for title in ("Sales and refunds", "Taxes", "Deferred revenue now", "Open items"):
        assert title in page
    assert "<td>5.12</td>" in page
    assert 'value="2025-12"' in page, "the last twelve months"


@pytest.mark.parametrize(
    "asked",
    [
        {"from": "x"},
        {"from": "2026-13"},
        {"from": "2026-12", "to": "2026-11"},
        {"from": "2001-01", "to": "2026-11"},
        {"from": "0001-01"},
        {"to": "9999-12"},
        {"from": "2026-11-01"},
    ],
)
def test_what_are_no_months_is_told(clock: Clock, admin_client: Client, asked: dict[str, str]) -> None:
    answer = admin_client.get(PAGE, asked)
    assert answer.status_code == 400
    assert "errornote" in answer.content.decode()


def test_who_may_not_see_money_sees_no_report(clock: Clock) -> None:
    person = User.objects.create_user("reader@example.com", is_staff=True)
    reader = Client()
    reader.force_login(person)
    assert reader.get(PAGE).status_code == 403
    assert reader.get(PAGE, {"csv": "sales"}).status_code == 403


def test_a_report_costs_the_same_however_many_paid(make_agent: Any, owner: User, clock: Clock) -> None:
    agents = [make_agent(owner) for _ in range(3)]
    asked = months.months("2026-11", "2026-12")
    costs = []
    for turn in range(5):
        for number, one in enumerate(agents):
            paid(one, clock, f"{number} {turn}", 500)
        with CaptureQueriesContext(connection) as statements:
            tables.tables(asked, now=NOON)
        costs.append(len(statements))
    assert set(costs) == {costs[0]}
    assert costs[0] <= 22  # trials and churn are counted three times, by persona, engine and tier
