"""/renew/{id} with a licence key: where to buy it, why it may be refused, and what it pays for."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent
from billing.models import Order, Payment, Subscription
from tests.agents.conftest import MakeAgent, signed_in
from tests.billing.conftest import DAY, Clock, Pay
from tests.billing.licences import KEY, LEMON, ONCE, SMALL, post
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.pages.account.renew.paying import Person, led_to, now, problem, words
from tests.pages.account.visitor import text
from tests.pages.page import Page

MARKUP = '"><script>alert(1)</script>'


def enter(person: Person, agent: Agent, key: str, **wanted: str) -> Any:
    return person.send(person.choose(agent, **{"provider": "gumroad", **wanted}), license_key=key)


def refused(answer: Any, status: int = 400) -> Page:
    assert answer.status_code == status, answer.content[:2000]
    return Page(answer.content.decode())


def test_the_key_is_bought_where_the_plan_is_sold(person: Person, agent: Agent, gumroad: GumroadServer) -> None:
    page = person.choose(agent, provider="gumroad")
    link = page.one("a", href="https://shop.example/l/tiny")
    assert words(link) == "Buy a key at Gumroad"
    assert link.attributes["rel"] == "noopener noreferrer"
    assert "Buy a key at Gumroad, if you have none." in person.choose(agent, tier="small", provider="gumroad").html


def test_a_key_pays_and_the_page_says_so_and_leads_back(person: Person, agent: Agent, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    page = person.open(led_to(enter(person, agent, f" {KEY} "), f"/renew/{agent.pk}"))
    assert "Plan Tiny. Paid until Dec. 21, 2026 (Gumroad)." in now(page)
    assert "It renews there by itself." in now(page)
    assert "Paid. Thank you!" in now(page)
    assert "The agent has the plan Tiny until Dec. 21, 2026, 12:00 UTC." in now(page)
    assert words(page.one("a", class_="button", href="/account")) == "To your account"
    assert "data-live" not in page.one("section", id="now").attributes


def test_what_was_paid_is_news_for_a_day(person: Person, agent: Agent, gumroad: GumroadServer, clock: Clock) -> None:
    gumroad.sell(KEY)
    enter(person, agent, KEY)
    clock.go(DAY)
    assert "Thank you" not in now(person.open(f"/renew/{agent.pk}"))


def test_the_same_form_twice_pays_once(person: Person, agent: Agent, gumroad: GumroadServer) -> None:
    sale = gumroad.sell(KEY)
    page = person.choose(agent, provider="gumroad")
    for _ in range(2):
        led_to(person.send(page, license_key=KEY), f"/renew/{agent.pk}")
    assert (Payment.objects.count(), Subscription.objects.count(), sale.uses) == (1, 1, 1)


def test_lemon_squeezy_activates_the_key_for_this_agent(
    person: Person, agent: Agent, lemon: LemonSqueezyServer
) -> None:
    licence = lemon.sell(LEMON)
    led_to(enter(person, agent, LEMON, provider="lemonsqueezy"), f"/renew/{agent.pk}")
    assert list(licence.instances.values()) == [agent.pk]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("sold", "said"),
    [
        (None, "This key was not accepted: gumroad does not know this key as one of our products' licences; if it"),
        ({"gone": "This license key has been disabled."}, "This key was not accepted: gumroad says that this key was"),
        ({"purchase": {"refunded": True}}, "This key was not accepted: it was refunded."),
        ({"purchase": {"disputed": True}}, "This key was not accepted: its payment was disputed."),
        ({"purchase": {"test": True}}, "This key was not accepted: this is a test purchase, for which nobody paid."),
        ({"recurrence": "quarterly"}, "This key was not accepted: a licence paid quarterly cannot be used; buy one"),
        ({"without_purchase": True}, "This key was not accepted: gumroad has no purchase for this key."),
        (
            {"purchase": {"subscription_ended_at": "2026-11-20T12:00:00Z"}},
            "This key was not accepted: the membership has ended.",
        ),
        ({"recurrence": "yearly"}, "This key pays for a year. Choose a year above, then enter the key again."),
    ],
)
def test_what_is_wrong_with_a_key_is_said_beside_it(
    person: Person, agent: Agent, gumroad: GumroadServer, sold: dict[str, Any] | None, said: str
) -> None:
    if sold is not None:
        gumroad.sell(KEY, **sold)
    page = refused(enter(person, agent, KEY))
    assert problem(page, "license_key").startswith(said)
    field = page.one("input", id="license_key").attributes
    assert (field["value"], field["aria-describedby"]) == (KEY, "problem-license_key")
    assert not Subscription.objects.exists()


def test_a_key_of_another_plan_says_which(person: Person, agent: Agent, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, SMALL, purchase={"variants": "(Medium)"})
    page = refused(enter(person, agent, KEY))
    assert problem(page, "license_key").startswith("This key pays for the plan Medium. Choose that plan above")
    led_to(enter(person, agent, KEY, tier="medium"), f"/renew/{agent.pk}")


def test_a_key_that_pays_by_the_month_says_so(person: Person, agent: Agent, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    page = refused(enter(person, agent, KEY, period="annual"))
    assert problem(page, "license_key").startswith("This key pays month by month.")
    gumroad.sell("ONCE", ONCE, recurrence=None)
    led_to(enter(person, agent, "ONCE", period="annual"), f"/renew/{agent.pk}")


@pytest.mark.parametrize("mine", [True, False])
def test_a_key_in_use_is_refused_in_the_same_words_whoever_uses_it(
    person: Person, agent: Agent, stranger: User, make_agent: MakeAgent, gumroad: GumroadServer, mine: bool
) -> None:
    gumroad.sell(KEY)
    who = person.user if mine else stranger
    assert post(signed_in(who), make_agent(who)).status_code == 200
    page = refused(enter(person, agent, KEY), 409)
    assert problem(page, "license_key") == "This key is in use on an agent already. A key pays for one agent."


def test_a_second_licence_is_refused_and_says_whose_the_first_is(
    person: Person, agent: Agent, client: APIClient, gumroad: GumroadServer, lemon: LemonSqueezyServer
) -> None:
    gumroad.sell(KEY)
    assert post(client, agent).status_code == 200
    said = "A licence of Gumroad pays for this agent already. Change the plan there"
    page = person.open(f"/renew/{agent.pk}?tier=tiny&period=monthly&provider=lemonsqueezy", status=409)
    assert problem(page, "provider").startswith(said)
    assert "Buy a key" not in text(page)
    assert not page.all("input", id="license_key")
    lemon.sell(LEMON)
    form = {"tier": "tiny", "period": "monthly", "provider": "lemonsqueezy", "license_key": LEMON}
    form["csrfmiddlewaretoken"] = person.client.cookies[settings.CSRF_COOKIE_NAME].value
    assert problem(refused(_typed(person, agent, form), 409), "provider").startswith(said)


def _typed(person: Person, agent: Agent, form: dict[str, str]) -> Any:
    kind = "application/x-www-form-urlencoded"
    return person.client.post(f"/renew/{agent.pk}", urlencode(form), content_type=kind)


def test_while_a_licence_pays_only_what_can_be_bought_is_offered_and_the_rest_says_why(
    person: Person, agent: Agent, client: APIClient, gumroad: GumroadServer, lemon: LemonSqueezyServer
) -> None:
    gumroad.sell(KEY)
    assert post(client, agent).status_code == 200
    page = person.open(f"/renew/{agent.pk}")
    ways = {one.attributes["value"]: "disabled" in one.attributes for one in page.all("input", name="provider")}
    plans = {one.attributes["value"]: "disabled" in one.attributes for one in page.all("input", name="tier")}
    assert (ways["gumroad"], ways["lemonsqueezy"]) == (False, True)
    assert plans == {"tiny": False, "small": True, "medium": True, "large": True}
    assert "A licence of Gumroad pays for this agent already." in text(page)
    assert "A licence of Gumroad pays for the plan Tiny. Change the plan there" in text(page)
    assert not [one for one in page.all("input", name="provider") if "checked" in one.attributes]
    same = person.open(f"/renew/{agent.pk}?tier=tiny&period=monthly&provider=gumroad", status=409)
    assert "Buy a key" not in text(same)
    assert len(same.all("input", id="license_key")) == 1


def test_a_new_key_of_the_licence_that_pays_already_is_taken(
    person: Person, agent: Agent, client: APIClient, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    assert post(client, agent).status_code == 200
    gumroad.rotate(KEY, "NEW-KEY")
    page = person.open(f"/renew/{agent.pk}?tier=tiny&period=monthly&provider=gumroad", status=409)
    led_to(person.send(page, license_key="NEW-KEY"), f"/renew/{agent.pk}")


def test_a_used_up_key_is_refused(person: Person, agent: Agent, lemon: LemonSqueezyServer) -> None:
    lemon.sell(LEMON, instances={"one": "elsewhere"})
    page = refused(enter(person, agent, LEMON, provider="lemonsqueezy"))
    assert "every activation of this licence is used" in problem(page, "license_key")


@pytest.mark.sampled
@pytest.mark.parametrize("how", [500, 429, b"<html>", "cut"])
def test_a_silent_provider_is_no_refusal_of_the_key(
    person: Person, agent: Agent, gumroad: GumroadServer, clock: Clock, how: Any
) -> None:
    gumroad.sell(KEY)
    gumroad.fail(how)
    page = refused(enter(person, agent, KEY), 503)
    said = "Gumroad does not answer at the moment. Your key is fine as it is: try again soon."
    assert problem(page, "license_key") == said
    gumroad.work_again()
    clock.go(DAY)  # Gumroad may have asked us to wait
    led_to(person.send(page, license_key=KEY), f"/renew/{agent.pk}")


def test_guessing_keys_ends_after_ten_an_hour(person: Person, agent: Agent, gumroad: GumroadServer) -> None:
    page = person.choose(agent, provider="gumroad")
    for number in range(10):
        assert person.send(page, license_key=f"KEY-{number}").status_code == 400
    said = problem(refused(person.send(page, license_key="KEY"), 429), "license_key")
    assert said == "Too many keys were tried. Try again in 60 minutes."


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("", "Enter the key first."),
        ("   ", "Enter the key first."),
        ("K" * 201, "This key was not accepted: this key is too long, or has characters that no key has."),
        ("KEY\0KEY", "This key was not accepted: this key is too long, or has characters that no key has."),
        (MARKUP, "This key was not accepted: gumroad does not know this key"),
    ],
)
def test_what_is_no_key_is_refused(person: Person, agent: Agent, gumroad: GumroadServer, key: str, said: str) -> None:
    page = refused(enter(person, agent, key))
    assert problem(page, "license_key").startswith(said)
    assert page.one("input", id="license_key").attributes["value"] == key[:200]
    assert page.all("script", src="") == page.all("script", type="")


def test_what_is_left_of_a_coin_s_plan_is_told_before_the_key_is_bought(
    person: Person, agent: Agent, pay: Pay, gumroad: GumroadServer
) -> None:
    pay(agent)
    said = words(person.choose(agent, provider="gumroad", tier="small").one("section", id="bill"))
    assert "Gumroad takes the payment and sets the price and the date" in said
    assert "This includes 16 days: what is left of the time you have already paid for" in said


def test_beside_a_licence_only_its_own_plan_is_sold(
    person: Person, agent: Agent, client: APIClient, gumroad: GumroadServer, telegram: TelegramPayments
) -> None:
    gumroad.sell(KEY)
    assert post(client, agent).status_code == 200
    said = "A licence of Gumroad pays for the plan Tiny. Change the plan there, or buy more time of Tiny here."
    page = person.open(f"/renew/{agent.pk}?tier=small&period=monthly&provider=stars", status=409)
    assert problem(page, "tier") == said
    page = person.choose(agent, provider="stars")
    assert problem(refused(person.send(page, tier="small"), 409), "tier") == said
    assert not Order.objects.exists()
    led_to(person.send(page), f"/renew/{agent.pk}")


def test_a_key_of_a_plan_below_the_engine_is_refused(
    person: Person, make_agent: MakeAgent, gumroad: GumroadServer
) -> None:
    agent = make_agent(engine="hermes", tier="small")
    gumroad.sell(KEY)
    page = person.choose(agent, tier="small", provider="gumroad")
    refusal = refused(person.send(page, tier="tiny", license_key=KEY))
    assert problem(refusal, "tier") == "Hermes needs the plan Small or a larger one."


def test_in_russian_nothing_is_left_in_english(person: Person, agent: Agent, gumroad: GumroadServer) -> None:
    person = Person(person.user, lang="ru")
    gumroad.sell(KEY, purchase={"refunded": True})
    page = refused(enter(person, agent, KEY))
    assert problem(page, "license_key") == "Ключ не принят: деньги за него вернули."
    gumroad.sell("GOOD")
    paid = person.open(led_to(enter(person, agent, "GOOD"), f"/renew/{agent.pk}"))
    assert "Оплачено. Спасибо!" in now(paid)
    assert "21 декабря 2026" in now(paid)
