"""An operator at the console, and many agents that are copies of a running one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.test import Client
from django.utils import timezone

from accounts.models import User
from agents.models import Agent
from config.admin_steps import console as console_steps
from config.jobs import work
from config.jobs.models import Job
from tests.agents.conftest import catalog, make_agent, owner, running, runtime

__all__ = ["catalog", "make_agent", "owner", "running", "runtime"]

AGENTS, TERMS = "/admin/agents/agent/", "/admin/billing/agentterm/"

Many = Callable[[int], list[str]]


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than five rows become a job, instead of more than fifty: the tests are quicker."""
    monkeypatch.setattr(console_steps, "MOST", 5)


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_superuser("operator@example.com")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def many(running: Agent) -> Many:
    def copies(number: int) -> list[str]:
        """Make agents until there are so many. Returns all ids."""
        running.refresh_from_db()
        values = {field.attname: getattr(running, field.attname) for field in Agent._meta.concrete_fields}
        own = [{"id": f"agt_{n:024}", "slug": f"s{n}", "suffix": f"x{n}"} for n in range(number - 1)]
        Agent.objects.bulk_create((Agent(**{**values, **one}) for one in own), batch_size=5_000)
        return [running.pk, *(one["id"] for one in own)]

    return copies


def drafted(console: Client, place: str, action: str, **more: Any) -> Job:
    """Choose all rows of the list, with its filters, for this action. Returns the draft that its page shows."""
    some = console.get(place).context["cl"].result_list[0]
    sent = {"action": action, "_selected_action": [some.pk], "select_across": "1", "index": "0"}
    asking = console.post(place, sent | more, follow=True)
    assert "job" in asking.context, asking.content.decode()
    return Job.objects.get(pk=asking.context["job"].pk)


def started(console: Client, job: Job, **typed: Any) -> Any:
    form = {"reason": "an outage of ours", "rows": job.total, "pace": 6_000, "start": "1"}
    return console.post(page(job), form | typed, follow=True)


def page(job: Job) -> str:
    return f"/admin/config/job/{quote(job.pk)}/change/"


def work_on(job: Job) -> Job:
    """Let the loop run until it has nothing more to do."""
    for _ in range(200):
        work.run_due(now=timezone.now())
        job.refresh_from_db()
        if job.state != "running":
            break
    return job
