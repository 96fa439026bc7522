"""The operators' console of agents: all is shown, secrets are masked, and actions use the same rules as the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from agents import timeline
from agents.admin.sections import TIMELINE_ROWS
from agents.models import Agent, AgentQuota, QuotaStatus, Reason
from agents.running import lifecycle
from tests import operating
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.agents.pod.bridge.process import eventually
from tests.doubles.bridge import BridgeDouble, line
from tests.doubles.runtime import ScriptedRuntime
from webhooks.models import Event

LIST = "/admin/agents/agent/"


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_superuser("operator@example.com", "a-long-password")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def act(console: Client, action: str, *agents: Agent) -> str:
    return operating.act(console, LIST, action, *agents)


def test_agents_are_found_by_owner_name_and_id(console: Client, running: Agent) -> None:
    for query in ("owner@example.com", running.name, running.id, running.slug):
        assert running.id in console.get(LIST, {"q": query}).content.decode()
    assert running.id not in console.get(LIST, {"q": "nobody"}).content.decode()


@pytest.mark.parametrize("count", [1, 3])
def test_the_list_costs_the_same_for_any_number(
    console: Client, make_agent: MakeAgent, count: int, django_assert_max_num_queries: Any
) -> None:
    for _ in range(count):
        make_agent()
    with django_assert_max_num_queries(10):
        console.get(LIST)


def test_one_page_shows_the_timeline_and_no_secret(console: Client, make_agent: MakeAgent) -> None:
    agent = settle(
        make_agent(llm_provider="openai", llm_key="sk-very-secret", channel_secrets={"telegramToken": "1:hush"})
    )
    page = console.get(f"{LIST}{quote(agent.pk)}/change/").content.decode()
    assert "timeline" in page.lower()
    assert "reconciler" in page
    assert "model key •" in page
    for secret in (
        "sk-very-secret",
        "1:hush",
        agent.management_token,
        agent.ticket_key,
        agent.engine_key,
        agent.gateway_key,
    ):
        assert secret not in page


def test_nothing_on_the_page_can_be_edited_or_deleted(console: Client, running: Agent) -> None:
    page = console.get(f"{LIST}{quote(running.pk)}/change/").content.decode()
    assert 'name="status"' not in page
    assert 'name="desired"' not in page
    assert "deletelink" not in page
    assert console.post(f"{LIST}{quote(running.pk)}/delete/").status_code == 403
    assert console.get(f"{LIST}add/").status_code == 403


def test_actions_call_the_rules_and_are_on_the_timeline_with_their_actor(
    console: Client, operator: User, running: Agent, runtime: ScriptedRuntime
) -> None:
    assert "Stop requested" in act(console, "pause_agents", running)
    assert settle(running).status == "stopped"
    assert "Start requested" in act(console, "resume_agents", running)
    assert settle(running).status == "running"
    assert "Rebuild requested" in act(console, "rebuild_agents", running)
    assert settle(running).status == "running"
    assert "Deletion requested" in act(console, "delete_agents", running)
    assert settle(running).status == "deleted"
    assert running.transitions.filter(actor=f"operator:{operator.pk}").count() == 4


def test_what_an_operator_paused_is_told_as_that_and_its_owner_may_resume_it(
    console: Client, running: Agent, client: APIClient, settings: Settings
) -> None:
    settings.SUPPORT_EMAIL = "help@example.com"
    act(console, "pause_agents", running)
    settle(running)
    told = client.get(f"/agents/{running.pk}/explain").json()["explanation"]
    assert (told["cause"], told["next"]) == ("OPERATOR", f"POST /agents/{running.pk}/resume")
    assert "paused by the operator of this service, not by its owner" in told["message"]
    assert "write to help@example.com" in told["message"]
    last = Event.objects.filter(agent=running).latest("created_at")
    assert json.loads(last.body)["data"] == {"from": "running", "to": "stopped", "reason": "operator"}
    assert set(running.transitions.order_by("-id").values_list("reason", flat=True)[:2]) == {"operator"}
    assert client.post(f"/agents/{running.pk}/resume").status_code == 200
    assert settle(running).status == "running"


@pytest.mark.parametrize("action", ["pause_agents", "resume_agents", "rebuild_agents", "delete_agents"])
def test_who_may_only_look_at_agents_changes_none(running: Agent, action: str) -> None:
    looker = User.objects.create_user("looker@example.com", "a-long-password", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_agent"))
    console = Client()
    console.force_login(looker)
    assert action not in act(console, action, running)
    assert not running.transitions.filter(actor__startswith="operator:").exists()


def test_a_refused_action_says_why_and_goes_on_with_the_others(
    console: Client, running: Agent, make_agent: MakeAgent
) -> None:
    waiting = make_agent()
    page = act(console, "rebuild_agents", running, waiting)
    assert "Rebuild requested" in page
    assert "rebuild: not possible while the agent is provisioning" in page


def test_the_timeline_of_all_agents_is_read_only(console: Client, running: Agent) -> None:
    assert running.id in console.get("/admin/agents/transition/").content.decode()
    assert console.get("/admin/agents/transition/add/").status_code == 403


@pytest.mark.sampled
def test_a_long_timeline_shows_its_newest_rows(console: Client, running: Agent) -> None:
    for number in range(TIMELINE_ROWS + 20):
        timeline.note(running, "", reason=Reason.OWNER, actor=f"user:{number:03}", now=timezone.now())
    page = console.get(f"{LIST}{quote(running.pk)}/change/").content.decode()
    assert f"user:{TIMELINE_ROWS + 19:03}" in page
    assert "user:010" not in page


def test_the_quota_is_seen_on_list_and_page_and_filtered_by(console: Client, running: Agent) -> None:
    assert running.id in console.get(LIST).content.decode()
    measured = {"memory_used_bytes": 490 * 2**20, "memory_limit_bytes": 512 * 2**20, "recent": "hhh"}
    AgentQuota.objects.create(agent=running, status=QuotaStatus.WARN, updated_at=timezone.now(), **measured)
    page = console.get(f"{LIST}{quote(running.pk)}/change/").content.decode()
    assert "memory: 490 of 512 MiB (96%)" in page
    assert 'name="quota_snapshot-0-status"' not in page
    assert running.id in console.get(LIST, {"quota_snapshot__status": "warn"}).content.decode()
    assert running.id not in console.get(LIST, {"quota_snapshot__status": "grace"}).content.decode()


def test_an_operator_sees_which_hop_of_an_agent_is_silent(
    console: Client, running: Agent, make_agent: MakeAgent, gateway_of: GatewayOf
) -> None:
    gateway_of(running, llm_key=None)
    page = act(console, "talk_test_agents", running)
    assert "gateway: ok, engine: ok, model: no model key is installed" in page
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:test")
    assert "talk-test: not possible while the agent is being stopped" in act(console, "talk_test_agents", running)
    assert "Only the first agent was tested" in act(console, "talk_test_agents", running, make_agent())


def test_an_agents_last_lines_are_on_its_page_and_all_of_them_behind_a_link(
    console: Client, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    bridge.said = [line(f"<script>alert({number})</script> {running.management_token}") for number in range(30)]
    gateway_of(running)

    part = f"{LIST}{running.pk}/logs/last/"
    assert f'data-part="{part}"' in console.get(f"{LIST}{quote(running.pk)}/change/").content.decode()

    def page() -> str:
        return str(console.get(part).content.decode())

    eventually(lambda: "alert(29)" in page(), what="the last line")
    assert "&lt;script&gt;alert(29)" in page()
    assert "alert(2)" not in page()
    all_of_them = console.get(f"{LIST}{running.pk}/logs/", {"after": "oldest", "source": "engine"}).content.decode()
    assert "&lt;script&gt;alert(2)" in all_of_them
    assert "<script>alert" not in page() + all_of_them
    assert running.management_token not in page() + all_of_them
    assert console.get(f"{LIST}{running.pk}/logs/", {"after": "junk"}).status_code == 404
    assert console.get(f"{LIST}agt_nobody/logs/").status_code == 404
    for place in (part, f"{LIST}{running.pk}/logs/"):
        assert operating.staff("view_user").get(place).status_code == 403
