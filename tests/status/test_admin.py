from __future__ import annotations

import pytest
from django.contrib.admin.utils import quote
from django.test import Client
from django.utils import timezone

from accounts.models import User
from status import loops
from status.models import HealthSample, Incident
from status.watch.samples import EVERY
from tests.operating import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com", "a password that is long"))
    return client


def test_an_operator_tells_customers_about_an_incident(console: Client) -> None:
    began = {"title": "Slow boots", "status": "investigating", "started_at_0": "2026-11-21", "started_at_1": "06:30"}
    answer = console.post("/admin/status/incident/add/", {**began, "components": ["runtime", "agents.sweep"]})
    assert answer.status_code == 302
    incident = Incident.objects.get()
    assert (incident.title, incident.components) == ("Slow boots", ["runtime", "agents.sweep"])


def test_an_incident_is_not_resolved_without_its_time(console: Client) -> None:
    ended = {"title": "Over", "status": "resolved", "started_at_0": "2026-11-21", "started_at_1": "06:30"}
    answer = console.post("/admin/status/incident/add/", ended)
    assert b"resolvedAt is set when" in answer.content
    assert not Incident.objects.exists()


def test_a_component_that_does_not_exist_is_refused(console: Client) -> None:
    began = {"title": "Odd", "status": "identified", "started_at_0": "2026-11-21", "started_at_1": "06:30"}
    console.post("/admin/status/incident/add/", {**began, "components": ["nothing"]})
    assert not Incident.objects.exists()


def test_loops_are_read_and_nothing_else(console: Client) -> None:
    loops.record("agents.sweep", now=timezone.now())
    assert b"agents.sweep" in console.get("/admin/status/loop/").content
    assert console.get("/admin/status/loop/add/").status_code == 403
    assert console.post("/admin/status/loop/agents.sweep/delete/", {"post": "yes"}).status_code == 403


def test_an_incident_is_deleted_only_with_a_reason(console: Client) -> None:
    began = {"title": "Slow", "status": "investigating", "started_at_0": "2026-11-21", "started_at_1": "12:00"}
    console.post("/admin/status/incident/add/", began)
    row = Incident.objects.get()
    for place in (f"/admin/status/incident/{quote(row.pk)}/delete/", "/admin/status/incident/"):
        console.post(place, {"post": "yes", "action": "delete_selected", "_selected_action": [row.pk]})
    assert Incident.objects.exists()
    assert "Deleted: Slow" in act(console, "/admin/status/incident/", "delete_rows", row, reason="a drill")
    assert not Incident.objects.exists()


def test_the_list_of_loops_says_what_is_late_and_by_how_much(console: Client) -> None:
    now = timezone.now()
    loops.record("agents.sweep", now=now - loops.PERIODS["agents.sweep"] * 10)
    loops.record("billing.close_months", now=now)
    loops.record("a.former.loop", now=now)
    page = console.get("/admin/status/loop/")
    told = {loop.pk: page.context["cl"].model_admin.lateness(loop) for loop in page.context["cl"].queryset}
    assert told["agents.sweep"].endswith(", late")
    assert (told["billing.close_months"], told["a.former.loop"]) == ("0:00:00", "-")
    assert b"runs no more" in page.content


def test_the_half_minutes_in_which_the_api_did_not_answer_are_a_list(console: Client) -> None:
    now = timezone.now()
    for number, (down, requests, failed) in enumerate(
        ((["database"], 8, 0), ([], 100, 2), ([], 100, 1), (["mail"], 0, 0), ([], 0, 0))
    ):
        HealthSample.objects.create(at=now - number * EVERY, down=down, requests=requests, failed=failed)
    bad = console.get("/admin/status/healthsample/?api=bad").context["cl"].queryset
    assert [(one.down, one.failed) for one in bad] == [(["database"], 0), ([], 2)]
    assert console.get("/admin/status/healthsample/").context["cl"].queryset.count() == 5
    assert console.get(f"/admin/status/healthsample/{quote(str(now))}/change/").status_code == 200
    assert console.post("/admin/status/healthsample/add/", {}).status_code == 403
