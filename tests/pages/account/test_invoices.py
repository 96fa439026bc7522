"""/account/invoices: the invoices as files, and the details for the next invoices."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from accounts.models import User
from agents.models import Agent
from billing.models import BillingDetails, Invoice
from tests.billing.conftest import Clock, Pay
from tests.pages.account.visitor import Visitor, shown, text

pytestmark = pytest.mark.django_db

PATH = "/account/invoices"


@pytest.fixture
def visitor(clock: Clock, owner: User, settings: Settings) -> Visitor:
    settings.SELLER_NAME = "Pods Ltd"
    return Visitor(owner)


def test_without_an_invoice_it_says_so(visitor: Visitor) -> None:
    assert "There are none yet" in text(visitor.open(PATH))


def test_each_invoice_is_there_with_its_file(visitor: Visitor, running: Agent, pay: Pay) -> None:
    pay(running)
    row = Invoice.objects.get()
    page = text(visitor.open(PATH))
    for told in (row.number, "5.00 USD", row.description):
        assert told in page
    assert visitor.client.get(f"{PATH}/{row.pk}").content.startswith(b"%PDF")
    assert visitor.open(f"/account/agents/{running.pk}").all("a", href=f"{PATH}/{row.pk}")


def test_of_many_the_next_page_has_the_rest(visitor: Visitor, running: Agent, pay: Pay, clock: Clock) -> None:
    for number in range(21):
        pay(running, str(number))
    page = visitor.client.get(PATH).content.decode()
    assert page.count(f'href="{PATH}/inv_') == 20
    older = page.split('rel="next"')[1].split(f"{PATH}?")[1].split('"')[0]
    assert visitor.client.get(f"{PATH}?{older}").content.decode().count(f'href="{PATH}/inv_') == 1


def test_who_buys_says_what_stands_on_the_next_invoice(visitor: Visitor, running: Agent, pay: Pay) -> None:
    sent = {"name": " Bücher GmbH ", "address": "Straße 1\r\nBerlin", "country": "de", "taxId": "DE1"}
    assert visitor.send(visitor.open(PATH), PATH, **sent).status_code == 303
    pay(running)
    buyer = Invoice.objects.get().buyer
    assert (buyer["name"], buyer["address"], buyer["country"]) == ("Bücher GmbH", "Straße 1\nBerlin", "DE")
    assert 'value="Bücher GmbH"' in visitor.client.get(PATH).content.decode()


def test_a_country_that_is_none_is_told_and_what_was_typed_stays(visitor: Visitor) -> None:
    answer = visitor.send(visitor.open(PATH), PATH, name="A", country="Germany")
    assert "two letters" in text(shown(answer, status=400))
    assert 'value="GERMANY"' in answer.content.decode()
    assert not BillingDetails.objects.exists()


def test_another_accounts_invoice_is_not_there(visitor: Visitor, stranger: User, running: Agent, pay: Pay) -> None:
    pay(running)
    assert Visitor(stranger).client.get(f"{PATH}/{Invoice.objects.get().pk}").status_code == 404
