"""Invoices and credit notes: who gets them, their content, and numbers without gaps."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from pypdf import PdfReader
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import Letter, User
from agents.models import Agent
from billing import corrections, payments
from billing.invoicing import parties
from billing.invoicing.pdf import pdf
from billing.models import BillingDetails, Invoice, InvoiceSeries, TaxRate
from billing.payments import Receipt
from billing.vocabulary import PaymentKind, Period, Provider
from tests.agents.conftest import MakeAgent, settle, signed_in
from tests.billing.conftest import Clock, Pay, licence, purchase

pytestmark = pytest.mark.django_db

WHO = {"reason": "asked for", "actor": "operator:x"}
DETAILS = {"name": "Bücher GmbH", "address": "Straße 1\n10115 Berlin", "country": "DE", "taxId": "DE123456789"}


@pytest.fixture(autouse=True)
def seller(settings: Settings) -> None:
    settings.SELLER_NAME, settings.SELLER_ADDRESS = "Pods Ltd", "1 Quay ; Dublin"
    settings.SELLER_COUNTRY, settings.SELLER_TAX_ID = "IE", "IE1234567A"


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def mine(clock: Clock, owner: User, catalog: None) -> APIClient:
    return signed_in(owner)


def text_of(invoice: Invoice, tmp_path: Path) -> str:
    path = tmp_path / "invoice.pdf"
    path.write_bytes(pdf(invoice))
    return PdfReader(path).pages[0].extract_text()


def test_a_payment_is_invoiced_and_the_receipt_names_the_invoice(agent: Agent, pay: Pay, mine: APIClient) -> None:
    TaxRate.objects.create(country="", name="VAT", percent=Decimal(23))
    assert mine.put("/billing-details", DETAILS, format="json").status_code == 200
    row = pay(agent)
    (invoice,) = mine.get("/invoices").json()["invoices"]
    assert invoice == {
        "id": invoice["id"],
        "kind": "invoice",
        "number": "2026-000001",
        "agentId": agent.pk,
        "paymentId": row.pk,
        "correctsId": None,
        "createdAt": "2026-11-21T12:00:00Z",
        "seller": {
            "name": "Pods Ltd",
            "address": "1 Quay\nDublin",
            "country": "IE",
            "taxId": "IE1234567A",
            "email": "",
        },
        "buyer": {**DETAILS, "email": agent.user.email},
        "description": f"Tiny, one month ({agent.pk})",
        "paidWith": "5.00 USD",
        "totalUsd": 5,
        "taxUsd": 0.93,
        "taxName": "VAT",
        "taxPercent": 23,
        "reverseCharge": False,
        "pdfUrl": invoice["pdfUrl"],
    }
    assert mine.get(f"/invoices/{invoice['id']}").json() == {"invoice": invoice}
    assert f"2026-000001, http://127.0.0.1:8000/account/invoices/{invoice['id']}" in Letter.objects.get().text


def test_what_was_sold_by_somebody_else_or_given_is_not_invoiced(
    agent: Agent, pay: Pay, clock: Clock, make_agent: MakeAgent
) -> None:
    corrections.credit(agent, days=3, now=clock.now, **WHO)
    corrections.grant(agent, now=clock.now, **WHO)
    pay(make_agent(), "two", provider=Provider.GUMROAD, licence=licence(clock.now + timedelta(days=31)))
    assert Invoice.objects.count() == 0


def test_without_a_seller_nothing_is_invoiced(agent: Agent, pay: Pay, settings: Settings) -> None:
    settings.SELLER_NAME = ""
    pay(agent)
    assert Invoice.objects.count() == 0


def test_what_goes_back_gets_a_credit_note_in_a_series_of_its_own(agent: Agent, pay: Pay, clock: Clock) -> None:
    TaxRate.objects.create(country="", name="VAT", percent=Decimal(25))
    row = pay(agent)
    pay(agent, "two")
    corrections.refund_payment(row, now=clock.now, **WHO)
    invoice, second, note = Invoice.objects.order_by("payment__at", "number")
    assert [invoice.number, second.number, note.number] == ["2026-000001", "2026-000002", "CN-2026-000001"]
    assert (note.corrects, note.total_usd, note.tax_usd) == (invoice, Decimal(5), Decimal(1))


def test_of_a_part_that_goes_back_the_same_share_is_credited_and_never_more_than_there_was(
    agent: Agent, clock: Clock
) -> None:
    receipt = Receipt(
        provider=Provider.STARS, external_id="c1", agent_id=agent.pk, purchase=purchase(), amount=385, currency="XTR"
    )
    row = payments.apply_payment(receipt, now=clock.now)
    for name, amount in (("r1", 100), ("r2", 385)):
        back = replace(receipt, external_id=name, kind=PaymentKind.REFUND, amount=amount, refund_of=row.pk, reason="x")
        payments.write(back, agent, now=clock.now, subscription=row.subscription)
    assert list(Invoice.objects.exclude(corrects=None).order_by("number").values_list("total_usd", flat=True)) == [
        Decimal("1.30"),
        Decimal("3.70"),
    ]


@pytest.mark.parametrize(("price", "stars", "parts"), [("5.00", 400, [200, 200]), ("1.00", 3, [1, 1, 1])])
def test_parts_that_go_back_come_out_at_the_invoice_to_the_cent_tax_and_all(
    agent: Agent, clock: Clock, price: str, stars: int, parts: list[int]
) -> None:
    TaxRate.objects.create(country="", name="VAT", percent=Decimal(23))
    bought = purchase(price_usd=Decimal(price))
    receipt = Receipt(
        provider=Provider.STARS, external_id="c1", agent_id=agent.pk, purchase=bought, amount=stars, currency="XTR"
    )
    row = payments.apply_payment(receipt, now=clock.now)
    for number, amount in enumerate(parts):
        back = replace(receipt, external_id=f"r{number}", kind=PaymentKind.REFUND, amount=amount, refund_of=row.pk)
        payments.write(replace(back, reason="x"), agent, now=clock.now, subscription=row.subscription)
    invoice, notes = Invoice.objects.get(payment=row), Invoice.objects.filter(corrects__payment=row)
    assert sum(note.total_usd for note in notes) == invoice.total_usd
    assert sum(note.tax_usd for note in notes) == invoice.tax_usd


@pytest.mark.parametrize(
    ("buyer", "percent", "tax", "reverse"),
    [
        ({"country": "IE", "taxId": "IE1"}, 23, "0.93", False),
        ({"country": "DE", "taxId": ""}, 19, "0.80", False),
        ({"country": "DE", "taxId": "DE1"}, 0, "0.00", True),
        ({"country": "US", "taxId": "12"}, 0, "0.00", False),
        ({"country": "", "taxId": ""}, 0, "0.00", False),
    ],
)
def test_the_tax_is_that_of_the_buyers_country(
    agent: Agent, pay: Pay, buyer: dict[str, str], percent: int, tax: str, *, reverse: bool
) -> None:
    TaxRate.objects.create(country="IE", name="VAT", percent=Decimal(23))
    TaxRate.objects.create(country="DE", name="USt", percent=Decimal(19), reverse_charge=True)
    parties.set_details(agent.user, name="A", address="", country=buyer["country"], tax_id=buyer["taxId"])
    pay(agent)
    row = Invoice.objects.get()
    assert (row.tax_percent, row.tax_usd, row.reverse_charge) == (Decimal(percent), Decimal(tax), reverse)


def test_an_invoice_never_changes_whatever_its_buyer_says_later(agent: Agent, pay: Pay, mine: APIClient) -> None:
    pay(agent)
    mine.put("/billing-details", DETAILS, format="json")
    row = Invoice.objects.get()
    assert row.buyer["name"] == ""
    for change in (row.delete, lambda: Invoice.objects.update(number="x")):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


@pytest.mark.django_db(transaction=True)
def test_numbers_have_no_gaps_and_no_doubles_when_many_pay_at_once_and_some_fail(
    make_agent: MakeAgent, clock: Clock
) -> None:
    agents = [settle(make_agent()) for _ in range(3)]
    gate = threading.Barrier(len(agents))

    def pays(agent: Agent) -> None:
        gate.wait(timeout=30)
        for turn in range(5):
            receipt = Receipt(
                provider=Provider.USDC, external_id=f"{agent.pk}{turn}", agent_id=agent.pk, purchase=purchase()
            )
            with transaction.atomic():
                payments.apply_payment(receipt, now=clock.now)
                transaction.set_rollback(turn == 2)
        connection.close()

    with ThreadPoolExecutor(len(agents)) as pool:
        list(pool.map(pays, agents))
    numbers = sorted(Invoice.objects.values_list("number", flat=True))
    assert numbers == [f"2026-{number:06d}" for number in range(1, 13)]
    assert InvoiceSeries.objects.get().last == 12


def test_a_new_year_begins_at_one(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    clock.at(clock.now.replace(year=2027))
    pay(agent, "two")
    assert sorted(Invoice.objects.values_list("number", flat=True)) == ["2026-000001", "2027-000001"]


@pytest.mark.parametrize(
    ("lang", "said", "a_year"),
    [
        ("en", "Invoice", "one year"),
        ("es", "Factura", "un año"),
        ("id", "Faktur", "satu tahun"),
        ("pt", "Fatura", "um ano"),
        ("ru", "Счёт", "один год"),
        ("tr", "Fatura", "bir yıl"),
    ],
)
def test_the_pdf_says_what_the_invoice_says_in_its_agents_language(
    make_agent: MakeAgent, clock: Clock, pay: Pay, tmp_path: Path, lang: str, said: str, a_year: str
) -> None:
    agent = settle(make_agent(lang=lang))
    parties.set_details(
        agent.user, name='#panic("x") *ĞİŞ* $1', address="Улица 1\n[x] #let", country="TR", tax_id="\\ 12"
    )
    pay(agent, period=Period.ANNUAL, price_usd=Decimal(50))
    text = text_of(Invoice.objects.get(), tmp_path)
    for told in (
        said,
        a_year,
        "2026-000001",
        "2026-11-21",
        '#panic("x") *ĞİŞ* $1',
        "Улица 1",
        "[x] #let",
        "50.00 USD",
        "Pods",
    ):
        assert told in text


def test_the_longest_details_still_make_a_page(agent: Agent, pay: Pay, tmp_path: Path) -> None:
    parties.set_details(agent.user, name="W" * 200, address="\n" * 499 + "x", country="DE", tax_id="9" * 40)
    pay(agent)
    assert pdf(Invoice.objects.get()).startswith(b"%PDF")


def test_an_invoice_is_its_owners_alone(agent: Agent, pay: Pay, mine: APIClient, stranger: User) -> None:
    other = signed_in(stranger)
    pay(agent)
    row = Invoice.objects.get()
    for path in (f"/invoices/{row.pk}", f"/invoices/{row.pk}/pdf"):
        assert mine.get(path).status_code == 200
        assert other.get(path).status_code == 404
        assert APIClient().get(path).status_code == 401
    assert mine.get(f"/invoices/{row.pk}/pdf").headers["Content-Type"] == "application/pdf"
    assert other.get("/invoices").json() == {"invoices": []}
    assert mine.get("/invoices/inv_junk").status_code == 404


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"country": "de"}, "country"),
        ({"country": "DEU"}, "country"),
        ({"name": "x" * 201}, "name"),
        ({"taxId": 1}, "taxId"),
    ],
)
def test_details_that_are_wrong_are_refused_by_name(mine: APIClient, wrong: dict[str, object], named: str) -> None:
    answer = mine.put("/billing-details", {**DETAILS, **wrong}, format="json")
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, named)
    assert not BillingDetails.objects.exists()


def test_the_console_shows_invoices_and_their_pdf(agent: Agent, pay: Pay) -> None:
    pay(agent)
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    assert "2026-000001" in console.get("/admin/billing/invoice/").content.decode()
    row = Invoice.objects.get()
    assert console.get(f"/admin/billing/invoice/{row.pk}/pdf").content.startswith(b"%PDF")
    assert console.get("/admin/billing/invoice/inv_x/pdf").status_code == 404
