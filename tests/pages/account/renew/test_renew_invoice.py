"""/renew/{id} with Telegram Stars: the invoice, its QR code, who may pay it, and the result."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agents.models import Agent
from billing.models import StarsOrder
from billing.providers.stars import orders
from tests.billing.conftest import Clock
from tests.doubles.telegram_payments_server import TelegramFault, TelegramPayments
from tests.pages.account.renew.cameras import seen_by_camera
from tests.pages.account.renew.paying import Person, led_to, now, problem, words
from tests.pages.page import Page

HOUR = timedelta(hours=1)


@pytest.fixture
def waiting(person: Person, agent: Agent, telegram: TelegramPayments) -> Page:
    return person.order(agent, provider="stars")


def link(page: Page) -> str:
    (found,) = [one for one in page.all("a") if words(one) == "Open the invoice in Telegram"]
    return found.attributes["href"]


def look(person: Person, agent: Agent) -> str:
    return now(person.open(f"/renew/{agent.pk}"))


def test_the_bill_says_how_many_stars(person: Person, agent: Agent, telegram: TelegramPayments) -> None:
    assert "To pay: 385 stars." in words(person.choose(agent, provider="stars").one("section", id="bill"))


def test_the_invoice_is_a_link_and_a_code_of_the_same(waiting: Page) -> None:
    assert "Pay 385 stars in Telegram For a month of Tiny" in now(waiting)
    assert "The invoice can be paid until Nov. 21, 2026, 13:00 UTC." in now(waiting)
    assert link(waiting) == StarsOrder.objects.get().invoice_link == seen_by_camera(waiting)


def test_it_is_paid_by_anybody_and_the_page_says_so(
    waiting: Page, person: Person, agent: Agent, telegram: TelegramPayments
) -> None:
    telegram.check_out(link(waiting))
    assert "Somebody is paying this invoice right now." in look(person, agent)
    telegram.charge(link(waiting))
    said = look(person, agent)
    assert "Paid. Thank you! Your payment with Telegram Stars has arrived." in said
    assert "until Dec. 28, 2026, 12:00 UTC" in said


def test_the_same_form_twice_is_one_invoice(person: Person, agent: Agent, telegram: TelegramPayments) -> None:
    page = person.choose(agent, provider="stars")
    for _ in range(2):
        led_to(person.send(page), f"/renew/{agent.pk}")
    assert len(telegram.called("createInvoiceLink")) == 1


def test_an_invoice_that_nobody_paid_says_so_for_a_day(
    waiting: Page, person: Person, agent: Agent, clock: Clock
) -> None:
    clock.go(HOUR)
    assert "The time for this invoice is over. Order again below." in look(person, agent)
    orders.expire_due(now=clock.now)
    page = person.open(f"/renew/{agent.pk}")
    assert "Nobody paid this invoice in time" in now(page)
    assert page.all("svg") == []
    clock.go(25 * HOUR)
    assert "invoice" not in look(person, agent)


def test_while_somebody_pays_other_terms_are_refused(
    waiting: Page, person: Person, agent: Agent, telegram: TelegramPayments
) -> None:
    chosen = person.choose(agent, provider="stars", period="annual")
    telegram.check_out(link(waiting))
    answer = person.send(chosen)
    assert answer.status_code == 409
    said = problem(Page(answer.content.decode()), "provider")
    assert said.startswith("Money may be on its way for the order of Tiny with Telegram Stars.")


def test_a_silent_telegram_takes_no_order(person: Person, agent: Agent, telegram: TelegramPayments) -> None:
    page = person.choose(agent, provider="stars")
    telegram.fail_next("createInvoiceLink", *[TelegramFault(status=502, body=b"<html>")] * 5)
    answer = person.send(page)
    assert answer.status_code == 503
    said = "Telegram does not answer at the moment. Nothing was ordered: try again soon."
    assert problem(Page(answer.content.decode()), "provider") == said
    assert not StarsOrder.objects.exists()


def test_in_russian_too(person: Person, agent: Agent, telegram: TelegramPayments) -> None:
    page = Person(person.user, lang="ru").order(agent, provider="stars")
    assert "Оплатите 385 звёзд в Telegram За месяц тарифа" in now(page)
    assert "Открыть счёт в Telegram" in page.html
