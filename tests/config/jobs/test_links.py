"""The links of the list of jobs."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from config.jobs.models import Job, JobState

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


@pytest.mark.parametrize("job_id", ["job_0123456789abcdef01234567", "job_2360f7c0ffee0123456789ab"])
def test_the_list_leads_to_the_page_of_a_job(client: Client, job_id: str) -> None:
    operator, now = User.objects.create_superuser("operator@example.com"), timezone.now()
    client.force_login(operator)
    fixed = {"created_at": now, "changed_at": now, "next_at": now, "pace": 60}
    Job.objects.create(id=job_id, kind="agents.agent.pause_agents", state=JobState.DONE, by=operator, **fixed)
    page = client.get("/admin/config/job/").content.decode()
    link = re.search(r'href="(/admin/config/job/job_[^"]+)"', page)
    assert link
    assert client.get(link[1]).status_code == 200
    assert client.get(f"/admin/config/job/{job_id}/change/").status_code == 200
