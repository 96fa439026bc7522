"""Jobs: steps on more rows than a page shows, done by the workers, each row once."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from accounts import purge, roles
from accounts.models import User
from agents.models import Agent, Transition
from billing.models import Payment
from config.audit.models import AuditEntry
from config.errors import Conflict
from config.jobs import control, kinds, work
from config.jobs.models import Job, JobRow
from tests.agents.conftest import MakeAgent
from tests.config.jobs.conftest import AGENTS, TERMS, Many, drafted, page, started, work_on

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


def counts(job: Job) -> tuple[int, int, int, int]:
    return job.total, job.done, job.failed, job.skipped


def person(role: str) -> Client:
    roles.bring_up_to_date()
    user = User.objects.create_user(f"{role}@example.com", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


def test_a_step_on_a_long_list_becomes_a_job_that_is_read_started_and_done(
    console: Client, operator: User, many: Many, make_agent: MakeAgent
) -> None:
    other = make_agent(name="Not chosen")
    ids = many(8)
    job = drafted(console, f"{AGENTS}?status__exact=running", "pause_agents")
    asking = console.get(page(job)).content.decode()
    for told in ("8 rows", "status__exact=running", "Nothing has been done yet", ids[1], "The pod stops, and"):
        assert told in asking
    assert "There are 8 rows" in started(console, job, rows=7).content.decode()
    assert "This field is required" in started(console, job, reason="").content.decode()
    assert work_on(job).state == "draft"
    began = started(console, job)
    assert "loads again every five seconds" in began.content.decode()
    assert began.headers["Refresh"] == "5"
    assert "Refresh" not in console.get(f"{page(job)}?still=1").headers
    assert counts(work_on(job)) == (8, 8, 0, 0)
    assert job.state == "done"
    asked = Transition.objects.filter(actor=f"operator:{operator.pk}")
    assert set(asked.values_list("agent_id", flat=True)) == set(ids)
    assert asked.filter(note="stop requested: an outage of ours").count() == 8
    other.refresh_from_db()
    assert other.desired == "running"
    answer: Any = console.get(f"/admin/config/job/{job.pk}/report.csv")
    report = b"".join(answer.streaming_content).decode()
    assert len(report.splitlines()) == 9
    assert re.search(rf"^{ids[0]},done,Stop requested,20", report, re.MULTILINE)
    verbs = AuditEntry.objects.filter(object_id=job.pk).order_by("pk").values_list("verb", "who", "reason")
    assert [verb for verb, _, _ in verbs] == [f"Job {one}: Pause agents" for one in ("prepared", "started", "ended")]
    assert {(who, reason) for _, who, reason in verbs[1:]} == {("operator@example.com", "an outage of ours")}
    row = AuditEntry.objects.get(object_id=ids[7])
    assert (row.verb, row.who, row.reason) == ("Pause agents", "operator@example.com", "an outage of ours")


def test_a_draft_that_is_sent_twice_is_one_job_and_an_old_one_does_nothing(console: Client, many: Many) -> None:
    many(6)
    job = drafted(console, TERMS, "credit")
    started(console, job, days="2")
    assert "nothing was done, because it is running now" in started(console, job, days="2").content.decode()
    work_on(job)
    assert Payment.objects.filter(kind="credit").count() == 6
    old = drafted(console, TERMS, "credit")
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert "more than an hour old" in started(console, old, days="2").content.decode()
    work_on(old)
    assert Payment.objects.filter(kind="credit").count() == 6


def test_rows_that_fail_are_told_and_tried_again_and_no_row_twice(console: Client, many: Many) -> None:
    ids = many(7)
    Agent.objects.filter(pk__in=ids[:2]).update(tier="nothing")  # a bug of ours: such a tier cannot be
    Agent.objects.filter(pk=ids[3]).update(desired="deleted")
    job = drafted(console, TERMS, "credit")
    Agent.objects.filter(pk=ids[4]).delete()
    started(console, job, days="3")
    work_on(job)
    assert (job.state, job.failed, job.skipped) == ("done", 2, 1)
    failed = console.get(f"{page(job)}?result=failed").content.decode()
    assert failed.count("internal error: ") == 2
    assert ids[0] in failed
    Agent.objects.filter(pk__in=ids[:2]).update(tier="tiny")
    console.post(page(job), {"retry": "1"})
    work_on(job)
    assert counts(job) == (7, 6, 0, 1)
    assert sorted(Payment.objects.filter(kind="credit").values_list("agent_id", flat=True)) == sorted({*ids} - {ids[4]})


def test_a_stop_holds_from_the_next_row_on_and_somebody_else_goes_on(console: Client, many: Many) -> None:
    many(8)
    job = drafted(console, AGENTS, "pause_agents")
    started(console, job, pace=60)
    work.run_due(now=timezone.now())
    console.post(page(job), {"stop": "1"})
    job.refresh_from_db()
    at = job.done
    assert (job.state, 0 < at < 8) == ("stopped", True)
    assert work.run_due(now=timezone.now()) == 0
    assert "because it is stopped now" in console.post(page(job), {"stop": "1"}, follow=True).content.decode()
    assert "Go on" in console.get(page(job)).content.decode()
    support = person("support")
    support.post(page(job), {"resume": "1"})
    assert "because it is running now" in console.post(page(job), {"resume": "1"}, follow=True).content.decode()
    Job.objects.update(pace=6_000)
    assert counts(work_on(job)) == (8, 8, 0, 0)
    assert Transition.objects.filter(actor__startswith="operator:").values("actor").distinct().count() == 2


def test_the_pace_holds_and_a_worker_that_was_away_does_not_make_up_for_hours(
    console: Client, many: Many, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(12)
    monkeypatch.setattr(work, "BUDGET_SECONDS", 60.0)  # however slow this machine is
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        job = drafted(console, AGENTS, "pause_agents")
        started(console, job, pace=60)
        for seconds, expected in ((0, 1), (1, 2), (3, 4), (7_200, 10)):
            clock.move_to(start + timedelta(seconds=seconds))
            work.run_due(now=timezone.now())
            job.refresh_from_db()
            assert job.done == expected, seconds


def test_a_row_that_ends_its_worker_each_time_is_given_up(
    console: Client, many: Many, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = many(6)
    job = drafted(console, AGENTS, "pause_agents")
    started(console, job)
    first = JobRow.objects.filter(job=job).order_by("pk")[0]
    JobRow.objects.filter(pk=first.pk).update(tries=work.MOST_TRIES)  # its workers have died so often
    work_on(job)
    assert counts(job) == (6, 5, 1, 0)
    assert "given up" in JobRow.objects.get(pk=first.pk).message
    assert not Transition.objects.filter(agent_id=first.object_id, actor__startswith="operator:").exists()
    assert first.object_id in ids


def test_a_job_whose_operator_lost_the_right_stops_and_says_so(console: Client, operator: User, many: Many) -> None:
    many(6)
    job = drafted(console, AGENTS, "pause_agents")
    started(console, job)
    User.objects.filter(pk=operator.pk).update(is_superuser=False)
    assert (work_on(job).state, job.done) == ("stopped", 0)
    assert "operator@example.com may not do this any more" in job.note
    User.objects.filter(pk=operator.pk).update(is_superuser=True)
    assert job.note in console.get(page(job)).content.decode().replace("&#x27;", "'")


def test_a_job_is_seen_and_steered_by_who_may_do_its_step(console: Client, many: Many) -> None:
    many(6)
    job = drafted(console, TERMS, "credit")
    support, finance, auditor = person("support"), person("finance"), person("auditor")
    assert finance.get(page(job)).status_code == 404, "a draft is its operator's own"
    started(console, job, days="1")
    assert {one.get(page(job)).status_code for one in (finance, auditor)} == {200}
    assert support.get(page(job)).status_code == 404
    assert job.pk not in support.get("/admin/config/job/").content.decode()
    for client in (support, auditor):
        assert client.post(page(job), {"stop": "1"}).status_code == 403
    assert 'name="stop"' not in auditor.get(page(job)).content.decode()
    assert support.get(f"/admin/config/job/{job.pk}/report.csv").status_code == 404
    assert finance.post(page(job), {"nonsense": "1"}).status_code == 403
    assert finance.post(page(job), {"stop": "1"}).status_code == 302
    job.refresh_from_db()
    assert job.state == "stopped"


def test_what_cannot_be_a_job_says_why(console: Client, many: Many, monkeypatch: pytest.MonkeyPatch) -> None:
    many(6)
    monkeypatch.setattr(control, "MOST", 5)
    sent: dict[str, Any] = {"action": "pause_agents", "_selected_action": ["x"], "select_across": "1", "index": "0"}
    said = [str(one) for one in console.post(AGENTS, sent, follow=True).context["messages"]]
    assert said == ["a job has at most 5 rows: choose fewer with the filters"]
    assert console.post(f"{AGENTS}?status__exact=%FF&nonsense=1", sent, follow=True).status_code == 200
    assert not Job.objects.exists()
    assert console.get(page(Job(pk="job_0"))).status_code == 404
    with pytest.raises(Conflict, match="nothing to do"):
        control.draft(next(iter(kinds.every().values())), Agent.objects.none(), by=User.objects.get(
            email="operator@example.com"), now=timezone.now())  # fmt: skip


def test_jobs_are_forgotten_after_their_time(console: Client, many: Many) -> None:
    many(6)
    job = drafted(console, AGENTS, "pause_agents")
    started(console, job)
    work_on(job)
    drafted(console, TERMS, "grant")
    purge.run(now=timezone.now() + timedelta(hours=2))
    assert [one.pk for one in Job.objects.all()] == [job.pk]
    purge.run(now=timezone.now() + timedelta(days=91))
    assert not JobRow.objects.exists()
    assert AuditEntry.objects.filter(object_id=job.pk).count() == 3
