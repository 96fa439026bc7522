"""/renew/{id}: who may see it, what it says about the agent's term, the choices and their totals."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings

from accounts.models import User
from agents.models import Agent
from billing import corrections
from billing.models import Order, Subscription
from billing.vocabulary import Period, Provider
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, Clock, Pay, tick
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.pages.account.renew.paying import Person, is_of_renew, now, problem, words
from tests.pages.page import Element, Page

pytestmark = pytest.mark.sampled

HOSTILE = "<script>alert(1)</script>\"'&{{ agent.id }}"


def option(page: Page, name: str, value: str) -> Element:
    (found,) = [one for one in page.all("label") if _radio(page, one) == (name, value)]
    return found


def _radio(page: Page, label: Element) -> tuple[str, str]:
    inside = [one for one in page.all("input", type="radio") if any(parent is label for parent in one.within)]
    return (inside[0].attributes["name"], inside[0].attributes["value"]) if inside else ("", "")


def radio(page: Page, name: str, value: str) -> dict[str, str]:
    return page.one("input", type="radio", name=name, value=value).attributes


def payable(page: Page) -> bool:
    return any(is_of_renew(form) and form.attributes["method"] == "post" for form in page.all("form"))


# Access.


def test_it_is_where_the_term_says_that_one_pays(person: Person, client: object, agent: Agent) -> None:
    url = client.get(f"/agents/{agent.pk}/term").json()["term"]["renewUrl"]  # type: ignore[attr-defined]
    assert url.endswith(f"/renew/{agent.pk}")
    assert words(person.open(f"/renew/{agent.pk}").one("h1")) == f"Pay for the agent {agent.name}"


def test_who_is_not_signed_in_is_sent_there_and_back(person: Person, agent: Agent) -> None:
    person.client.cookies.clear()
    for place, back in (
        ("", ""),
        ("?tier=small&period=annual&provider=usdt", "%3Ftier%3Dsmall%26period%3Dannual%26provider%3Dusdt"),
    ):
        answer = person.get(f"/renew/{agent.pk}{place}")
        assert (answer.status_code, answer["Location"]) == (303, f"/sign-in?next=%2Frenew%2F{agent.pk}{back}")
    assert person.get(f"/renew/{agent.pk}/progress").status_code == 303


def test_another_s_agent_a_deleted_one_and_junk_are_not_there(
    person: Person, stranger: User, agent: Agent, make_agent: MakeAgent, client: object
) -> None:
    other = make_agent(stranger)
    gone = settle(make_agent())
    client.delete(f"/agents/{gone.pk}")  # type: ignore[attr-defined]
    for agent_id in (other.pk, gone.pk, "agt_0", "x" * 300, "agt_%00"):
        for place in (f"/renew/{agent_id}", f"/renew/{agent_id}/progress"):
            assert person.get(place).status_code == 404
    token = person.client.cookies[settings.CSRF_COOKIE_NAME].value
    sent = {"tier": "tiny", "period": "monthly", "provider": "usdt", "csrfmiddlewaretoken": token}
    assert person.client.post(f"/renew/{other.pk}", sent).status_code == 404
    assert person.client.post(f"/renew/{agent.pk}", sent).status_code == 400  # this provider is not set up here


def test_a_bearer_token_opens_no_page(client: object, agent: Agent) -> None:
    assert client.get(f"/renew/{agent.pk}").status_code == 303  # type: ignore[attr-defined]


def test_it_is_kept_nowhere_and_runs_our_scripts_alone(person: Person, agent: Agent) -> None:
    answer = person.get(f"/renew/{agent.pk}")
    assert answer["Cache-Control"] == "no-store"
    assert "script-src 'self';" in answer["Content-Security-Policy"]
    assert "unsafe" not in answer["Content-Security-Policy"]


# The agent's term.


def test_it_says_what_the_agent_runs_on(person: Person, agent: Agent, clock: Clock, pay: Pay) -> None:
    place = f"/renew/{agent.pk}"
    assert "Plan Tiny. Free: 7 days left. Stops on Nov. 28, 2026, 12:00 UTC" in now(person.open(place))
    pay(agent)
    clock.go(2 * DAY)
    assert "Plan Tiny. Paid until Dec. 28, 2026 (USDC)." in now(person.open(place))
    clock.go(37 * DAY)
    tick(agent, clock)
    person.sign_in()
    assert "No longer paid" in now(person.open(place))


def test_what_an_operator_granted_is_said_and_can_be_paid_for_all_the_same(
    person: Person, agent: Agent, clock: Clock, coins: Chain
) -> None:
    corrections.grant(agent, actor="operator", reason="a friend", now=clock.now)
    page = person.choose(agent, provider="usdt")
    assert "Plan Tiny. Paid by us, without an end." in now(page)
    assert "paid until Dec. 28, 2026" in bill(page)


def test_a_name_with_markup_stays_a_name(person: Person, agent: Agent) -> None:
    plain = person.open(f"/renew/{agent.pk}")
    Agent.objects.filter(pk=agent.pk).update(name=HOSTILE)
    page = person.open(f"/renew/{agent.pk}")
    assert page.one("bdi").text == HOSTILE
    assert page.shape == plain.shape


# The choices.


def test_plans_have_their_prices_and_what_a_year_saves(person: Person, agent: Agent) -> None:
    page = person.open(f"/renew/{agent.pk}")
    tiny = words(option(page, "tier", "tiny"))
    assert "$5 a month or $50 a year" in tiny
    assert "A year is $10 less than twelve months." in tiny
    assert "512 MB of memory, 2 GB of disk" in tiny
    assert "checked" in radio(page, "tier", "tiny")
    assert "checked" in radio(page, "period", "monthly")


def test_a_way_to_pay_that_is_not_set_up_is_shown_and_cannot_be_chosen(person: Person, agent: Agent) -> None:
    page = person.open(f"/renew/{agent.pk}")
    for provider in ("gumroad", "lemonsqueezy", "usdt", "usdc", "stars"):
        assert "disabled" in radio(page, "provider", provider)
        assert "Coming soon: it is not set up here yet." in words(option(page, "provider", provider))
    assert "There is no way to pay here yet." in page.html
    assert "See the price" not in page.html


def test_a_way_that_is_set_up_is_chosen_before_anybody_chooses(
    person: Person, agent: Agent, gumroad: GumroadServer
) -> None:
    page = person.open(f"/renew/{agent.pk}")
    assert "checked" in radio(page, "provider", "gumroad")
    assert "disabled" not in radio(page, "provider", "gumroad")
    assert "disabled" in radio(page, "provider", "usdt")


def test_a_plan_below_the_engine_cannot_be_chosen_and_says_why(
    person: Person, make_agent: MakeAgent, clock: Clock, coins: Chain
) -> None:
    agent = make_agent(engine="hermes", tier="small")
    page = person.open(f"/renew/{agent.pk}")
    assert "disabled" in radio(page, "tier", "tiny")
    assert "Too small: Hermes needs Small." in words(option(page, "tier", "tiny"))
    refused = person.open(f"/renew/{agent.pk}?tier=tiny&period=monthly&provider=usdt", status=400)
    assert problem(refused, "tier") == "Hermes needs the plan Small or a larger one."
    assert not payable(refused)


@pytest.mark.parametrize(
    ("query", "field", "text"),
    [
        ("tier=huge&period=monthly&provider=usdt", "tier", "There is no such plan. Choose one of these."),
        ("tier=tiny&period=weekly&provider=usdt", "period", "Choose a month or a year."),
        ("tier=tiny&period=monthly&provider=internal", "provider", "There is no such way to pay. Choose one of these."),
        ("tier=tiny&period=monthly&provider=paypal", "provider", "There is no such way to pay. Choose one of these."),
        ("tier=%00&period=monthly&provider=usdt", "tier", "There is no such plan. Choose one of these."),
        ("tier=%3Cscript%3E&period=monthly&provider=usdt", "tier", "There is no such plan. Choose one of these."),
        ("tier=&period=&provider=", "tier", "There is no such plan. Choose one of these."),
    ],
)
def test_what_there_is_not_is_refused_beside_its_field(
    person: Person, agent: Agent, coins: Chain, query: str, field: str, text: str
) -> None:
    page = person.open(f"/renew/{agent.pk}?{query}", status=400)
    assert problem(page, field) == text
    assert not payable(page)
    assert "<script>" not in page.html


def test_nothing_that_there_is_not_can_be_ordered(person: Person, agent: Agent, coins: Chain) -> None:
    page = person.choose(agent, provider="usdt")
    for wrong in ({"tier": "huge"}, {"period": "weekly"}, {"provider": "internal"}, {"provider": HOSTILE}):
        assert person.send(page, **wrong).status_code == 400
    assert not Order.objects.exists()


def test_only_a_form_of_ours_orders(person: Person, agent: Agent, coins: Chain) -> None:
    page = person.choose(agent, provider="usdt")
    assert person.send(page, csrfmiddlewaretoken="x" * 64).status_code == 403
    wanted = {"tier": "tiny", "period": "monthly", "provider": "usdt"}
    assert person.client.post(f"/renew/{agent.pk}", wanted).status_code == 403
    assert person.client.post(f"/renew/{agent.pk}", wanted, content_type="application/json").status_code == 403
    assert not Order.objects.exists()


# The total.


def bill(page: Page) -> str:
    return words(page.one("section", id="bill"))


def test_a_bill_says_the_exact_sum_and_the_day(person: Person, agent: Agent, coins: Chain) -> None:
    said = bill(person.choose(agent, provider="usdc", period="annual"))
    assert "A year of Tiny: $50" in said
    assert "To pay: exactly 50 USDC." in said
    assert "the agent would be paid until Nov. 28, 2027, 12:00 UTC" in said
    assert "changes from" not in said


def test_more_of_the_same_is_added_to_what_is_paid(person: Person, agent: Agent, coins: Chain, pay: Pay) -> None:
    pay(agent)
    assert "paid until Jan. 28, 2027, 12:00 UTC" in bill(person.choose(agent, provider="usdt"))


def test_a_larger_plan_says_what_becomes_of_the_time_that_is_left(
    person: Person, agent: Agent, coins: Chain, pay: Pay, client: object
) -> None:
    """The page uses the same rule as the API's quote."""
    pay(agent)
    said = bill(person.choose(agent, tier="small", provider="usdt"))
    query = {"agentId": agent.pk, "tier": "small", "period": "monthly", "provider": "usdt"}
    quote = client.get("/subscriptions/quote", query).json()["quote"]  # type: ignore[attr-defined]
    assert quote["paidTill"].startswith("2027-01-14T09:33")
    assert "paid until Jan. 14, 2027, 09:33 UTC" in said
    assert "This includes 16 days: what is left of the time" in said
    assert "changes from Tiny to the larger Small as soon as the payment counts" in said
    assert not Order.objects.exists()
    assert Subscription.objects.get().status == "active"


def test_a_smaller_plan_says_that_it_has_less(
    person: Person, agent: Agent, clock: Clock, coins: Chain, pay: Pay
) -> None:
    pay(agent, tier="small", price_usd=10)
    agent.refresh_from_db()
    clock.go(timedelta(hours=1))
    said = bill(person.choose(agent, tier="tiny", provider="usdt"))
    assert "changes from Small to Tiny, which has less memory and disk" in said


def test_what_cannot_be_paid_with_comes_to_nothing(person: Person, agent: Agent) -> None:
    page = person.open(f"/renew/{agent.pk}?tier=tiny&period=monthly&provider={Provider.STARS}", status=400)
    assert problem(page, "provider") == "This way to pay is coming soon. Choose another one."
    assert not payable(page)
    assert {Period.MONTHLY, Period.ANNUAL} == {one.attributes["value"] for one in page.all("input", name="period")}
