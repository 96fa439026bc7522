"""A worker that is killed in the middle of a job: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from django.test import Client

from billing.models import Payment
from config.jobs.models import Job
from tests.config.jobs.conftest import TERMS, Many, drafted, started, work_on
from tests.coverage_scope import unmeasured
from tests.patience import Patience
from tests.workers import ROOT, database_url

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

LOOP = """
import django
django.setup()
from django.utils import timezone
from config.jobs import work
while True:
    work.run_due(now=timezone.now())
"""


def test_a_killed_worker_loses_no_row_and_does_none_twice(console: Client, many: Many) -> None:
    ids = many(40)
    job = drafted(console, TERMS, "credit")
    started(console, job, days="5")
    environment = {**unmeasured(), "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings"}
    worker = subprocess.Popen([sys.executable, "-c", LOOP], cwd=ROOT, env=environment)
    try:
        patience = Patience(60)
        while Job.objects.get(pk=job.pk).done < 3:
            assert worker.poll() is None
            assert not patience.ended()
            time.sleep(0.02)
    finally:
        worker.kill()
        worker.wait()
    job.refresh_from_db()
    assert job.done < 40
    assert Payment.objects.filter(kind="credit").count() == job.rows.filter(state="done").count()
    work_on(job)
    assert (job.state, job.done) == ("done", 40)
    assert sorted(Payment.objects.filter(kind="credit").values_list("agent_id", flat=True)) == sorted(ids)
