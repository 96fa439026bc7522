"""/renew/{id} with Stripe: the checkout, its result, and the card."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agents.models import Agent
from billing.models import StripeOrder
from tests.billing.conftest import Clock
from tests.billing.providers.stripe.shop import work
from tests.doubles.stripe_server import StripeDouble, StripeFault
from tests.pages.account.renew.paying import Person, now, problem, words
from tests.pages.page import Page

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def waiting(person: Person, agent: Agent, stripe: StripeDouble) -> Page:
    return person.order(agent, provider="stripe")


def look(person: Person, agent: Agent) -> str:
    return now(person.open(f"/renew/{agent.pk}"))


def link(page: Page, text: str) -> str:
    (found,) = [one for one in page.all("a") if words(one) == text]
    return found.attributes["href"]


def pay(stripe: StripeDouble) -> None:
    stripe.world.pay(StripeOrder.objects.get(status="pending").session_id)
    work()


def test_a_card_is_a_way_to_pay_once_it_is_set_up(person: Person, agent: Agent, stripe: StripeDouble) -> None:
    said = words(person.open(f"/renew/{agent.pk}").one("main"))
    assert "By card: it is charged for each month or year, until you cancel." in said


def test_the_order_leads_to_the_checkout(waiting: Page) -> None:
    assert "Pay $5 by card For a month of Tiny" in now(waiting)
    assert "It is charged again each month, until you cancel." in now(waiting)
    assert link(waiting, "Enter the card at Stripe") == StripeOrder.objects.get().checkout_url


def test_it_is_paid_and_the_page_says_so_and_leads_to_the_card(
    waiting: Page, person: Person, agent: Agent, stripe: StripeDouble
) -> None:
    pay(stripe)
    said = look(person, agent)
    assert "Paid. Thank you! Your payment by card has arrived." in said
    assert "It renews there by itself." in said
    renewing, page = person.open(f"/renew/{agent.pk}"), person.open(f"/account/agents/{agent.pk}")
    for shown in (renewing, page):
        assert words(shown.one("form", action=f"/account/agents/{agent.pk}/card")) == "Manage the card"
    token = page.all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    answer = person.client.post(f"/account/agents/{agent.pk}/card", {"csrfmiddlewaretoken": token})
    assert link(Page(answer.content.decode()), "Open Stripe").startswith("https://billing.stripe.example/")
    (asked,) = stripe.called("POST /v1/billing_portal/sessions")
    assert asked["return_url"].endswith(f"/account/agents/{agent.pk}")


def test_the_same_plan_is_refused_while_a_card_is_charged_for_it(
    waiting: Page, person: Person, agent: Agent, stripe: StripeDouble
) -> None:
    pay(stripe)
    page = person.open(f"/renew/{agent.pk}?tier=tiny&period=monthly&provider=stripe", status=409)
    assert problem(page, "provider") == "A card is charged for this already: it renews by itself."


def test_a_checkout_that_nobody_paid_says_so(waiting: Page, person: Person, agent: Agent, clock: Clock) -> None:
    clock.go(HOUR)
    assert "The time for this checkout is over. Order again below." in look(person, agent)
    work()
    assert "Nobody paid in time" in look(person, agent)


def test_a_silent_stripe_takes_no_order(person: Person, agent: Agent, stripe: StripeDouble) -> None:
    page = person.choose(agent, provider="stripe")
    stripe.fail_next("POST /v1/checkout/sessions", *[StripeFault(status=500)] * 3)
    answer = person.send(page)
    assert answer.status_code == 503
    said = "This cannot be done at the moment. Nothing was ordered: try again soon."
    assert problem(Page(answer.content.decode()), "provider") == said


def test_in_russian_too(person: Person, agent: Agent, stripe: StripeDouble) -> None:
    page = Person(person.user, lang="ru").order(agent, provider="stripe")
    assert "Оплатите" in now(page)
    assert "Ввести карту в Stripe" in page.html


def test_the_card_that_renews_is_cancelled_from_the_agents_page(
    waiting: Page, person: Person, agent: Agent, stripe: StripeDouble
) -> None:
    pay(stripe)
    here = f"/account/agents/{agent.pk}"
    page = person.open(here)
    assert "Paid with: Card" in words(page.one("main"))
    assert page.all("a", href=f"{here}/cancel")
    assert "We tell Stripe to stop charging your card." in words(person.open(f"{here}/cancel").one("main"))
    csrf = person.open(f"{here}/cancel").all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    person.client.post(f"{here}/cancel", {"csrfmiddlewaretoken": csrf})
    work()
    assert stripe.world.all("subscription")[0]["status"] == "canceled"
    assert not person.open(here).all("a", href=f"{here}/cancel")


def test_each_plan_says_what_it_costs_now_and_has_no_button_that_would_be_refused(
    waiting: Page, person: Person, agent: Agent, stripe: StripeDouble
) -> None:
    place = f"/account/agents/{agent.pk}/plan"
    pay(stripe)
    page = person.open(place)
    said = words(page.one("main"))
    assert "It costs $9 now and is then paid until" in said
    ways = [one.attributes["href"] for one in page.all("a") if "/renew/" in one.attributes["href"]]
    assert [way.partition("tier=")[2].partition("&")[0] for way in ways] == ["small", "medium", "large"]
    for way in ways:
        bill = person.open(way.partition("#")[0]).one("section", id="bill")
        assert "Continue to the card" in words(bill)
    assert not page.all("button", type="submit")[1:]  # there is no plan smaller than tiny
    person.order(agent, tier="small", provider="stripe")
    pay(stripe)
    page = person.open(place)
    assert "It costs nothing now. From" in words(page.one("main"))
    (form,) = [one for one in page.all("form") if one.attributes["action"].endswith("/next-plan")]
    tier = next(one for one in page.all("input", name="tier") if any(parent is form for parent in one.within))
    assert tier.attributes["value"] == "tiny"
