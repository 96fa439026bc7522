"""Payments in the admin: what operators see and do."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.models import Agent
from billing import agent_terms
from billing.models import Payment, Subscription
from billing.vocabulary import Provider
from tests import operating
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, licence

TERMS = "/admin/billing/agentterm/"
KEY = "SECRET-LICENCE-KEY"
WHY = "an outage of ours"

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(clock: Clock) -> User:
    return User.objects.create_superuser("operator@example.com")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def act(console: Client, action: str, row: Agent, **given: Any) -> str:
    return operating.act(console, TERMS, action, row, **{"reason": WHY, **given})


def mode(agent: Agent, clock: Clock) -> str:
    return str(agent_terms.term(agent, now=clock.now).mode)


def test_an_operator_grants_and_revokes_with_a_reason(
    console: Client, operator: User, agent: Agent, clock: Clock
) -> None:
    assert f"Granted: {agent}" in act(console, "grant", agent)
    assert mode(agent, clock) == "internal"
    row = Payment.objects.get()
    assert (row.kind, row.reason, row.actor) == ("grant", "an outage of ours", f"operator:{operator.pk}")
    act(console, "revoke", agent)
    assert mode(agent, clock) == "grace"
    log = LogEntry.objects.filter(object_id=agent.pk, user=operator).order_by("action_time")
    assert [entry.get_change_message() for entry in log] == [f"Granted: {WHY}", f"Grant revoked: {WHY}"]


def test_days_are_credited(console: Client, agent: Agent, clock: Clock) -> None:
    act(console, "credit", agent, days=30)
    assert agent_terms.term(agent, now=clock.now).paid_till == FREE_UNTIL + 30 * DAY


@pytest.mark.sampled
@pytest.mark.parametrize("days", ["", "0", "-1", "99999", "x", "²"])
def test_no_days_are_no_credit(console: Client, agent: Agent, clock: Clock, days: str) -> None:
    page = act(console, "credit", agent, days=days)
    assert ("allowed" if days else "This field is required") in page
    assert mode(agent, clock) == "trial"


@pytest.mark.parametrize("action", ["grant", "revoke", "credit", "refund"])
def test_nothing_is_done_without_a_reason(console: Client, agent: Agent, action: str) -> None:
    assert "This field is required" in act(console, action, agent, reason="  ", days=3)
    assert not Payment.objects.exists()


def test_a_refund_ends_what_is_paid(console: Client, agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    act(console, "refund", agent)
    assert mode(agent, clock) == "grace"
    assert "nothing to refund" in act(console, "refund", agent)


def test_a_refund_shows_what_was_paid_and_until_when(console: Client, agent: Agent, pay: Pay, clock: Clock) -> None:
    row = pay(agent)
    asking = operating.choose(console, TERMS, "refund", agent)
    bought = Subscription.objects.get(pk=row.subscription_id)
    for told in (agent.pk, agent.name, "owner@example.com", bought.pk, f"{bought.price_usd} USD", "paid until 20"):
        assert told in asking.content.decode()
    assert mode(agent, clock) == "paid"


def test_a_payments_page_has_its_corrections_as_buttons(console: Client, agent: Agent, pay: Pay, clock: Clock) -> None:
    row = pay(agent)
    at = f"/admin/billing/payment/{quote(row.pk)}/change/"
    shown = {one.name: one for one in console.get(at).context["repairs"]}
    assert not shown["refund"].why_not
    assert shown["close"].why_not == "There is nothing to decide about it."
    asking = console.get(shown["refund"].address)
    done = operating.send(console, asking, reason=WHY)
    assert done.request["PATH_INFO"] == at
    assert mode(agent, clock) == "grace"
    again = {one.name: one for one in done.context["repairs"]}
    assert again["refund"].why_not == "It went back already."
    assert not operating.staff("view_payment").get(at).context["repairs"]


def test_what_was_paid_meanwhile_is_not_refunded(console: Client, agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    asking = operating.choose(console, TERMS, "refund", agent)
    pay(agent, "2")
    assert "term was paid, paid until" in operating.send(console, asking).content.decode()
    assert mode(agent, clock) == "paid"


def test_a_button_that_is_pressed_twice_credits_once(console: Client, agent: Agent, clock: Clock) -> None:
    asking = operating.choose(console, TERMS, "credit", agent)
    operating.send(console, asking, days=30)
    page = operating.send(console, asking, days=30).content.decode()
    assert "nothing was done, because this has changed since you opened the page: term was trial" in page
    assert agent_terms.term(agent, now=clock.now).paid_till == FREE_UNTIL + 30 * DAY
    act(console, "credit", agent, days=30)
    assert agent_terms.term(agent, now=clock.now).paid_till == FREE_UNTIL + 60 * DAY


@pytest.mark.parametrize("where", ["term", "subscription"])
def test_a_licence_is_verified_now_and_who_asked_is_on_the_timeline(
    console: Client, operator: User, agent: Agent, pay: Pay, clock: Clock, where: str
) -> None:
    row = pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    subscription = Subscription.objects.get(pk=row.subscription_id)

    def ask() -> str:
        if where == "term":
            return act(console, "verify", agent)
        return operating.act(console, "/admin/billing/subscription/", "verify", subscription, reason=WHY)

    assert "The provider is asked" in ask()
    subscription.refresh_from_db()
    assert subscription.check_at == clock.now
    assert "being checked already" in ask()
    (noted,) = agent.transitions.filter(note__contains="verified now")
    assert (noted.actor, noted.note) == (
        f"operator:{operator.pk}",
        f"subscription {subscription.pk} is verified now: an outage of ours",
    )


def test_without_a_licence_there_is_nobody_to_ask(console: Client, agent: Agent, pay: Pay) -> None:
    assert "there is no provider to ask" in act(console, "verify", agent)
    row = pay(agent)
    bought = Subscription.objects.get(pk=row.subscription_id)
    page = operating.act(console, "/admin/billing/subscription/", "verify", bought)
    assert "there is no provider to ask" in page


def test_a_licence_is_moved_only_with_somebody_to_move_it_to(console: Client, agent: Agent, pay: Pay) -> None:
    assert "nothing to move" in act(console, "move", agent, agent="agt_none")
    pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    assert "no such agent" in act(console, "move", agent, agent="agt_none")


def test_who_may_only_look_corrects_nothing(agent: Agent, clock: Clock) -> None:
    clerk = User.objects.create_user("clerk@example.com", is_staff=True)
    clerk.user_permissions.add(*Permission.objects.filter(codename="view_agentterm"))
    client = Client()
    client.force_login(clerk)
    assert agent.pk in client.get(TERMS).content.decode()
    for action in ("grant", "credit", "refund", "revoke", "move", "verify"):
        act(client, action, agent, days=3)
        assert client.get(f"{TERMS}{action}/", {"id": agent.pk}).status_code == 403
    assert not Payment.objects.exists()


def test_a_licence_key_is_never_shown(console: Client, agent: Agent, pay: Pay) -> None:
    row = pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY, key=KEY))
    pages = [
        f"/admin/billing/subscription/{quote(row.subscription_id or '')}/change/",
        "/admin/billing/subscription/",
        f"{TERMS}{quote(agent.pk)}/change/",
        f"/admin/billing/payment/{quote(row.pk)}/change/",
    ]
    for address in pages:
        page = console.get(address)
        assert page.status_code == 200
        assert KEY not in page.content.decode()


@pytest.mark.sampled
@pytest.mark.parametrize("model", ["agentterm", "subscription", "payment", "order", "lapse"])
def test_nothing_of_money_is_added_changed_or_deleted_by_hand(
    console: Client, agent: Agent, pay: Pay, model: str
) -> None:
    pay(agent)
    assert console.get(f"/admin/billing/{model}/").status_code == 200
    assert console.get(f"/admin/billing/{model}/add/").status_code == 403
    page = console.get(f"/admin/billing/{model}/").content.decode()
    assert "delete_selected" not in page


def test_lists_ask_as_much_for_many_rows_as_for_few(console: Client, agent: Agent, pay: Pay) -> None:
    def asked(address: str) -> int:
        console.get(address)
        with CaptureQueriesContext(connection) as queries:
            console.get(address)
        return len(queries)

    pay(agent, "0")
    addresses = [TERMS, "/admin/billing/subscription/", "/admin/billing/payment/"]
    few = [asked(address) for address in addresses]
    for number in range(1, 6):
        pay(agent, str(number))
    assert [asked(address) for address in addresses] == few
