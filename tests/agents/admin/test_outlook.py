"""An agent's page says what is wanted, seen and paid, and what the reconciler does next."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.admin.utils import quote
from django.test import Client
from django.utils import timezone

from accounts.models import User
from agents.admin.outlook import STEPS
from agents.models import Agent, Reason
from agents.running import lifecycle
from agents.running.plan import PlanStep
from agents.runtimes.base import RuntimeFailure
from tests.agents.conftest import MakeAgent
from tests.doubles.runtime import ScriptedRuntime

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(client: Client) -> Client:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    return console


def shown(console: Client, agent: Agent) -> dict[str, str]:
    page = console.get(f"/admin/agents/agent/{quote(agent.pk)}/change/").content.decode()
    return {name: unescape(text) for name, text in re.findall(r"<p><b>([^:]+):</b> (.*?)</p>", page)}


def test_a_new_agent_whose_pod_is_not_made_yet(console: Client, make_agent: MakeAgent) -> None:
    said = shown(console, make_agent())
    assert said["Wanted"].startswith("running (create)")
    assert said["Seen"] == "no pod"
    assert said["Status"].startswith("provisioning, for ")
    assert said["Status"].endswith(", though running is wanted")
    assert said["Next step"] == f"{STEPS[PlanStep.DEPLOY]} Due now."


def test_a_failed_agent_says_why_on_its_page_and_in_the_list(console: Client, running: Agent) -> None:
    told = "the engine <ended> three times"
    Agent.objects.filter(pk=running.pk).update(status="failed", cause="CRASH_LOOP", cause_message=told)
    assert shown(console, running)["Why"] == f"CRASH_LOOP: {told}"
    listed = unescape(console.get("/admin/agents/agent/").content.decode())
    assert "CRASH_LOOP<br>" in listed
    assert told in listed
    Agent.objects.filter(pk=running.pk).update(cause="", cause_message="")
    assert "Why" not in shown(console, running)


def test_a_page_that_only_shows_has_nothing_to_save(console: Client, running: Agent) -> None:
    shown, form = (
        f"/admin/agents/agent/{quote(running.pk)}/change/",
        f"/admin/accounts/user/{quote(running.user_id)}/change/",
    )
    assert [b'name="_save"' in console.get(page).content for page in (shown, form)] == [False, True]


def test_an_agent_that_runs_rests(console: Client, running: Agent) -> None:
    said = shown(console, running)
    assert said["Seen"].startswith("pod ready, gateway answers, configuration ")
    assert said["Paid"].startswith("free until 2")
    assert "is wanted" not in said["Status"]
    assert said["Next step"] == f"{STEPS[PlanStep.REST]} Nothing is due."


def test_a_paused_agent_whose_pod_still_runs_is_stopped_next(console: Client, running: Agent) -> None:
    lifecycle.pause(running, reason=Reason.OPERATOR, actor="operator:1")
    said = shown(console, running)
    assert said["Wanted"].startswith("stopped (operator)")
    assert said["Next step"].startswith(STEPS[PlanStep.STOP])


def test_a_lost_pod_is_made_again_next(console: Client, running: Agent, runtime: ScriptedRuntime) -> None:
    runtime.lose(running.namespace)
    said = shown(console, running)
    assert (said["Seen"], said["Next step"]) == ("no pod", f"{STEPS[PlanStep.RECOVER]} Nothing is due.")


def test_what_is_due_later_and_what_a_worker_has_taken(console: Client, running: Agent) -> None:
    now = timezone.now()
    Agent.objects.filter(pk=running.pk).update(reconcile_at=now + timedelta(minutes=5, seconds=30))
    assert shown(console, running)["Next step"].endswith("Due in 5\xa0minutes.")
    Agent.objects.filter(pk=running.pk).update(lease_until=now + timedelta(minutes=1))
    assert shown(console, running)["Next step"].endswith("A worker is at it now.")


def test_time_that_is_over_is_said_to_be(console: Client, running: Agent) -> None:
    Agent.objects.filter(pk=running.pk).update(entitled_until=timezone.now() - timedelta(days=1))
    assert shown(console, running)["Paid"].startswith("free, over since ")


def test_a_cluster_that_does_not_answer_leaves_the_page_readable(
    console: Client, running: Agent, runtime: ScriptedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(suffix: str | None = None) -> object:
        raise RuntimeFailure("the cluster does not answer", cause="RUNTIME")

    monkeypatch.setattr(runtime, "observe", silent)
    said = shown(console, running)
    assert said["Seen"] == "unknown: the cluster does not answer"


def test_every_step_has_words() -> None:
    assert set(STEPS) == set(PlanStep)
