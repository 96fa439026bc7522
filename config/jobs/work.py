"""The loop that does jobs. Every run takes rows for a second at most, in turn from each job that is due.

A row is changed in one transaction with its new state, so a killed worker leaves it either done or untouched. Before
that, another transaction counts the try: a row that ends its worker each time is given up after MOST_TRIES.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import OperationalError, transaction
from django.utils import timezone

from config import background
from config.admin_steps import Given, recording
from config.audit import Acting, acted_by
from config.errors import ServiceError
from config.jobs import control, kinds, row_states
from config.jobs.kinds import JobKind
from config.jobs.models import MESSAGE_LENGTH, Job, JobRow, JobRowState, JobState

log = logging.getLogger(__name__)

BUDGET_SECONDS = 1.0
AT_ONCE = 20  # jobs of one run
MOST_TRIES = 3
BEHIND = timedelta(seconds=5)  # after a pause, at most so much is made up for
COUNTED = {JobRowState.DONE: "done", JobRowState.FAILED: "failed", JobRowState.SKIPPED: "skipped"}

Outcome = tuple[JobRowState, str]


def run_due(*, now: datetime) -> int:
    """Do rows of the jobs that are due, until a second has passed. Returns how many rows were done."""
    until, done = time.monotonic() + BUDGET_SECONDS, 0
    due = Job.objects.filter(state=JobState.RUNNING, next_at__lte=now).order_by("next_at").select_related("by")
    turns = [turn for job in due[:AT_ONCE] if (turn := _turn(job, now=now))]
    with background.gathered():
        while turns and time.monotonic() < until:
            turns = [turn for turn in turns if turn.take()]
            done += len(turns)
    return done


def _turn(job: Job, *, now: datetime) -> _Turn | None:
    """What the rows of this job need. None if it cannot go on: then it is stopped and says why."""
    kind = kinds.kind_of(job)
    who = Acting(who=job.by.get_username(), who_id=str(job.by_id))
    form = kind.form(job.fields) if kind else None
    problem = _problem(job, kind, form)
    if problem or kind is None or form is None:
        _stop(job, problem, title=kind.step.title if kind else job.kind, now=now)
        return None
    return _Turn(job.pk, kind, job.by, form.cleaned_data, who)


def _problem(job: Job, kind: JobKind | None, form: Any) -> str:
    if kind is None:
        return "this release has no such step"
    if not kind.allowed(job.by):
        return f"{job.by} may not do this any more: somebody else can resume it"
    if not form.is_valid():
        return f"what was typed is not valid any more: {' '.join(' '.join(one) for one in form.errors.values())}"
    return ""


def _stop(job: Job, problem: str, *, title: str, now: datetime) -> None:
    try:
        with acted_by(Acting(who="the platform")):
            control.stop(job, title=title, now=now, note=problem)
    except ServiceError:
        log.info("a job that could not go on was stopped already", extra={"job": job.pk})


@dataclass(frozen=True, slots=True)
class _Turn:
    job_id: str
    kind: JobKind
    user: Any
    fields: dict[str, Any]
    who: Acting

    def take(self) -> bool:
        """Do the next row. Whether this job may go on: it is still running, and its pace allows another row."""
        row = self._claimed()
        if row is None:
            control.finish(self.job_id, title=self.kind.step.title, who=self.who, now=timezone.now())
            return False
        try:
            with acted_by(self.who):
                return self._do(row)
        except OperationalError:  # such as a deadlock: nothing of the row is written, and it is tried again
            log.exception("a row of a job waits", extra={"job": self.job_id, "row": row.object_id})
            return False

    @transaction.atomic
    def _claimed(self) -> JobRow | None:
        """The next row, with its try counted."""
        pending = JobRow.objects.filter(job=self.job_id, state=JobRowState.PENDING).order_by("pk")
        row = pending.select_for_update(skip_locked=True).first()
        if row is not None:
            row.tries += 1
            row.save(update_fields=["tries"])
        return row

    @transaction.atomic
    def _do(self, row: JobRow) -> bool:
        """Change the row and record it. The job is locked meanwhile, so that a stop holds from the next row on."""
        running = Job.objects.select_for_update(no_key=True, skip_locked=True)
        job = running.filter(pk=self.job_id, state=JobState.RUNNING).first()
        still = JobRow.objects.filter(pk=row.pk, state=JobRowState.PENDING)
        if job is None or not still.exists():
            return False
        to, message = self._tried(row)
        now = timezone.now()
        row_states.move(still, to, message=message[:MESSAGE_LENGTH], ended_at=now)
        setattr(job, COUNTED[to], getattr(job, COUNTED[to]) + 1)
        job.next_at = max(job.next_at, now - BEHIND) + timedelta(minutes=1) / job.pace
        job.save(update_fields=[COUNTED[to], "next_at"])
        return job.next_at <= now

    def _tried(self, row: JobRow) -> Outcome:
        if row.tries > MOST_TRIES:
            return JobRowState.FAILED, f"given up: its worker ended {MOST_TRIES} times before the row was done"
        try:
            with transaction.atomic():
                return self._changed(row.object_id)
        except ServiceError as refusal:
            return JobRowState.FAILED, refusal.message
        except OperationalError:
            raise
        except Exception as error:
            log.exception("a row of a job failed", extra={"job": self.job_id, "row": row.object_id})
            return JobRowState.FAILED, f"internal error: {type(error).__name__}"

    def _changed(self, object_id: str) -> Outcome:
        step = self.kind.step
        about = step.held(object_id)
        if about is None:
            return JobRowState.SKIPPED, "it is not there any more"
        if not step.rows([object_id]):
            return JobRowState.SKIPPED, "nothing would change for it"
        given = Given(user=self.user, now=step.now(), once=self.job_id, fields=self.fields)
        recording.written(step, about, given, step.take(about, given=given))
        return JobRowState.DONE, " ".join(given.said) or step.done
