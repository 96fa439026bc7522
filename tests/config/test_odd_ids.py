"""The console's links to a row whose id the admin would read as another one: `_23` in an address stands for `#`."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from config.jobs.models import Job
from status.announcements.models import Announcement
from status.models import Incident
from tests.webhooks.conftest import agent_of

ODD = "23" + "0" * 22


@pytest.mark.django_db
def test_every_link_to_a_row_with_an_odd_id_leads_to_that_row() -> None:
    operator = User.objects.create_superuser("operator@example.com")
    now = timezone.now()
    agent = agent_of(operator, id=f"agt_{ODD}")
    incident = Incident.objects.create(pk=f"inc_{ODD}", title="All is slow", started_at=now)
    announcement = Announcement.objects.create(pk=f"ann_{ODD}", title="News", text="None.")
    times = {"created_at": now, "changed_at": now, "next_at": now}
    fields = {"announcement": [announcement.pk]}
    job = Job.objects.create(
        pk=f"job_{ODD}", kind="agents.agent.pause_agents", state="running", by=operator, pace=1, fields=fields, **times
    )
    console = Client()
    console.force_login(operator)
    mail = reverse("admin:status_announcement_mail", args=[announcement.pk])
    pages: dict[str, list[Any]] = {
        reverse("admin:index"): [incident],
        reverse("admin:config_job_changelist"): [job],
        reverse("admin:agents_agent_changelist"): [agent],
        reverse("admin:agents_agent_logs", args=[agent.pk]): [agent],
        mail: [announcement, job],
    }
    for page, rows in pages.items():
        html = console.get(page).content.decode()
        for row in rows:
            model = f"/admin/{row._meta.app_label}/{row._meta.model_name}/"
            links = set(re.findall(rf'(?:href|action)="({model}[^"?/]+/change/)', html))
            assert links, (page, row)
            for link in links:
                answer = console.get(link)
                assert answer.status_code == 200, (page, link)
                assert row.pk in answer.content.decode() or str(row) in answer.content.decode()
    stopped = console.post(f"/admin/config/job/job_5F{ODD}/change/", {"stop": "1"}, follow=True)
    assert stopped.status_code == 200
