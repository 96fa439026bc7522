"""Mails about money: a receipt at once, reminders before the end, and mails when a renewal or a payment fails."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import Settings

from accounts.models import Letter
from agents.models import Agent
from agents.running import lifecycle
from billing import corrections, mails
from billing.models import CryptoOrder, Payment, Subscription
from billing.vocabulary import Period, Provider
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, tick
from tests.billing.crypto import Order, pays, scan
from tests.billing.licences import check
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadSale, GumroadServer

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

LANGUAGES = ["en", "es", "id", "pt", "ru", "tr"]
WHO = {"reason": "asked for", "actor": "operator:x"}
HOUR = timedelta(hours=1)
SUBJECTS = {
    "en": "Paid: 5.00 USD for “{name}”",
    "es": "Pagado: 5.00 USD por «{name}»",
    "id": "Lunas: 5.00 USD untuk “{name}”",
    "pt": "Pago: 5.00 USD por “{name}”",
    "ru": "Оплачено: 5.00 USD за «{name}»",
    "tr": "Ödendi: “{name}” için 5.00 USD",
}
PAID_TILL = {
    "en": "Dec. 28, 2026, 12:00 UTC",
    "es": "28 de diciembre de 2026, 12:00 UTC",
    "id": "28 Des. 2026, 12:00 UTC",
    "pt": "28 de Dezembro de 2026, 12:00 UTC",
    "ru": "28 декабря 2026 г., 12:00 UTC",
    "tr": "28 Aralık 2026, 12:00 UTC",
}
PLANS = {"en": "Tiny", "es": "Mínimo", "id": "Mini", "pt": "Mínimo", "ru": "«Мини»", "tr": "Mini"}


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def subjects(agent: Agent) -> list[str]:
    """The subjects in the order of writing; tests let time pass between two mails."""
    return [letter.subject for letter in Letter.objects.filter(user=agent.user_id).order_by("written_at")]


def hours_until(agent: Agent, clock: Clock, moment: timedelta) -> None:
    """Let time pass until this moment, with a tick every six hours."""
    while clock.now + 6 * HOUR <= NOON + moment:
        clock.go(6 * HOUR)
        tick(agent, clock)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_payment_gets_a_receipt_at_once_in_the_agents_language(
    make_agent: MakeAgent, clock: Clock, pay: Pay, lang: str
) -> None:
    agent = settle(make_agent(lang=lang))
    row = pay(agent)
    letter = Letter.objects.get()
    assert letter.subject == SUBJECTS[lang].format(name=agent.name)
    for told in (agent.pk, row.pk, "USDC", PAID_TILL[lang], PLANS[lang], f"/account/payments/{row.pk}"):
        assert told in letter.text


def test_a_payment_that_is_told_again_gets_no_second_receipt(agent: Agent, pay: Pay) -> None:
    pay(agent)
    pay(agent)
    assert len(subjects(agent)) == 1


def test_a_receipt_names_the_coins_that_came(order: Order, coins: Chain, clock: Clock, agent: Agent) -> None:
    pays(coins.usdt, order(), 7_250_000)
    coins.final()
    scan(clock)
    assert subjects(agent) == [f"Paid: 7.25 USDT for “{agent.name}”"]


def test_coins_that_go_back_have_the_decimals_of_their_order_whatever_was_ordered_since(
    order: Order, coins: Chain, clock: Clock, agent: Agent
) -> None:
    pays(coins.usdt, order())
    coins.final()
    scan(clock)
    paid = Payment.objects.get()
    clock.go(HOUR)
    later = order()
    CryptoOrder.objects.filter(pk=later.pk).update(decimals=18)  # as on another chain
    corrections.refund_payment(paid, now=clock.now, **WHO)
    assert subjects(agent)[1:] == [f"Refunded: 5 USDT for “{agent.name}”"]


def test_who_pays_for_a_deleted_agent_reads_that_it_bought_nothing(agent: Agent, pay: Pay) -> None:
    settle(lifecycle.delete(agent, actor="user:x"))
    pay(agent)
    assert "It did not pay for anything" in Letter.objects.get().text


def test_what_is_given_gets_no_receipt(agent: Agent, clock: Clock) -> None:
    corrections.credit(agent, days=3, now=clock.now, **WHO)
    corrections.grant(agent, now=clock.now, **WHO)
    corrections.revoke(agent, now=clock.now, **WHO)
    assert subjects(agent) == []


def test_a_refund_is_told(agent: Agent, pay: Pay, clock: Clock) -> None:
    row = pay(agent)
    clock.go(HOUR)
    corrections.refund_payment(row, now=clock.now, **WHO)
    assert subjects(agent)[1:] == [f"Refunded: 5.00 USD for “{agent.name}”"]
    assert "has ended" in Letter.objects.get(subject__startswith="Refunded").text


@pytest.mark.sampled
@pytest.mark.parametrize("lang", LANGUAGES)
def test_seven_days_and_one_day_before_the_end_its_owner_is_told_each_once(
    make_agent: MakeAgent, clock: Clock, pay: Pay, lang: str
) -> None:
    agent = settle(make_agent(lang=lang))
    pay(agent)
    end = Subscription.objects.get().current_period_end
    hours_until(agent, clock, end - NOON - 7 * DAY - HOUR)
    assert len(subjects(agent)) == 1
    hours_until(agent, clock, end - NOON - 6 * DAY)
    assert len(subjects(agent)) == 2
    hours_until(agent, clock, end - NOON - HOUR)
    told = Letter.objects.exclude(text__contains="USDC")
    assert [letter.text.count(PAID_TILL[lang]) for letter in told] == [1, 1]
    assert all(f"/renew/{agent.pk}" in letter.text for letter in told)


def test_who_renews_meanwhile_is_told_before_the_new_end_only(agent: Agent, clock: Clock, pay: Pay) -> None:
    pay(agent)
    end = Subscription.objects.get().current_period_end
    clock.at(end - 3 * DAY)
    tick(agent, clock)
    clock.go(HOUR)
    pay(agent, "two")
    clock.at(end - HOUR)
    tick(agent, clock)
    assert [one.split(" ")[0] for one in subjects(agent)] == ["Paid:", f"“{agent.name}”".split(" ")[0], "Paid:"]


def test_a_few_days_are_not_announced_to_end_as_they_begin(agent: Agent, clock: Clock) -> None:
    corrections.credit(agent, days=3, now=clock.now, **WHO)
    clock.at(FREE_UNTIL + HOUR)
    agent = tick(agent, clock)
    assert subjects(agent) == [f"“{agent.name}” is paid until Dec. 1, 2026, 12:00 UTC"], "the trial is before them"
    clock.at(FREE_UNTIL + 2 * DAY + HOUR)
    tick(agent, clock)
    assert len(subjects(agent)) == 2


def test_what_runs_without_an_end_beside_it_is_not_announced_to_end(agent: Agent, clock: Clock, pay: Pay) -> None:
    pay(agent)
    end = Subscription.objects.get().current_period_end
    corrections.grant(agent, now=clock.now, **WHO)
    hours_until(agent, clock, end - NOON - 3 * DAY)
    assert len(subjects(agent)) == 1
    corrections.revoke(agent, now=clock.now, **WHO)
    tick(agent, clock)
    assert len(subjects(agent)) == 2


def test_a_worker_that_slept_over_both_sends_one(agent: Agent, clock: Clock, pay: Pay) -> None:
    pay(agent)
    clock.at(Subscription.objects.get().current_period_end - HOUR)
    for _ in range(3):
        tick(agent, clock)
    assert len(subjects(agent)) == 2


def test_what_its_provider_renews_is_not_announced_to_end(
    agent: Agent, clock: Clock, gumroad: GumroadServer, sale: GumroadSale
) -> None:
    end = Subscription.objects.get().current_period_end
    clock.at(end - HOUR)
    tick(agent, clock)
    assert len(subjects(agent)) == 1


def test_but_it_is_where_it_was_cancelled_there(
    agent: Agent, clock: Clock, gumroad: GumroadServer, sale: GumroadSale
) -> None:
    end = Subscription.objects.get().current_period_end
    sale.purchase["subscription_cancelled_at"] = f"{end:%Y-%m-%dT%H:%M:%SZ}"
    check(clock, 2 * DAY)
    clock.at(end - 7 * DAY + HOUR)
    tick(agent, clock)
    assert len(subjects(agent)) == 2


def test_also_where_it_was_cancelled_long_after_its_agent_was_last_looked_at(
    agent: Agent, clock: Clock, gumroad: GumroadServer, sale: GumroadSale
) -> None:
    end = Subscription.objects.get().current_period_end
    tick(agent, clock)
    check(clock, 2 * DAY)
    sale.purchase["subscription_cancelled_at"] = f"{end:%Y-%m-%dT%H:%M:%SZ}"
    check(clock, 2 * DAY)
    hours_until(agent, clock, end - NOON - HOUR)
    assert subjects(agent)[1:] == [f"“{agent.name}” is paid until {end:%b. %-d, %Y, %H:%M} UTC"] * 2


def test_a_renewal_that_was_not_paid_is_told_with_the_day_on_which_the_pod_stops(
    agent: Agent, clock: Clock, gumroad: GumroadServer, sale: GumroadSale
) -> None:
    end = Subscription.objects.get().current_period_end
    sale.purchase["subscription_failed_at"] = f"{end:%Y-%m-%dT%H:%M:%SZ}"
    check(clock, at=end + HOUR)
    assert subjects(agent)[1:] == [f"The renewal of “{agent.name}” was not paid"]
    letter = Letter.objects.get(subject__startswith="The renewal")
    assert "Gumroad could not charge" in letter.text
    assert "it is stopped on Dec. 24, 2026, 12:00 UTC" in letter.text


def test_what_its_owner_cancelled_on_the_last_day_did_not_fail(
    agent: Agent, clock: Clock, gumroad: GumroadServer, sale: GumroadSale
) -> None:
    end = Subscription.objects.get().current_period_end
    sale.purchase["subscription_cancelled_at"] = f"{end:%Y-%m-%dT%H:%M:%SZ}"
    check(clock, at=end + HOUR)
    assert not Subscription.objects.live().exists()
    assert len(subjects(agent)) == 1


def test_what_its_owner_had_cancelled_did_not_fail(
    agent: Agent, clock: Clock, gumroad: GumroadServer, sale: GumroadSale
) -> None:
    end = Subscription.objects.get().current_period_end
    sale.purchase["subscription_cancelled_at"] = f"{end:%Y-%m-%dT%H:%M:%SZ}"
    check(clock, 2 * DAY)
    check(clock, at=end + HOUR)
    assert not any(one.startswith("The renewal") for one in subjects(agent))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_mail_is_there_in_each_language_and_says_all_that_it_knows(
    make_agent: MakeAgent, clock: Clock, pay: Pay, settings: Settings, lang: str
) -> None:
    agent = make_agent(lang=lang)
    row = pay(agent, period=Period.ANNUAL)
    corrections.refund_payment(row, now=clock.now, **WHO)
    mails.paid_time_ends(agent, at=clock.now)
    mails.renewal_failed(agent, Provider.GUMROAD, stops_at=clock.now, invoice_url="https://pay.example/1")
    letters = list(Letter.objects.order_by("pk"))
    assert {letter.lang for letter in letters} == {lang}
    assert len({letter.subject for letter in letters}) == 4
    assert not any("{" in letter.text + letter.subject for letter in letters)
    assert "https://pay.example/1" in " ".join(letter.text for letter in letters)
