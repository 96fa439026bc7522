"""Admin actions that take something away: they show what they hit, need a reason, and hit only what they have shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from accounts.models import User
from agents.models import Agent, Reason
from agents.running import lifecycle
from config.admin_steps import MOST
from tests.agents.conftest import MakeAgent, settle
from tests.operating import act, choose, send, staff

LIST = "/admin/agents/agent/"
UNSEEN = ("\u200b", "\u2060 \u200d", "\xad", "\x07", "\u3164", "\u2800", "\ufe0f", "...", "\u0301")
STEPS = ("pause_agents", "rebuild_agents", "delete_agents")

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured, pytest.mark.django_db]


@pytest.fixture
def operator() -> User:
    return User.objects.create_superuser("operator@example.com")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def untouched(*agents: Agent) -> bool:
    return not any(agent.transitions.filter(actor__startswith="operator:").exists() for agent in agents)


@pytest.mark.parametrize("action", STEPS)
def test_a_step_first_shows_what_it_hits_and_asks_why(console: Client, running: Agent, action: str) -> None:
    until = datetime(2027, 3, 4, 5, 6, tzinfo=UTC)
    Agent.objects.filter(pk=running.pk).update(paid=True, entitled_until=until)
    asking = choose(console, LIST, action, running)
    page = asking.content.decode()
    for told in (running.pk, running.name, "owner@example.com", "running", "yes", "2027-03-04 05:06 UTC", "1 row"):
        assert told in page
    assert 'name="reason"' in page
    assert console.get(asking.request["PATH_INFO"], {"id": running.pk}).status_code == 200
    assert untouched(running)


@pytest.mark.parametrize("reason", ["", " \n ", "x" * 501, "nul \0", *UNSEEN])
@pytest.mark.parametrize("action", STEPS)
def test_nothing_is_done_without_a_reason(console: Client, running: Agent, action: str, reason: str) -> None:
    answer = send(console, choose(console, LIST, action, running), reason=reason)
    assert answer.context["form"].errors["reason"]
    assert untouched(running)


def test_the_reason_is_on_the_timeline_and_in_the_history_with_who_did_it(
    console: Client, operator: User, running: Agent
) -> None:
    act(console, LIST, "pause_agents", running, reason="floods\r\n its  neighbours")
    row = running.transitions.get(actor=f"operator:{operator.pk}")
    assert (row.reason, row.note) == ("operator", "stop requested: floods its neighbours")
    settle(running)
    act(console, LIST, "rebuild_agents", running, reason="a new soul")
    settle(running)
    act(console, LIST, "delete_agents", running, reason="asked for by mail")
    assert running.transitions.filter(reason="operator", note="deletion requested: asked for by mail").exists()
    assert running.transitions.filter(reason="rebuild", note="a new soul").exists()
    history = LogEntry.objects.filter(object_id=running.pk, user=operator).order_by("pk")
    assert [entry.change_message for entry in history] == [
        "Stop requested: floods its neighbours",
        "Rebuild requested: a new soul",
        "Deletion requested: asked for by mail",
    ]


@pytest.mark.parametrize("typed", [{}, {"count": "1"}, {"count": "3"}, {"count": "two"}])
def test_many_are_deleted_only_by_their_number(
    console: Client, make_agent: MakeAgent, running: Agent, typed: dict[str, Any]
) -> None:
    both = (running, make_agent(name="Second"))
    asking = choose(console, LIST, "delete_agents", *both)
    assert all(agent.pk in asking.content.decode() for agent in both)
    assert send(console, asking, **typed).context["form"].errors["count"]
    assert untouched(*both)
    page = send(console, asking, count="2").content.decode()
    assert "Deletion requested" in page
    assert set(Agent.objects.values_list("desired", flat=True)) == {"deleted"}


def test_one_that_changed_meanwhile_is_left_alone_and_told(
    console: Client, make_agent: MakeAgent, running: Agent
) -> None:
    other = make_agent(name="Second")
    asking = choose(console, LIST, "delete_agents", running, other)
    Agent.objects.filter(pk=running.pk).update(paid=True)
    page = send(console, asking, count="2").content.decode()
    assert (
        f"{running}: nothing was done, because this has changed since you opened the page: paid was no, is yes" in page
    )
    assert f"Deletion requested: {other}" in page
    running.refresh_from_db()
    assert running.desired == "running"


def test_a_new_name_saves_no_agent(console: Client, running: Agent) -> None:
    asking = choose(console, LIST, "delete_agents", running)
    Agent.objects.filter(pk=running.pk).update(name="Not me")
    send(console, asking)
    running.refresh_from_db()
    assert running.desired == "deleted"


def test_a_page_that_is_sent_twice_does_it_once(console: Client, running: Agent) -> None:
    asking = choose(console, LIST, "pause_agents", running)
    send(console, asking)
    assert "nothing left to do" in send(console, asking).content.decode()
    assert running.transitions.filter(note__startswith="stop requested").count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("action", ["pause_agents", "delete_agents"])
def test_a_step_that_was_done_meanwhile_has_nothing_left_to_do(console: Client, running: Agent, action: str) -> None:
    """Here rows can only be locked inside a transaction, as in production."""
    asking = choose(console, LIST, action, running)
    if action == "pause_agents":
        lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    else:
        send(console, asking)
    answer = send(console, asking)
    assert (answer.status_code, "There is nothing left to do" in answer.content.decode()) == (200, True)


def test_a_page_works_once_though_all_is_as_it_was_again(console: Client, running: Agent) -> None:
    asking = choose(console, LIST, "pause_agents", running)
    send(console, asking)
    settle(running)
    lifecycle.resume(running, actor="user:x")
    running = settle(running)
    assert (running.status, running.desired) == ("running", "running")
    assert f"{running}: nothing was done, because this page was sent before" in send(console, asking).content.decode()
    running.refresh_from_db()
    assert running.desired == "running"
    act(console, LIST, "pause_agents", running)
    running.refresh_from_db()
    assert running.desired == "stopped"


def test_a_page_that_did_nothing_may_be_sent_again(console: Client, running: Agent) -> None:
    asking = choose(console, LIST, "pause_agents", running)
    Agent.objects.filter(pk=running.pk).update(paid=True)
    assert "changed since you opened the page" in send(console, asking).content.decode()
    Agent.objects.filter(pk=running.pk).update(paid=False)
    assert "Stop requested" in send(console, asking).content.decode()


def test_what_is_not_seen_is_no_part_of_a_reason(console: Client, running: Agent) -> None:
    act(console, LIST, "pause_agents", running, reason="\u2066flo\u200bods\u2028\x07 its\u2060")
    assert LogEntry.objects.get(object_id=running.pk).change_message == "Stop requested: floods its"


def test_what_is_so_already_is_left_out(console: Client, make_agent: MakeAgent, running: Agent) -> None:
    stopped = make_agent(name="Second")
    lifecycle.pause(stopped, reason=Reason.OWNER, actor="user:x")
    asking = choose(console, LIST, "pause_agents", running, stopped)
    assert stopped.pk not in asking.content.decode()
    assert "1 of the rows that you chose are left out, because nothing would change for them" in asking.content.decode()
    only = choose(console, LIST, "pause_agents", stopped)
    assert "nothing left to do" in only.content.decode()


def test_all_of_a_long_list_are_told_and_taken_in_parts(console: Client, running: Agent) -> None:
    running.refresh_from_db()
    values = {field.attname: getattr(running, field.attname) for field in Agent._meta.concrete_fields}
    unique = [{"id": f"agt_{n:024}", "slug": f"s{n}", "suffix": f"x{n}"} for n in range(MOST + 10)]
    Agent.objects.bulk_create(Agent(**{**values, **own}) for own in unique)
    asking = choose(console, LIST, "delete_agents", running, select_across="1", index="0")
    page = asking.content.decode()
    assert f"Only the first {MOST} of {MOST + 11}: that is the most at a time." in page
    assert len(asking.context["shown"]) == MOST
    send(console, asking, count=MOST)
    assert Agent.objects.filter(desired="deleted").count() == MOST
    rest = choose(console, LIST, "delete_agents", running, select_across="1", index="0")
    assert len(rest.context["shown"]) == 11


@pytest.mark.parametrize("action", STEPS)
def test_who_may_only_look_takes_nothing_away(console: Client, running: Agent, action: str) -> None:
    asking = choose(console, LIST, action, running)
    looker = staff("view_agent")
    assert action not in looker.get(LIST).content.decode()
    choose(looker, LIST, action, running)
    assert looker.get(asking.request["PATH_INFO"], {"id": running.pk}).status_code == 403
    assert send(looker, asking).status_code == 403
    assert "/login/" in Client().get(asking.request["PATH_INFO"], {"id": running.pk}).headers["Location"]
    assert untouched(running)


def test_an_operator_who_is_no_superuser_may_act_with_the_right_to_change(running: Agent) -> None:
    assert "Stop requested" in act(staff("view_agent", "change_agent"), LIST, "pause_agents", running)


def test_a_page_counts_for_an_hour_for_one_operator_and_one_step(console: Client, running: Agent) -> None:
    asking = choose(console, LIST, "pause_agents", running)
    name, value = asking.context["seen"]
    other_step = reverse("admin:agents_agent_delete_agents")
    colleague = staff("view_agent", "change_agent")
    for client, address, seen in (
        (console, asking.request["PATH_INFO"], ""),
        (console, asking.request["PATH_INFO"], value[:-1] + ("A" if value[-1] != "A" else "B")),
        (console, other_step, value),
        (colleague, asking.request["PATH_INFO"], value),
    ):
        body = {name: seen, "reason": "why", "confirm": "1"}
        page = client.post(f"{address}?id={running.pk}", body).content.decode()
        assert "nothing was done" in page
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=61), tick=False):
        console.force_login(User.objects.get(email="operator@example.com"))
        assert "nothing was done" in send(console, asking).content.decode()
    assert untouched(running)


def test_a_page_of_another_site_sends_nothing(operator: User, running: Agent) -> None:
    console = Client(enforce_csrf_checks=True)
    console.force_login(operator)
    asking = console.get(reverse("admin:agents_agent_delete_agents"), {"id": running.pk})
    assert send(console, asking).status_code == 403
    assert untouched(running)


@pytest.mark.parametrize("ids", [[], ["agt_0"], ["\0"], ["x" * 5_000], ["agt_0"] * 500])
def test_ids_that_no_agent_has_are_nothing_to_do(console: Client, running: Agent, ids: list[str]) -> None:
    page = console.get(reverse("admin:agents_agent_delete_agents"), {"id": ids}, follow=True)
    assert "nothing left to do" in page.content.decode()


def test_after_a_step_the_list_is_as_it_was_filtered(console: Client, running: Agent) -> None:
    asking = choose(console, f"{LIST}?status=running", "pause_agents", running)
    done: Any = send(console, asking)
    assert done.redirect_chain == [(f"{LIST}?status=running", 302)]


@pytest.mark.parametrize("count", [1, 3])
def test_a_page_asks_as_much_for_many_agents_as_for_one(
    console: Client, make_agent: MakeAgent, count: int, django_assert_max_num_queries: Any
) -> None:
    ids = [make_agent(name=f"n{number}").pk for number in range(count)]
    with django_assert_max_num_queries(5):
        console.get(reverse("admin:agents_agent_delete_agents"), {"id": ids})
