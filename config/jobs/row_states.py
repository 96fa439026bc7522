"""STATE MACHINE of a job's row. Only `move` assigns its state."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from config import states
from config.jobs.models import JobRow, JobRowState

TRANSITIONS: dict[JobRowState, set[JobRowState]] = {
    JobRowState.PENDING: {JobRowState.DONE, JobRowState.FAILED, JobRowState.SKIPPED},
    JobRowState.FAILED: {JobRowState.PENDING},
    JobRowState.DONE: set(),
    JobRowState.SKIPPED: set(),
}


def move(rows: QuerySet[JobRow], to: JobRowState, **values: Any) -> int:
    """Assign the state, together with these values, where the present state leads there. Returns how many moved."""
    return rows.filter(state__in=states.before(TRANSITIONS, to)).update(state=to, **values)
