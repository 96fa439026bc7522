"""The Celery task of jobs."""

from __future__ import annotations

from config.jobs import control, work
from config.rule_tasks import timed

run_jobs = timed(control.RUN, work.run_due)
