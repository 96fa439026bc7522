"""A payment provider is one package and one line: this one is bought from, shown and given back like any other."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from billing import corrections, invariants, part_refunds
from billing.models import Order, Payment
from billing.vocabulary import OrderStatus
from config.celery import app
from tests.billing.conftest import Clock
from tests.doubles.pennies_server import PenniesServer
from tests.pages.account.renew.paying import Person, now, problem, words
from tests.pages.page import Page

pytestmark = [pytest.mark.sampled, pytest.mark.django_db, pytest.mark.usefixtures("pennies")]

HOUR = timedelta(hours=1)


def bought(client: APIClient, agent: Agent) -> Any:
    answer = client.post("/pennies/orders", {"agentId": agent.pk, "period": "monthly"}, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def pay(pennies: PenniesServer, order_id: str) -> None:
    """A customer pays the bill, and Pennies calls us."""
    pennies.paid.add(order_id)
    answer = APIClient().post("/payments/pennies/callback", {"order": order_id}, format="json")
    assert answer.status_code == 200, answer.content


def test_it_is_offered_and_pays_for_an_agent_through_the_api(
    client: APIClient, agent: Agent, pennies: PenniesServer, clock: Clock
) -> None:
    offered = client.get("/payment-providers").json()["paymentProviders"][-1]
    note = "POST /pennies/orders opens a bill."
    assert offered == {"id": "pennies", "label": "Pennies", "status": "active", "note": note}
    placed = bought(client, agent)
    assert placed == bought(client, agent)
    assert placed["payment"]["url"] == f"{pennies.url}/bills/{placed['order']['id']}"
    assert pennies.bills == {placed["order"]["id"]: 500}
    for _ in range(2):
        pay(pennies, placed["order"]["id"])
    term = client.get(f"/agents/{agent.pk}/term").json()["term"]
    assert (term["mode"], term["paidProvider"]) == ("paid", "pennies")
    assert Payment.objects.get().amount == 500
    assert invariants.broken(now=clock.now) == []


def test_keys_of_it_are_refused_with_the_place_where_it_is_ordered(client: APIClient, agent: Agent) -> None:
    wanted = {"agentId": agent.pk, "period": "monthly", "provider": "pennies", "licenseKey": "key"}
    answer = client.post("/subscriptions", wanted, format="json")
    assert answer.status_code == 400
    assert "/pennies/orders" in answer.content.decode()


def test_the_owners_page_shows_it_from_the_choice_to_the_receipt(
    person: Person, agent: Agent, pennies: PenniesServer
) -> None:
    assert "Pennies From your jar of pennies." in words(person.open(f"/renew/{agent.pk}").one("main"))
    chosen = person.choose(agent, provider="pennies")
    assert "Open the bill" in words(chosen.one("section", id="bill"))
    page = person.order(agent, provider="pennies")
    assert "Pay $5 in pennies For a month of Tiny Waiting for your payment." in now(page)
    (link,) = [one for one in page.all("a") if words(one) == "Pay the bill"]
    assert link.attributes["href"] == f"{pennies.url}/bills/{Order.objects.get().pk}"
    pay(pennies, Order.objects.get().pk)
    said = now(person.open(f"/renew/{agent.pk}"))
    assert "Paid. Thank you! Your payment with Pennies has arrived." in said
    assert "Pennies Tiny, for a month" in words(person.open("/account/payments").one("main"))


def test_the_page_gives_its_own_reason_for_what_cannot_be_ordered(
    person: Person, agent: Agent, pennies: PenniesServer
) -> None:
    chosen = person.choose(agent, provider="pennies")
    pennies.fail(503)
    answer = person.send(chosen)
    assert answer.status_code == 503
    said = "Pennies does not answer at the moment. Nothing was ordered: try again soon."
    assert problem(Page(answer.content.decode()), "provider") == said
    assert not Order.objects.exists()


def test_a_bill_that_nobody_paid_expires_by_its_own_task(
    client: APIClient, person: Person, agent: Agent, clock: Clock
) -> None:
    bought(client, agent)
    clock.go(HOUR)
    app.tasks["billing.expire_pennies_orders"]()
    assert Order.objects.get().status == OrderStatus.EXPIRED
    assert "Nobody paid this bill in time." in now(person.open(f"/renew/{agent.pk}"))


def test_its_own_check_finds_what_is_wrong(client: APIClient, agent: Agent, clock: Clock) -> None:
    order_id = bought(client, agent)["order"]["id"]
    clock.go(3 * HOUR)
    assert invariants.broken(now=clock.now) == [f"{order_id} is over and still waits for its pennies"]


def test_money_on_its_way_is_not_given_up_for_another_order(
    client: APIClient, person: Person, agent: Agent, pennies: PenniesServer
) -> None:
    pennies.paid.add(bought(client, agent)["order"]["id"])
    answer = person.send(person.choose(agent, provider="pennies", period="annual"))
    assert answer.status_code == 409
    assert "Money may be on its way for the order of Tiny with Pennies." in words(
        Page(answer.content.decode()).one("main")
    )


def test_an_operator_notes_its_refund_by_hand(
    client: APIClient, agent: Agent, pennies: PenniesServer, clock: Clock
) -> None:
    pay(pennies, bought(client, agent)["order"]["id"])
    paid = Payment.objects.get()
    assert part_refunds.is_by_hand(paid)
    back = corrections.refund_payment(paid, reason="asked for", actor="operator:1", now=clock.now)
    assert (back.provider, back.amount, back.currency) == ("pennies", Decimal(500), "usd")
