"""/account/payments: the payments, with a receipt as page and as PDF, for names in any script."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfReader
from pytest_django import Settings

from accounts import mail_choices
from accounts.models import User
from agents.models import Agent
from billing import corrections
from billing.models import Invoice, Payment
from tests.billing.conftest import Clock, Pay
from tests.pages.account.visitor import Visitor, text

PATH = "/account/payments"
NAMES = ["Иван Петров", "株式会社アジェント", "서울 주식회사", "北京公司", "Ελλάδα ΑΕ", "Nguyễn Thị"]


@pytest.fixture
def visitor(clock: Clock, owner: User) -> Visitor:
    return Visitor(owner)


def words(content: bytes) -> str:
    return " ".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages)


def test_a_payment_has_a_page_and_a_receipt_in_its_owners_language(
    visitor: Visitor, owner: User, stranger: User, running: Agent, pay: Pay
) -> None:
    mail_choices.choose(owner, lang="ru", wanted=[])
    pay(running)
    row = Payment.objects.get()
    visitor.client.get("/account?lang=en")
    assert "USDC" in text(visitor.open(PATH))
    page = visitor.open(f"{PATH}/{row.pk}")
    assert "Study Buddy" in text(page)
    place = page.one("a", download="").attributes["href"]
    said = words(visitor.client.get(place).content)
    for part in ("Квитанция", "owner@example.com", "5.00 USD", "один месяц", "а не счёт", row.pk):
        assert part in said
    other = Visitor(stranger)
    assert {other.client.get(one).status_code for one in (place, f"{PATH}/{row.pk}", f"{PATH}/junk")} == {404}


def test_what_moved_no_money_has_no_receipt(visitor: Visitor, running: Agent, clock: Clock) -> None:
    corrections.grant(running, actor="user:ops", reason="a friend", now=clock.now)
    row = Payment.objects.get()
    assert not visitor.open(PATH).all("a", download="")
    assert visitor.client.get(f"{PATH}/{row.pk}/receipt").status_code == 404


def test_names_show_whatever_letters_they_have(visitor: Visitor, running: Agent, pay: Pay, settings: Settings) -> None:
    settings.SELLER_NAME = "Pods Ltd"
    details = {"address": "محمد علي\nالقاهرة", "country": "EG", "taxId": ""}
    visitor.send(visitor.open("/account/invoices"), "/account/invoices", name=" · ".join(NAMES), **details)
    pay(running)
    invoice = visitor.client.get(f"/account/invoices/{Invoice.objects.get().pk}").content
    said = "".join(words(invoice).split())
    for name in NAMES:
        assert "".join(name.split()) in said
    fonts = {str(font["/BaseFont"]).partition("+")[2] for font in fonts_of(invoice)}
    assert any("CJK" in font for font in fonts)
    assert any("Arabic" in font for font in fonts)


def fonts_of(content: bytes) -> list[dict[str, object]]:
    page = PdfReader(io.BytesIO(content)).pages[0]
    return [font.get_object() for font in page["/Resources"]["/Font"].values()]  # type: ignore[index]
