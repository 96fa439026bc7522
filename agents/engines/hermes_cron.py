"""Schedules, changed inside hermes' own process (hermes_start.py): a run that is cut off by hermes' end is started
again.
hermes itself starts runs, once, that were due while it did not run. But a run that had started and not finished is
marked as unknown and forgotten. This module imports nothing from this project.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

# A run is not started more often than this, in case it ends the engine each time.
TIMES_BEGUN = 3


def change(home: Path) -> None:
    know_the_models_token()
    Runs(importlib.import_module("hermes_kept").Kept(home, "cron")).follow()


def know_the_models_token() -> None:
    """hermes gives a run only those secrets that are in a file of its data directory. Ours are in the environment, so
    they are added.
    """
    scopes = vars(importlib.import_module("agent.secret_scope"))
    build = scopes["build_profile_secret_scope"]
    scopes["build_profile_secret_scope"] = lambda home: {**os.environ, **build(home)}


class Runs:
    """Writes each run into the file before the run starts."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept
        self._is_ending = False

    def follow(self) -> None:
        scheduler = importlib.import_module("cron.scheduler")
        self._keep(vars(scheduler))
        self._notice_the_end(vars(scheduler))
        self._take_up(importlib.import_module("cron.scheduler_provider").InProcessCronScheduler)

    def _keep(self, scheduler: dict[str, Any]) -> None:
        run = scheduler["run_one_job"]

        def kept(job: dict[str, Any], **named: Any) -> bool:
            self._kept.begin(job["id"], str(int((job.get("repeat") or {}).get("completed") or 0)))
            try:
                done: bool = run(job, **named)
                return done
            finally:
                if not self._is_ending:
                    self._kept.over([job["id"]])

        scheduler["run_one_job"] = kept

    def _notice_the_end(self, scheduler: dict[str, Any]) -> None:
        """Keep hermes from marking the current runs as failed, and from deleting jobs that were to run once, when it
        ends.
        """
        runner: Any = importlib.import_module("gateway.run").GatewayRunner
        stop = runner.stop

        async def stopped(one: Any, *given: Any, **named: Any) -> Any:
            self._is_ending = True
            return await stop(one, *given, **named)

        def cut_off(_: str) -> list[str]:
            with scheduler["_running_lock"]:
                scheduler["_interrupted_job_ids"].update(scheduler["_running_job_ids"])
            return []

        runner.stop = stopped
        scheduler["mark_running_jobs_interrupted"] = cut_off

    def _take_up(self, provider: Any) -> None:
        recover = provider.recover_interrupted

        def recovered(one: Any) -> int:
            count: int = recover(one)
            jobs = vars(importlib.import_module("cron.jobs"))
            cut_off = self._kept.unfinished()
            left = dict(self._kept.left(times=TIMES_BEGUN))
            self._begin_again(jobs, {name: int(completed) for name, completed in left.items()})
            for name in cut_off - left.keys():
                jobs["mark_job_run"](name, False, "The engine ended in the middle of each of its runs.")
            return count

        provider.recover_interrupted = recovered

    def _begin_again(self, jobs: dict[str, Any], completed: dict[str, int]) -> None:
        """Set the jobs back to a state as if these runs had not started. A job that was deleted in the meantime stays
        deleted.
        """
        with jobs["_jobs_lock"]():
            known = jobs["load_jobs"]()
            for job in known:
                if job["id"] in completed:
                    job.update(next_run_at=jobs["_hermes_now"]().isoformat(), run_claim=None, fire_claim=None)
                    if job.get("repeat"):
                        job["repeat"]["completed"] = completed[job["id"]]
            jobs["save_jobs"](known)
