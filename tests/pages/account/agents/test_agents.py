"""/account/agents/{id}: the agent's state, plan and payments, and the link to its own page."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import User
from agents.models import Agent, Reason
from agents.running import lifecycle
from agents.runtimes.base import Endpoint
from billing import decisions, ledger, payments
from billing.models import CryptoOrder, DepositAddress, Order, Payment
from billing.payments import Receipt
from billing.vocabulary import OrderStatus, PaymentKind, Provider
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.billing.conftest import NOON, Clock, Pay, purchase
from tests.doubles.runtime import ScriptedRuntime
from tests.pages.account.visitor import Visitor, shown, statements, text
from tests.pages.page import Page


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def place(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}"


def rows(page: Page) -> list[str]:
    found = [one for one in page.all("li") if any(parent.attributes.get("id") == "payments" for parent in one.within)]
    return [" ".join(one.text.split()) for one in found]


def write(agent: Agent, number: int, **receipt: Any) -> None:
    """Write a row of the ledger that buys nothing."""
    values: dict[str, Any] = {"provider": Provider.USDC, "external_id": str(number), "agent_id": agent.pk}
    given = Receipt(**{**values, "purchase": purchase(), **receipt})
    payments.write(given, agent, now=NOON, unapplied=receipt.pop("unapplied", "it came too late"))


def test_an_agent_without_a_model_key_is_told_so_with_what_to_do(
    visitor: Visitor, running: Agent, gateway_of: GatewayOf
) -> None:
    gateway_of(running)
    page = visitor.open(place(running))
    assert "The agent runs but says nothing, because it has no model key. Give it a working model key." in text(page)
    assert f"PATCH /agents/{running.pk}/llm-key" in page.all("details")[-1].text


def test_an_agent_that_is_well_needs_nothing(visitor: Visitor, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running)
    Agent.objects.filter(pk=running.pk).update(llm_key_hash="0" * 64)
    page = visitor.open(place(running))
    assert "Everything is fine: the agent runs and has a model key. Since" in text(page)
    assert "Details" not in text(page)


def test_a_key_that_could_not_be_checked_is_no_key_that_works(
    visitor: Visitor, running: Agent, gateway_of: GatewayOf
) -> None:
    gateway_of(running)
    Agent.objects.filter(pk=running.pk).update(llm_key_hash="0" * 64, llm_key_checked=False)
    page = visitor.open(place(running))
    assert "Its model key could not be checked: the first answer shows whether it works. Test it" in text(page)
    assert "Everything is fine" not in text(page)


def test_other_causes_are_told_beside_the_most_urgent_one(visitor: Visitor, running: Agent) -> None:
    said = text(visitor.open(place(running)))
    assert "does not answer and is being started again. Wait a minute" in said
    assert "it has no model key. Give it a working model key." in said


def test_a_paused_agent_says_who_paused_it(visitor: Visitor, running: Agent) -> None:
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    settle(running)
    page = visitor.open(place(running))
    assert "stopped" in text(page)
    assert "You paused it. Its data is kept. Start it again." in text(page)
    assert page.all("form", action=f"{place(running)}/ticket") == []


def test_an_agent_that_an_operator_paused_says_so(visitor: Visitor, running: Agent) -> None:
    lifecycle.pause(running, reason=Reason.OPERATOR, actor="operator:x", why="it floods a neighbour")
    settle(running)
    page = visitor.open(place(running))
    assert "We paused it, not you. Its data is kept. Start it again." in text(page)
    assert "You paused" not in text(page)
    assert "floods" not in text(page)


def test_what_nobody_pays_for_any_more_leads_to_paying(clock: Clock, visitor: Visitor, running: Agent) -> None:
    lifecycle.pause(running, reason=Reason.TRIAL, actor="billing")
    agent = settle(running)
    Agent.objects.filter(pk=agent.pk).update(entitled_until=NOON)
    page = visitor.open(place(agent))
    assert "Its free time is over. Its data is kept for now. Pay for it" in text(page)
    assert page.all("a", href=f"/renew/{agent.pk}")


def test_a_failure_is_told_with_its_evidence_as_text(visitor: Visitor, make_agent: MakeAgent) -> None:
    agent = make_agent()
    hostile = "</pre><script>alert(1)</script>"
    lifecycle.fail(
        agent, generation=agent.generation, cause="CRASH_LOOP", message="it died", evidence=[hostile] * 50, now=NOON
    )
    page = visitor.open(place(agent))
    assert "Its engine crashes again and again. Rebuild it: its data stays." in text(page)
    assert page.one("pre").text.splitlines() == [hostile] * 20
    assert len(page.all("script")) == 1


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("DATA_LOST", "Its disk is empty, although it had data before. We did not start it. Rebuild it: that restores"),
        ("DATA_DAMAGED", "Its data is damaged. We did not start it. Rebuild it: that restores its newest whole"),
    ],
)
def test_data_that_is_lost_or_damaged_does_not_stay_when_the_agent_is_built_again(
    visitor: Visitor, make_agent: MakeAgent, cause: str, words: str
) -> None:
    agent = make_agent()
    lifecycle.fail(agent, generation=agent.generation, cause=cause, message="broken", evidence=[], now=NOON)
    said = text(visitor.open(place(agent)))
    assert words in said
    assert "its data stays" not in said


def test_a_cause_that_there_are_no_words_for_is_told_in_english(visitor: Visitor, make_agent: MakeAgent) -> None:
    agent = make_agent()
    lifecycle.fail(agent, generation=agent.generation, cause="NEW_ONE", message="quite new", evidence=[], now=NOON)
    assert "quite new" in text(visitor.open(place(agent)))


@pytest.mark.parametrize("agent_id", ["agt_000000000000000000000000", "junk", "agt_%00", "a" * 400, "%F0%9F%A4%96"])
def test_an_agent_that_is_not_there_is_not_there(visitor: Visitor, agent_id: str) -> None:
    assert "gone or is not yours" in text(visitor.open(f"/account/agents/{agent_id}", status=404))


def test_anothers_agent_is_not_there_and_gives_no_ticket(
    visitor: Visitor, make_agent: MakeAgent, stranger: User, running: Agent
) -> None:
    theirs = settle(make_agent(stranger))
    page = visitor.open(place(running))
    assert visitor.client.get(place(theirs)).status_code == 404
    assert visitor.client.get(f"{place(theirs)}/ticket").status_code == 404
    token = page.all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    assert visitor.post(f"{place(theirs)}/ticket", csrfmiddlewaretoken=token).status_code == 404


def test_a_deleted_agent_is_gone(visitor: Visitor, running: Agent) -> None:
    lifecycle.delete(running, actor="user:x")
    assert visitor.client.get(place(running)).status_code == 404


def test_payments_are_told_in_what_they_were_paid_in(
    clock: Clock, visitor: Visitor, running: Agent, pay: Pay, owner: User
) -> None:
    address = DepositAddress.objects.create(agent=running, account="a", hd_index=1, address="0x1", created_at=NOON)
    order = CryptoOrder.objects.create(
        id="cor_1",
        user=owner,
        agent=running,
        provider=Provider.USDT,
        tier="tiny",
        period="monthly",
        price_usd=Decimal("5.00"),
        tier_snapshot={},
        created_at=NOON,
        expires_at=NOON,
        status=OrderStatus.EXPIRED,
        asset="usdt",
        chain_id=1,
        token="0x2",
        decimals=18,
        deposit_address=address,
        amount=5 * 10**18,
        baseline=0,
        baseline_block=0,
    )
    assert Order.objects.get().pk == order.pk
    pay(running)
    write(running, 1, amount=500, currency="usd", provider=Provider.GUMROAD, kind=PaymentKind.RENEWAL)
    write(running, 2, amount=385, currency="XTR", provider=Provider.STARS)
    write(running, 3, amount=5 * 10**18 + 1, currency="usdt", provider=Provider.USDT, order_id=order.pk)
    write(running, 4, provider=Provider.INTERNAL, kind=PaymentKind.CREDIT, reason="sorry: operators' own words")
    told = sorted(rows(visitor.open(place(running))))
    assert told == sorted(
        [
            "Payment Nov. 21, 2026 USDC Tiny, for a month paid until Dec. 28, 2026",
            "Renewal $5 Nov. 21, 2026 Gumroad Tiny, for a month It has paid for nothing yet: we are looking into it.",
            "Payment 385 stars Nov. 21, 2026 Telegram Stars Tiny, for a month"
            " It has paid for nothing yet: we are looking into it.",
            "Payment 5.000000000000000001 USDT Nov. 21, 2026 USDT Tiny, for a month"
            " It has paid for nothing yet: we are looking into it.",
            "Credit by us Nov. 21, 2026 Tiny, for a month It has paid for nothing yet: we are looking into it.",
        ]
    )


def test_money_that_an_operator_has_decided_about_is_looked_into_no_more(
    clock: Clock, visitor: Visitor, running: Agent
) -> None:
    write(running, 1, amount=500, currency="usd", provider=Provider.GUMROAD, kind=PaymentKind.RENEWAL)
    assert "we are looking into it" in rows(visitor.open(place(running)))[0]
    decisions.send_back(Payment.objects.get(), reason="asked", actor="operator:x", now=clock.now)
    lines = rows(visitor.open(place(running)))
    assert len(lines) == 2
    assert not any("we are looking into it" in line for line in lines)


def test_the_list_of_payments_has_pages_and_a_fixed_number_of_queries(
    clock: Clock, visitor: Visitor, running: Agent
) -> None:
    write(running, 0)
    for_one = statements(visitor, place(running))
    for number in range(1, 50):
        write(running, number)
    seen, there = 0, place(running)
    while there:
        page = visitor.open(there.partition("#")[0])
        assert len(rows(page)) <= ledger.ON_A_PAGE
        seen += len(rows(page))
        nexts = [one.attributes["href"] for one in page.all("a", rel="next")]
        there = nexts[0] if nexts else ""
    assert seen == 50
    assert statements(visitor, place(running)) == for_one


@pytest.mark.parametrize("cursor", ["x", "pay_000000000000000000000000", "%00", "a" * 5000])
def test_a_page_of_payments_that_there_is_not_is_told(visitor: Visitor, running: Agent, cursor: str) -> None:
    assert visitor.client.get(f"{place(running)}?payments={cursor}").status_code == 400


def test_the_agents_own_page_opens_by_a_ticket_that_only_this_form_gives(
    visitor: Visitor, running: Agent, runtime: ScriptedRuntime
) -> None:
    there = Endpoint(public_url="http://127.0.0.1:9999", management_url="http://127.0.0.1:9998")
    runtime.addresses[running.namespace] = there
    page = visitor.open(place(running))
    assert "ticket?" not in page.html
    answer = visitor.send(page, f"{place(running)}/ticket")
    assert answer.headers["Cache-Control"] == "no-store"
    opening = shown(answer)
    link = opening.one("a", class_="button").attributes["href"]
    assert link.startswith("http://127.0.0.1:9999/ticket?t=")
    refresh = next(one for one in opening.all("meta") if "http-equiv" in one.attributes)
    assert refresh.attributes["content"] == f"0; url={link}"
    assert visitor.client.get(f"{place(running)}/ticket").headers["Location"] == place(running)


def test_an_agent_that_stopped_meanwhile_gives_no_ticket(visitor: Visitor, running: Agent) -> None:
    page = visitor.open(place(running))
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    settle(running)
    refused = shown(visitor.send(page, f"{place(running)}/ticket"), status=409)
    assert "This is not possible now" in text(refused)


def test_names_are_text_in_the_title_too(visitor: Visitor, running: Agent) -> None:
    shape = visitor.open(place(running)).shape
    Agent.objects.filter(pk=running.pk).update(name="</title><script>alert(1)</script>")
    page = visitor.open(place(running))
    assert page.shape == shape
    assert "</title><script>alert(1)</script>" in page.one("title").text


def test_the_page_speaks_russian(clock: Clock, owner: User, running: Agent, pay: Pay, settings: Settings) -> None:
    pay(running)
    visitor = Visitor(owner)
    visitor.client.cookies[settings.LANG_COOKIE_NAME] = "ru"
    page = visitor.open(place(running))
    assert "Оплачено до 28 декабря 2026 г." in text(page)
    assert "Платёж" in rows(page)[0]
    assert "Дайте ему действующий ключ модели." in text(page)
