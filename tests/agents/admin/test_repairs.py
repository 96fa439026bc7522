"""The page of an agent: repairs as buttons, and what is about the agent in sections."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import letters, roles
from accounts.models import User
from agents import timeline
from agents.backups.models import Backup, Kind, Stage
from agents.models import Agent, Reason, UsageHour
from agents.running import lifecycle
from agents.watching import usage_hours
from config.audit.models import AuditEntry
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.doubles.bridge import BridgeDouble
from tests.operating import send
from webhooks import events
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event, Hook, State

pytestmark = pytest.mark.django_db
LIST = "/admin/agents/agent/"
REPAIRS = {
    *("pause_agents", "resume_agents", "rebuild_agents", "talk_test_agent", "back_up_agents", "restore_backup"),
    *(
        "restart_engine",
        "move_agents",
        "resend_events",
        "delete_agents",
        "undo_deletion",
        "credit",
        "grant",
        "revoke",
        "refund",
    ),
}
OF_SUPPORT = {"pause_agents", "resume_agents", "restart_engine", "talk_test_agent", "back_up_agents", "resend_events"}
OF_FINANCE = {"credit", "grant", "revoke", "refund"}


@pytest.fixture
def console() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def of_role(name: str) -> Client:
    roles.bring_up_to_date()
    user = User.objects.create_user(f"of-{name}@example.com", is_staff=True)
    user.groups.add(Group.objects.get(name=name))
    client = Client()
    client.force_login(user)
    return client


def buttons(console: Client, agent: Agent) -> dict[str, str]:
    """By the name of the repair: its address, or, if it does nothing now, the reason."""
    context: Any = console.get(f"{LIST}{quote(agent.pk)}/change/").context
    return {one.name: one.address or one.why_not for one in context.get("repairs", ())}


def press(console: Client, agent: Agent, name: str, **typed: Any) -> Any:
    """Press the button and confirm."""
    address = buttons(console, agent)[name]
    assert address.startswith("/admin/"), (name, address)
    answer = send(console, console.get(address), **typed)
    assert answer.redirect_chain[-1][0] == f"{LIST}{quote(agent.pk)}/change/", "back on the agent's page"
    return answer


def with_failed_deliveries(agent: Agent, count: int) -> None:
    now = timezone.now()
    Hook.objects.create(agent=agent, url="https://a.example.com", authority="a.example.com", secret="s", created_at=now)
    for _ in range(count):
        events.emit(agent, EventType.AGENT_RUNNING, {}, now=timezone.now())
    Delivery.objects.filter(agent=agent).update(state=State.FAILED, finished_at=now, attempts=3)


def test_each_role_is_offered_the_repairs_of_its_job(console: Client, running: Agent) -> None:
    assert set(buttons(console, running)) == REPAIRS
    assert set(buttons(of_role("support"), running)) == OF_SUPPORT
    assert set(buttons(of_role("finance"), running)) == OF_FINANCE
    assert set(buttons(of_role("operator"), running)) == REPAIRS - OF_FINANCE
    assert buttons(of_role("auditor"), running) == {}


def test_what_does_nothing_now_is_grey_and_says_why(console: Client, make_agent: MakeAgent) -> None:
    agent = make_agent()
    assert buttons(console, agent)["rebuild_agents"] == "It is being started."
    agent = settle(agent)
    told = buttons(console, agent)
    assert told["resume_agents"] == "It runs."
    assert told["move_agents"] == "This installation has no clusters."
    assert told["back_up_agents"] == told["restore_backup"] == "This installation makes no backups."
    assert told["resend_events"] == "It has no webhook."
    assert told["undo_deletion"] == "It is not deleted."
    assert (told["revoke"], told["refund"]) == ("It has no grant.", "No bought time is left.")
    lifecycle.pause(agent, reason=Reason.OWNER, actor="user:x")
    told = buttons(console, settle(agent))
    assert (told["pause_agents"], told["talk_test_agent"]) == ("It is stopped already.", "It is stopped.")
    Agent.objects.filter(pk=agent.pk).update(entitled_until=agent.created_at)
    assert buttons(console, agent)["resume_agents"] == "Nobody pays for it: extend or grant its time first."
    User.objects.filter(pk=agent.user_id).update(is_active=False)
    assert buttons(console, agent)["rebuild_agents"] == "Its owner is suspended: restore the account."
    lifecycle.delete(agent, actor="user:x")
    told = buttons(console, settle(agent))
    assert {told[name] for name in ("pause_agents", "resume_agents", "delete_agents", "credit")} == {"It is deleted."}


def test_a_repair_says_what_it_hits_and_is_on_the_timeline_and_in_the_audit_log(
    console: Client, running: Agent, gateway_of: GatewayOf
) -> None:
    press(console, running, "pause_agents", reason="floods")
    assert settle(running).status == "stopped"
    asking = console.get(buttons(console, running)["resume_agents"]).content.decode()
    for told in (running.pk, running.name, "owner@example.com", "Downtime: about 1 seconds"):
        assert told in asking
    press(console, running, "resume_agents", reason="no more floods")
    assert settle(running).status == "running"
    press(console, running, "grant", reason="a friend")
    press(console, running, "credit", reason="an outage", days="3")
    press(console, running, "revoke", reason="no friend")
    gateway_of(running, llm_key=None)
    assert "no model key" in press(console, running, "talk_test_agent", reason="a ticket").content.decode()
    notes = " ".join(running.transitions.values_list("note", flat=True))
    for told in ("stop requested: floods", "no more floods", "talk test: gateway: ok"):
        assert told in notes
    rows = AuditEntry.objects.filter(object_id=running.pk).order_by("pk")
    assert [(row.verb, row.reason.partition(":")[0]) for row in rows] == [
        ("Pause agents", "floods"),
        ("Resume agents", "no more floods"),
        ("Grant paid time without end (internal)", "a friend"),
        ("Credit days", "Credited"),
        ("Revoke the grant", "no friend"),
        ("Talk test", "a ticket"),
    ]


def test_the_engine_is_started_again_in_its_pod(
    console: Client, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    page = console.get(buttons(console, running)["restart_engine"])
    assert "Engine restarted" in send(console, page, reason="it hangs").content.decode()
    assert running.transitions.filter(note="engine restarted: it hangs", reason="operator").count() == 1
    assert "sent before" in send(console, page).content.decode()
    assert bridge.restarted == 1
    bridge.phase = "starting"
    refused = send(console, console.get(buttons(console, running)["restart_engine"])).content.decode()
    assert "the engine does not run" in refused
    running.refresh_from_db()
    assert (running.status, running.generation) == ("running", 1)


def test_failed_events_are_sent_again_once_however_often_the_page_is_sent(console: Client, running: Agent) -> None:
    with_failed_deliveries(running, 3)
    page = console.get(buttons(console, running)["resend_events"])
    assert f"{running.pk}: 3 deliveries failed." in page.content.decode()
    send(console, page, reason="the receiver was down")
    assert set(Delivery.objects.values_list("state", flat=True)) == {"pending"}
    assert running.transitions.filter(note="3 failed deliveries are sent again: the receiver was down").count() == 1
    Delivery.objects.update(state=State.FAILED, finished_at=timezone.now())
    assert "sent before" in send(console, page).content.decode()
    assert set(Delivery.objects.values_list("state", flat=True)) == {"failed"}


def test_a_repair_that_became_wrong_meanwhile_is_not_done(console: Client, running: Agent) -> None:
    """A colleague, or the life cycle, was quicker than the operator who reads the page."""
    rebuild, pause = (console.get(buttons(console, running)[one]) for one in ("rebuild_agents", "pause_agents"))
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    assert "changed since you opened the page" in send(console, rebuild).content.decode()
    assert "nothing left to do" in send(console, pause).content.decode()
    settle(running)
    assert running.transitions.filter(actor__startswith="operator:").count() == 0


def test_two_operators_undo_a_deletion_once(console: Client, running: Agent) -> None:
    now = timezone.now()
    taken = {"kind": Kind.FINAL, "stage": Stage.DONE, "asked_at": now, "taken_at": now, "generation": 1, "actor": "x"}
    Backup.objects.create(agent=running, name="20260101-000000-000000", namespace=running.namespace, **taken)
    lifecycle.delete(running, actor="user:x")
    settle(running)
    mine, theirs = (console.get(buttons(console, running)["undo_deletion"]) for _ in range(2))
    assert "Brought back" in send(console, mine).content.decode()
    new = Agent.objects.exclude(pk=running.pk).get()
    assert f"brought back was never, is {new.pk}" in send(console, theirs).content.decode()
    assert Agent.objects.count() == 2


def test_a_button_leads_back_to_no_other_place(console: Client, running: Agent) -> None:
    for place in ("https://evil.example/", "//evil.example", "/admin/logout/", "/admin/a/b/c/change/../../x"):
        answer = console.get(f"{LIST}pause-agents/", {"id": running.pk, "back": place}).content.decode()
        assert 'href="/admin/agents/agent/" class="closelink"' in answer


def test_the_sections_are_bounded_and_cost_the_same_for_any_number_of_rows(console: Client, running: Agent) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert console.get(f"{LIST}{quote(running.pk)}/change/").status_code == 200
        return len([one for one in asked if "catalog_" not in one["sql"]])

    with_failed_deliveries(running, 1)
    few = cost()
    event = Event.objects.filter(agent=running).latest("created_at")
    many = [Event(agent=running, type=event.type, body="{}", created_at=timezone.now()) for _ in range(100)]
    made = Event.objects.bulk_create(many)
    now = timezone.now()
    Delivery.objects.bulk_create(
        Delivery(event=one, agent=running, state=State.FAILED, created_at=one.created_at, next_attempt_at=now)
        for one in made
    )
    for number in range(40):
        timeline.note(running, f"<script>{number}</script>", reason=Reason.OWNER, actor="user:x", now=now)
        letters.write(running.user, subject=f"<b>{number}</b>", text=f"about {running.pk}", lang="en")
    assert cost() <= few + 1
    page = console.get(f"{LIST}{quote(running.pk)}/change/").content.decode()
    assert page.count("/admin/webhooks/delivery/evt_") <= 10
    assert page.count("/admin/accounts/letter/ltr_") <= 10
    assert "&lt;b&gt;39&lt;/b&gt;" in page
    assert "<script>39" not in page
    assert "<b>39" not in page


def test_the_page_draws_the_quota_of_a_month(console: Client, running: Agent) -> None:
    hour = usage_hours.beginning(timezone.now()) - usage_hours.HOUR * 30
    sizes = {"memory_used_bytes": 90, "memory_limit_bytes": 100, "disk_used_bytes": 40, "disk_total_bytes": 100}
    UsageHour.objects.create(at=hour, agent=running, **sizes)
    page = console.get(f"{LIST}{quote(running.pk)}/change/").content.decode()
    assert "memory: highest 90 %, disk: highest 40 %" in page
    assert '<path class="memory" d="M' in page


def test_a_name_with_markup_stays_a_name(console: Client, running: Agent) -> None:
    Agent.objects.filter(pk=running.pk).update(name='"><img src=x onerror=alert(1)>')
    for page in (f"{LIST}{quote(running.pk)}/change/", buttons(console, running)["pause_agents"]):
        text = console.get(page).content.decode()
        assert "<img src=x" not in text
        assert "&lt;img src=x" in text
