"""STATE MACHINE of a job. Only `move` assigns its state."""

from __future__ import annotations

from datetime import datetime

from config.errors import Conflict
from config.jobs.models import Job, JobState

TRANSITIONS: dict[JobState, set[JobState]] = {
    JobState.DRAFT: {JobState.RUNNING},
    JobState.RUNNING: {JobState.STOPPED, JobState.DONE},
    JobState.STOPPED: {JobState.RUNNING},
    JobState.DONE: {JobState.RUNNING},  # the rows that failed are tried again
}


class WrongJobState(Conflict):
    def __init__(self, job: Job) -> None:
        super().__init__(f"job {job}: nothing was done, because it is {job.state} now")


def held(job_id: str) -> Job:
    """The job, locked. Two operators who start and stop it at the same time wait for each other."""
    return Job.objects.select_for_update(no_key=True).get(pk=job_id)


def move(job: Job, to: JobState, *, now: datetime) -> None:
    """Change the state of a job that `held` has locked. Raises WrongJobState."""
    if to not in TRANSITIONS[JobState(job.state)]:
        raise WrongJobState(job)
    job.state, job.changed_at = to, now
    job.save(update_fields=["state", "changed_at"])
