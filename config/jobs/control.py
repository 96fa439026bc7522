"""What is done with a whole job: draft, start, stop, start again, repeat what failed, finish."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import transaction
from django.db.models import QuerySet

from config import audit, background, sql
from config.audit import Acting
from config.errors import Conflict
from config.jobs import row_states, states
from config.jobs.kinds import JobKind
from config.jobs.models import MESSAGE_LENGTH, Job, JobRow, JobRowState, JobState
from config.jobs.states import WrongJobState

MOST = 100_000  # rows of a job
MOST_DRAFTS = 5  # of one operator: the oldest go
DRAFT_LASTS = timedelta(hours=1)
RUN = "config.run_jobs"

# The rows are copied inside of the database: no process holds them all.
FILL = """
INSERT INTO config_jobrow (job_id, object_id, state, tries, message)
SELECT %s, target.id::text, 'pending', 0, '' FROM ({rows}) AS target (id)
"""


class TooManyRows(Conflict):
    def __init__(self) -> None:
        super().__init__(f"a job has at most {MOST:,} rows: choose fewer with the filters")


class NoRows(Conflict):
    message = "there is nothing to do for the rows that you chose"


class DraftTooOld(Conflict):
    message = "this page was more than an hour old, so nothing was done: choose the rows again"


@transaction.atomic
def draft(
    kind: JobKind,
    rows: QuerySet[Any],
    *,
    by: Any,
    now: datetime,
    chosen: str = "",
    fields: dict[str, list[str]] | None = None,
) -> Job:
    """Keep the rows that the operator chose. Nothing is done with them yet. Raises TooManyRows, NoRows."""
    old = Job.objects.filter(by=by, state=JobState.DRAFT).values_list("pk", flat=True)[MOST_DRAFTS - 1 :]
    Job.objects.filter(pk__in=list(old)).delete()
    job = Job.objects.create(
        kind=kind.name,
        by=by,
        chosen=audit.line(chosen, 500),
        fields=fields or {},
        pace=kind.step.pace,
        created_at=now,
        changed_at=now,
        next_at=now,
    )
    job.total = _fill(job, rows)
    if job.total > MOST:
        raise TooManyRows
    if not job.total:
        raise NoRows
    job.save(update_fields=["total"])
    return job


def _fill(job: Job, rows: QuerySet[Any]) -> int:
    try:
        chosen, values = rows.order_by().values("pk").distinct()[: MOST + 1].query.sql_with_params()
    except EmptyResultSet:
        return 0
    return sql.execute(FILL.format(rows=chosen), [job.pk, *values])


@transaction.atomic
def start(job: Job, *, title: str, by: Any, fields: dict[str, list[str]], pace: int, now: datetime) -> Job:
    """Let the workers begin with a draft. A second start of the same draft raises WrongJobState."""
    job = states.held(job.pk)
    if job.state != JobState.DRAFT:
        raise WrongJobState(job)
    if job.created_at < now - DRAFT_LASTS:
        raise DraftTooOld
    job.fields, job.pace = {**fields, **job.fields}, pace
    job.reason = next(iter(job.fields.get("reason", [])), "")
    job.save(update_fields=["fields", "pace", "reason"])
    typed = [(name, "", ", ".join(values)) for name, values in job.fields.items() if name != "reason"]
    changes = [("rows", "", str(job.total)), ("rows per minute", "", str(pace)), ("chosen", "", job.chosen), *typed]
    return _go(job, by=by, now=now, verb=f"Job started: {title}", changes=changes)


@transaction.atomic
def resume(job: Job, *, title: str, by: Any, now: datetime) -> Job:
    """Go on with a stopped job, in the name of the operator who asks for it."""
    job = states.held(job.pk)
    if job.state != JobState.STOPPED:
        raise WrongJobState(job)
    return _go(job, by=by, now=now, verb=f"Job resumed: {title}")


@transaction.atomic
def retry(job: Job, *, title: str, by: Any, now: datetime) -> Job:
    """Try the rows that failed once more. Rows that are done stay done."""
    job = states.held(job.pk)
    if job.state not in {JobState.STOPPED, JobState.DONE}:
        raise WrongJobState(job)
    again = row_states.move(job.rows.all(), JobRowState.PENDING, tries=0, message="", ended_at=None)
    if not again:
        raise NoRows
    job.failed = 0
    job.save(update_fields=["failed"])
    return _go(job, by=by, now=now, verb=f"Job repeated: {title}", changes=[("rows", "", str(again))])


@transaction.atomic
def stop(job: Job, *, title: str, now: datetime, note: str = "") -> Job:
    """Begin no other row. A row that is being changed now is finished first: this waits for it."""
    job = states.held(job.pk)
    states.move(job, JobState.STOPPED, now=now)
    job.note = note[:MESSAGE_LENGTH]
    job.save(update_fields=["note"])
    audit.note(f"Job stopped: {title}", job, reason=note, changes=_counts(job))
    return job


@transaction.atomic
def finish(job_id: str, *, title: str, who: Acting, now: datetime) -> None:
    """Record that no row is left. Harmless if another worker did it, or if the job was stopped meanwhile."""
    job = Job.objects.select_for_update(no_key=True).filter(pk=job_id, state=JobState.RUNNING).first()
    if job is None or job.rows.filter(state=JobRowState.PENDING).exists():
        return
    states.move(job, JobState.DONE, now=now)
    audit.note(f"Job ended: {title}", job, reason=job.reason, changes=_counts(job), by=who)


def _go(job: Job, *, by: Any, now: datetime, verb: str, changes: list[tuple[str, str, str]] | None = None) -> Job:
    states.move(job, JobState.RUNNING, now=now)
    job.by, job.next_at, job.note = by, now, ""
    job.save(update_fields=["by", "next_at", "note"])
    audit.note(verb, job, reason=job.reason, changes=changes or _counts(job))
    background.on_commit(RUN)
    return job


def _counts(job: Job) -> list[tuple[str, str, str]]:
    return [(name, "", str(getattr(job, name))) for name in ("total", "done", "failed", "skipped", "left")]


def purgeable(*, now: datetime, kept: timedelta) -> list[QuerySet[Any]]:
    """Rows first, then their jobs: drafts that nobody started, and jobs that ended long ago."""
    drafts = Job.objects.filter(state=JobState.DRAFT, created_at__lte=now - DRAFT_LASTS)
    ended = Job.objects.filter(state__in=[JobState.STOPPED, JobState.DONE], changed_at__lte=now - kept)
    return [rows for jobs in (drafts, ended) for rows in (JobRow.objects.filter(job__in=jobs.order_by()), jobs)]
